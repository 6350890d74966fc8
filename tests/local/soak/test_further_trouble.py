"""Lambda that runs no functions, benchmarks, plans of weeks and redrives, in the fast lab."""

from __future__ import annotations

import json
import random

import pytest

from local.aws.region import FaultRule, RegionSettings, VolumeSettings
from local.soak.audit import applications as audit
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import RESTORE
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.benchmark import BENCHMARK
from local.soak.lab.instances.hook import AGAIN
from local.soak.lab.lab import FastLab
from local.soak.trouble import applications
from local.soak.trouble.matrix import SEED, SWEPT_SECONDS, CallRow, play
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.paths.hook_paths import CHANGES, NAME, document
from local.soak.trouble.paths.paths import GIB_BLOCKS, in_state, request, restored
from local.soak.trouble.scenarios import Plan
from local.soak.trouble.wire_faults import CallFault, Kind
from rewarm.adapters.hooks import SsmHooks

LONG_GIB = 16_384


def told(lab, kind):
    sent = [one for one in lab.events.sent if one["detail-type"] == f"Rewarm Restore {kind}"]
    return [one["detail"]["title"] for one in sent]


@pytest.mark.parametrize(
    "key", [("Parse Request", "lambda", "Invoke"), ("Restore Volume", "stepfunctions", "StartExecution")]
)
def test_five_minutes_without_a_service_fail_no_restore(key):
    result = play(CallRow(key, Kind.THROTTLED_FIVE_MINUTES, "provisioned-rate"))
    assert result.met > 1
    assert (result.ending.kind, result.left) == ("ready", [])


def test_a_ready_volume_is_told_although_its_function_never_ran():
    fault = CallFault(("Announce Ready", "lambda", "Invoke"), Kind.THROTTLED_FOR_EVER)
    with FastLab(SEED, interference=fault) as lab:
        ending = PATHS["provisioned-rate"].play(lab)
        assert (ending.kind, told(lab, "Ready")) == ("ready", [])
        lab.pass_time(SWEPT_SECONDS)
        assert told(lab, "Ready") == [f"{ending.ready[0]} is at full speed"]
        assert Auditor(lab).findings(ending) == []


def test_a_queue_of_restores_at_lambdas_limit_comes_to_its_end():
    with FastLab(SEED) as lab:
        lab.functions.concurrency = 1
        asked = [request(lab, "provisioned-rate") for _ in range(3)]
        fibers = [lab.begin_api("POST", "/restores", one) for one in asked]
        lab.run(lambda: all(fiber.result.done for fiber in fibers))
        begun = [lab.begin(f"restore-{number}", {"request": one}) for number, one in enumerate(asked)]
        ended = [lab.finish(execution).status for execution in begun]
        assert ended == ["SUCCEEDED"] * 3
        assert lab.functions.most_running == 1


def test_an_event_waits_in_lambdas_queue():
    fault = CallFault(("SweepFunction", "lambda", "Invoke"), Kind.THROTTLED_FIVE_MINUTES)
    with FastLab(SEED, interference=fault) as lab:
        lab.pass_time(2_000)
        assert fault.met > 1
        assert lab.functions.places["SweepFunction"] >= 1
        assert lab.undelivered == []


@pytest.mark.parametrize("kind", [None, "no-fio", "hangs", "no-upload"])
def test_a_benchmark_fails_no_restore(kind):
    with FastLab(SEED) as lab:
        lab.data_plane.troubles += [Trouble(kind, BENCHMARK)] if kind else []
        ending = PATHS["benchmarks"].play(lab)
        assert ending.kind == "ready"
        key = f"/restores/{ending.restore_ids[0]}"
        assert lab.api("GET", key)[0] == 200
        (after,) = [
            answer
            for execution in lab.states.executions.values()
            for state, answer in execution.answers
            if state == "Verify Volume After" and answer["finished"]
        ]
        patterns = [run["pattern"] for run in after["benchmarks"]]
        assert patterns == ([] if kind else ["random-read", "init"]), after
        assert bool(after["benchmarkProblem"]) is bool(kind)


def test_a_redriven_restore_is_told_once_and_leaves_nothing():
    with FastLab(SEED) as lab:
        ending = PATHS["stopped-and-redriven"].play(lab)
        main = lab.execution(RESTORE, ending.restore_ids[0])
        assert (main.redrives, ending.status) == (1, "failed")
        lab.pass_time(SWEPT_SECONDS)
        assert len(told(lab, "Failed") + told(lab, "Cancelled")) == 1, json.dumps(lab.events.sent)
        assert Auditor(lab).findings(ending) == []


@pytest.mark.long
def test_sixteen_tib_load_in_the_background_for_as_long_as_it_takes():
    with FastLab(SEED, RegionSettings(volume=VolumeSettings(background_mib_s=12.0))) as lab:
        much = lab.region.add_snapshot(size_gib=LONG_GIB, extents=((0, LONG_GIB * GIB_BLOCKS),))
        asked = request(lab, "background", source={"snapshotId": much}, verify={"samples": 0})
        ending = restored(lab, asked | {"target": {"availabilityZone": "us-east-1a"}})
        main = lab.execution(RESTORE, ending.restore_ids[0])
        assert ending.kind == "ready"
        assert main.stopped - main.started > 7 * 86_400


class TestApplications:
    """What befalls documents, mounts and checks."""

    def test_every_kind_comes_up(self):
        told, twice = "", 0
        for seed in range(80):
            with FastLab(1) as lab:
                plan = Plan(seed, requests=[{"after": {"document": document(lab)}}, {"target": {}}])
                applications.befall(plan, random.Random(seed), lab)
            told += "\n".join(plan.told)
            twice += plan.requests[0]["after"]["document"]["mayRunTwice"]
            assert plan.harmless != any(one.call for one in plan.troubles)
        assert 0 < twice < 40
        kinds = (
            *CHANGES,
            *applications.GONE,
            "killed during hook",
            "hangs during document",
            "lost ssm SendCommand",
        )
        assert [kind for kind in kinds if kind not in told] == []

    @pytest.mark.parametrize("change", CHANGES)
    def test_what_its_owner_does_to_a_document_never_costs_the_volume(self, change):
        with FastLab(1) as lab:
            after = {"document": document(lab)}
            asked = request(lab, "provisioned-rate", after=after, verify={"samples": 0})

            def during(restore_id):
                assert in_state(lab, restore_id, "Poll Initialization")
                CHANGES[change](lab, NAME)

            ending = restored(lab, asked, during)
            assert ending.kind == "ready"
            state = lab.api("GET", f"/restores/{ending.restore_ids[0]}")[1]["application"]["state"]
            assert state == ("back" if change == "updated" else "failed")

    def test_one_that_may_run_twice_is_sent_again_without_a_complaint(self, monkeypatch):
        """With a Run Command that shows no command."""
        monkeypatch.setattr(SsmHooks, "find", lambda *_names, **_since: [])
        with FastLab(1) as lab:
            asked = request(lab, "provisioned-rate", after={"document": document(lab, AGAIN)})
            asked["verify"] = {"samples": 0}
            rule = FaultRule("SendCommand", effect="lost-answer", code="InternalServerError", status=500)
            lab.region.faults.add(rule)
            assert restored(lab, asked).kind == "ready"
            sent = [one for one in lab.region._commands.known.values() if one.document == AGAIN]
            assert (len(sent), audit.findings(lab)) == (2, [])
