"""Which snapshots become which volumes on which target: for select_snapshot, and for the API before it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from rewarm.contracts import LivingSource, NewVolume, PassedOverSnapshot, RestoreRequest, VolumeAssignment
from rewarm.contracts.request import Source
from rewarm.domain.errors import InvalidRequestError, RestoreError, VolumeNotFoundError
from rewarm.domain.model import BLOCK_BYTES, GIB, Instance, Snapshot, Volume, VolumeSettings
from rewarm.domain.selection import PassedOver, newest_usable, require_usable
from rewarm.domain.targets import check_instance, check_zone, choose_device
from rewarm.domain.volume_types import WantedVolume, settle
from rewarm.ports import Instances, SnapshotCatalog, VolumeStore

MAX_PASSED_OVER = 10
"""So many are named; a payload of Step Functions holds 256 KiB."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A snapshot to restore, and the device name that its data had."""

    snapshot: Snapshot
    passed_over: tuple[PassedOver, ...] = ()
    device: str | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the volumes go; no instance where the target is a zone alone."""

    zone: str
    instance: Instance | None


def assign_volumes(
    request: RestoreRequest,
    *,
    restore_id: str,
    snapshots: SnapshotCatalog,
    instances: Instances,
    volumes: VolumeStore,
) -> list[VolumeAssignment]:
    """Checks source, target and volume; sizes are as far as known without listing blocks.

    Raises every error that names a field of the request.
    """
    chosen = _choose_sources(request.source, snapshots, instances)
    if len(chosen) > 1 and request.target.device is not None:
        raise InvalidRequestError(
            f"found {request.target.device} for {len(chosen)} volumes; leave it out, "
            "each gets a name of its own",
            field="target.device",
        )
    place = _place(request, instances)
    assignments: list[VolumeAssignment] = []
    for index, one in enumerate(chosen):
        reserved = [assignment.device for assignment in assignments if assignment.device]
        device = (
            choose_device(request.target.device, place.instance, reserved=reserved, preferred=one.device)
            if place.instance is not None
            else None
        )
        source = _source_volume(one.snapshot, volumes)
        new_volume = _settle(request, one.snapshot, source)
        living = _living_source(source, place.zone)
        map_key = f"restores/{restore_id}/{index}/blocks.map"
        made = _assignment(index, map_key, one, new_volume, place, device)
        assignments.append(made.model_copy(update={"living_source": living}))
    return assignments


def _choose_sources(source: Source, snapshots: SnapshotCatalog, instances: Instances) -> list[_Chosen]:
    if source.snapshot_id is not None:
        field = "source.snapshotId"
        return [_Chosen(require_usable(_get(snapshots, source.snapshot_id, field), field=field))]
    if source.volume_id is not None:
        return [_newest_of_volume(snapshots, source.volume_id, _at(source), "source.volumeId")]
    if source.tags is not None:
        what = ", ".join(f"{key}={value}" for key, value in sorted(source.tags.items()))
        found = newest_usable(
            snapshots.with_tags(source.tags), at=None, what=f"the tags {what}", field="source.tags"
        )
        return [_Chosen(found.snapshot, found.passed_over)]
    if source.instance_id is not None:
        return _sources_of_instance(source.instance_id, source.devices, snapshots, instances)
    if source.image_id is not None:
        return _sources_of_image(source.image_id, source.devices, snapshots)
    raise InvalidRequestError(
        f'the runbook of "{source.alarm}" is not known here; send the request that it holds',
        field="source.alarm",
    )


def _at(source: Source) -> datetime | None:
    return source.at if isinstance(source.at, datetime) else None


def _newest_of_volume(
    snapshots: SnapshotCatalog, volume_id: str, at: datetime | None, field: str, device: str | None = None
) -> _Chosen:
    found = newest_usable(snapshots.of_volume(volume_id), at=at, what=volume_id, field=field)
    return _Chosen(found.snapshot, found.passed_over, device)


def _sources_of_instance(
    instance_id: str, devices: list[str] | None, snapshots: SnapshotCatalog, instances: Instances
) -> list[_Chosen]:
    field = "source.instanceId"
    try:
        instance = instances.get(instance_id)
    except RestoreError as error:
        raise _at_field(error, field) from error
    wanted = _wanted_devices(instance.devices, devices, instance_id, field)
    return [
        _newest_of_volume(snapshots, volume_id, None, field, device) for device, volume_id in wanted.items()
    ]


def _sources_of_image(image_id: str, devices: list[str] | None, snapshots: SnapshotCatalog) -> list[_Chosen]:
    field = "source.imageId"
    try:
        mapping = snapshots.of_image(image_id)
    except RestoreError as error:
        raise _at_field(error, field) from error
    wanted = _wanted_devices(mapping, devices, image_id, field)
    return [
        _Chosen(require_usable(_get(snapshots, snapshot_id, field), field=field), (), device)
        for device, snapshot_id in wanted.items()
    ]


def _wanted_devices(
    mapping: dict[str, str], devices: list[str] | None, owner: str, field: str
) -> dict[str, str]:
    if not mapping:
        raise InvalidRequestError(f"{owner} has no EBS volumes", field=field)
    for device in devices or []:
        if device not in mapping:
            allowed = ", ".join(sorted(mapping))
            raise InvalidRequestError(
                f'found "{device}"; {owner} has volumes at {allowed}', field="source.devices"
            )
    return {device: mapping[device] for device in sorted(mapping) if devices is None or device in devices}


def _get(snapshots: SnapshotCatalog, snapshot_id: str, field: str) -> Snapshot:
    try:
        return snapshots.get(snapshot_id)
    except RestoreError as error:
        raise _at_field(error, field) from error


def _at_field(error: RestoreError, field: str) -> RestoreError:
    """The same error, naming the field of the request that led to it."""
    return error if error.field is not None else type(error)(str(error), field=field)


def _place(request: RestoreRequest, instances: Instances) -> _Place:
    target = request.target
    if target.instance_id is None:
        zone = target.availability_zone or ""
        check_zone(zone, instances.availability_zones())
        return _Place(zone, None)
    try:
        instance = instances.get(target.instance_id)
    except RestoreError as error:
        raise _at_field(error, "target.instanceId") from error
    check_instance(instance)
    return _Place(instance.availability_zone, instance)


def _settle(request: RestoreRequest, snapshot: Snapshot, source: Volume | None) -> VolumeSettings:
    asked = request.volume
    wanted = WantedVolume(
        volume_type=asked.volume_type,
        size_gib=asked.size_gib,
        iops=asked.iops,
        throughput_mib_s=asked.throughput_mib_s,
        kms_key_id=asked.kms_key_id,
        multi_attach=asked.multi_attach,
        tags=asked.tags,
    )
    return settle(wanted, source.settings if source else None, snapshot.size_gib)


def _source_volume(snapshot: Snapshot, volumes: VolumeStore) -> Volume | None:
    """None where the source volume is gone; a copied snapshot names a volume that never was."""
    if snapshot.volume_id is None:
        return None
    try:
        return volumes.get(snapshot.volume_id)
    except VolumeNotFoundError:
        return None


def _living_source(source: Volume | None, zone: str) -> LivingSource | None:
    """CopyVolumes takes volumes that are available or in use, and leaves the copy in their zone."""
    if source is None or source.availability_zone != zone or source.state not in {"available", "in-use"}:
        return None
    settings = source.settings
    return LivingSource(
        volume_id=source.volume_id,
        volume_type=settings.volume_type,
        size_gib=settings.size_gib,
        iops=settings.iops,
        throughput_mib_s=settings.throughput_mib_s,
    )


def _assignment(
    index: int,
    map_key: str,
    chosen: _Chosen,
    new_volume: VolumeSettings,
    place: _Place,
    device: str | None,
) -> VolumeAssignment:
    snapshot, instance = chosen.snapshot, place.instance
    known = snapshot.full_size_bytes
    data_bytes = known if known is not None else snapshot.size_gib * GIB
    return VolumeAssignment(
        index=index,
        snapshot_id=snapshot.snapshot_id,
        snapshot_started_at=snapshot.started_at,
        source_volume_id=snapshot.volume_id,
        snapshot_size_gib=snapshot.size_gib,
        data_bytes=data_bytes,
        data_bytes_from="fullSnapshotSize" if known is not None else "volumeSize",
        written_blocks=math.ceil(data_bytes / BLOCK_BYTES),
        map_key=map_key,
        availability_zone=place.zone,
        instance_id=instance.instance_id if instance else None,
        instance_type=instance.instance_type if instance else None,
        platform=instance.platform if instance else None,
        architecture=instance.architecture if instance else None,
        device=device,
        volume=NewVolume.model_validate(new_volume),
        passed_over=[PassedOverSnapshot.model_validate(one) for one in _named(chosen.passed_over)],
    )


def _named(passed_over: tuple[PassedOver, ...]) -> tuple[PassedOver, ...]:
    return passed_over[:MAX_PASSED_OVER]
