"""What a restore that failed removed, and what it leaves behind, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.contracts.base import JsonObject
from rewarm.contracts.values import Trigger
from rewarm.domain.words.ended import Ending, LeftVolume, Start
from rewarm.steps.record.records import (
    ALARM_HELD_UNTIL,
    clean_up_attribute,
    last_volume,
    parsed_time,
    settled_attribute,
)


def removed_and_kept(
    restore_id: str, results: Sequence[JsonObject], record: JsonObject
) -> tuple[list[str], list[str]]:
    """What clean-up removed and what it left behind, by the account that it wrote of each volume."""
    removed: list[str] = []
    kept: list[str] = []
    for result in results:
        index = result.get("index", 0)
        if result.get("verdict") == "ready":
            kept.append(f"volume {result.get('volumeId')} (ready)")
            continue
        # Its execution was stopped after it had found the volume ready: nobody cleans up, and it stays.
        is_settled = bool(record.get(settled_attribute(index)))
        if is_settled:
            kept.append(f"volume {last_volume(record, index)} (ready)")
        account = record.get(clean_up_attribute(index))
        # With `goesOn` the account is of an earlier plan, and says nothing of the last plan's volume.
        is_final = isinstance(account, dict) and not account.get("goesOn")
        if isinstance(account, dict):
            removed += account.get("removed", [])
            kept += account.get("kept", [])
        if not is_final and not is_settled:
            known = last_volume(record, index)
            tagged = f"carries the tag rewarm:restore-id={restore_id} (clean-up gave no account)"
            kept.append(f"volume {known} and whatever else {tagged}" if known else f"whatever {tagged}")
    return removed, kept


def ending_of(restore_id: str, results: Sequence[JsonObject], record: JsonObject, *, at: datetime) -> Ending:
    """What the message about the end says of the restore."""
    removed, kept = removed_and_kept(restore_id, results, record)
    accounts = [
        record.get(clean_up_attribute(result.get("index", 0)))
        for result in results
        if result.get("verdict") != "ready"
    ]
    stays = [left for account in accounts if isinstance(account, dict) for left in account.get("stays") or []]
    volumes = [LeftVolume(left["volumeId"], left.get("device"), left.get("instanceId")) for left in stays]
    return Ending(at, removed, kept, volumes, _start(record))


def _start(record: JsonObject) -> Start:
    """What started the restore; `Start()` where the record could not be read."""
    if not record.get("trigger"):
        return Start()
    trigger = Trigger.model_validate(record["trigger"])
    return Start(trigger.kind, trigger.alarm_name, parsed_time(record.get(ALARM_HELD_UNTIL)))
