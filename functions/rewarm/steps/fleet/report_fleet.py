"""State `Report Fleet`: the report of a fleet that has ended, for the state machine and for the sweeper.

The verdict follows from the records of the restores, not from Step Functions' counts, so both get the same
one: `ready` if every volume is at full speed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from rewarm.contracts.fleets import FleetLeft, FleetVerdict, ReportFleetEvent, ReportFleetResult
from rewarm.contracts.values import LeftThing, PlanSummary
from rewarm.domain.fleets import FleetProgress, FleetVolume
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.words.failures import explain
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import RestoreTable
from rewarm.steps.fleet.progress import account_of, billed_usd, kept_volumes, notify_of, progress
from rewarm.steps.fleet.requests import restore_ids_of
from rewarm.steps.record.bucket import report_keys
from rewarm.steps.record.restore import left_by_restores
from rewarm.steps.registration import Metric, state

TOO_MANY_FAILED = "States.ExceedToleratedFailureThreshold"
"""Step Functions developer guide, "Error names": more items failed than the Map tolerates."""
MOST_IN_ANSWER = 100
"""Failed volumes in the answer, which travels through the state machine; the report has all."""
MOST_LEFT = 20
"""The same of what is left."""


class ReportFleetPorts(Value, kw_only=True):
    """The ports that report_fleet needs."""

    artifacts: Artifacts
    table: RestoreTable
    draw: Callable[[JsonObject], str | None]
    """Draws the page of a report; None if that failed."""


def _metrics(_event: ReportFleetEvent, result: ReportFleetResult) -> Iterator[Metric]:
    yield Metric("FleetsFinished", dimensions={"verdict": result.verdict})


@state("Report Fleet", metrics=_metrics)
def report_fleet(event: ReportFleetEvent, ports: ReportFleetPorts) -> ReportFleetResult:
    """Writes report and page, and returns how the fleet ended, which `Announce Fleet End` records."""
    fleet_id = event.restore_id
    record = ports.table.get(fleet_id) or {}
    _, volumes = kept_volumes(fleet_id, ports.artifacts)
    found = progress(volumes, table=ports.table, since=event.started_at, now=event.now)
    verdict = _verdict(found, record, event)
    why = explain(event.failure.error, event.failure.cause) if event.failure is not None else None
    billed = billed_usd(restore_ids_of(fleet_id, event.run, volumes), ports.table)
    left = left_by_restores(list(dict.fromkeys(volume.restore_id for volume in volumes)), ports.table)
    account: JsonObject = {
        "fleetId": fleet_id,
        "verdict": verdict,
        "run": event.run,
        "startedAt": iso(event.started_at),
        "finishedAt": iso(event.now),
        **{name: record.get(name) for name in ("deadlineAt", "trigger", "cancelledBy", "plan")},
        "failure": {"error": why.error, "cause": why.sentence} if why is not None else None,
        "billedUsd": None if billed is None else str(billed),
        "progress": account_of(found, most=None).to_json(),
        "left": left,
        "restores": _restores(volumes),
    }
    report_key, page_key = report_keys(fleet_id, None)
    ports.artifacts.put_json(report_key, account)
    page = ports.draw(account)
    if page is not None:
        ports.artifacts.put_page(page_key, page)
    return ReportFleetResult(
        verdict=verdict,
        volume_count=found.volume_count,
        ready=found.ready,
        failed=account_of(found, most=MOST_IN_ANSWER).failed,
        report_key=report_key,
        page_key=page_key if page is not None else None,
        cause=why.sentence if why is not None else None,
        plan=PlanSummary.model_validate(record["plan"]) if record.get("plan") else None,
        billed_usd=billed,
        left=_left(left),
        notify=notify_of(fleet_id, ports.artifacts),
    )


def _verdict(found: FleetProgress, record: JsonObject, event: ReportFleetEvent) -> FleetVerdict:
    if found.volume_count and found.ready == found.volume_count:
        return "ready"
    if record.get("cancelRequested"):
        return "cancelled"
    if event.failure is None or event.failure.error == TOO_MANY_FAILED:
        return "incomplete"
    return "failed"


def _left(things: Sequence[JsonObject]) -> FleetLeft:
    usd = sum((Decimal(str(thing.get("usdPerMonth") or 0)) for thing in things), Decimal(0))
    first = [LeftThing.model_validate(thing) for thing in things[:MOST_LEFT]]
    return FleetLeft(count=len(things), usd_per_month=usd, things=first)


def _restores(volumes: Sequence[FleetVolume]) -> list[JsonObject]:
    """The fleet's restores, with how many volumes each has and a separate report."""
    counts = Counter(volume.restore_id for volume in volumes)
    return [{"restoreId": restore_id, "volumeCount": count} for restore_id, count in counts.items()]
