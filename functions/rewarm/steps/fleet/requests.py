"""The requests of a fleet's restores: volumes to one instance are one restore, others are each alone.

What shares an instance shares its bandwidth, so it is planned together. A restore's id follows from the
fleet, the run and the restore's place in it. So a state that is tried again starts nothing twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic.alias_generators import to_snake

from rewarm.contracts.base import parsed
from rewarm.contracts.fleet_source import parse_fleet_members
from rewarm.contracts.fleets import FleetRequest
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import MOST_LISTED, RestoreRequest
from rewarm.contracts.values import Trigger
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.fleets import FleetVolume
from rewarm.ports import JsonObject

QUIET = {"slack": False, "email": False}
"""A fleet speaks for its restores."""
SETTINGS = ("volumeType", "sizeGib", "iops", "throughputMibS", "kmsKeyId")
SHARED = ("warmUp", "verify", "readiness", "onFailure")
ALONE = frozenset({"tags"})
"""Selectors of an item that a list of volumes does not know."""


@dataclass(frozen=True, slots=True)
class FleetRestore:
    """One restore of a fleet, and its volumes in the order of their indexes."""

    restore_id: str
    request: RestoreRequest
    volumes: tuple[FleetVolume, ...]

    def to_item(
        self, trigger: Trigger, *, budget_usd: Decimal | None = None, shares: list[JsonObject] | None = None
    ) -> JsonObject:
        """As the Distributed Map reads it, with its parts of the fleet's budget and plan.

        What needs approval, the fleet asks for all of its restores.
        """
        update = {"max_cost_usd": budget_usd, "approve_above_usd": None, "approve_replace": False}
        objective = self.request.objective.model_copy(update=update)
        request = self.request.model_copy(update={"objective": objective})
        return {
            "restoreId": self.restore_id,
            "input": {"request": request.to_json(), "trigger": trigger.to_json(), "fleetShares": shares},
        }


def parse_fleet_request(body: object) -> FleetRequest:
    """Returns the checked request. Raises InvalidRequestError."""
    request = parsed(FleetRequest, body)
    parse_fleet_members(source_and_places(request))
    _check_modes(request)
    if request.warm_up.first:
        raise InvalidRequestError("block numbers are those of one volume", field="warmUp.first")
    return request


def _check_modes(request: FleetRequest) -> None:
    """A fleet plans new volumes."""
    whole = [("target", _said(request.target.to_json()) if request.target is not None else {})]
    items = source_and_places(request)["source"].get("items") or []
    each = [
        (f"source.items.{place}.target", _said(item.get("target") or {})) for place, item in enumerate(items)
    ]
    for field, target in (*whole, *each):
        if target.get("mode") == "rewind":
            raise InvalidRequestError(
                "found rewind; a fleet makes new volumes. Send POST /restores for each instance, with up to "
                "eight volumes",
                field=f"{field}.mode",
            )


def source_of(request: FleetRequest) -> JsonObject:
    """What resolve_fleet takes: the source, and what the request says of all volumes."""
    parts = source_and_places(request)
    return {**parts.pop("source"), **parts}


def source_and_places(request: FleetRequest) -> JsonObject:
    """The part of the request that says which volumes there are, and where they go."""
    parts = {"source": request.source, "target": request.target, "volume": request.volume}
    return {name: part.to_json() for name, part in parts.items() if part is not None}


def listed_items(source: JsonObject) -> list[JsonObject]:
    """The items of a list, each whole; none where the source is no list."""
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
    """The same for items that may be one restore: of one instance, with the same settings for all."""
    target, volume = _said(item["target"]), _said(item["volume"])
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
    """What is not left out, and differs from what would hold then."""
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


def trigger_of(fleet_id: str, deadline_at: datetime | None) -> Trigger:
    """What started the restores."""
    return Trigger(kind="fleet", fleet_id=fleet_id, deadline_at=deadline_at)
