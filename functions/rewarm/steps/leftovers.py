"""What a restore that failed removed, and what it leaves behind, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.contracts.base import JsonObject
from rewarm.steps.records import clean_up_attribute


def removed_and_kept(
    restore_id: str, results: Sequence[JsonObject], record: JsonObject
) -> tuple[list[str], list[str]]:
    """By what each volume's clean-up has written down."""
    removed: list[str] = []
    kept: list[str] = []
    for result in results:
        index = result.get("index", 0)
        if result.get("verdict") == "ready":
            kept.append(f"volume {result.get('volumeId')} (ready)")
            continue
        account = record.get(clean_up_attribute(index))
        # One that goes on is of a plan before the last: it does not say what became of the last one's volume.
        given = isinstance(account, dict) and not account.get("goesOn")
        if isinstance(account, dict):
            removed += account.get("removed", [])
            kept += account.get("kept", [])
        if not given:
            kept.append(f"whatever carries the tag rewarm:restore-id={restore_id} (clean-up gave no account)")
    return removed, kept
