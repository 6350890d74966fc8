"""Volumes that are there already: which are named, whether they can be adopted, and what they hold."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict
from typing import Protocol

from rewarm.contracts.parsing import EXISTING as FIELD
from rewarm.contracts.request import LEAST_PRIORITY, MOST_LISTED, ExistingVolumes, RestoreRequest
from rewarm.contracts.values import NewVolume, VolumeAssignment
from rewarm.domain.errors import InvalidRequestError, RestoreError, TargetNotUsableError, VolumeNotFoundError
from rewarm.domain.model import BLOCK_BYTES, GIB, Instance, Snapshot, Volume
from rewarm.domain.snapshots import unusable
from rewarm.domain.volume.adopting import (
    MADE_EMPTY,
    Obstacle,
    agent_refusal,
    volume_in_use_refusal,
    warm_already,
)
from rewarm.domain.volume.hot import forbidden_by, lineage_of
from rewarm.domain.volume.performance import boost_refusal
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Instances
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.bucket import block_map_key, has_agent
from rewarm.steps.select.sources import Selected, at_field, tags_text


class AdoptionPorts(Protocol):
    """The ports that adopted_volumes needs."""

    @property
    def snapshots(self) -> SnapshotCatalog:
        """What the volumes were made of."""

    @property
    def instances(self) -> Instances:
        """The instance that has them."""

    @property
    def volumes(self) -> VolumeStore:
        """The volumes."""

    @property
    def artifacts(self) -> Artifacts:
        """The agents that there are."""


def adopted_volumes(
    request: RestoreRequest, existing: ExistingVolumes, restore_id: str, ports: AdoptionPorts
) -> Selected:
    """The assignments of volumes that stay where they are. Changes nothing; raises errors with the field.

    A volume that cannot be adopted is left out; if the request names it, the request is refused.
    """
    volumes = _named(existing, ports)
    waits = bool(existing.wait_for_attachment_minutes)
    found = {volume.volume_id: volume_in_use_refusal(volume) for volume in volumes}
    obstacles = {name: obstacle for name, obstacle in found.items() if obstacle is not None}
    waiting = {name: obstacle.reason for name, obstacle in obstacles.items() if waits and obstacle.may_pass}
    refused = {name: obstacle.reason for name, obstacle in obstacles.items() if name not in waiting}
    if refused and (existing.volume_ids is not None or len(refused) == len(volumes)):
        raise TargetNotUsableError(next(iter(refused.values())), field=FIELD)
    instance, away = _instance([volume for volume in volumes if volume.volume_id not in obstacles], ports)
    if away is not None and not (waits and away.may_pass):
        raise TargetNotUsableError(away.reason, field=FIELD)
    names = list(dict.fromkeys(volume.snapshot_id for volume in volumes if volume.snapshot_id))
    restorable = list(ports.snapshots.restorable(names)) if names else []
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in restorable}
    made_of = {snapshot.volume_id for snapshot in restorable if snapshot.volume_id and not snapshot.is_copy}
    asked_of = ports.volumes.existing(sorted(made_of)) if made_of and request.warm_up.learn else ()
    sources = {source.volume_id: source for source in asked_of}
    assigned = []
    for index, volume in enumerate(volumes):
        snapshot = snapshots.get(volume.snapshot_id or "")
        made = _assignment(index, volume, instance, snapshot, restore_id)
        warm = _warm_or_unlisted(request, volume, snapshots, ports.volumes)
        waits_because = waiting.get(volume.volume_id) or (away.reason if away else None)
        source = None if snapshot is None else sources.get(snapshot.volume_id or "")
        # Later snapshots of a warm volume are its own; what is cold starts from its source again.
        of = volume.snapshot_id if snapshot is None else lineage_of(snapshot)
        known = {
            "lineage": (None if "warm_because" in warm else of) or volume.volume_id,
            "unlearned_because": forbidden_by(volume, snapshot, source),
            "waits_because": waits_because,
            "boost_refusal": boost_refusal(volume, asked=existing.boost),
        }
        assigned.append(made.model_copy(update=warm | known))
    asked = request.model_copy(update={"left_out": []})
    because = {name: f"it {why.removeprefix(f'{name} ')}" for name, why in refused.items()}
    return Selected(asked, assigned).without(because, restore_id)


def _named(existing: ExistingVolumes, ports: AdoptionPorts) -> list[Volume]:
    if existing.volume_ids is not None:
        found = {volume.volume_id: volume for volume in ports.volumes.existing(existing.volume_ids)}
        missing = [name for name in existing.volume_ids if name not in found]
        if missing:
            raise TargetNotUsableError(
                f"found {missing[0]}; there is no such volume", field=f"{FIELD}.volumeIds"
            )
        return [found[name] for name in dict.fromkeys(existing.volume_ids)]
    if existing.instance_id is not None:
        return _of_instance(existing.instance_id, ports)
    tags = existing.tags or {}
    tagged = list(ports.volumes.with_tags(tags))
    if existing.wait_for_attachment_minutes is not None:
        return _counted(tagged, f"no volume carries {tags_text(tags)}", f"{FIELD}.tags")
    attached = [volume for volume in tagged if volume.attachments]
    return _counted(attached, f"no attached volume carries {tags_text(tags)}", f"{FIELD}.tags")


def _of_instance(instance_id: str, ports: AdoptionPorts) -> list[Volume]:
    field = f"{FIELD}.instanceId"
    try:
        instance = ports.instances.get(instance_id)
    except RestoreError as error:
        raise at_field(error, field) from error
    volumes = ports.volumes.existing(sorted(instance.devices.values()))
    return _counted(list(volumes), f"{instance_id} has no EBS volumes", field)


def _counted(volumes: list[Volume], none: str, field: str) -> list[Volume]:
    if not volumes:
        raise InvalidRequestError(none, field=field)
    if len(volumes) > MOST_LISTED:
        raise InvalidRequestError(
            f"found {len(volumes)} volumes; at most {MOST_LISTED} are adopted by one request", field=field
        )
    return sorted(volumes, key=lambda volume: volume.volume_id)


def _instance(volumes: Collection[Volume], ports: AdoptionPorts) -> tuple[Instance | None, Obstacle | None]:
    """The instance of all volumes, None without volumes; and why no agent works there, None where one does.

    Raises TargetNotUsableError where there are several instances.
    """
    names = sorted({place.instance_id for volume in volumes for place in volume.attachments})
    if len(names) > 1:
        raise TargetNotUsableError(
            f"found volumes of {len(names)} instances ({', '.join(names)}); a request adopts those of one, "
            "so send one for each, with instanceId or volumeIds",
            field=FIELD,
        )
    if not names:
        return None, None
    instance = ports.instances.get(names[0])
    available = has_agent(instance.platform, instance.architecture, ports.artifacts)
    limits = ports.instances.ebs_limits(instance.instance_type)
    return instance, agent_refusal(instance, limits, agent_available=available)


def _warm_or_unlisted(
    request: RestoreRequest, volume: Volume, snapshots: dict[str, Snapshot], volumes: VolumeStore
) -> dict[str, str]:
    """Why nothing need be read, or why all of the volume is; empty if its snapshot says what to read."""
    if volume.snapshot_id is None:
        asked = {"unlisted_because": "the request asks for it"}
        return asked if request.reads_asked else {"warm_because": MADE_EMPTY}
    reason = _unlisted(volume.snapshot_id, snapshots.get(volume.snapshot_id))
    listed = {} if reason is None else {"unlisted_because": reason}
    if request.reads_asked:
        return listed
    try:
        status = volumes.initialization_status(volume.volume_id)
    except VolumeNotFoundError:
        return listed  # EC2 shows a new volume here later than there
    warm = warm_already(volume, status)
    return listed if warm is None else {**listed, "warm_because": warm}


def _unlisted(snapshot_id: str, snapshot: Snapshot | None) -> str | None:
    if snapshot is None:
        return f"{snapshot_id}, which it was made of, is gone or not shared with this account"
    reason = unusable(snapshot)
    return None if reason is None else f"{snapshot_id}, which it was made of, cannot be listed: {reason}"


def _assignment(
    index: int, volume: Volume, instance: Instance | None, snapshot: Snapshot | None, restore_id: str
) -> VolumeAssignment:
    settings = volume.settings
    snapshot = None if snapshot is None or unusable(snapshot) else snapshot
    known = snapshot.full_size_bytes if snapshot is not None else None
    size_gib = snapshot.size_gib if snapshot is not None else settings.size_gib
    data_bytes = known if known is not None else size_gib * GIB if volume.snapshot_id else 0
    return VolumeAssignment(
        index=index,
        adopts=volume.volume_id,
        snapshot_id=volume.snapshot_id or "",
        snapshot_started_at=snapshot.started_at if snapshot is not None else volume.created_at,
        snapshot_encrypted=settings.encrypted,
        snapshot_size_gib=size_gib,
        data_bytes=data_bytes,
        data_bytes_from="fullSnapshotSize" if known is not None else "volumeSize",
        written_blocks=math.ceil(data_bytes / BLOCK_BYTES),
        map_key=block_map_key(restore_id, index),
        availability_zone=volume.availability_zone,
        instance_id=instance.instance_id if instance else None,
        instance_type=instance.instance_type if instance else None,
        platform=instance.platform if instance else None,
        architecture=instance.architecture if instance else None,
        device=volume.attachments[0].device if volume.attachments else None,
        priority=LEAST_PRIORITY,
        volume=NewVolume(**asdict(settings) | {"tags": {}}),
        chosen_because="the volume is there",
    )
