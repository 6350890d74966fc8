"""Events of the states `Announce …`, and the message that each one sends."""

from __future__ import annotations

import json
from decimal import Decimal

from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.results import PollInitializationResult
from rewarm.contracts.values import InitializationSignals, PlanSummary
from rewarm.steps.announce.announce import announce
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    VOLUME_ID,
    assignment,
    at,
    measurement,
    plan,
    request,
    volume_plan,
)

SLOW_CAUSE = json.dumps({"errorMessage": "vol-1 is still slow", "errorType": "VolumeNotFastError"})
FAILURE = {"state": "Verify Volume After", "error": "VolumeNotFastError", "cause": SLOW_CAUSE}


def say(world, kind, details, the_request=None):
    event = AnnounceEvent(
        restore_id=RESTORE_ID, now=at(9), event=kind, request=the_request or request(), details=details
    )
    ports = {name: getattr(world, name) for name in ("table", "messages", "artifacts", "links")}
    return announce(event, **ports, wait=getattr(world, "wait", None))


def plan_details(**changes):
    summary = PlanSummary(
        total_cost_usd=Decimal("0.9"),
        ready_p90_at=at(14),
        deadline_missed=False,
        why="cheapest",
        price_book_as_of=NOW,
        price_source="shipped price book",
    )
    return {
        "summary": summary.to_json(),
        "plans": [volume_plan().to_json()],
        "trigger": {"kind": "alarm", "alarmName": "db down"},
        "deadlineAt": "2026-11-21T03:30:00Z",
        **changes,
    }


def ready_details(**changes):
    initialization = PollInitializationResult(
        ready=True,
        wait_seconds=1,
        progress_percent=100.0,
        bytes_done=1,
        bytes_total=1,
        reasons=["the agent has read every written block"],
        signals=InitializationSignals(),
        polls=3,
        first_polled_at=NOW,
        last_progress_at=NOW,
    )
    measured = {"finished": True, "waitSeconds": 1, "commandId": "c", "reason": "64 reads"}
    return {
        "volume": assignment().to_json(),
        "plan": plan().to_json(),
        "volumeId": VOLUME_ID,
        "initialization": initialization.to_json(),
        "before": {**measured, "verdict": "slow", "result": measurement("slow", 95.0)},
        "after": {**measured, "verdict": "fast", "result": measurement()},
        "startedAt": "2026-11-21T03:00:00Z",
        "deadlineAt": "2026-11-21T03:30:00Z",
        **changes,
    }
