"""Which of several snapshots to restore, and why not the others.

Snapshots of several volumes belong together if one CreateSnapshots call made them. Their StartTime "is the
same for all snapshots initiated by the same request" (botocore: ec2 SnapshotInfo), and their description is
one for all. Only such a set is crash-consistent across the volumes (EBS user guide, "Multi-volume
snapshots").
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from rewarm.domain.errors import SnapshotNotFoundError, SnapshotNotUsableError
from rewarm.domain.model import ArchiveRestore, BinnedSnapshot, Snapshot
from rewarm.domain.units import clock_text
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import EVIDENCE_TAG

Refusal = Callable[[Snapshot], str | None]
"""Why no volume can be made of a snapshot now; None where one can."""

_OF_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+-[0-9]+[a-z]")
"""A name such as us-west-2a; that of a Local Zone is longer: us-west-2-lax-1a (AWS, "Regions and Zones")."""
_PARENT = re.compile(r"[a-z]+(?:-[a-z]+)+-[0-9]+(?=-)")
"""The Region in the name of a Local Zone."""

_Call = tuple[datetime, str]
"""What the snapshots of one CreateSnapshots call have in common."""


class PassedOverSnapshot(Value):
    """A snapshot that was looked at and not taken."""

    snapshot_id: str
    reason: str


class Selection(Value):
    """The snapshot to restore; the others newest first."""

    snapshot: Snapshot
    passed_over: tuple[PassedOverSnapshot, ...]


def unusable(snapshot: Snapshot) -> str | None:
    """Why no volume can be created from it now; None where one can (EBS user guide, "Snapshot states")."""
    return _stored_elsewhere(snapshot) or _not_completed(snapshot) or _in_another_tier(snapshot)


def _not_completed(snapshot: Snapshot) -> str | None:
    if snapshot.state == "completed":
        return None
    if snapshot.state == "pending":
        return f"it is pending ({snapshot.progress_percent} % done)"
    if snapshot.state == "error":
        return f"it is in error{f' ({snapshot.state_message})' if snapshot.state_message else ''}"
    if snapshot.state == "recoverable":
        return f"it is in the Recycle Bin; recover it first: {_recover_command(snapshot.snapshot_id)}"
    if snapshot.state == "recovering":
        return "it is being recovered from the Recycle Bin"
    return f"its state is {snapshot.state}"


def _in_another_tier(snapshot: Snapshot) -> str | None:
    if snapshot.storage_tier == "archive":
        return archived(snapshot.snapshot_id)
    return None if snapshot.storage_tier == "standard" else f"its storage tier is {snapshot.storage_tier}"


def _stored_elsewhere(snapshot: Snapshot) -> str | None:
    """EBS user guide, "Amazon EBS local snapshots on Outposts" and "Local snapshots in Local Zones".

    Volumes are made of them in the same place only, and the EBS direct APIs, by which Rewarm learns what is
    written, cannot read them. One on an Outpost cannot be copied; one in a Local Zone can, to its Region.
    """
    if snapshot.outpost_arn is not None:
        outpost = snapshot.outpost_arn.rpartition("/")[2]
        return f"it is stored on the Outpost {outpost}, and makes volumes on that Outpost only"
    if snapshot.zone is None or _OF_REGION.fullmatch(snapshot.zone):
        return None
    parent = _PARENT.match(snapshot.zone)
    copy = ["aws", "ec2", "copy-snapshot", "--source-snapshot-id", snapshot.snapshot_id]
    command = shlex.join([*copy, "--source-region", parent[0] if parent else "REGION"])
    return (
        f"it is stored in {snapshot.zone}, makes volumes in that Local Zone only, and its blocks cannot be "
        f"listed; copy it to the Region: {command}"
    )


def archived(snapshot_id: str, restoring: ArchiveRestore | None = None) -> str:
    """How to restore it (EBS user guide, "Archive Amazon EBS snapshots"): up to 72 hours, depending on the
    size; an account may have 5 restores in progress.
    """
    if restoring is not None:
        return (
            "it is archived; it is being restored to the standard tier since "
            f"{clock_text(restoring.started_at)} ({restoring.progress_percent} % done), "
            "which takes up to 72 hours"
        )
    return (
        "it is archived; restore it to the standard tier first, which takes up to 72 hours, 5 at a time in "
        f"an account: aws ec2 restore-snapshot-tier --snapshot-id {snapshot_id} --temporary-restore-days 7 "
        "(or --permanent-restore)"
    )


def in_recycle_bin(binned: BinnedSnapshot) -> str:
    """The way back, and until when it is there."""
    return (
        f"it was deleted at {clock_text(binned.entered_at)} and is in the Recycle Bin until "
        f"{clock_text(binned.leaves_at)}; recover it first: {_recover_command(binned.snapshot_id)}"
    )


def _recover_command(snapshot_id: str) -> str:
    return f"aws ec2 restore-snapshot-from-recycle-bin --snapshot-id {snapshot_id}"


def refused(snapshot_id: str, reason: str, *, field: str) -> SnapshotNotUsableError:
    """The error that says so."""
    return SnapshotNotUsableError(
        f"{snapshot_id} cannot be restored: {reason}; allowed is a completed snapshot "
        "in the Region's standard tier that this account may use",
        field=field,
    )


def require_usable(snapshot: Snapshot, *, field: str, refusal: Refusal = unusable) -> Snapshot:
    """The snapshot itself. Raises SnapshotNotUsableError."""
    reason = refusal(snapshot)
    if reason is not None:
        raise refused(snapshot.snapshot_id, reason, field=field)
    return snapshot


def newest_usable(
    candidates: Iterable[Snapshot],
    *,
    at: datetime | None,
    what: str,
    field: str,
    refusal: Refusal = unusable,
    binned: Sequence[BinnedSnapshot] = (),
) -> Selection:
    """The newest usable snapshot that was started not later than `at`; ties go to the lower id.

    Raises SnapshotNotFoundError where there is none at all, SnapshotNotUsableError where none can be used.
    """
    ordered = newest_first(candidates)
    gone = _gone(ordered, binned)
    if not ordered and not gone:
        raise SnapshotNotFoundError(f"no snapshot of {what} belongs to this account", field=field)
    reasons = {snapshot.snapshot_id: _reason_against(snapshot, at, refusal) for snapshot in ordered}
    chosen = next((snapshot for snapshot in ordered if reasons[snapshot.snapshot_id] is None), None)
    if chosen is None:
        raise _none_left(ordered, {**reasons, **gone}, at, what, field)
    older = f"older than {chosen.snapshot_id}"
    return Selection(
        snapshot=chosen,
        passed_over=tuple(
            PassedOverSnapshot(snapshot_id, reason or older)
            for snapshot_id, reason in [*gone.items(), *reasons.items()]
            if snapshot_id != chosen.snapshot_id
        ),
    )


def newest_first(candidates: Iterable[Snapshot]) -> list[Snapshot]:
    """By the time at which they were started; ties by id."""
    ordered = sorted(candidates, key=lambda snapshot: snapshot.snapshot_id)
    ordered.sort(key=lambda snapshot: snapshot.started_at, reverse=True)
    return ordered


def _gone(ordered: Sequence[Snapshot], binned: Sequence[BinnedSnapshot]) -> dict[str, str]:
    """Those in the Recycle Bin, the last deleted first; AWS does not say when they were taken."""
    shown = {snapshot.snapshot_id for snapshot in ordered}
    found = sorted(binned, key=lambda entry: (-entry.entered_at.timestamp(), entry.snapshot_id))
    return {entry.snapshot_id: in_recycle_bin(entry) for entry in found if entry.snapshot_id not in shown}


def _reason_against(snapshot: Snapshot, at: datetime | None, refusal: Refusal) -> str | None:
    if at is not None and snapshot.started_at > at:
        return f"taken at {clock_text(snapshot.started_at)}, later than asked for ({clock_text(at)})"
    if EVIDENCE_TAG in snapshot.tags:
        return "it keeps a volume as it was before a rewind; only by its id it is restored"
    return refusal(snapshot)


def _none_left(
    ordered: list[Snapshot], reasons: dict[str, str | None], at: datetime | None, what: str, field: str
) -> SnapshotNotFoundError | SnapshotNotUsableError:
    if (
        at is not None
        and len(reasons) == len(ordered)
        and all(candidate.started_at > at for candidate in ordered)
    ):
        return SnapshotNotFoundError(
            f"no snapshot of {what} is as old as {clock_text(at)}; the oldest is {ordered[-1].snapshot_id} "
            f"of {clock_text(ordered[-1].started_at)}",
            field=field,
        )
    listed = "; ".join(f"{name}: {reason}" for name, reason in list(reasons.items())[:5])
    more = f"; and {len(reasons) - 5} more" if len(reasons) > 5 else ""
    return SnapshotNotUsableError(
        f"none of the snapshots of {what} can be restored: {listed}{more}", field=field
    )


class SetSelection(Value):
    """One snapshot for each volume."""

    by_volume: Mapping[str, Selection]
    consistent: bool
    reason: str


def newest_set(
    candidates: Mapping[str, Sequence[Snapshot]],
    *,
    field: str,
    at: datetime | None = None,
    refusal: Refusal = unusable,
    binned: Sequence[BinnedSnapshot] = (),
) -> SetSelection:
    """The newest call not later than `at` that left a usable snapshot of every volume.

    Else the newest of each, and says so.

    Raises SnapshotNotFoundError and SnapshotNotUsableError for the first volume that has none.
    """
    newest = {
        volume_id: newest_usable(
            found,
            at=at,
            what=volume_id,
            field=field,
            refusal=refusal,
            binned=[snapshot for snapshot in binned if snapshot.volume_id == volume_id],
        )
        for volume_id, found in candidates.items()
    }
    against = partial(_reason_against, at=at, refusal=refusal)
    calls = _calls(candidates)
    for call in sorted(calls, reverse=True):
        members = calls[call]
        if len(members) == len(candidates) and all(against(member) is None for member in members.values()):
            return _whole(members, candidates, newest, against)
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
                    PassedOverSnapshot(other.snapshot_id, other.reason)
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
) -> list[PassedOverSnapshot]:
    """The snapshots passed over; those that DescribeSnapshots does not show come first."""
    shown = {snapshot.snapshot_id for snapshot in found}
    others = [passed for passed in newest.passed_over if passed.snapshot_id not in shown]
    for snapshot in newest_first(found):
        if snapshot.snapshot_id == member.snapshot_id:
            continue
        reason = refusal(snapshot)
        if reason is None and snapshot.started_at > member.started_at:
            reason = "newer, but its CreateSnapshots call left no usable snapshot of every volume"
        others.append(PassedOverSnapshot(snapshot.snapshot_id, reason or f"older than {member.snapshot_id}"))
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
