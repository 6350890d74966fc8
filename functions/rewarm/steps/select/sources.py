"""Which snapshots a request's source selects, and why these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rewarm.contracts.request import ListedVolume, RestoreRequest, Source
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import InvalidRequestError, RestoreError, SnapshotNotFoundError
from rewarm.domain.model import LeftOut, Snapshot
from rewarm.domain.snapshots import (
    PassedOverSnapshot,
    Refusal,
    archived,
    in_recycle_bin,
    newest_set,
    newest_usable,
    refused,
    require_usable,
    unusable,
)
from rewarm.domain.units import clock_text
from rewarm.domain.value import Value
from rewarm.ports.instances import Instances
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.record.bucket import block_map_key

NAMED = "the request names it"
"""Why this snapshot was chosen."""


class Selected(Value):
    """The volumes of a request, and the request itself: its leftOut names the volumes that are not there."""

    request: RestoreRequest
    volumes: list[VolumeAssignment]

    @property
    def waits_because(self) -> str | None:
        """What one of the volumes waits for; None where nothing has to be waited for."""
        return next((each.waits_because for each in self.volumes if each.waits_because), None)

    def without(self, reasons: Mapping[str, str], restore_id: str) -> Selected:
        """Without these adopted volumes, by their ids; the reasons are clauses."""
        left_out = [
            LeftOut(None, f"{name} is not warmed up", reason, "source.existing")
            for name, reason in reasons.items()
        ]
        volumes = [each for each in self.volumes if each.adopts not in reasons]
        return Selected(
            self.request.model_copy(update={"left_out": [*self.request.left_out, *left_out]}),
            [
                each.model_copy(update={"index": index, "map_key": block_map_key(restore_id, index)})
                for index, each in enumerate(volumes)
            ],
        )


class Chosen(Value):
    """A snapshot to restore, why it was chosen, and the device name that its data had."""

    snapshot: Snapshot
    because: str
    passed_over: tuple[PassedOverSnapshot, ...] = ()
    device: str | None = None
    consistent_set: bool | None = None
    """Whether the snapshots of all volumes belong together; None if there is only one volume."""
    asked: ListedVolume | None = None
    """The entry of a list of volumes for this one."""
    delete_on_termination: bool = False
    """Whether the termination of the source instance deletes its volume."""
    volume_id: str | None = None
    """The volume that goes back, as its undo log says."""
    undo_index: int | None = None
    """Its place in the restore that is undone."""
    undo_packs: int | None = None
    """How many packs its log has."""
    undo_blocks: int | None = None
    """How many blocks its log has; None if nobody has counted them."""
    undo_alone: bool = False
    """Only the blocks of its log are written."""


def choose_sources(source: Source, snapshots: SnapshotCatalog, instances: Instances) -> list[Chosen]:
    """Returns the snapshots that the source selects. Raises every error that names a field of the source."""
    if source.snapshot_id is not None:
        field = "source.snapshotId"
        snapshot = named_snapshot(snapshots, source.snapshot_id, field)
        _check_owner(snapshot, source.owner_id)
        return [Chosen(snapshot, NAMED)]
    if source.volume_id is not None:
        at = source.at if isinstance(source.at, datetime) else None
        return [_newest_of_volume(snapshots, source.volume_id, at, source.owner_id)]
    if source.tags is not None:
        return [_newest_with_tags(snapshots, source.tags)]
    if source.instance_id is not None:
        return _sources_of_instance(source.instance_id, source.devices, snapshots, instances)
    if source.image_id is not None:
        return _sources_of_image(source.image_id, source.devices, snapshots)
    if source.volumes is not None:
        return _listed(source.volumes, snapshots)
    raise InvalidRequestError(
        f'the runbook of "{source.alarm}" is not known here; send the request that it holds',
        field="source.alarm",
    )


def _listed(volumes: Sequence[ListedVolume], snapshots: SnapshotCatalog) -> list[Chosen]:
    """The snapshots of a list, each chosen by itself; an error names the entry's place in the list."""
    places = [f"source.volumes.{index}" for index in range(len(volumes))]
    named = {
        listed.snapshot_id: f"{place}.snapshotId"
        for place, listed in reversed(list(zip(places, volumes, strict=True)))
        if listed.snapshot_id is not None
    }
    known = named_snapshots(snapshots, named, refusal_now(snapshots))
    return [
        replace(_one_listed(listed, place, known, snapshots), asked=listed)
        for place, listed in zip(places, volumes, strict=True)
    ]


