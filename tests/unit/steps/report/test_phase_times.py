"""Estimate against actual, part by part, and what is kept for the next estimates."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.events import AnnounceEvent, ReportEvent
from rewarm.contracts.values import Trigger
from rewarm.domain.errors import ThrottledError
from rewarm.domain.model import GIB, Strategy
from rewarm.domain.time.measured import Likeness, Phase
from rewarm.domain.time.timings import BY_PRIORS
from rewarm.domain.units import iso
from rewarm.steps.announce.announce import announce
from rewarm.steps.record.learned_times import known_records, timings_of
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.report import phase_times
from rewarm.steps.report.report import ReportPorts, report
from rewarm.steps.request.routes import GetRestorePorts, get_restore
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    at,
    dispatch,
    plan,
    request,
    volume_plan,
    warm_result,
    zone_assignment,
)
from tests.support.wired import wired

PHASES = {Phase.CREATE: (10, 60), Phase.READ: (328, 400), Phase.SETTLE: (120, 300)}


def when(seconds: float) -> str:
    return iso(NOW + timedelta(seconds=seconds))


def initialization(**changes):
    return {
        "ready": True,
        "waitSeconds": 1,
        "progressPercent": 100,
        "bytesDone": 40 * GIB,
        "bytesTotal": 40 * GIB,
        "reasons": [],
        "signals": {"agent": warm_result()},
        "polls": 9,
        "firstPolledAt": when(40),
        "lastProgressAt": when(370),
        "agentFinishedAt": when(372),
        "points": [(0.0, 0), (330.0, 40 * GIB)],
        **changes,
    }


def by_agent(**changes):
    """Asked for at 5 s, available at 12, attached at 16, measured at 30, read by 372, ready at 475."""
    times = {"began": 2, "asked": 5, "available": 12, "attached": 16, "measuredBefore": 30,
             "initialized": 460, "verified": 475}  # fmt: skip
    return {
        "verdict": "ready",
        "index": 0,
        "volumeId": VOLUME_ID,
        "plan": plan(phases=PHASES, read_limit_mib_s=125.0).to_json(),
        "timeline": {name: when(seconds) for name, seconds in times.items()},
        "initialization": initialization(),
        "dispatch": dispatch(started_at=NOW + timedelta(seconds=32)).to_json(),
        "readyAt": when(475),
        **changes,
    }


def by_aws(strategy, *, load=1_200.0, **changes):
    times = {"began": 2, "asked": 5, "available": 12, "initialized": 12 + load}
    return {
        "verdict": "ready",
        "plan": plan(strategy, **changes).to_json(),
        "timeline": {name: when(seconds) for name, seconds in times.items()},
        "initialization": initialization(signals={}, agentFinishedAt=None),
        "readyAt": when(12 + load),
    }


def told(result, volume=None):
    one = phase_times.ready_result(result)
    assert one is not None
    return phase_times.volume_times(volume or assignment(), one)


def by_rewind():
    times = {"began": 2, "armed": 40, "evident": 100, "initialized": 160, "verified": 170}
    return {
        "verdict": "ready",
        "plan": plan(Strategy.REWIND, phases={Phase.EVIDENCE: (30, 90)}).to_json(),
        "timeline": {name: when(seconds) for name, seconds in times.items()},
        "initialization": initialization(agentFinishedAt=None),
        "dispatch": dispatch(started_at=NOW + timedelta(seconds=5)).to_json(),
        "readyAt": when(170),
    }


class TestAccount:
    def test_a_rewind_is_told_from_the_agent_to_the_proof(self):
        account = told(by_rewind())
        expected = {Phase.DELIVER: 35, Phase.EVIDENCE: 60, Phase.WRITE: 60, Phase.VERIFY: 10}
        assert account.seconds == expected
        (evidence,) = (one for one in account.phases() if one.phase is Phase.EVIDENCE)
        assert (evidence.estimated_p90_seconds, evidence.actual_seconds) == (90, 60)

    def test_the_parts_of_a_warm_up_add_up(self):
        account = told(by_agent())
        assert account.seconds == {
            Phase.CREATE: 7,
            Phase.ATTACH: 4,
            Phase.MEASURE: 14,
            Phase.DELIVER: 10,
            Phase.READ: 330,
            Phase.SETTLE: 88,
            Phase.VERIFY: 15,
        }
        assert account.since_plan_seconds == 473
        assert account.error_percent == pytest.approx(100 * (480 / 473 - 1), abs=0.05)

    def test_the_boot_of_the_instance_is_a_part_of_its_own(self):
        result = by_agent()
        result["timeline"] |= {"starting": when(18), "started": when(27)}
        seconds = told(result).seconds
        assert (seconds[Phase.ATTACH], seconds[Phase.BOOT], seconds[Phase.MEASURE]) == (4, 9, 3)

    def test_a_warm_up_that_was_interrupted_says_nothing_of_its_reading(self):
        agent = warm_result(bytesResumed=GIB, elapsedSeconds=20.0)
        account = told(by_agent(initialization=initialization(signals={"agent": agent})))
        assert {Phase.READ, Phase.DELIVER}.isdisjoint(account.seconds)
        assert account.seconds[Phase.SETTLE] == 88
        assert account.since_plan_seconds == 473

    def test_estimate_stands_beside_actual_and_what_is_missing_is_none(self):
        phases = {one.phase: one for one in told(by_agent()).phases()}
        assert list(phases) == [phase for phase in Phase if phase in phases]
        read, attach = phases[Phase.READ], phases[Phase.ATTACH]
        assert (read.estimated_p50_seconds, read.estimated_p90_seconds, read.actual_seconds) == (
            328,
            400,
            330,
        )
        assert (attach.estimated_p50_seconds, attach.actual_seconds) == (None, 4)

    def test_an_agent_that_gave_no_account_leaves_reading_unknown(self):
        seconds = told(by_agent(initialization=initialization(signals={}))).seconds
        assert set(seconds) == {Phase.CREATE, Phase.ATTACH, Phase.MEASURE, Phase.SETTLE, Phase.VERIFY}

    def test_ebs_loads_from_the_moment_the_volume_is_usable(self):
        account = told(by_aws(Strategy.PROVISIONED_RATE), zone_assignment())
        assert account.seconds == {Phase.CREATE: 7, Phase.LOAD: 1_200}

    def test_fast_restore_prepares(self):
        result = by_aws(Strategy.FAST_SNAPSHOT_RESTORE, load=0.0)
        result["timeline"] |= {"prepared": when(502)}
        assert told(result, zone_assignment()).seconds == {Phase.CREATE: 7, Phase.PREPARE: 500}

    def test_a_clock_that_goes_back_gives_no_duration_below_zero(self):
        result = by_agent()
        result["timeline"]["available"] = when(1)
        assert told(result).seconds[Phase.CREATE] == 0

    @pytest.mark.parametrize(
        "result",
        [
            {"verdict": "failed", "index": 0, "error": "AgentFailedError"},
            {**by_agent(), "timeline": None},
            {**by_agent(), "timeline": {"began": "yesterday"}},
            {name: value for name, value in by_agent().items() if name != "plan"},
            {},
        ],
    )
    def test_what_failed_or_lacks_a_part_has_no_account(self, result):
        assert phase_times.ready_result(result) is None


class TestRecord:
    def record(self, result, volume=None, sharers=1):
        one = phase_times.ready_result(result)
        assert one is not None
        return phase_times.history_record("restore-1/0", volume or assignment(), one, sharers)

    def test_it_holds_what_estimates_need(self):
        record = self.record(by_agent())
        assert record.likeness == Likeness("gp3", ZONE, "m7g.large")
        assert (record.strategy, record.data_bytes, record.written_bytes) == (
            Strategy.WARM_UP_AGENT,
            40 * GIB,
            40 * GIB,
        )
        assert record.read_mib_s == pytest.approx(40 * 1024 / 330)
        assert (record.read_limit_mib_s, record.rate_mib_s, record.lead_seconds) == (125.0, None, None)
        assert (record.estimated_p50_seconds, record.actual_seconds) == (480, 473)
        assert record.points == ((0.0, 0), (330.0, 40 * GIB))

    def test_its_points_are_few(self):
        points = [(float(second), second) for second in range(24)]
        record = self.record(by_agent(initialization=initialization(points=points)))
        assert len(record.points) == phase_times.MOST_POINTS

    @pytest.mark.parametrize(
        ("ours", "sharers", "lead"), [(True, 1, 100 / 1024 * 3_600 + 360), (False, 1, None), (True, 2, None)]
    )
    def test_the_lead_is_known_where_we_enabled_it_for_one_volume(self, ours, sharers, lead):
        prepared = {"ready": True, "waitSeconds": 1, "state": "enabled", "enabledByUs": ours}
        result = by_aws(Strategy.FAST_SNAPSHOT_RESTORE) | {"preparation": prepared}
        assert self.record(result, sharers=sharers).lead_seconds == lead


def finished(world, *results, plans=None):
    event = ReportEvent(
        restore_id=RESTORE_ID,
        now=at(8),
        started_at=NOW,
        request=request(),
        trigger=Trigger(kind="schedule", schedule_name="monthly-drill"),
        plans_key=write_plans(RESTORE_ID, plans or [volume_plan()], world.artifacts),
        results=list(results),
    )
    return report(
        event,
        wired(ReportPorts, world, draw=lambda _: None),
    )


class TestReport:
    def test_a_drill_that_is_ready_is_remembered_and_told(self):
        world = World()
        (volume,) = finished(world, by_agent()).volumes
        assert volume.since_plan_seconds == 473
        assert volume.error_percent == pytest.approx(1.5)
        assert {one.phase for one in volume.phases} >= set(PHASES)
        (record,) = world.history.kept
        assert record.name == f"{RESTORE_ID}/0"
        (shown,) = get_restore(RESTORE_ID, wired(GetRestorePorts, world))["volumes"]
        assert shown["measured"]["errorPercent"] == volume.error_percent
        assert shown["measured"]["phases"][0] == {
            "phase": "create",
            "estimatedP50Seconds": 10,
            "estimatedP90Seconds": 60,
            "actualSeconds": 7,
        }

    def test_of_two_volumes_the_one_that_failed_teaches_nothing(self):
        world = World()
        plans = [volume_plan(), volume_plan(volume=assignment(index=1))]
        failed = {"verdict": "failed", "index": 1, "error": "AgentFailedError", "cause": "{}"}
        assert finished(world, by_agent(), failed, plans=plans).verdict == "failed"
        assert [record.name for record in world.history.kept] == [f"{RESTORE_ID}/0"]

    def test_a_history_that_cannot_be_written_never_fails_a_restore(self):
        world = World()
        world.history.failure = ThrottledError("dynamodb:UpdateItem")
        assert finished(world, by_agent()).verdict == "ready"


class TestMessage:
    def test_it_says_what_each_part_took_and_was_estimated(self):
        world, result = World(), by_agent()
        names = ("plan", "volumeId", "initialization", "dispatch", "timeline", "readyAt")
        details = {name: result[name] for name in names}
        details |= {"volume": assignment().to_json(), "startedAt": when(0)}
        event = AnnounceEvent(
            restore_id=RESTORE_ID, now=at(9), event="ready", request=request(), details=details
        )
        announce(event, table=world.table, messages=world.messages, artifacts=world.artifacts)
        fields = {field["name"]: field["value"] for field in world.messages.sent[0]["fields"]}
        assert fields["Phases"] == (
            "create 7 s (estimated 10 s); attach 4 s; measure 14 s; deliver 10 s; "
            "read 5 min 30 s (estimated 5 min 28 s); settle 88 s (estimated 2 min 00 s); verify 15 s"
        )


class TestLearning:
    def test_records_become_timings_of_volumes_like_it(self):
        world = World()
        for _ in range(3):
            finished(world, by_agent())
        records = known_records(world.history)
        assert timings_of(assignment(), records, at(9)).basis_of(Strategy.WARM_UP_AGENT).restores == 1
        assert INSTANCE_ID not in repr(records)

    def test_a_history_that_cannot_be_read_leaves_the_priors(self):
        world = World()
        world.history.failure = ThrottledError("dynamodb:BatchGetItem")
        timings = timings_of(assignment(), known_records(world.history), NOW)
        assert timings.basis_of(Strategy.WARM_UP_AGENT) == BY_PRIORS
