"""Routes of undo logs; handlers/api.py includes them."""

from __future__ import annotations

from functools import cache

from aws_lambda_powertools.event_handler.api_gateway import Router

from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.steps.rewind.undo_logs import DeleteUndoLogPorts, delete_undo_log, list_undo_logs


@cache
def _ports() -> DeleteUndoLogPorts:
    """Made at the first use, because only these routes need them."""
    return filled(DeleteUndoLogPorts)


router = Router()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped


@router.get("/undo-logs")
def _list_undo_logs() -> JsonObject:
    return list_undo_logs(_ports())


@router.delete("/undo-logs/<restore_id>")
def _delete_undo_log(restore_id: str) -> JsonObject:
    return delete_undo_log(restore_id, _ports())