def _one_listed(
    listed: ListedVolume, place: str, known: Mapping[str, Snapshot], snapshots: SnapshotCatalog
) -> Chosen:
    if listed.snapshot_id is not None:
        return Chosen(known[listed.snapshot_id], NAMED)
    at = listed.at if isinstance(listed.at, datetime) else None
    try:
        return _newest_of_volume(snapshots, listed.volume_id or "", at, None)
    except RestoreError as error:
        raise type(error)(
            str(error).removeprefix(f"{error.field}: "), field=(error.field or "").replace("source", place, 1)
        ) from error


def at_field(error: RestoreError, field: str) -> RestoreError:
    """The same error, naming the field of the request that led to it."""
    return error if error.field is not None else type(error)(str(error), field=field)


def refusal_now(snapshots: SnapshotCatalog) -> Refusal:
    """Why a snapshot cannot be restored now, by its state and by its KMS key's, asked once for each key."""
    problems: dict[str, str | None] = {}

    def refusal(snapshot: Snapshot) -> str | None:
        reason = unusable(snapshot)
        key = snapshot.kms_key_id if snapshot.encrypted else None
        if reason is not None or key is None:
            return reason
        if key not in problems:
            problems[key] = snapshots.key_problem(key)
        return problems[key]

    return refusal


def named_snapshot(snapshots: SnapshotCatalog, snapshot_id: str, field: str) -> Snapshot:
    """The snapshot that is named; if it cannot be restored, the error also says how it can be recovered."""
    try:
        snapshot = snapshots.get(snapshot_id)
    except SnapshotNotFoundError as error:
        for binned in snapshots.in_recycle_bin(snapshot_id):
            raise refused(snapshot_id, in_recycle_bin(binned), field=field) from error
        raise at_field(error, field) from error
    except RestoreError as error:
        raise at_field(error, field) from error
    if snapshot.state == "completed" and snapshot.storage_tier == "archive":
        restoring = snapshots.archive_restore(snapshot_id)
        raise refused(snapshot_id, archived(snapshot_id, restoring), field=field)
    return require_usable(snapshot, field=field, refusal=refusal_now(snapshots))


def named_snapshots(
    snapshots: SnapshotCatalog, fields: Mapping[str, str], refusal: Refusal
) -> dict[str, Snapshot]:
    """The snapshots of these ids. Raises an error with the field of the first that cannot be restored."""
    found = {snapshot.snapshot_id: snapshot for snapshot in snapshots.restorable(list(fields))}
    for snapshot_id, field in fields.items():
        if snapshot_id not in found or refusal(found[snapshot_id]) is not None:
            # The list may lack public snapshots; for other missing ones the error says what can be done.
            found[snapshot_id] = named_snapshot(snapshots, snapshot_id, field)
    return found


def _check_owner(snapshot: Snapshot, owner_id: str | None) -> None:
    if owner_id is not None and snapshot.owner_id != owner_id:
        raise InvalidRequestError(
            f"found {owner_id}; {snapshot.snapshot_id} belongs to account {snapshot.owner_id}",
            field="source.ownerId",
        )


