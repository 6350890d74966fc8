"""Routes of fleets but POST /fleets; handlers/api.py includes them."""

from __future__ import annotations

from functools import cache

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from rewarm.handlers.http import query
from rewarm.observability import logger
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.steps.fleet.routes import FleetPorts, cancel_fleet, get_fleet, redrive_fleet
from rewarm.steps.request.listing import list_fleets
from rewarm.wiring import now


@cache
def fleet_ports() -> FleetPorts:
    """Made at the first use, because only these routes need them."""
    return filled(FleetPorts)


router = Router()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped


@router.get("/fleets")
def _list_fleets() -> JsonObject:
    return list_fleets(query(APIGatewayProxyEvent(router.current_event.raw_event)), fleet_ports().table)


@router.get("/fleets/<fleet_id>")
def _get_fleet(fleet_id: str) -> JsonObject:
    return get_fleet(fleet_id, now=now(), ports=fleet_ports())


@router.delete("/fleets/<fleet_id>")
def _cancel_fleet(fleet_id: str) -> tuple[JsonObject, int]:
    logger.append_keys(restore_id=fleet_id)
    return cancel_fleet(fleet_id, fleet_ports()), 202


@router.post("/fleets/<fleet_id>/redrive")
def _redrive_fleet(fleet_id: str) -> tuple[JsonObject, int]:
    logger.append_keys(restore_id=fleet_id)
    return redrive_fleet(fleet_id, now=now(), ports=fleet_ports()), 202
