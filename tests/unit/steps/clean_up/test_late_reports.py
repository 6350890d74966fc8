"""A restore whose volumes are all ready, and whose report could not be written."""

from __future__ import annotations

import json

import pytest

from rewarm.contracts.events import AnnounceEvent
from rewarm.domain.errors import AccessDeniedError
from rewarm.steps.announce.announce import announce
from rewarm.steps.clean_up.missing_reports import PATIENCE
from rewarm.steps.record.bucket import result_key
from rewarm.steps.record.payloads import write_plans
from tests.support.builders import INSTANCE_ID, RESTORE_ID, VOLUME_ID, at, request
from tests.support.fakes import FakeArtifacts
from tests.support.values import accounts
from tests.support.worlds.sweeping import SweepWorld

REPORT_KEY = f"restores/{RESTORE_ID}/report.json"
DENIED = json.dumps({"errorType": "AccessDeniedError", "errorMessage": "PutObject: not authorized."})
FAILURE = {"state": "Report", "error": "AccessDeniedError", "cause": DENIED}


class Bucket(FakeArtifacts):
    """Refuses every write while it is closed."""

    closed = False

    def put_json(self, key, value):
        if self.closed:
            raise AccessDeniedError("PutObject: not authorized.")
        super().put_json(key, value)


@pytest.fixture
def world():
    """Its volume is ready, its execution has succeeded, and nobody has written its report."""
    made = SweepWorld(artifacts=Bucket())
    one = accounts.planned()
    write_plans(RESTORE_ID, [one], made.artifacts)
    made.artifacts.put_json(result_key(RESTORE_ID, 0), accounts.ready(one=one))
    made.begun(status="initializing", attached0={"volumeId": VOLUME_ID}, settled0=True)
    made.made(attached=INSTANCE_ID)
    made.ended("SUCCEEDED")
    return made


def tell(world, volumes=1):
    results = [{"index": number, "verdict": "ready", "volumeId": VOLUME_ID} for number in range(volumes)]
    event = AnnounceEvent(
        restore_id=RESTORE_ID,
        now=at(20),
        event="unreported",
        request=request(),
        details={"failure": FAILURE, "results": results},
    )
    announce(event, table=world.table, messages=world.messages, artifacts=world.artifacts)
    return world.messages.sent[-1]


class TestMessage:
    def test_says_that_the_volume_is_ready_why_there_is_no_report_and_when_there_will_be(self, world):
        message = tell(world)
        assert message["title"] == "The volume is ready, without a report"
        assert "PutObject: not authorized." in message["text"]
        assert "tries again every 15 minutes" in message["text"]
        assert (message["severity"], message["reportUrl"]) == ("warning", None)
        assert f"rewarm report {RESTORE_ID}" in message["nextSteps"][-1]

    def test_counts_several_volumes(self, world):
        assert tell(world, volumes=3)["title"] == "All 3 volumes are ready, without a report"

    def test_the_record_is_ready_and_knows_what_is_missing(self, world):
        tell(world)
        record = world.table.records[RESTORE_ID]
        assert (record["status"], record["failure"]) == ("ready", None)
        assert record["reportFailure"]["cause"] == "PutObject: not authorized."
        assert record["finishedAt"] == "2026-11-21T03:20:00Z"


class TestSweeper:
    @pytest.mark.parametrize("announced", [True, False])
    def test_writes_it_with_the_figures_of_the_volumes(self, world, announced):
        """Also where nobody could be told that it is missing, as the table was out of reach."""
        if announced:
            tell(world)
        assert [(one.sweep, one.state) for one in world.sweep()] == [("reports", "ended")]
        found, record = world.artifacts.objects[REPORT_KEY], world.table.records[RESTORE_ID]
        assert (found["verdict"], found["failure"]) == ("ready", None)
        (volume,) = found["volumes"]
        assert (volume["verdict"], volume["volumeId"]) == ("ready", VOLUME_ID)
        assert volume["phases"]
        assert (record["status"], record["reportKey"]) == ("ready", REPORT_KEY)
        assert record.get("reportFailure") is None
        assert world.holds.running() == []
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags

    def test_its_deadline_is_counted_once(self, world):
        world.table.update(RESTORE_ID, {"deadlineAt": "2026-11-21T03:00:01Z"})
        tell(world)
        world.artifacts.closed = True
        world.sweep()
        assert world.counted == []
        world.artifacts.closed = False
        for minute in (45, 60):
            world.sweep(now=at(minute))
        assert [one.deadline_met for one in world.counted] == [False]

    def test_keeps_the_time_at_which_the_restore_had_ended(self, world):
        tell(world)
        world.sweep()
        assert world.artifacts.objects[REPORT_KEY]["finishedAt"] == "2026-11-21T03:20:00Z"

    def test_tries_again_while_it_cannot_and_calls_nobody(self, world):
        tell(world)
        world.artifacts.closed = True
        assert [(one.sweep, one.state) for one in world.sweep()] == [("reports", "ending")]
        assert world.pauses == 0
        assert [one.restore_id for one in world.holds.running()] == [RESTORE_ID]
        world.artifacts.closed = False
        assert [one.state for one in world.sweep(now=at(45))] == ["ended"]
        assert world.sweep(now=at(60)) == []

    def test_gives_up_after_a_day(self, world):
        tell(world)
        world.artifacts.closed = True
        assert world.sweep(now=at(21) + PATIENCE) == []
        assert world.holds.running() == []
        assert world.table.records[RESTORE_ID]["reportFailure"]

    def test_one_of_which_nobody_was_told_is_ready_from_the_first_sweep_on(self, world):
        """Others may have its device, and the day counts from then: it may have taken longer than that."""
        world.table.update(RESTORE_ID, {"startedAt": "2026-11-19T03:00:00Z"})
        world.artifacts.closed = True
        assert [one.state for one in world.sweep()] == ["ending"]
        record = world.table.records[RESTORE_ID]
        assert (record["status"], record["finishedAt"]) == ("ready", "2026-11-21T03:30:00Z")
        assert [one.state for one in world.sweep(now=at(29) + PATIENCE)] == ["ending"]
        world.artifacts.closed = False
        assert [one.state for one in world.sweep(now=at(30) + PATIENCE)] == ["ended"]
        assert world.artifacts.objects[REPORT_KEY]["finishedAt"] == "2026-11-21T03:30:00Z"
        assert world.table.records[RESTORE_ID]["finishedAt"] == "2026-11-21T03:30:00Z"

    def test_takes_none_of_its_volumes_for_a_leftover(self, world):
        """The record could not be written at all: not that it was attached, nor that it is ready."""
        world.table.update(RESTORE_ID, {"attached0": None, "settled0": None})
        world.artifacts.closed = True
        world.sweep()
        assert world.volumes.deleted == []
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags
