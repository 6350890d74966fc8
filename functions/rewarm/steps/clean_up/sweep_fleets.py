"""Follows fleets: announces their progress, and ends those whose execution ended without doing so.

The restores of a fleet that was cancelled or stopped must be cleaned up first. Step Functions tries to stop
them with the fleet (developer guide, "Run a job"). Restores that still run are cancelled here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.fleets import ReportFleetEvent
from rewarm.contracts.values import Failure
from rewarm.domain.errors import RestoreError
from rewarm.domain.fleets import FLEETS_RUNNING, FleetProgress
from rewarm.domain.model import Caller
from rewarm.domain.parts import Part
from rewarm.domain.volume.holds import START_GRACE
from rewarm.domain.volume.leftovers import ExecutionEnd, SweptResource, failed_sweep
from rewarm.ports import JsonObject
from rewarm.ports.restores import FIRST, LAST, Listed
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from rewarm.steps.fleet.progress import account_of, kept_volumes, notify_of, progress
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, parsed_time
from rewarm.steps.warm.wake_up import wake_waiting

FLEETS = "fleets"
MOST_FLEETS = 100
"""The most fleets of one status in a sweep."""


def sweep_fleets(ports: SweepPorts, only: str | None = None) -> Iterator[SweptResource]:
    """Sweeps fleets that have not ended, or `only` one: sends a message of its progress, or ends it."""
    for entry in _running(ports):
        if only not in (None, entry.name):
            continue
        if not ports.has_time():
            return
        try:
            yield from _follow(entry, ports)
        except Exception as error:
            yield failed_sweep(FLEETS, entry.name, error)


def stop_fleets(ports: SweepPorts, cause: str) -> list[str]:
    """Stops the executions of all fleets; returns what could not be stopped."""
    troubles: list[str] = []
    if ports.parts.lacks(Part.FLEETS):
        return troubles
    try:
        for entry in _running(ports):
            execution = (ports.table.get(entry.name) or {}).get("execution")
            if execution is not None:
                ports.fleets.stop(str(execution), cause)
    except RestoreError as error:
        troubles.append(f"fleets could not be stopped: {error}")
    return troubles


def _running(ports: SweepPorts) -> list[Listed]:
    return [
        entry
        for status in FLEETS_RUNNING
        for entry in ports.table.listed(
            status.recorded, since=FIRST, until=LAST, after=None, limit=MOST_FLEETS
        )[0]
    ]


def _follow(entry: Listed, ports: SweepPorts) -> Iterator[SweptResource]:
    fleet_id = entry.name
    record = ports.table.get(entry.name) or {}
    began = parsed_time(record.get("runStartedAt")) or datetime.fromisoformat(entry.at)
    _, volumes = kept_volumes(fleet_id, ports.pages.artifacts)
    before = int(record.get("readyBefore") or 0)
    found = progress(volumes, table=ports.table, since=began, now=ports.now, before=before)
    # Without fleets the state machine is deleted, and its executions with it.
    gone = ports.parts.lacks(Part.FLEETS) is not None
    ending = ExecutionEnd("GONE") if gone else ports.fleets.ending(str(record.get("execution")))
    if ending.runs or (ending.status == "GONE" and ports.now - began <= START_GRACE):
        _announce_progress(fleet_id, record, found, ports)
        return
    if found.running_restores:
        still = _cancel(found.running_restores, KnownRestore.model_validate(record).cancelled_by, ports)
        yield SweptResource(FLEETS, fleet_id, "ending", f"{still} of its restores have not ended yet")
        return
    _end(fleet_id, record, ending, began, ports)
    yield SweptResource(FLEETS, fleet_id, "ended", "it was brought to its end: its execution is over")


def _announce_progress(fleet_id: str, record: JsonObject, found: FleetProgress, ports: SweepPorts) -> None:
    """Sends a message if more volumes have ended than the last message said, but not all of them."""
    if not int(record.get("endedAnnounced") or 0) < found.ended < found.volume_count:
        return
    account = account_of(found).to_json()
    _announce(fleet_id, "fleet-progress", {"account": account}, ports)


def _cancel(restore_ids: tuple[str, ...], by: Caller | None, ports: SweepPorts) -> int:
    """Cancels the restores, and returns how many had not ended."""
    for restore_id in restore_ids:
        with suppress(RestoreError):
            record = RestoreNotes(ports.table, restore_id)
            if ports.has_time() and record.cancel(by):
                wake_waiting(restore_id, record.read().indexes, waiters=ports.waiters, tasks=ports.tasks)
    return len(restore_ids)


def _end(fleet_id: str, record: JsonObject, ending: ExecutionEnd, began: datetime, ports: SweepPorts) -> None:
    from rewarm.steps.fleet.report_fleet import ReportFleetPorts, report_fleet  # noqa: PLC0415 - few fleets

    failure = None
    if ending.without_account and not record.get("cancelRequested"):
        failure = Failure(error=ending.error or f"Execution{ending.status}", cause=ending.in_words)
    event = ReportFleetEvent(
        restore_id=fleet_id, now=ports.now, run=int(record.get("run") or 1), started_at=began, failure=failure
    )
    pages = ports.pages
    report = report_fleet(
        event, ReportFleetPorts(artifacts=pages.artifacts, table=ports.table, draw=pages.draw)
    )
    _announce(fleet_id, "fleet-ended", {"report": report.to_json()}, ports)


def _announce(fleet_id: str, event: str, details: JsonObject, ports: SweepPorts) -> None:
    from rewarm.steps.announce.announce import announce  # noqa: PLC0415 - few sweeps send messages

    notify = notify_of(fleet_id, ports.pages.artifacts).to_json()
    announce(
        AnnounceEvent.model_validate(
            {
                "restoreId": fleet_id,
                "now": ports.now,
                "event": event,
                "details": {**details, "notify": notify},
            }
        ),
        table=ports.table,
        messages=ports.messages,
        links=ports.pages.links,
    )
