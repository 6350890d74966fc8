"""The requests of a fleet's restores: the volumes of one instance are one restore, other volumes one each.

A volume goes where its item or the fleet says, with the device name that its data had. What shares an
instance shares its bandwidth, so it is planned together. A restore's id follows from the fleet, the run and
the restore's place in it. So a state that is tried again starts nothing twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic.alias_generators import to_snake

from rewarm.contracts.base import JsonObject, parsed
from rewarm.contracts.fleets import FleetMembers, FleetRequest, parse_fleet_members
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import MOST_LISTED, RestoreRequest, Target, VolumeRequest
from rewarm.contracts.values import Trigger
from rewarm.domain.errors import InvalidRequestError, RestoreError
from rewarm.domain.fleets import FleetVolume, check_devices
from rewarm.domain.model import Caller, ImageVolume, Instance
from rewarm.domain.parts import EVERY_PART, Part, Parts
from rewarm.domain.value import Value
from rewarm.domain.volume.replacing import device_to_replace
from rewarm.domain.volume.targets import check_instance, check_zone, choose_device
from rewarm.domain.volume.volume_types import VOLUME_TYPES
from rewarm.ports.instances import Instances
from rewarm.steps.select.sources import at_field

QUIET = {"slack": False, "email": False}
"""The fleet's messages replace those of its restores."""
SETTINGS = ("volumeType", "sizeGib", "iops", "throughputMibS", "kmsKeyId")
SHARED = ("warmUp", "verify", "readiness", "onFailure")
ALONE = frozenset({"tags"})
"""Selectors of an item that a restore's list of volumes does not have."""


class Origin(Value):
    """Where a volume's data comes from: its device name, and what an AMI says of the volume."""

    device: str | None
    image: ImageVolume | None = None


class FleetPlace(Value):
    """The `target` and the `volume` of a request for one volume."""

    target: JsonObject
    volume: JsonObject


def places_of(members: FleetMembers, origins: Sequence[Origin], instances: Instances) -> list[FleetPlace]:
    """Returns the place of each volume. Raises every error that names a field of a target."""
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
    """One target for all volumes; on an instance, each volume gets its device name.

    A volume that cannot keep its name gets none that another volume can keep.
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
    """The target's instance, if it has one. Raises an error if its instance or zone cannot be used."""
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
    """The AMI's settings of the volume, unless the request asks for others."""
    if image is None or image.volume_type not in VOLUME_TYPES:
        return asked
    volume_type = VOLUME_TYPES[image.volume_type]
    own: JsonObject = {"volumeType": volume_type.name, "sizeGib": image.size_gib}
    if asked.get("volumeType", volume_type.name) == volume_type.name:
        own["iops"] = None if volume_type.min_iops is None else image.iops
        own["throughputMibS"] = None if volume_type.min_throughput_mib_s is None else image.throughput_mib_s
    return {name: value for name, value in own.items() if value is not None} | asked


def _json(part: Target | VolumeRequest | None) -> JsonObject:
    """The fields that the request gives."""
    return (
        {}
        if part is None
        else part.model_dump(by_alias=True, mode="json", exclude_unset=True, exclude_none=True)
    )


class FleetRestore(Value):
    """One restore of a fleet, and its volumes in the order of their indexes."""

    restore_id: str
    request: RestoreRequest
    volumes: tuple[FleetVolume, ...]

    def to_item(
        self, trigger: Trigger, *, budget_usd: Decimal | None = None, shares: list[JsonObject] | None = None
    ) -> JsonObject:
        """The item of the Distributed Map, with the restore's parts of the fleet's budget and plan.

        The fleet asks for approval once for all of its restores.
        """
        update = {"max_cost_usd": budget_usd, "approve_above_usd": None, "approve_replace": False}
        objective = self.request.objective.model_copy(update=update)
        request = self.request.model_copy(update={"objective": objective})
        return {
            "restoreId": self.restore_id,
            "input": {"request": request.to_json(), "trigger": trigger.to_json(), "fleetShares": shares},
        }


def parse_fleet_request(body: object, parts: Parts = EVERY_PART) -> FleetRequest:
    """Returns the checked request. Raises InvalidRequestError, PartLeftOutError."""
    parts.need(Part.FLEETS)
    request = parsed(FleetRequest, body)
    if request.objective.strategy == "direct-write":
        parts.need(Part.REWINDS, found=request.objective.strategy, field="objective.strategy")
    parse_fleet_members(source_and_places(request))
    _check_modes(request, parts)
    if request.warm_up.first:
        raise InvalidRequestError("block numbers are those of one volume", field="warmUp.first")
    return request


