"""Which snapshots become which volumes on which target: for select_snapshot, and for the API before it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from types import MappingProxyType

from rewarm.contracts.request import LEAST_PRIORITY, RestoreRequest
from rewarm.contracts.values import CopiedSnapshot, LivingSource, NewVolume, ReplacedVolume, VolumeAssignment
from rewarm.domain.errors import (
    DeviceInUseError,
    InvalidRequestError,
    RestoreError,
    TargetNotFoundError,
    TargetNotUsableError,
)
from rewarm.domain.model import BLOCK_BYTES, GIB, Instance, Snapshot, Volume, VolumeSettings
from rewarm.domain.value import Value
from rewarm.domain.volume.hot import forbidden_by, lineage_of
from rewarm.domain.volume.replacing import (
    boots_from,
    check_replaceable,
    check_root,
    device_to_replace,
    holder_of,
    living,
    place_on_stopped,
    why_no_root,
)
from rewarm.domain.volume.targets import (
    check_instance,
    check_stopped,
    check_takes_drills,
    check_tells_volumes,
    check_zone,
    choose_device,
    device_slot,
)
from rewarm.domain.volume.volume_types import WantedVolume, settle
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Instances
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.bucket import block_map_key, has_agent
from rewarm.steps.select.adoptions import adopted_volumes
from rewarm.steps.select.hooks import check_after
from rewarm.steps.select.rewind_targets import AskedRewind, going_back, named_volume, sources_of_undo
from rewarm.steps.select.sources import Chosen, Selected, at_field, choose_sources

MOST_STARTED = 40
"""How many volumes are restored at once (state `Restore Volumes`)."""
MAX_PASSED_OVER = 10
"""How many are named, because a payload of Step Functions holds 256 KiB."""
_UNDONE = ("undo_index", "undo_packs", "undo_blocks", "undo_alone")
"""Fields of the assignment that say which undo log is written back."""


class _Place(Value):
    """Where the volumes go; without an instance if the target is only a zone."""

    zone: str
    instance: Instance | None


class SelectionPorts(Value, kw_only=True):
    """The ports that assign_volumes needs."""

    snapshots: SnapshotCatalog
    instances: Instances
    volumes: VolumeStore
    artifacts: Artifacts


def assign_volumes(
    request: RestoreRequest,
    *,
    restore_id: str,
    ports: SelectionPorts,
    taken: Collection[str] = (),
    kept: Mapping[int, str] = MappingProxyType({}),
) -> Selected:
    """Checks source, target and volume; sizes are those that are known without listing blocks.

    `taken` are devices that other restores hold; `kept` are those that this restore holds already.

    Raises every error that names a field of the request.
    """
    if request.source.existing is not None:
        adopted = adopted_volumes(request, request.source.existing, restore_id, ports)
        _check_first(request, adopted.volumes)
        return adopted
    return Selected(request, _assigned(request, restore_id, ports, taken, kept))


def _assigned(
    request: RestoreRequest,
    restore_id: str,
    ports: SelectionPorts,
    taken: Collection[str],
    kept: Mapping[int, str],
) -> list[VolumeAssignment]:
    catalog = ports.snapshots.in_region(request.source.region)
    foreign = None if catalog is ports.snapshots else request.source.region
    chosen = _chosen(request, catalog, ports)
    _check_count(request, len(chosen))
    _check_key(request, ports.snapshots)
    place = _place(request, ports.instances)
    sources = {} if foreign else _source_volumes(request, chosen, ports.volumes)
    assignments: list[VolumeAssignment] = []
    for index, choice in enumerate(chosen):
        reserved = [*taken, *(assignment.device for assignment in assignments if assignment.device)]
        source = sources.get(choice.snapshot.volume_id or "")
        gone = [assignment.rewinds for assignment in assignments]
        rewound = going_back(AskedRewind(request, choice, place.instance, gone), sources, ports)
        device, replaces = (
            (rewound.device, None)
            if rewound is not None
            else _device(request, place, choice, kept.get(index), reserved, ports)
        )
        new_volume = _settle(request, choice, source)
        made = _assignment(index, block_map_key(restore_id, index), choice, new_volume, place, device)
        update = {
            "living_source": _living_source(source, place.zone),
            "replaces": replaces,
            "rewinds": None if rewound is None else rewound.volume_id,
            **{name: getattr(choice, name) for name in _UNDONE},
            "copy_of": foreign and CopiedSnapshot(snapshot_id=choice.snapshot.snapshot_id, region=foreign),
            "unlearned_because": forbidden_by(choice.snapshot, source),
            **_asked(request, choice),
        }
        assignments.append(made.model_copy(update=update))
    _check_assignments(request, place, assignments, ports)
    return [_booting(request, place, made, sources, ports) for made in assignments]


def _chosen(request: RestoreRequest, catalog: SnapshotCatalog, ports: SelectionPorts) -> list[Chosen]:
    undone = request.source.undo_of
    if undone is not None:
        return sources_of_undo(undone, catalog, ports.artifacts)
    return choose_sources(request.source, catalog, ports.instances)


def known_volumes(
    request: RestoreRequest,
    snapshots: Sequence[Snapshot],
    sources: Mapping[str, Volume],
    instance: Instance | None,
) -> list[VolumeAssignment]:
    """The part of assign_volumes that a plan needs, without asking AWS and without devices.

    `sources` are volumes that exist. Raises errors that name a field of the request.
    """
    zone = instance.availability_zone if instance is not None else request.target.availability_zone or ""
    assignments = []
    for index, snapshot in enumerate(snapshots):
        asked = request.source.volumes[index] if request.source.volumes else None
        choice = Chosen(snapshot, "", asked=asked)
        source = sources.get(snapshot.volume_id or "")
        made = _assignment(index, "", choice, _settle(request, choice, source), _Place(zone, instance), None)
        assignments.append(made.model_copy(update={"living_source": _living_source(source, zone)}))
    return assignments


def _device(
    request: RestoreRequest,
    place: _Place,
    choice: Chosen,
    kept: str | None,
    reserved: Collection[str],
    ports: SelectionPorts,
) -> tuple[str | None, ReplacedVolume | None]:
    """The device name, and the volume to replace, if any; `kept` is the name that is held already."""
    instance = place.instance
    own = choice.device
    preferred = kept or choice.device
    asked = choice.asked.device if choice.asked is not None else request.target.device
    if instance is None:
        return None, None
    if request.target.mode != "replace":
        return choose_device(asked, instance, reserved=reserved, preferred=preferred), None
    if request.target.start:
        device, holder = place_on_stopped(asked, own, instance)
        _check_alone(device, reserved, instance)
    else:
        check_tells_volumes(instance, ports.instances.ebs_limits(instance.instance_type))
        reboots = bool(request.target.reboot)
        device, holder = device_to_replace(asked, own, instance, reboots=reboots)
        if reboots:
            beside = choose_device(None, instance, reserved=reserved, preferred=kept)
            replaced = _replaced(holder, device, instance, ports.volumes)
            return beside, replaced.model_copy(update={"root_device": device})
    return device, None if holder is None else _replaced(holder, device, instance, ports.volumes)


def _replaced(volume_id: str, device: str, instance: Instance, volumes: VolumeStore) -> ReplacedVolume:
    old = volumes.get(volume_id)
    check_replaceable(old, instance.instance_id, device)
    deletes = any(attachment.delete_on_termination for attachment in old.attachments)
    size_gib = old.settings.size_gib
    return ReplacedVolume(
        volume_id=volume_id,
        size_gib=size_gib,
        volume_type=old.settings.volume_type,
        delete_on_termination=deletes,
    )


def _check_alone(device: str, reserved: Collection[str], instance: Instance) -> None:
    """Two volumes may want one place, because the root device may have been renamed."""
    if device_slot(device) in map(device_slot, reserved):
        raise DeviceInUseError(
            f"two volumes would be {device} on {instance.instance_id}; name in source.devices what is to be "
            "restored",
            field="target.device",
        )


def _check_count(request: RestoreRequest, count: int) -> None:
    if count > 1 and request.target.device is not None:
        raise InvalidRequestError(
            f"found {request.target.device} for {count} volumes; leave it out, each gets a name of its own",
            field="target.device",
        )
    if request.target.start and count > MOST_STARTED:
        raise InvalidRequestError(
            f"found {count} volumes; allowed with target.start are {MOST_STARTED}, because all wait for each "
            "other before the instance starts",
            field="source",
        )


def _check_assignments(
    request: RestoreRequest, place: _Place, assignments: list[VolumeAssignment], ports: SelectionPorts
) -> None:
    """Checks that need all volumes."""
    _check_first(request, assignments)
    _check_root(request, place, assignments)
    _check_swaps(place, assignments, ports.volumes)
    _check_online(request, place, assignments, ports.instances)
    check_after(request, place.instance, assignments)


def _check_root(request: RestoreRequest, place: _Place, assignments: list[VolumeAssignment]) -> None:
    """EC2 user guide, "Root volumes for your Amazon EC2 instances": no st1 and no sc1."""
    instance = place.instance
    if instance is None or instance.root_device is None:
        return
    for assignment in assignments:
        is_root = assignment.place == instance.root_device
        if is_root and assignment.volume.volume_type in {"st1", "sc1"}:
            raise InvalidRequestError(
                f"found {assignment.volume.volume_type} for the root device {assignment.place}; allowed "
                "is an SSD type",
                field="volume.volumeType",
            )
    holds_root = holder_of(instance.root_device, instance.devices) is not None
    if (
        request.target.start
        and not holds_root
        and all(assignment.device != instance.root_device for assignment in assignments)
    ):
        raise TargetNotUsableError(
            f"{instance.instance_id} has no volume at its root device {instance.root_device}, and this "
            "restore makes none, so it could not be started",
            field="target.start",
        )


def _check_swaps(place: _Place, assignments: list[VolumeAssignment], volumes: VolumeStore) -> None:
    """Checks now what EC2 would only refuse long after the volume is made."""
    swapped = [root for root in assignments if root.swaps_root]
    if len(swapped) > 1:
        raise InvalidRequestError(
            f"found {len(swapped)} volumes for one root device; allowed is one", field="target.reboot"
        )
    for root in swapped:
        if place.instance is not None and root.replaces is not None:
            check_root(
                place.instance,
                volumes.get(root.replaces.volume_id),
                is_encrypted=root.snapshot_encrypted or root.volume.kms_key_id is not None,
            )


def _booting(
    request: RestoreRequest,
    place: _Place,
    made: VolumeAssignment,
    sources: Mapping[str, Volume],
    ports: SelectionPorts,
) -> VolumeAssignment:
    """The assignment; of a new root volume, with whether its snapshot is known to be of a root volume.

    Raises InvalidRequestError if the snapshot is of another volume, unless the request names it.
    """
    instance = place.instance
    if instance is None or made.place is None or made.rewinds is not None or instance.root_device is None:
        return made
    if device_slot(made.place) != device_slot(instance.root_device):
        return made
    source = sources.get(made.source_volume_id or "")
    holders = {} if source is None else _holders(source, instance, ports.instances)
    reason = None if source is None else why_no_root(source, holders, instance)
    if reason is not None and request.target.force_root != made.snapshot_id:
        raise InvalidRequestError(
            f"is missing: {instance.instance_id} would not boot from {made.snapshot_id}, because {reason}; "
            f"if it does all the same, {made.snapshot_id} is allowed",
            field="target.forceRoot",
        )
    proven = source is not None and boots_from(source, holders) is not None
    return made.model_copy(update={"root_unproven": not proven})


def _holders(source: Volume, target: Instance, instances: Instances) -> dict[str, Instance]:
    """The instances that the volume is attached to, without those that are gone."""
    found = {target.instance_id: target}
    for attachment in living(source):
        if attachment.instance_id not in found:
            with suppress(TargetNotFoundError):
                found[attachment.instance_id] = instances.get(attachment.instance_id)
    return found


def _check_first(request: RestoreRequest, assignments: list[VolumeAssignment]) -> None:
    """Checks now what the agent would refuse only later, once the volume is made: extents beyond its end."""
    first = request.warm_up.first
    if first and len(assignments) > 1:
        raise InvalidRequestError(
            f"block numbers are those of one volume, and this restore has {len(assignments)}",
            field="warmUp.first",
        )
    blocks = min(assignment.volume.size_gib for assignment in assignments) * GIB // BLOCK_BYTES
    for index, extent in enumerate(first):
        if extent.start_block + extent.block_count > blocks:
            raise InvalidRequestError(
                f"found {extent.block_count} blocks from block {extent.start_block}; "
                f"the volume has {blocks:,} blocks",
                field=f"warmUp.first.{index}",
            )


def _check_online(
    request: RestoreRequest, place: _Place, assignments: list[VolumeAssignment], instances: Instances
) -> None:
    """Only Windows has offline disks, and each volume needs its own drive letter."""
    target = request.target
    instance = place.instance
    if not target.bring_online or instance is None:
        return
    if instance.platform != "windows":
        raise InvalidRequestError(
            f"only goes with an instance of Windows; {instance.instance_id} is {instance.platform}",
            field="target.bringOnline",
        )
    check_tells_volumes(instance, instances.ebs_limits(instance.instance_type), field="target.bringOnline")
    if target.mount_path is not None and len(assignments) > 1:
        raise InvalidRequestError(
            f"found {target.mount_path} for {len(assignments)} volumes; leave it out, and Windows gives each "
            "volume a letter",
            field="target.mountPath",
        )


def _check_key(request: RestoreRequest, snapshots: SnapshotCatalog) -> None:
    """CreateVolume accepts any key and fails later without a reason (botocore: ec2 CreateVolume KmsKeyId)."""
    keys = {"volume.kmsKeyId": request.volume.kms_key_id}
    for index, listed in enumerate(request.source.volumes or []):
        if listed.volume is not None and listed.volume.kms_key_id not in keys.values():
            keys[f"source.volumes.{index}.volume.kmsKeyId"] = listed.volume.kms_key_id
    for field, key in keys.items():
        problem = snapshots.key_problem(key) if key is not None else None
        if problem is not None:
            raise InvalidRequestError(f'found "{key}": {problem}', field=field)


def _place(request: RestoreRequest, instances: Instances) -> _Place:
    target = request.target
    if target.instance_id is None:
        zone = target.availability_zone or ""
        check_zone(zone, instances.availability_zones())
        return _Place(zone, None)
    try:
        instance = instances.get(target.instance_id)
    except RestoreError as error:
        raise at_field(error, "target.instanceId") from error
    if target.start:
        check_stopped(instance)
    else:
        check_instance(instance)
    if request.is_drill:
        check_takes_drills(instance)
    return _Place(instance.availability_zone, instance)


def _settle(request: RestoreRequest, choice: Chosen, source: Volume | None) -> VolumeSettings:
    listed = choice.asked.volume if choice.asked is not None else None
    asked = listed or request.volume
    wanted = WantedVolume(
        volume_type=asked.volume_type,
        size_gib=asked.size_gib,
        iops=asked.iops,
        throughput_mib_s=asked.throughput_mib_s,
        kms_key_id=asked.kms_key_id,
        multi_attach=request.volume.multi_attach,
        tags=request.volume.tags,
    )
    return settle(wanted, source.settings if source else None, choice.snapshot.size_gib)


def _source_volumes(
    request: RestoreRequest, chosen: Sequence[Chosen], volumes: VolumeStore
) -> dict[str, Volume]:
    """The source volumes that exist, by their ids. Copied snapshots carry a placeholder volume id."""
    names = dict.fromkeys([choice.snapshot.volume_id for choice in chosen])
    if request.target.mode == "rewind":
        names |= dict.fromkeys([named_volume(request, choice) for choice in chosen])
    return {volume.volume_id: volume for volume in volumes.existing([name for name in names if name])}


def _living_source(source: Volume | None, zone: str) -> LivingSource | None:
    """The source volume, if CopyVolumes can copy it: it is available or in use, and in the target's zone."""
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


