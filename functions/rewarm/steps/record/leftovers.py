"""What a restore that failed removed, and what it leaves behind, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.contracts.base import JsonObject
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.domain.words.ended import Ending, LeftVolume, Start
from rewarm.steps.record.restore import KnownRestore
from rewarm.steps.record.volume import Rewinding


def removed_and_kept(
    restore_id: str, results: Sequence[JsonObject], record: KnownRestore
) -> tuple[list[str], list[str]]:
    """What clean-up removed and what it left behind, by its account of each volume."""
    removed: list[str] = []
    kept: list[str] = []
    for result in results:
        index = result.get("index", 0)
        if result.get("verdict") == "ready":
            kept.append(f"volume {result.get('volumeId')} (ready)")
            continue
        # The execution was stopped after it had found the volume ready: nothing removes the volume.
        is_settled, known = record.settled(index), record.last_volume(index)
        if is_settled:
            kept.append(f"volume {known} (ready)")
        volume = record.volume(index)
        account = volume.clean_up
        if account is not None:
            removed += account.removed
            kept += account.kept
        else:
            kept += left_by_rewind(volume.rewind)
        if (account is None or account.goes_on) and not is_settled:
            tagged = f"carries the tag rewarm:restore-id={restore_id} (clean-up gave no account)"
            kept.append(f"volume {known} and whatever else {tagged}" if known else f"whatever {tagged}")
    return removed, kept


def left_by_rewind(rewind: Rewinding | None) -> list[str]:
    """What a rewind leaves, which is never removed."""
    if rewind is None:
        return []
    evidence, volume_id, state = rewind.evidence, rewind.volume_id, rewind.evidence_state
    became, is_open = _became(rewind), rewind.state == "writing"
    if rewind.undo_log is not None:
        kept = f"it has what {volume_id} had before the rewind, where that has overwritten it"
        return [f"undo log of {rewind.undo_log.restore_id} ({kept}; {became})"]
    if not evidence:
        return [f"volume {volume_id} ({became}; there is no way back that is known)"] if is_open else []
    others = [f"snapshot {made} (it compared {volume_id} once more)" for made in rewind.others]
    if state in ("completed", "unknown"):
        return [f"snapshot {evidence} (it has {volume_id} as it was before the rewind; {became})", *others]
    if state == "gone":
        lost = f"volume {volume_id} ({became}; there is no way back: {evidence} is gone)"
        return [lost, *others] if is_open else others
    return [f"snapshot {evidence} ({volume_id} as it was, in the state {state}; {became})", *others]


def _became(rewind: Rewinding) -> str:
    """What became of the volume; an execution that was stopped may not have recorded it."""
    volume_id = rewind.volume_id
    if rewind.state == "done":
        return "it is whole"
    if rewind.state != "writing":
        return f"{volume_id} is unchanged"
    found = rewind.found or f"{volume_id} may be mixed: its rewind ended while blocks were being written"
    return f"{found}; it is tagged {REWINDING_TAG}"


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
