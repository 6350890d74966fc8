"""State `Select Snapshot`: which snapshots become which volumes, and the map of what is written in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import TEMPORARY, RestoreError, TargetBusyError
from rewarm.domain.model import BLOCK_BYTES, GIB, Extent
from rewarm.domain.volume.extents import Runs
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import CommandDocuments
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.record.application import note_document
from rewarm.steps.record.payloads import is_small, write_volumes
from rewarm.steps.record.restore import RestoreNotes, stop_if_cancelled
from rewarm.steps.registration import state
from rewarm.steps.select.admission import HoldingPorts, assign_and_hold
from rewarm.steps.select.hooks import look
from rewarm.steps.select.selection import with_agent


class SelectSnapshotEvent(StepEvent):
    """Asks which snapshots become which volumes."""

    request: RestoreRequest


class SelectSnapshotResult(Contract):
    """Where the volumes are kept, with their snapshots and devices."""

    volumes_key: str
    volume_count: int
    volumes: list[VolumeAssignment] = Field(
        default_factory=list, description="The same for readers, where they have at most 64 KiB."
    )


class SelectSnapshotPorts(HoldingPorts, kw_only=True):
    """The ports that select_snapshot needs."""

    artifacts: Artifacts
    documents: CommandDocuments
    stack_name: str


@state("Select Snapshot")
def select_snapshot(
    event: SelectSnapshotEvent,
    ports: SelectSnapshotPorts,
) -> SelectSnapshotResult:
    """Chooses snapshots and devices, holds the devices, and returns the volumes to make.

    Raises TargetBusyError, TooManyRestoresError, RestoreCancelledError, and every error that names a field
    of the request.
    """
    stop_if_cancelled(ports.keeper.table, event.restore_id)  # the wait for the restore's turn may be long
    try:
        assignments = assign_and_hold(event.request, restore_id=event.restore_id, now=event.now, ports=ports)
    except TargetBusyError as error:
        RestoreNotes(ports.keeper.table, event.restore_id).note_held_by(error.held_by)
        raise
    catalog = ports.snapshots.in_region(event.request.source.region)
    mapped = _with_maps(assignments, catalog, ports.artifacts)
    chosen = [with_agent(assignment, ports.artifacts) for assignment in mapped]
    _note_volumes(event, chosen, ports.keeper.table)
    _note_document(event, chosen, ports)
    stop_if_cancelled(ports.keeper.table, event.restore_id)  # so may listing the blocks of a large snapshot
    return SelectSnapshotResult(
        volumes_key=write_volumes(event.restore_id, chosen, ports.artifacts),
        volume_count=len(chosen),
        volumes=chosen if is_small(chosen) else [],
    )


def _note_volumes(
    event: SelectSnapshotEvent, chosen: Sequence[VolumeAssignment], table: RestoreTable
) -> None:
    """Notes how many volumes there are, and those that are there already."""
    record, existing = RestoreNotes(table, event.restore_id), event.request.source.existing
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
        found, problem = None, str(error)
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