def _asked(request: RestoreRequest, choice: Chosen) -> dict[str, bool | int]:
    """Fields of the assignment that only the request decides."""
    starts = bool(request.target.start)
    return {
        "starts_instance": starts,
        "delete_on_termination": starts and choice.delete_on_termination,
        "priority": choice.asked.priority if choice.asked is not None else LEAST_PRIORITY,
    }


def _assignment(
    index: int,
    map_key: str,
    chosen: Chosen,
    new_volume: VolumeSettings,
    place: _Place,
    device: str | None,
) -> VolumeAssignment:
    snapshot = chosen.snapshot
    instance = place.instance
    known = snapshot.full_size_bytes
    data_bytes = known if known is not None else snapshot.size_gib * GIB
    return VolumeAssignment(
        index=index,
        snapshot_id=snapshot.snapshot_id,
        snapshot_started_at=snapshot.started_at,
        snapshot_encrypted=snapshot.encrypted,
        snapshot_kms_key_id=snapshot.kms_key_id,
        source_volume_id=snapshot.volume_id,
        lineage=lineage_of(snapshot),
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
        volume=NewVolume(**asdict(new_volume)),
        chosen_because=chosen.because,
        consistent_set=chosen.consistent_set,
        passed_over=chosen.passed_over[:MAX_PASSED_OVER],
    )


def with_agent(assignment: VolumeAssignment, artifacts: Artifacts) -> VolumeAssignment:
    """Returns the assignment with whether there is an agent for the target instance.

    Without an agent, only strategies that need none are possible.
    """
    if assignment.platform is None or assignment.architecture is None:
        return assignment
    available = has_agent(assignment.platform, assignment.architecture, artifacts)
    return assignment.model_copy(update={"agent_available": available})
