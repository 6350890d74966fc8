"""State `Select Snapshot`: which snapshots become which volumes, and the map of what is written in each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, StepEvent
from rewarm.contracts.request import RestoreRequest, Source
from rewarm.contracts.values import ChangedBlocks, VolumeAssignment
from rewarm.domain.errors import (
    TEMPORARY,
    NotAttachedError,
    RestoreError,
    TargetBusyError,
    TargetNotUsableError,
)
from rewarm.domain.model import BLOCK_BYTES, GIB, Extent, Strategy
from rewarm.domain.snapshots import unusable
from rewarm.domain.units import clock_text
from rewarm.domain.volume.adopting import seconds_to_next_look
from rewarm.domain.volume.extents import Runs, runs_of
from rewarm.domain.volume.hot import LARGEST_SHARE
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import CommandDocuments
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import SnapshotBlocks, SnapshotCatalog
from rewarm.steps.record.application import note_document
from rewarm.steps.record.bucket import first_map_key
from rewarm.steps.record.payloads import is_small, write_volumes
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, stop_if_cancelled
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.registration import state
from rewarm.steps.select.admission import HoldingPorts, assign_and_hold
from rewarm.steps.select.hooks import look
from rewarm.steps.select.selection import with_agent
from rewarm.steps.select.sources import Selected

MOST_CHANGED_PAGES = 40
"""Requests of ListChangedBlocks for all volumes: some 20 seconds (half a second each, measured by others)."""


class SelectSnapshotEvent(StepEvent):
    """Asks which snapshots become which volumes."""

    request: RestoreRequest
    started_at: Instant | None = Field(default=None, description="When the request came.")


class SelectSnapshotResult(Contract):
    """Where the volumes are kept, with their snapshots and devices; or when to look again."""

    request: RestoreRequest = Field(description="As it is carried out: leftOut has what it does without.")
    wait_seconds: int = Field(
        default=0, ge=0, description="Until the next look, where volumes are waited for; else 0."
    )
    suppressed_by: str | None = Field(
        default=None, description="The restore that works on the device, so that an alarm starts no other."
    )
    volumes_key: str | None = None
    instance_id: str | None = Field(
        default=None, description="The instance whose devices the restore holds now; null without one."
    )
    volume_count: int
    volumes: list[VolumeAssignment] = Field(
        default_factory=list, description="The same for readers, where they have at most 64 KiB."
    )


class SelectSnapshotPorts(HoldingPorts, kw_only=True):
    """The ports that select_snapshot needs."""

    artifacts: Artifacts
    blocks: SnapshotBlocks
    documents: CommandDocuments
    stack_name: str


@state("Select Snapshot")
def select_snapshot(
    event: SelectSnapshotEvent,
    ports: SelectSnapshotPorts,
) -> SelectSnapshotResult:
    """Chooses snapshots and devices, holds the devices, and returns the volumes to make.

    Raises TargetBusyError, TooManyRestoresError, NotAttachedError, RestoreCancelledError, and every error
    that names a field of the request.
    """
    stop_if_cancelled(ports.keeper.table, event.restore_id)  # the wait for the restore's turn may be long
    notes = RestoreNotes(ports.keeper.table, event.restore_id)
    try:
        selected = _selected(event, ports)
    except TargetBusyError as error:
        return _busy(event, error, notes)
    if selected.waits_because is not None:
        return _waiting(event, selected, notes)
    if _wait(event)[1] is not None:
        notes.note_waiting(None)
    if selected.request.left_out != event.request.left_out:
        notes.note_request(selected.request.to_json())
    catalog = ports.snapshots.in_region(event.request.source.region)
    mapped = _with_maps(selected.volumes, catalog, ports.artifacts)
    chosen = [with_agent(assignment, ports.artifacts) for assignment in mapped]
    chosen = _with_changed_blocks(event, chosen, ports)
    _check_logs(event.request.source.undo_of, chosen, ports.keeper.table)
    _note_volumes(event, chosen, ports.keeper.table)
    _note_document(event, chosen, ports)
    stop_if_cancelled(ports.keeper.table, event.restore_id)  # so may listing the blocks of a large snapshot
    return SelectSnapshotResult(
        request=selected.request,
        volumes_key=write_volumes(event.restore_id, chosen, ports.artifacts),
        instance_id=next((each.instance_id for each in chosen if each.instance_id), None),
        volume_count=len(chosen),
        volumes=chosen if is_small(chosen) else [],
    )


def _wait(event: SelectSnapshotEvent) -> tuple[datetime, datetime | None]:
    """Since when and until when volumes are waited for; None where the request waits for none."""
    existing = event.request.source.existing
    since = event.started_at or event.now
    minutes = existing.wait_for_attachment_minutes if existing is not None else None
    return since, None if minutes is None else since + timedelta(minutes=minutes)


def _selected(event: SelectSnapshotEvent, ports: SelectSnapshotPorts) -> Selected:
    """As assign_and_hold; once the wait for volumes is over, those that are not attached are refused."""
    request = event.request
    (_, until) = _wait(event)
    select = partial(assign_and_hold, restore_id=event.restore_id, now=event.now, ports=ports)
    if until is None or event.now < until:
        return select(request)
    try:
        selected = select(request.model_copy(update={"source": _without_patience(request.source)}))
    except TargetNotUsableError as error:
        reason = str(error).removeprefix(f"{error.field}: ")
        raise NotAttachedError(f"{reason}. It was waited for until {clock_text(until)}") from error
    return replace(selected, request=selected.request.model_copy(update={"source": request.source}))


def _without_patience(source: Source) -> Source:
    """The same volumes, without waiting for any of them."""
    if source.existing is None:
        return source
    existing = source.existing.model_copy(update={"wait_for_attachment_minutes": 0})
    return source.model_copy(update={"existing": existing})


def _busy(event: SelectSnapshotEvent, error: TargetBusyError, notes: RestoreNotes) -> SelectSnapshotResult:
    """A second alarm about a volume that an alarm is restoring already starts nothing, and calls nobody.

    Raises the error for everybody who has asked for the restore, and where the device is held for another
    reason: by a drill, or by a restore that somebody else has asked for.
    """
    restores = (notes, RestoreNotes(notes.table, error.held_by or ""))
    if error.held_by is None or not all(_by_alarm(restore.read()) for restore in restores):
        notes.note_held_by(error.held_by)
        raise error
    notes.note_suppressed(error.held_by, str(error), event.now)
    return SelectSnapshotResult(request=event.request, suppressed_by=error.held_by, volume_count=0)


def _by_alarm(record: KnownRestore) -> bool:
    return record.trigger is not None and record.trigger.kind == "alarm" and not record.is_drill


def _waiting(event: SelectSnapshotEvent, selected: Selected, notes: RestoreNotes) -> SelectSnapshotResult:
    since, until = _wait(event)
    if until is None:
        raise AssertionError("nothing is waited for without a limit")
    notes.note_waiting(f"{selected.waits_because}. It is waited for until {clock_text(until)}")
    seconds = seconds_to_next_look((event.now - since).total_seconds())
    return SelectSnapshotResult(
        request=event.request,
        wait_seconds=max(1, min(seconds, math.ceil((until - event.now).total_seconds()))),
        volume_count=len(selected.volumes),
    )


def _check_logs(undone: str | None, chosen: Sequence[VolumeAssignment], table: RestoreTable) -> None:
    """Checks that each undo log is of the volume that the record of its rewind names.

    Whoever can write to the bucket could else name another volume there. A record that is lost, or older than
    400 days, names none. Raises TargetNotUsableError.
    """
    if undone is None:
        return
    for volume in chosen:
        rewound = VolumeNotes(table, undone, volume.undo_index or 0).read().rewind
        if rewound is not None and rewound.volume_id not in (None, volume.rewinds):
            raise TargetNotUsableError(
                f"found {undone}, which rewound {rewound.volume_id}, and the head of its undo log names "
                f"{volume.rewinds}; somebody has changed the log, so nothing is written",
                field="source.undoOf",
            )


def _note_volumes(
    event: SelectSnapshotEvent, chosen: Sequence[VolumeAssignment], table: RestoreTable
) -> None:
    """Notes how many volumes there are, and those that are there already."""
    record = RestoreNotes(table, event.restore_id)
    existing = event.request.source.existing
    record.note_volume_count(len(chosen))
    named = (existing and existing.volume_ids) or []  # `Parse Request` has noted these.
    for volume_id in (each.adopts or each.rewinds for each in chosen):
        if volume_id is not None and volume_id not in named:
            record.note_volume(volume_id)


def _note_document(
    event: SelectSnapshotEvent, volumes: Sequence[VolumeAssignment], ports: SelectSnapshotPorts
) -> None:
    """Notes which version is to bring the application back. What is wrong with it stops no restore."""
    after = event.request.after
    if after is None or after.document is None:
        return
    platform = volumes[0].platform
    try:
        found, problem = look(
            after.document, platform=platform, stack_name=ports.stack_name, documents=ports.documents
        )
    except TEMPORARY:
        raise
    except RestoreError as error:
        found = None
        problem = str(error)
    note_document(found, problem, RestoreNotes(ports.keeper.table, event.restore_id))


def _with_maps(
    assignments: Sequence[VolumeAssignment], snapshots: SnapshotCatalog, artifacts: Artifacts
) -> Iterator[VolumeAssignment]:
    """Adds block maps; volumes of one snapshot share its map, because listing a large one takes a minute."""
    known: dict[str, VolumeAssignment] = {}
    for assignment in assignments:
        if assignment.adopts is not None:
            yield _with_map_in_use(assignment, snapshots, artifacts)
            continue
        same = known.get(assignment.snapshot_id)
        if same is None:
            same = known[assignment.snapshot_id] = _with_map(assignment, snapshots, artifacts)
        found = ("map_key", "written_blocks", "data_bytes", "data_bytes_from")
        yield assignment.model_copy(update={name: getattr(same, name) for name in found})


def _with_map(
    assignment: VolumeAssignment, snapshots: SnapshotCatalog, artifacts: Artifacts
) -> VolumeAssignment:
    from_aws = assignment.data_bytes_from == "fullSnapshotSize"
    written = snapshots.written_extents(
        assignment.snapshot_id,
        size_gib=assignment.snapshot_size_gib,
        full_size_bytes=assignment.data_bytes if from_aws else None,
    )
    blocks = artifacts.put_map(assignment.map_key, written)
    changes: dict[str, object] = {"written_blocks": blocks}
    if assignment.data_bytes_from == "volumeSize":
        changes |= {"data_bytes": blocks * BLOCK_BYTES, "data_bytes_from": "writtenBlocks"}
    return assignment.model_copy(update=changes)


def _with_map_in_use(
    assignment: VolumeAssignment, snapshots: SnapshotCatalog, artifacts: Artifacts
) -> VolumeAssignment:
    """The map of a volume that is there: what its snapshot has, if that can be listed; else all of it."""
    if assignment.was_made_empty and assignment.warm_because is not None:
        return assignment
    if assignment.unlisted_because is None:
        try:
            return _with_map(assignment, snapshots, artifacts)
        except TEMPORARY:
            raise
        except RestoreError as error:
            reason = f"{assignment.snapshot_id} cannot be listed ({error})"
            assignment = assignment.model_copy(update={"unlisted_because": reason})
    blocks = assignment.volume.size_gib * GIB // BLOCK_BYTES
    artifacts.put_map(assignment.map_key, [Runs([Extent(0, blocks)])])
    size = {"written_blocks": blocks, "data_bytes": blocks * BLOCK_BYTES, "data_bytes_from": "volumeSize"}
    return assignment.model_copy(update=size)


def _with_changed_blocks(
    event: SelectSnapshotEvent, volumes: Sequence[VolumeAssignment], ports: SelectSnapshotPorts
) -> list[VolumeAssignment]:
    """Adds what is read first of volumes without a hot set: blocks that differ from the snapshot before.

    Volumes of one snapshot share its list, as they share its map. It raises nothing, and asks at most
    MOST_CHANGED_PAGES times: without an order the volume is warmed, too.
    """
    if not _wants_what_changed(event.request):
        return list(volumes)
    found = list(volumes)
    pages_left = MOST_CHANGED_PAGES
    known: dict[str, tuple[str, Runs] | None] = {}
    for at, volume in enumerate(volumes):
        if not _may_be_read_first(volume) or (pages_left <= 0 and volume.snapshot_id not in known):
            continue
        try:
            if volume.snapshot_id not in known:
                known[volume.snapshot_id], pages = _changed_blocks(event.request, volume, ports, pages_left)
                pages_left -= pages
            changed = known[volume.snapshot_id]
            if changed is not None:
                since, runs = changed
                blocks = ports.artifacts.put_map(first_map_key(event.restore_id, volume.index), [runs])
                read_first = ChangedBlocks(since_snapshot_id=since, blocks=blocks)
                found[at] = volume.model_copy(update={"changed": read_first})
        except RestoreError:
            break
    return found


def _wants_what_changed(request: RestoreRequest) -> bool:
    """Whether an agent may read, the order is not switched off, and the snapshots are in this Region."""
    order = request.warm_up.order
    strategy = request.objective.strategy
    is_read = strategy == "auto" or Strategy(strategy).reads_with_agent
    return is_read and (order is None or "changed" in order) and request.source.region is None


def _may_be_read_first(volume: VolumeAssignment) -> bool:
    """Whether an agent reads it, and its snapshot is one of the volume whose lineage it is of."""
    is_read = volume.agent_available and volume.rewinds is None and volume.warm_because is None
    is_of_volume = volume.lineage is not None and volume.lineage.startswith("vol-")
    return is_read and is_of_volume and volume.unlisted_because is None


def _changed_blocks(
    request: RestoreRequest, volume: VolumeAssignment, ports: SelectSnapshotPorts, most_pages: int
) -> tuple[tuple[str, Runs] | None, int]:
    """The previous snapshot and the blocks that differ, and how many requests that took. None if they give no
    useful order: nothing has changed, or too much; or if a recording gives a better one.
    """
    from rewarm.steps.record.recordings import read_hot_set  # noqa: PLC0415 - not every request asks for an order

    if read_hot_set(request, volume, ports.artifacts).blocks:
        return None, 0
    earlier = [
        each
        for each in ports.snapshots.of_volume(volume.lineage or "")
        if each.started_at < volume.snapshot_started_at and unusable(each) is None
    ]
    if not earlier:
        return None, 0
    before = max(earlier, key=lambda each: each.started_at).snapshot_id
    most = int(volume.written_blocks * LARGEST_SHARE)
    blocks: list[int] = []
    pages = 0
    for page in ports.blocks.changed(before, volume.snapshot_id):
        pages += 1
        blocks += [each.index for each in page.blocks if each.second_token is not None]
        if len(blocks) > most or pages == most_pages:
            break
    if not 0 < len(blocks) <= most:
        return None, pages
    return (before, runs_of(blocks)), pages
