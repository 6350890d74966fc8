"""The id of a restore that is asked for with an Idempotency-Key: the same while it is the same restore."""

from __future__ import annotations

import hashlib
import itertools
import json
from datetime import datetime, timedelta

from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.records import FINISHED, Status, parsed_time


def restore_id_of(call: JsonObject, *, table: RestoreTable, now: datetime, window: timedelta) -> str:
    """It follows from the call, so that a start whose answer got lost starts nothing twice.

    An execution's name is good for one start in 90 days (botocore: stepfunctions StartExecution). So the call
    after the window, or after a restore that has come to nothing, gets another name: with the first one's
    nothing would start, or be over before it began.
    """
    for number in itertools.count():
        text = json.dumps(call, sort_keys=True) + (f" {number}" if number else "")
        restore_id = f"restore-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        record = table.get(restore_id)
        if record is None or not _is_used_up(record, now - window):
            return restore_id
    raise AssertionError("there is always a next number")


def _is_used_up(record: JsonObject, since: datetime) -> bool:
    status, started_at = record.get("status"), parsed_time(record.get("startedAt"))
    is_dry_run = bool((record.get("request") or {}).get("dryRun"))
    ended = status in FINISHED or (is_dry_run and status == Status.PLANNED)
    if not ended:
        return False
    # Before it is told, the start may have taken effect though its answer did not arrive.
    came_to_nothing = status != Status.READY and "toldAt" in record
    return came_to_nothing or (started_at is not None and started_at < since)
