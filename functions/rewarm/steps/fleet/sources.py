"""The volumes that a fleet is made of."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.domain.errors import InvalidRequestError
from rewarm.ports import JsonObject
from rewarm.steps.fleet.requests import listed_items


@dataclass(frozen=True, slots=True)
class FleetItem:
    """One volume: the parts of a request of POST /restores for it alone."""

    snapshot: JsonObject
    """The request's source."""
    target: JsonObject
    volume: JsonObject


@dataclass(frozen=True, kw_only=True)
class FleetSourcePorts:
    """The ports that resolve_fleet needs: a list names everything itself."""


def resolve_fleet(source: JsonObject, _ports: FleetSourcePorts) -> list[FleetItem]:
    """Returns the volumes in a stable order; `target` and `volume` beside the source are of all.

    Raises InvalidRequestError, which names the field at fault.
    """
    found = [FleetItem(**item) for item in listed_items(source)]
    if not found:
        raise InvalidRequestError("it has no volumes", field="source")
    return found
