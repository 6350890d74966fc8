"""Which of several snapshots to restore, and why not the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rewarm.domain.errors import SnapshotNotFoundError, SnapshotNotUsableError
from rewarm.domain.model import Snapshot
from rewarm.domain.units import clock_text


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A snapshot that was looked at and not taken."""

    snapshot_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The snapshot to restore; the others newest first."""

    snapshot: Snapshot
    passed_over: tuple[PassedOver, ...]


def unusable(snapshot: Snapshot) -> str | None:
    """Why no volume can be created from it now; None where one can (EBS user guide, "Snapshot states")."""
    if snapshot.state == "pending":
        return f"it is pending ({snapshot.progress_percent} % done)"
    if snapshot.state == "error":
        return f"it is in error{f' ({snapshot.state_message})' if snapshot.state_message else ''}"
    if snapshot.state == "recoverable":
        return "it is in the Recycle Bin and must be recovered first"
    if snapshot.state == "recovering":
        return "it is being recovered from the Recycle Bin"
    if snapshot.state != "completed":
        return f"its state is {snapshot.state}"
    if snapshot.storage_tier == "archive":
        return "it is archived; restoring it to the standard tier (RestoreSnapshotTier) takes up to 72 hours"
    return None


def require_usable(snapshot: Snapshot, *, field: str) -> Snapshot:
    """The snapshot itself. Raises SnapshotNotUsableError."""
    reason = unusable(snapshot)
    if reason is not None:
        raise SnapshotNotUsableError(
            f"{snapshot.snapshot_id} cannot be restored: {reason}; allowed is a completed snapshot "
            "in the standard tier",
            field=field,
        )
    return snapshot


def newest_usable(candidates: Iterable[Snapshot], *, at: datetime | None, what: str, field: str) -> Selection:
    """The newest usable snapshot that was started not later than `at`; ties go to the lower id.

    Raises SnapshotNotFoundError where there is none at all, SnapshotNotUsableError where none can be used.
    """
    ordered = sorted(candidates, key=lambda snapshot: snapshot.snapshot_id)
    ordered.sort(key=lambda snapshot: snapshot.started_at, reverse=True)
    if not ordered:
        raise SnapshotNotFoundError(f"no snapshot of {what} belongs to this account", field=field)
    reasons = {snapshot.snapshot_id: _reason_against(snapshot, at) for snapshot in ordered}
    chosen = next((snapshot for snapshot in ordered if reasons[snapshot.snapshot_id] is None), None)
    if chosen is None:
        raise _none_left(ordered, reasons, at, what, field)
    older = f"older than {chosen.snapshot_id}"
    return Selection(
        snapshot=chosen,
        passed_over=tuple(
            PassedOver(snapshot.snapshot_id, reasons[snapshot.snapshot_id] or older)
            for snapshot in ordered
            if snapshot.snapshot_id != chosen.snapshot_id
        ),
    )


def _reason_against(snapshot: Snapshot, at: datetime | None) -> str | None:
    if at is not None and snapshot.started_at > at:
        return f"taken at {clock_text(snapshot.started_at)}, later than asked for ({clock_text(at)})"
    return unusable(snapshot)


def _none_left(
    ordered: list[Snapshot], reasons: dict[str, str | None], at: datetime | None, what: str, field: str
) -> SnapshotNotFoundError | SnapshotNotUsableError:
    if at is not None and all(snapshot.started_at > at for snapshot in ordered):
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