def _newest_of_volume(
    snapshots: SnapshotCatalog, volume_id: str, at: datetime | None, owner_id: str | None
) -> Chosen:
    candidates = snapshots.of_volume(volume_id, owner_id)
    if owner_id is not None and not candidates:
        raise SnapshotNotFoundError(
            f"account {owner_id} shares no snapshot of {volume_id} with this account", field="source.ownerId"
        )
    found = newest_usable(
        candidates,
        at=at,
        what=volume_id,
        field="source.volumeId",
        refusal=refusal_now(snapshots),
        binned=[snapshot for snapshot in snapshots.in_recycle_bin() if snapshot.volume_id == volume_id],
    )
    shared = f" that account {owner_id} shares" if owner_id is not None else ""
    until = f" not later than {clock_text(at)}" if at is not None else ""
    because = f"the newest usable snapshot of {volume_id}{shared}{until}"
    return Chosen(found.snapshot, because, found.passed_over)


def _newest_with_tags(snapshots: SnapshotCatalog, tags: dict[str, str]) -> Chosen:
    what = tags_text(tags)
    found = newest_usable(
        snapshots.with_tags(tags), at=None, what=what, field="source.tags", refusal=refusal_now(snapshots)
    )
    return Chosen(found.snapshot, f"the newest usable snapshot with {what}", found.passed_over)


def tags_text(tags: dict[str, str]) -> str:
    """The tags in words."""
    return "the tags " + ", ".join(f"{key}={value}" for key, value in sorted(tags.items()))


def _sources_of_instance(
    instance_id: str, devices: list[str] | None, snapshots: SnapshotCatalog, instances: Instances
) -> list[Chosen]:
    field = "source.instanceId"
    try:
        instance = instances.get(instance_id)
    except RestoreError as error:
        raise at_field(error, field) from error
    wanted = wanted_devices(instance.devices, devices, instance_id, field)
    found = newest_set(
        {volume_id: snapshots.of_volume(volume_id) for volume_id in wanted.values()},
        field=field,
        refusal=refusal_now(snapshots),
        binned=snapshots.in_recycle_bin(),
    )
    alone = len(wanted) == 1
    return [
        Chosen(
            snapshot=found.by_volume[volume_id].snapshot,
            because=f"the newest usable snapshot of {volume_id}" if alone else found.reason,
            passed_over=found.by_volume[volume_id].passed_over,
            device=device,
            consistent_set=None if alone else found.consistent,
            delete_on_termination=device in instance.ending,
        )
        for device, volume_id in wanted.items()
    ]


def _sources_of_image(image_id: str, devices: list[str] | None, snapshots: SnapshotCatalog) -> list[Chosen]:
    """One image's snapshots are taken together (botocore: ec2 CreateImage NoReboot: crash-consistent)."""
    field = "source.imageId"
    try:
        volumes = snapshots.of_image(image_id)
    except RestoreError as error:
        raise at_field(error, field) from error
    mapping = {device: volume.snapshot_id for device, volume in volumes.items()}
    wanted = wanted_devices(mapping, devices, image_id, field)
    known = named_snapshots(snapshots, dict.fromkeys(wanted.values(), field), refusal_now(snapshots))
    return [
        Chosen(
            snapshot=known[snapshot_id],
            because=f"{image_id} has it for {device}",
            device=device,
            consistent_set=None if len(wanted) == 1 else True,
            delete_on_termination=volumes[device].delete_on_termination,
        )
        for device, snapshot_id in wanted.items()
    ]


def wanted_devices(
    mapping: dict[str, str],
    devices: list[str] | None,
    owner: str,
    field: str,
    devices_field: str = "source.devices",
) -> dict[str, str]:
    """The wanted devices, with what they hold. Raises InvalidRequestError."""
    if not mapping:
        raise InvalidRequestError(f"{owner} has no EBS volumes", field=field)
    for device in devices or []:
        if device not in mapping:
            allowed = ", ".join(sorted(mapping))
            raise InvalidRequestError(
                f'found "{device}"; {owner} has volumes at {allowed}', field=devices_field
            )
    return {device: mapping[device] for device in sorted(mapping) if devices is None or device in devices}
