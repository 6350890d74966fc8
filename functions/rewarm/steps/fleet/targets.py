"""Where the volumes of a fleet go, with the device names that their data had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewarm.contracts.base import JsonObject
from rewarm.contracts.fleet_source import FleetMembers
from rewarm.contracts.request import Target, VolumeRequest
from rewarm.domain.errors import InvalidRequestError, RestoreError
from rewarm.domain.fleets import check_devices
from rewarm.domain.model import ImageVolume, Instance
from rewarm.domain.volume.replacing import device_to_replace
from rewarm.domain.volume.targets import check_instance, check_zone, choose_device
from rewarm.domain.volume.volume_types import VOLUME_TYPES
from rewarm.ports.instances import Instances
from rewarm.steps.select.sources import at_field


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of where a volume's data comes from: its device name, and what an AMI says of it."""

    device: str | None
    image: ImageVolume | None = None


@dataclass(frozen=True, slots=True)
class FleetPlace:
    """The `target` and the `volume` of a request for one volume."""

    target: JsonObject
    volume: JsonObject


def places_of(members: FleetMembers, origins: Sequence[Origin], instances: Instances) -> list[FleetPlace]:
    """Returns the place of each volume.

    Raises every error that names a field of a target.
    """
    items = members.source.items
    if items is not None:
        places = [
            FleetPlace(_json(item.target or members.target), _json(item.volume or members.volume))
            for item in items
        ]
        fields = [f"source.items.{index}.target.device" for index in range(len(items))]
        shared = members.target if any(item.target is None for item in items) else None
        _checked_instance(shared, instances)
    else:
        targets = _shared(members.target, [origin.device for origin in origins], instances)
        places = [
            FleetPlace(target, _settings(origin.image, _json(members.volume)))
            for target, origin in zip(targets, origins, strict=True)
        ]
        fields = ["target.device"] * len(places)
    check_devices(
        (field, place.target.get("instanceId"), place.target.get("device"))
        for field, place in zip(fields, places, strict=True)
    )
    return places


def _shared(target: Target | None, own: Sequence[str | None], instances: Instances) -> list[JsonObject]:
    """One target for all volumes, on an instance with a device name for each.

    A volume that cannot keep its name takes none that another can keep.
    """
    instance = _checked_instance(target, instances)
    if target is None or instance is None:
        return [_json(target)] * len(own)
    for name, value in (("device", target.device), ("mountPath", target.mount_path)):
        if value is not None and len(own) > 1:
            raise InvalidRequestError(
                f"found {value} for {len(own):,} volumes; leave it out, each gets one of its own",
                field=f"target.{name}",
            )
    first = {device: index for index, device in reversed(list(enumerate(own))) if device is not None}
    devices: list[str] = []
    for index, device in enumerate(own):
        later = [other for other, place in first.items() if place > index]
        devices.append(_device(target, instance, device, [*devices, *later]))
    return [{**_json(target), "device": device} for device in devices]


def _device(target: Target, instance: Instance, own: str | None, reserved: Sequence[str]) -> str:
    if target.mode == "replace":
        return device_to_replace(target.device, own, instance, reboots=bool(target.reboot))[0]
    return choose_device(target.device, instance, reserved=reserved, preferred=own)


def _checked_instance(target: Target | None, instances: Instances) -> Instance | None:
    """The target's instance, if it has one. Raises an error where its instance or zone cannot be used."""
    if target is None:
        return None
    if target.instance_id is None:
        check_zone(target.availability_zone or "", instances.availability_zones())
        return None
    try:
        instance = instances.get(target.instance_id)
    except RestoreError as error:
        raise at_field(error, "target.instanceId") from error
    check_instance(instance)
    return instance


def _settings(image: ImageVolume | None, asked: JsonObject) -> JsonObject:
    """What the AMI says of the volume, where nothing else is asked for."""
    if image is None or image.volume_type not in VOLUME_TYPES:
        return asked
    volume_type = VOLUME_TYPES[image.volume_type]
    own: JsonObject = {"volumeType": volume_type.name, "sizeGib": image.size_gib}
    if asked.get("volumeType", volume_type.name) == volume_type.name:
        own["iops"] = None if volume_type.min_iops is None else image.iops
        own["throughputMibS"] = None if volume_type.min_throughput_mib_s is None else image.throughput_mib_s
    return {name: value for name, value in own.items() if value is not None} | asked


def _json(part: Target | VolumeRequest | None) -> JsonObject:
    """As the request has it, without what is left out."""
    return (
        {}
        if part is None
        else part.model_dump(by_alias=True, mode="json", exclude_unset=True, exclude_none=True)
    )