def _check_modes(request: FleetRequest, parts: Parts) -> None:
    """A fleet plans new volumes."""
    whole = [("target", _said(request.target.to_json()) if request.target is not None else {})]
    items = source_and_places(request)["source"].get("items") or []
    each = [
        (f"source.items.{place}.target", _said(item.get("target") or {})) for place, item in enumerate(items)
    ]
    for field, target in (*whole, *each):
        if target.get("start"):
            parts.need(Part.INSTANCE_STARTS, found="true", field=f"{field}.start")
        if target.get("mode") == "rewind":
            raise InvalidRequestError(
                "found rewind; a fleet makes new volumes. Send POST /restores for each instance, with up to "
                "eight volumes",
                field=f"{field}.mode",
            )


def source_of(request: FleetRequest) -> JsonObject:
    """The argument of resolve_fleet: the source, and the request's settings for all volumes."""
    parts = source_and_places(request)
    return {**parts.pop("source"), **parts}


def source_and_places(request: FleetRequest) -> JsonObject:
    """The part of the request that says which volumes there are, and where they go."""
    parts = {"source": request.source, "target": request.target, "volume": request.volume}
    return {name: part.to_json() for name, part in parts.items() if part is not None}


def listed_items(source: JsonObject) -> list[JsonObject]:
    """The complete items of a list; none if the source is no list."""
    shared = {name: source.get(name) or {} for name in ("target", "volume")}
    return [
        {"snapshot": item["source"], **{name: item.get(name) or part for name, part in shared.items()}}
        for item in source.get("items") or []
    ]


def restores_of(
    fleet_id: str, items: Sequence[Mapping[str, Any]], request: FleetRequest, *, run: int
) -> list[FleetRestore]:
    """Returns the restores, the volumes of each in the order of the items.

    Raises InvalidRequestError, which names the item.
    """
    groups: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for place, item in enumerate(items):
        groups.setdefault(_group(place, item), []).append((place, item))
    parts = [
        group[first : first + MOST_LISTED]
        for group in groups.values()
        for first in range(0, len(group), MOST_LISTED)
    ]
    shared = request.model_dump(mode="json", by_alias=True, include={"objective", *map(to_snake, SHARED)})
    return [_restore(_restore_id(fleet_id, run, number), part, shared) for number, part in enumerate(parts)]


def _group(place: int, item: Mapping[str, Any]) -> str:
    """A key that is the same for items of one restore: one instance, and the same settings for all."""
    target = _said(item["target"])
    volume = _said(item["volume"])
    if "instanceId" not in target or "mountPath" in target or ALONE & _without_none(item["snapshot"]).keys():
        return str(place)
    own = {name: value for name, value in target.items() if name != "device"}
    shared = {name: value for name, value in volume.items() if name not in SETTINGS}
    return json.dumps([own, shared], sort_keys=True)


def restore_ids_of(fleet_id: str, run: int, volumes: Sequence[FleetVolume]) -> frozenset[str]:
    """The restores of these volumes that belong to this run."""
    found = dict.fromkeys(volume.restore_id for volume in volumes)
    return frozenset(_restore_id(fleet_id, run, number) for number in range(len(found))) & found.keys()


def _said(part: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are given and differ from their defaults."""
    return {name: value for name, value in part.items() if value not in (None, {}, False)}


def _restore_id(fleet_id: str, run: int, number: int) -> str:
    digest = hashlib.sha256(f"{fleet_id} {run} {number}".encode()).hexdigest()
    return f"restore-{digest[:16]}"


def _restore(
    restore_id: str, part: Sequence[tuple[int, Mapping[str, Any]]], shared: JsonObject
) -> FleetRestore:
    body = {
        **(_alone(part[0][1]) if len(part) == 1 else _together([item for _, item in part])),
        **shared,
        "notify": QUIET,
    }
    try:
        checked = parse_restore_request(body)
    except InvalidRequestError as error:
        places = ", ".join(str(place) for place, _ in part)
        raise InvalidRequestError(f"of item {places}: {error}", field="source.items") from error
    volumes = tuple(FleetVolume(item, restore_id, index) for index, (_, item) in enumerate(part))
    return FleetRestore(restore_id, checked, volumes)


def _alone(item: Mapping[str, Any]) -> JsonObject:
    return {"source": item["snapshot"], "target": item["target"], "volume": item["volume"]}


def _together(items: Sequence[Mapping[str, Any]]) -> JsonObject:
    first = items[0]
    listed = [
        {
            **_without_none(item["snapshot"]),
            "device": item["target"].get("device"),
            "volume": {name: item["volume"].get(name) for name in SETTINGS},
        }
        for item in items
    ]
    return {
        "source": {"volumes": listed},
        "target": {**first["target"], "device": None},
        "volume": {name: value for name, value in first["volume"].items() if name not in SETTINGS},
    }


def _without_none(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None}


def trigger_of(fleet_id: str, deadline_at: datetime | None, by: Caller | None = None) -> Trigger:
    """What started the restores; `by` asked for this run of the fleet."""
    return Trigger(kind="fleet", fleet_id=fleet_id, deadline_at=deadline_at, asked_by=by)
