"""States `Announce Fleet Plan` and `Announce Fleet End`, and the sweeper's news of a fleet's progress."""

from __future__ import annotations

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.fleets import FleetAccount, PrepareFleetResult, ReportFleetResult
from rewarm.contracts.request import Notify
from rewarm.domain.fleets import ENDS, FleetStatus
from rewarm.domain.units import iso
from rewarm.domain.words import fleet as words
from rewarm.domain.words.message import Message
from rewarm.steps.record.restore import Change, KnownRestore, nothing


class FleetPlanDetails(Contract):
    """Details of `fleet-planned`."""

    prepared: PrepareFleetResult
    run: int
    notify: Notify


class FleetProgressDetails(Contract):
    """Details of `fleet-progress`."""

    account: FleetAccount
    notify: Notify


class FleetEndDetails(Contract):
    """Details of `fleet-ended`."""

    report: ReportFleetResult
    notify: Notify


def announce_fleet_plan(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message that the restores of a run begin."""
    details = FleetPlanDetails.model_validate(event.details)
    prepared = details.prepared
    start = words.FleetStart(
        volumes=prepared.volume_count,
        restores=prepared.restore_count,
        at_once=prepared.max_concurrency,
        run=details.run,
        deadline_at=prepared.deadline_at,
        plan=prepared.plan,
    )
    return words.planned(event.restore_id, start), nothing


def announce_fleet_progress(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message of a fleet's progress; the record notes what it said, so that it is not sent twice."""
    account = FleetProgressDetails.model_validate(event.details).account
    over = sum(account.counts.get(state, 0) for state in ENDS)
    message = words.progress(
        event.restore_id, counts=account.counts, volumes=account.volume_count, eta=account.eta
    )
    return message, lambda restore: restore.table.update(restore.restore_id, {"endedAnnounced": over})


def announce_fleet_end(event: AnnounceEvent, record: KnownRestore) -> tuple[Message, Change]:
    """The message of a fleet that is over; the record gets its status with it."""
    report = FleetEndDetails.model_validate(event.details).report
    failed = [
        f"{_named(volume.snapshot)} ({volume.restore_id}): {volume.cause or 'its restore says why'}"
        for volume in report.failed
    ]
    end = words.FleetEnd(
        verdict=report.verdict,
        volume_count=report.volume_count,
        ready=report.ready,
        failed=failed,
        cause=report.cause,
        cancelled_by=record.cancelled_by,
        plan=report.plan,
        billed_usd=report.billed_usd,
        left_count=report.left.count,
        left_usd=report.left.usd_per_month,
        removals=[f"{left.thing}: {left.remove}" for left in report.left.things],
    )
    changes = {
        "finishedAt": iso(event.now),
        "failure": {"cause": report.cause} if report.cause else None,
        "reportKey": report.report_key,
        "pageKey": report.page_key,
        "left": report.left.to_json(),
        "status": FleetStatus(report.verdict).recorded,
    }
    return words.ended(event.restore_id, end), lambda restore: restore.table.update(
        restore.restore_id, changes
    )


def _named(snapshot: JsonObject) -> str:
    """The snapshot, or what the request named it by."""
    return str(snapshot.get("snapshotId") or snapshot.get("volumeId") or snapshot.get("tags") or "a volume")
