"""State Report."""

from __future__ import annotations

import json
from decimal import Decimal

from rewarm.contracts import ReportEvent, Trigger
from rewarm.domain.model import Strategy
from rewarm.steps.kept import keep_plans
from rewarm.steps.report import report
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    measurement,
    plan,
    request,
    volume_plan,
)


def ready(index=0, **changes):
    measured = {"finished": True, "verdict": "fast", "result": measurement()}
    return {
        "verdict": "ready",
        "index": index,
        "volumeId": VOLUME_ID,
        "snapshotId": SNAPSHOT_ID,
        "strategy": "warm-up-agent",
        "plan": plan().to_json(),
        "initialization": {"ready": True, "bytesDone": 42},
        "before": None,
        "after": measured,
        "readyAt": "2026-11-21T03:07:30.250Z",
        **changes,
    }


def failed(index=0, error="AgentFailedError", message="12 blocks unreadable"):
    inner = json.dumps({"errorMessage": message, "errorType": error})
    nested = json.dumps({"Status": "FAILED", "Error": error, "Cause": f"At Poll Initialization: {inner}"})
    return {"verdict": "failed", "index": index, "error": "States.TaskFailed", "cause": nested}


def account(world, results, *, plans=None, minutes=30):
    event = ReportEvent(
        restore_id=RESTORE_ID,
        now=at(8),
        started_at=NOW,
        deadline_at=at(minutes) if minutes else None,
        request=request(),
        trigger=Trigger(kind="api"),
        plans_key=keep_plans(RESTORE_ID, plans or [volume_plan()], world.artifacts),
        results=results,
    )
    return report(event, artifacts=world.artifacts, table=world.table, history=world.history)


def two_plans():
    return [volume_plan(), volume_plan(volume=assignment(index=1))]


class TestReport:
    def test_sets_actual_against_estimate(self):
        result = account(World(), [ready()])
        assert result.verdict == "ready"
        (volume,) = result.volumes
        assert (volume.actual_seconds, volume.estimated_p50_seconds, volume.estimated_p90_seconds) == (
            450,
            480,
            840,
        )
        assert (result.actual_seconds, result.deadline_met, result.failure) == (480, True, None)
        assert volume.verified == "fast"
        assert volume.latency_after_ms is not None
        assert volume.latency_after_ms["p99"] == 1.9

    def test_keeps_everything_in_the_bucket(self):
        world = World()
        result = account(world, [ready()])
        document = world.artifacts.objects[result.report_key]
        assert document["restoreId"] == RESTORE_ID
        assert document["results"][0]["volumeId"] == VOLUME_ID

    def test_turns_the_record_to_ready(self):
        world = World()
        account(world, [ready()])
        assert world.table.records[RESTORE_ID]["status"] == "ready"
        assert world.table.records[RESTORE_ID]["finishedAt"] == "2026-11-21T03:08:00Z"

    def test_one_failed_volume_makes_the_restore_fail(self):
        result = account(World(), [ready(0), failed(1)], plans=two_plans())
        assert result.verdict == "failed"
        assert [volume.verdict for volume in result.volumes] == ["ready", "failed"]

    def test_tells_the_first_failure_in_plain_words(self):
        result = account(World(), [failed()])
        assert result.failure is not None
        assert (result.failure.error, result.failure.cause) == ("AgentFailedError", "12 blocks unreadable")
        assert result.failure.state == "Poll Initialization"

    def test_a_volume_without_a_result_has_failed(self):
        result = account(World(), [ready(0)], plans=two_plans())
        assert result.verdict == "failed"
        assert result.failure is not None
        assert "has no result" in result.failure.cause

    def test_a_cancelled_restore_is_cancelled_in_the_record(self):
        world = World()
        account(world, [failed(error="RestoreCancelledError", message="as asked for")])
        assert world.table.records[RESTORE_ID]["status"] == "cancelled"

    def test_says_that_the_deadline_was_missed(self):
        assert account(World(), [ready()], minutes=5).deadline_met is False

    def test_says_nothing_of_a_deadline_that_nobody_set(self):
        assert account(World(), [ready()], minutes=None).deadline_met is None

    def test_counts_the_price_of_the_plan_that_was_carried_out(self):
        fallback = plan(Strategy.PROVISIONED_RATE).to_json()
        result = account(World(), [ready(plan=fallback, strategy="provisioned-rate")])
        assert result.cost_usd == Decimal("0.0576")
        assert result.volumes[0].strategy == "provisioned-rate"

    def test_counts_what_aws_bills_even_for_a_failure(self):
        plans = [volume_plan(plan=plan(Strategy.PROVISIONED_RATE))]
        assert account(World(), [failed()], plans=plans).cost_usd == Decimal("0.0576")
        assert account(World(), [failed()]).cost_usd == Decimal(0)
