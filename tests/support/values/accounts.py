"""Accounts of restores as state Report makes them, and the page's function beside them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from rewarm.contracts.base import JsonObject
from rewarm.contracts.events import ReportEvent
from rewarm.contracts.results import PollInitializationResult, ReportResult
from rewarm.contracts.values import Candidate, Failure, InitializationSignals, Trigger, VolumePlan
from rewarm.domain.model import GIB, Strategy
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.time.measured import Phase, Sample, with_sample
from rewarm.steps.record.bucket import samples_key
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.report.report import ReportPorts, report
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    World,
    assignment,
    dispatch,
    plan,
    request,
    volume_plan,
)
from tests.support.values.run_recordings import BEFORE
from tests.support.wired import wired

AFTER = {
    "samples": 256,
    "iops": 1583.0,
    "latencyMs": {"p50": 0.61, "p90": 0.7, "p99": 1.93, "max": 8.4, "mean": 0.63},
    "histogram": [
        {"upToMs": 0.5, "count": 12},
        {"upToMs": 1.0, "count": 230},
        {"upToMs": 2.0, "count": 13},
        {"upToMs": None, "count": 1},
    ],
}
EXPECTED = {"p50Ms": 1.0, "p99Ms": 20.0, "iops": 1000.0, "limitedBy": "latency of gp3"}


def moment(seconds: float) -> str:
    """So many seconds after the start, as JSON has it."""
    return (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def planned(index: int = 0, strategy: Strategy = Strategy.WARM_UP_AGENT, **changes: Any) -> VolumePlan:
    """A plan with parts, sums and the other strategies."""
    listing = CostPart(
        item="ListSnapshotBlocks requests",
        usd=Decimal("0.000005"),
        arithmetic="9 requests x $0.0006 / 1,000",
    )
    parts = [listing]
    if strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        parts.append(
            CostPart(
                item="Fast snapshot restore",
                usd=Decimal("1.50"),
                arithmetic="120 min / 60 x $0.75",
                seconds=7_200.0,
            )
        )
    if strategy is Strategy.BOOSTED_WARM_UP:
        parts.append(
            CostPart(
                item="Boosted performance",
                usd=Decimal("0.02"),
                arithmetic="(375 MiB/s x $0.04) a month / 730 h x 1 h",
                seconds=3_600.0,
            )
        )
    cost = sum((part.usd for part in parts), Decimal(0))
    chosen = plan(
        strategy,
        cost_usd=cost,
        cost_parts=parts,
        phases={
            Phase.CREATE: (10, 60),
            Phase.ATTACH: (5, 30),
            Phase.READ: (330, 500),
            Phase.VERIFY: (10, 60),
        },
        **changes.pop("plan", {}),
    )
    candidates = [
        Candidate(
            strategy=one,
            feasible=one is not Strategy.VOLUME_CLONE,
            chosen=one is strategy,
            reason="it is the cheapest that meets the deadline." if one is strategy else "Costs $0.75 more.",
            usable_seconds=15,
            ready_p50_seconds=480,
            ready_p90_seconds=840,
            cost_usd=Decimal("0.0576"),
            cost_arithmetic="40.000 GiB x 120 MiB/s x $0.000012",
        )
        for one in Strategy
        if one.makes_volume
    ]
    values: dict[str, Any] = {
        "volume": assignment(index=index, **changes.pop("volume", {})),
        "plan": chosen,
        "fallbacks": [plan(Strategy.BACKGROUND)],
        "candidates": candidates,
    }
    return volume_plan(**{**values, **changes})


def ready(index: int = 0, one: VolumePlan | None = None, **changes: Any) -> JsonObject:
    """What restore-volume answers of a volume that is at full speed after 7 1/2 minutes."""
    initialization = PollInitializationResult(
        ready=True,
        wait_seconds=1,
        progress_percent=100.0,
        bytes_done=40 * GIB,
        bytes_total=40 * GIB,
        reasons=["the agent has read every written block", "VolumeReadOps is 0 a minute"],
        signals=InitializationSignals(agent={"elapsedSeconds": 330.0}),
        polls=9,
        first_polled_at=NOW,
        last_progress_at=NOW,
        agent_finished_at=NOW + timedelta(seconds=390),
    )
    measured = {"finished": True, "waitSeconds": 1, "reason": "256 reads", "expected": EXPECTED}
    return {
        "verdict": "ready",
        "index": index,
        "volumeId": f"vol-{index + 1:017x}",
        "snapshotId": SNAPSHOT_ID,
        "plan": (one or planned(index)).plan.to_json(),
        "preparation": None,
        "dispatch": dispatch(started_at=NOW + timedelta(seconds=55)).to_json(),
        "timeline": {
            "began": moment(4),
            "asked": moment(5),
            "available": moment(18),
            "attached": moment(30),
            "measuredBefore": moment(50),
            "initialized": moment(430),
            "verified": moment(450),
        },
        "initialization": initialization.to_json(),
        "before": {**measured, "verdict": "slow", "result": BEFORE},
        "after": {**measured, "verdict": "fast", "result": AFTER},
        "released": {
            "released": [],
            "finished": True,
            "waitSeconds": 10,
            "firstTriedAt": moment(452),
            "boost": None,
        },
        "readyAt": moment(450),
        "warmUps": 0,
        **changes,
    }


def failed(
    index: int = 0, error: str = "AgentFailedError", words: str = "12 blocks unreadable"
) -> JsonObject:
    """What the state Volume Failed of `restore` keeps."""
    inner = json.dumps({"errorMessage": words, "errorType": error})
    failure = json.dumps({"state": "Poll Initialization", "error": error, "cause": inner})
    cause = json.dumps({"Status": "FAILED", "Error": error, "Cause": failure})
    return {"verdict": "failed", "index": index, "error": "States.TaskFailed", "cause": cause}


def series(seconds: float, looks: int, *, total_bytes: int = 40 * GIB) -> list[Sample]:
    """A steady reading, looked at so often."""
    found: list[Sample] = []
    for look in range(looks + 1):
        share = look / looks
        sample = Sample(
            60 + share * seconds, round(100 * share, 1), int(total_bytes * share), 118.0, 240.0, 1.2
        )
        found = with_sample(found, sample)
    return found


def keep_samples(world: World, index: int, samples: list[Sample]) -> None:
    """As Poll Initialization leaves them."""
    world.artifacts.put_json(samples_key(RESTORE_ID, index), {"samples": [list(one) for one in samples]})


def reported(
    world: World,
    plans: list[VolumePlan],
    results: list[JsonObject],
    *,
    now: datetime = NOW + timedelta(seconds=470),
    failure: Failure | None = None,
    **changes: Any,
) -> tuple[ReportResult, JsonObject]:
    """The result of the step, and the account that it wrote."""
    draw = changes.pop("draw", _page)
    values: dict[str, Any] = {
        "restore_id": RESTORE_ID,
        "now": now,
        "started_at": NOW,
        "deadline_at": NOW + timedelta(minutes=30),
        "request": request(),
        "trigger": Trigger(kind="alarm", alarm_name="orders database down"),
        "plans_key": write_plans(RESTORE_ID, plans, world.artifacts) if plans else None,
        "results": results,
        "failure": failure,
        "volume_count": len(plans),
    }
    result = report(
        ReportEvent(**{**values, **changes}),
        wired(ReportPorts, world, draw=draw),
    )
    return result, world.artifacts.objects[result.report_key]


def _page(account: JsonObject) -> str:
    # Imported here: matplotlib is slow to load, and most tests need no page.
    from rewarm.page import render  # noqa: PLC0415

    return render(account)


def ready_account() -> tuple[World, JsonObject]:
    """One volume, with everything that an account can have."""
    world = World()
    keep_samples(world, 0, series(330, 9))
    world.table.update(
        RESTORE_ID,
        {
            "summary": {"priceSource": "AWS Price List", "priceBookAsOf": "2026-11-01T00:00:00Z"},
            "events": [
                {"event": "plan", "at": moment(3), "title": "Restoring", "text": "By the agent.\nCheapest."},
                {"event": "attached", "at": moment(31), "title": "Attached", "text": "Usable, still cold."},
            ],
        },
    )
    return world, reported(world, [planned()], [ready()])[1]
