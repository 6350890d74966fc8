"""What a drill has shown: recovery time and point against their objectives, beside the drills before."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from rewarm.contracts.base import JsonObject
from rewarm.contracts.events import ReportEvent
from rewarm.contracts.results import VolumeReport
from rewarm.contracts.values import DrillResult, VolumePlan
from rewarm.domain.errors import RestoreError
from rewarm.ports.restores import History
from rewarm.steps.report.volume_reports import seconds_between


def drill_result(
    event: ReportEvent, plans: Sequence[VolumePlan], volumes: Sequence[VolumeReport], *, ready: bool
) -> DrillResult | None:
    """None where the restore is no drill, or this is the report of one of its volumes."""
    request = event.request
    if request is None or request.drill is None or not request.is_drill or event.volume_index is not None:
        return None
    drill = request.drill
    ages = [seconds_between(plan.volume.snapshot_started_at, event.started_at) for plan in plans]
    minutes = drill.recovery_time_minutes or request.objective.ready_within_minutes
    result = DrillResult(
        restore_id=event.restore_id,
        runbook=drill.runbook or "",
        at=event.started_at,
        outcome="passed" if ready else "failed",
        recovery_seconds=max(volume.actual_seconds or 0 for volume in volumes) if ready else None,
        recovery_objective_seconds=_seconds(minutes),
        point_seconds=max(ages, default=None),
        point_objective_seconds=_seconds(drill.recovery_point_minutes),
    )
    return result.model_copy(update={"outcome": "late"}) if ready and _is_late(result) else result


def with_earlier(result: DrillResult, history: History) -> list[JsonObject]:
    """The drills of the runbook with this one, the oldest first; this one alone where they cannot be read."""
    earlier: list[JsonObject] = []
    with suppress(RestoreError):
        earlier = history.drills(result.runbook)
    return [*(one for one in earlier if one.get("restoreId") != result.restore_id), result.to_json()]


def remember(result: DrillResult, history: History) -> None:
    """Adds it to the runbook's drills. An error here fails no restore: the report has the result, too."""
    with suppress(RestoreError):
        history.add_drill(result.runbook, result.to_json())


def _is_late(result: DrillResult) -> bool:
    pairs = (
        (result.recovery_seconds, result.recovery_objective_seconds),
        (result.point_seconds, result.point_objective_seconds),
    )
    return any(took is not None and limit is not None and took > limit for took, limit in pairs)


def _seconds(minutes: int | None) -> int | None:
    return None if minutes is None else 60 * minutes
