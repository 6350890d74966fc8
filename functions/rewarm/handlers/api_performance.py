"""The routes of /volumes: a volume's performance, and changes of it."""

from __future__ import annotations

from uuid import uuid4

from aws_lambda_powertools.event_handler.api_gateway import Router

from rewarm.handlers import wiring
from rewarm.handlers.clock import now
from rewarm.handlers.http import json_body
from rewarm.observability import count, logger
from rewarm.ports import JsonObject
from rewarm.steps.performance.get_performance import get_performance
from rewarm.steps.performance.start_performance_change import start_performance_change

_VOLUMES = wiring.volumes()
_MODIFICATIONS = wiring.modifications()
_TRAIL = wiring.trail()
_LOG = wiring.performance_log()
_TABLE = wiring.table()
_EXECUTIONS = wiring.performance_changes()

router = Router()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped


@router.post("/volumes/<volume_id>/performance")
def _change_performance(volume_id: str) -> tuple[JsonObject, int]:
    # A request that is sent twice meets the first one's change in EC2: no key is needed.
    change_id = f"performance-{uuid4().hex[:16]}"
    logger.append_keys(restore_id=change_id, volume_id=volume_id)
    started = start_performance_change(
        volume_id,
        json_body(router.current_event),
        change_id=change_id,
        now=now(),
        stack_name=wiring.settings.stack_name,
        rule=wiring.settings.modification_rule,
        volumes=_VOLUMES,
        modifications=_MODIFICATIONS,
        trail=_TRAIL,
        log=_LOG,
        table=_TABLE,
        executions=_EXECUTIONS,
    )
    count("PerformanceChangesStarted")
    return started, 202


@router.get("/volumes/<volume_id>/performance")
def _get_performance(volume_id: str) -> JsonObject:
    return get_performance(
        volume_id,
        now=now(),
        rule=wiring.settings.modification_rule,
        volumes=_VOLUMES,
        modifications=_MODIFICATIONS,
        trail=_TRAIL,
        log=_LOG,
        table=_TABLE,
    )
