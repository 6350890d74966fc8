"""What a restore that failed removed, and what it leaves behind, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.contracts.base import JsonObject
from rewarm.domain.words.ended import Ending, LeftVolume, Start
from rewarm.steps.record.restore import KnownRestore


def removed_and_kept(
    restore_id: str, results: Sequence[JsonObject], record: KnownRestore
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
        is_settled, known = record.settled(index), record.last_volume(index)
        if is_settled:
            kept.append(f"volume {known} (ready)")
        account = record.volume(index).clean_up
        if account is not None:
            removed += account.removed
            kept += account.kept
        if (account is None or account.goes_on) and not is_settled:
            tagged = f"carries the tag rewarm:restore-id={restore_id} (clean-up gave no account)"
            kept.append(f"volume {known} and whatever else {tagged}" if known else f"whatever {tagged}")
    return removed, kept


def ending_of(
    restore_id: str, results: Sequence[JsonObject], record: KnownRestore, *, at: datetime
) -> Ending:
    """What the message about the end says of the restore."""
    removed, kept = removed_and_kept(restore_id, results, record)
    accounts = [
        record.volume(result.get("index", 0)).clean_up
        for result in results
        if result.get("verdict") != "ready"
    ]
    stays = [left for account in accounts if account is not None for left in account.stays]
    volumes = [LeftVolume(left.volume_id, left.device, left.instance_id) for left in stays]
    by = record.trigger
    start = Start(by.kind, by.alarm_name, record.alarm_held_until) if by else Start()
    return Ending(at, removed, kept, volumes, start)
