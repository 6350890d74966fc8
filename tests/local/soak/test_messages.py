"""Whenever a failing restore is stopped, though no event tells of it: one message, and its place is free."""

from __future__ import annotations

import pytest

from local.aws.region import FaultRule
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import RESTORE, Ending, ended
from local.soak.lab.lab import FastLab
from local.soak.lab.states.machines import STATUS_CHANGE
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.paths import PATHS, request
from local.soak.trouble.wire_faults import CallFault, Kind
from rewarm.adapters.channels import messages
from rewarm.domain.errors import ServiceUnavailableError

NO_VOLUME = FaultRule("CreateVolume", code="UnauthorizedOperation", times=None)
STATES = ["Report", "Announce Failure", "Release Target After Failure"]


def losing_status_events(lab: FastLab) -> None:
    put = lab.events.put

    def lossy(detail_type, source, detail, resources):
        if detail_type != STATUS_CHANGE:
            put(detail_type, source, detail, resources)

    lab.states._tell = lossy


def failures_told(lab: FastLab) -> list[str]:
    return [one["detail-type"] for one in lab.events.sent if one["detail-type"] == "Rewarm Restore Failed"]


@pytest.mark.parametrize("state", STATES)
def test_a_failing_restore_that_is_stopped_is_told_and_gives_its_place_back(state):
    with FastLab(1) as lab:
        losing_status_events(lab)
        lab.region.faults.add(NO_VOLUME)
        restore_id = lab.start(request(lab, "background"))
        main = lab.execution(RESTORE, restore_id)
        assert lab.run(lambda: main.state == state, most_seconds=86_400)
        lab.states.stop(main.arn)
        lab.pass_time(SWEPT_SECONDS)
        assert main.status == "ABORTED"
        assert len(failures_told(lab)) == 1
        assert Auditor(lab).findings(Ending("aborted", restore_ids=[restore_id])) == []


@pytest.mark.parametrize("state", ["Wait For Confirmation", "Report Confirmation", "Announce Confirmation"])
def test_a_ready_restore_that_is_stopped_while_volume_read_ops_is_awaited_stays_ready(state):
    with FastLab(1) as lab:
        losing_status_events(lab)
        restore_id = lab.start(request(lab, "warm-up-agent"))
        main = lab.execution(RESTORE, restore_id)
        assert lab.run(lambda: main.state == state, most_seconds=86_400)
        lab.states.stop(main.arn)
        lab.pass_time(SWEPT_SECONDS)
        assert (main.status, failures_told(lab)) == ("ABORTED", [])
        assert lab.api("GET", f"/restores/{restore_id}")[1]["status"] == "ready"
        assert Auditor(lab).findings(ended(lab, restore_id)) == []


def test_what_no_channel_took_is_told_by_the_sweeper(monkeypatch):
    """Every channel refuses it while the restore tells it, and the event of its end is lost."""
    send, deaf = messages.MessageFanOut.send, [True]
    monkeypatch.setattr(
        messages.MessageFanOut,
        "send",
        lambda self, message: [] if deaf[0] and message["event"] == "failed" else send(self, message),
    )
    with FastLab(1) as lab:
        losing_status_events(lab)
        lab.region.faults.add(NO_VOLUME)
        restore_id = lab.start(request(lab, "background"))
        main = lab.finish(lab.execution(RESTORE, restore_id))
        assert (main.status, failures_told(lab)) == ("FAILED", [])
        deaf[0] = False
        lab.pass_time(SWEPT_SECONDS)
        assert len(failures_told(lab)) == 1
        assert Auditor(lab).findings(Ending("failed", restore_ids=[restore_id])) == []


@pytest.mark.parametrize("service", ["s3", "dynamodb"])
def test_a_cancelled_restore_without_a_report_is_told_as_cancelled(service):
    """Report can write no page, or nothing into the record: what is kept of the volume says why it failed."""
    operation = {"s3": "PutObject", "dynamodb": "UpdateItem"}[service]
    with FastLab(1, interference=CallFault(("Report", service, operation), Kind.ACCESS_DENIED)) as lab:
        ending = PATHS["cancelled-while-warming"].play(lab)
        assert lab.interference.met > 0
        (told,) = [one for one in lab.slack if "Restore cancelled" in str(one) or "failed" in str(one)]
        assert "Restore cancelled" in str(told)
        status, body = lab.api("GET", f"/restores/{ending.restore_ids[0]}")
        assert (status, body["status"]) == (200, "cancelled")
        assert body["failure"]["error"] == "RestoreCancelledError"


def test_a_caller_who_had_503_hears_that_nothing_began(monkeypatch):
    def out_of_reach(*_arguments):
        raise ServiceUnavailableError("StartExecution: no answer")

    monkeypatch.setattr("rewarm.adapters.executions.StepFunctionsExecutions.start", out_of_reach)
    with FastLab(1) as lab:
        status, _ = lab.api("POST", "/restores", request(lab, "background"))
        assert status == 503
        lab.pass_time(SWEPT_SECONDS)
        assert len(failures_told(lab)) == 1
        assert "Step Functions has no execution of it" in lab.events.sent[-1]["detail"]["text"]
        assert Auditor(lab).findings(Ending("refused")) == []
