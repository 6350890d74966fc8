"""Snapshots of several volumes that belong together: those of one CreateSnapshots call.

Their StartTime "is the same for all snapshots initiated by the same request" (botocore: ec2 SnapshotInfo),
and their description is one for all. Only such a set is crash-consistent across the volumes (EBS user guide,
"Multi-volume snapshots").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rewarm.domain.model import BinnedSnapshot, Snapshot
from rewarm.domain.snapshot.selection import (
    PassedOver,
    Refusal,
    Selection,
    newest_first,
    newest_usable,
    unusable,
)
from rewarm.domain.units import clock_text

_Call = tuple[datetime, str]
"""What the snapshots of one CreateSnapshots call have in common."""


@dataclass(frozen=True, slots=True)
class SetSelection:
    """One snapshot for each volume."""

    by_volume: Mapping[str, Selection]
    consistent: bool
    reason: str


def newest_set(
    candidates: Mapping[str, Sequence[Snapshot]],
    *,
    field: str,
    refusal: Refusal = unusable,
    binned: Sequence[BinnedSnapshot] = (),
) -> SetSelection:
    """The newest call that left a usable snapshot of every volume; else the newest of each, and says so.

    Raises SnapshotNotFoundError and SnapshotNotUsableError for the first volume that has none.
    """
    newest = {
        volume_id: newest_usable(
            found,
            at=None,
            what=volume_id,
            field=field,
            refusal=refusal,
            binned=[snapshot for snapshot in binned if snapshot.volume_id == volume_id],
        )
        for volume_id, found in candidates.items()
    }
    calls = _calls(candidates)
    for call in sorted(calls, reverse=True):
        members = calls[call]
        if len(members) == len(candidates) and all(refusal(member) is None for member in members.values()):
            return _whole(members, candidates, newest, refusal)
    return _scattered(newest)


def _calls(candidates: Mapping[str, Sequence[Snapshot]]) -> dict[_Call, dict[str, Snapshot]]:
    calls: dict[_Call, dict[str, Snapshot]] = {}
    for volume_id, found in candidates.items():
        for snapshot in newest_first(found):
            calls.setdefault((snapshot.started_at, snapshot.description), {}).setdefault(volume_id, snapshot)
    return calls


def _whole(
    members: Mapping[str, Snapshot],
    candidates: Mapping[str, Sequence[Snapshot]],
    newest: Mapping[str, Selection],
    refusal: Refusal,
) -> SetSelection:
    started_at = next(iter(members.values())).started_at
    return SetSelection(
        by_volume={
            volume_id: Selection(
                member,
                tuple(
                    PassedOver(other.snapshot_id, other.reason)
                    for other in _others(member, candidates[volume_id], newest[volume_id], refusal)
                ),
            )
            for volume_id, member in members.items()
        },
        consistent=True,
        reason=f"the newest usable set: {len(members)} snapshots of one CreateSnapshots call at "
        f"{clock_text(started_at)}",
    )


def _others(
    member: Snapshot, found: Sequence[Snapshot], newest: Selection, refusal: Refusal
) -> list[PassedOver]:
    """In the order of the newest alone: those that DescribeSnapshots does not show come first."""
    shown = {snapshot.snapshot_id for snapshot in found}
    others = [passed for passed in newest.passed_over if passed.snapshot_id not in shown]
    for snapshot in newest_first(found):
        if snapshot.snapshot_id == member.snapshot_id:
            continue
        reason = refusal(snapshot)
        if reason is None and snapshot.started_at > member.started_at:
            reason = "newer, but its CreateSnapshots call left no usable snapshot of every volume"
        others.append(PassedOver(snapshot.snapshot_id, reason or f"older than {member.snapshot_id}"))
    return others


def _scattered(newest: Mapping[str, Selection]) -> SetSelection:
    times = sorted(selection.snapshot.started_at for selection in newest.values())
    return SetSelection(
        by_volume=newest,
        consistent=False,
        reason="the newest usable one of its volume alone; not a consistent set: no CreateSnapshots call "
        "left a usable snapshot of every volume, so they are of "
        f"{clock_text(times[0])} to {clock_text(times[-1])}",
    )
