"""What the report of a drill says, and what is kept of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.events import ReportEvent
from rewarm.contracts.values import Failure, Trigger
from rewarm.domain.errors import ThrottledError
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.report.report import ReportPorts, report
from tests.support.builders import NOW, RESTORE_ID, World, assignment, at, request, volume_plan
from tests.support.wired import wired
from tests.unit.steps.report.test_report import failed, ready

NAME = "rewarm-orders"


def drilled(world, results=None, *, restore_id=RESTORE_ID, volume_index=None, within=30, **drill):
    """The report of a drill that took 450 seconds; its snapshot was a day old."""
    plans = [volume_plan(volume=assignment(snapshot_started_at=NOW - timedelta(days=1)))]
    event = ReportEvent(
        restore_id=restore_id,
        now=at(8),
        started_at=NOW,
        request=request(drill={"runbook": NAME, **drill}, objective={"readyWithinMinutes": within}),
        trigger=Trigger(kind="schedule"),
        plans_key=write_plans(restore_id, plans, world.artifacts),
        results=[ready()] if results is None else results,
        volume_index=volume_index,
    )
    return report(event, wired(ReportPorts, world, draw=lambda _: "<p>")).drill


def test_recovery_time_and_point_are_measured_from_the_trigger():
    found = drilled(World(), recoveryTimeMinutes=8, recoveryPointMinutes=1440)
    assert found.outcome == "passed"
    assert (found.at, found.runbook) == (NOW, NAME)
    assert (found.recovery_seconds, found.recovery_objective_seconds) == (450, 480)
    assert (found.point_seconds, found.point_objective_seconds) == (86_400, 86_400)


@pytest.mark.parametrize("drill", [{"recoveryTimeMinutes": 7}, {"recoveryPointMinutes": 1439}, {"within": 7}])
def test_a_drill_that_misses_an_objective_is_late(drill):
    assert drilled(World(), **drill).outcome == "late"


def test_the_time_of_the_drill_wins_over_the_deadline():
    assert drilled(World(), within=7, recoveryTimeMinutes=8).outcome == "passed"


def test_a_drill_that_is_not_ready_failed_and_has_no_time():
    found = drilled(World(), [failed()])
    assert (found.outcome, found.recovery_seconds, found.point_seconds) == ("failed", None, 86_400)


def test_a_drill_that_failed_before_it_had_volumes_is_kept_too():
    world = World()
    event = ReportEvent(
        restore_id=RESTORE_ID, now=at(1), started_at=NOW, request=request(drill={"runbook": NAME}),
        plans_key=None, results=[], failure=Failure(state="Select Snapshot", error="TargetNotUsableError"),
    )  # fmt: skip
    report(event, wired(ReportPorts, world, draw=lambda _: "<p>"))
    assert [one["outcome"] for one in world.history.drilled[NAME]] == ["failed"]


def test_the_record_the_report_and_the_runbook_keep_it():
    world = World()
    first = drilled(world, restore_id="restore-1")
    second = drilled(world, recoveryTimeMinutes=1)
    assert world.table.records[RESTORE_ID]["drill"] == second.to_json()
    written = world.artifacts.objects[f"restores/{RESTORE_ID}/report.json"]
    assert written["drill"] == second.to_json()
    assert written["drills"] == [first.to_json(), second.to_json()] == world.history.drilled[NAME]


def test_a_report_that_is_written_again_keeps_it_once():
    world = World()
    drilled(world)
    drilled(world)
    written = world.artifacts.objects[f"restores/{RESTORE_ID}/report.json"]
    assert len(written["drills"]) == len(world.history.drilled[NAME]) == 1


def test_the_report_of_one_volume_says_nothing_of_the_drill():
    world = World()
    assert drilled(world, volume_index=0) is None
    assert world.history.drilled == {}


def test_a_history_that_is_out_of_reach_fails_no_report():
    world = World()
    world.history.failure = ThrottledError("busy")
    found = drilled(world)
    assert found.outcome == "passed"
    assert world.artifacts.objects[f"restores/{RESTORE_ID}/report.json"]["drills"] == [found.to_json()]
