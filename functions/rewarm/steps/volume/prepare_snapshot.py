"""State `Prepare Snapshot`: copies a foreign snapshot, and waits for a credit or for the volume's turn.

A volume at a provisioned rate waits for its turn if the plan gives the Region's quota to others first. A
volume made with less than one credit is cold, and EC2 does not say so; so the credit is waited for.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.contracts.results import PrepareSnapshotResult
from rewarm.domain.errors import FastSnapshotRestoreUnavailableError
from rewarm.domain.model import FastSnapshotRestore, Strategy
from rewarm.domain.plan.estimators import fsr_credits_per_hour
from rewarm.domain.time.timings import PRIORS
from rewarm.domain.units import duration_text, iso
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import came_of
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import FastSnapshotRestores, SnapshotCopies
from rewarm.steps.record.restore import stop_if_cancelled
from rewarm.steps.record.volume import KnownFastRestore, VolumeNotes, fast_restore_user
from rewarm.steps.registration import state
from rewarm.steps.volume.extras import claim_again, copy_snapshot

RUNNING = frozenset({"enabling", "optimizing", "enabled"})
WAIT_SECONDS = (15, 300)
CREDIT_METRIC_PATIENCE = timedelta(minutes=15)
"""If CloudWatch shows no credits for so long after they are due, the documented fill rate counts."""
APPEARANCE_PATIENCE = timedelta(minutes=2)
"""DescribeFastSnapshotRestores may not show what EnableFastSnapshotRestores has just done."""
CREDIT_WINDOW = timedelta(minutes=5)
"""How long CloudWatch's balance may still have a credit that a volume has used (a datapoint a minute)."""
TURN_SECONDS = 60
OVERRUN_FACTOR = 3
OVERRUN = timedelta(hours=1)
"""After three times as long as AWS says and an hour more, another plan takes over."""


class PrepareSnapshotPorts(Value, kw_only=True):
    """The ports that prepare_snapshot needs."""

    fast_restores: FastSnapshotRestores
    copies: SnapshotCopies
    table: RestoreTable
    stack_name: str


@state("Prepare Snapshot")
def prepare_snapshot(event: PrepareSnapshotEvent, ports: PrepareSnapshotPorts) -> PrepareSnapshotResult:
    """Copies the snapshot, enables fast snapshot restore once, and returns whether both are done.

    Raises SnapshotNotUsableError, FastSnapshotRestoreUnavailableError, RestoreCancelledError.
    """
    stop_if_cancelled(ports.table, event.restore_id)
    source = event.volume.copy_of
    if source is None:
        return _its_turn(event) if event.plan.start_at is not None else _prepared(event, ports)
    copy = copy_snapshot(event, source, copies=ports.copies, table=ports.table, stack_name=ports.stack_name)
    found = PrepareSnapshotResult(
        ready=copy.snapshot_id is not None,
        wait_seconds=copy.wait_seconds,
        state=copy.state,
        enabled_by_us=False,
        snapshot_id=copy.snapshot_id,
    )
    if copy.snapshot_id is None:
        return found
    if event.plan.start_at is not None:
        return _its_turn(event).model_copy(update={"snapshot_id": copy.snapshot_id})
    if event.plan.strategy is not Strategy.FAST_SNAPSHOT_RESTORE:
        return found
    copied = event.volume.model_copy(update={"snapshot_id": copy.snapshot_id})
    result = _prepared(event.model_copy(update={"volume": copied}), ports)
    return result.model_copy(update={"snapshot_id": copy.snapshot_id})


def _its_turn(event: PrepareSnapshotEvent) -> PrepareSnapshotResult:
    """Whether it is the volume's turn: the volumes before it have had the time that the plan gives them."""
    left = timedelta(0) if event.plan.start_at is None else event.plan.start_at - event.now
    return PrepareSnapshotResult(
        ready=left <= timedelta(0), wait_seconds=_wait(left, least=1), state="queued", enabled_by_us=False
    )


def _prepared(event: PrepareSnapshotEvent, ports: PrepareSnapshotPorts) -> PrepareSnapshotResult:
    volume = event.volume
    place = (volume.snapshot_id, volume.availability_zone)
    found = ports.fast_restores.describe(*place, now=event.now)
    noted = VolumeNotes(ports.table, event.restore_id, volume.index).read().fast_restore
    if noted.since is None:
        noted = _claim(event, found, ports)
        found = ports.fast_restores.describe(*place, now=event.now) if noted.enabled_by_us else found
    else:
        claim_again(fast_restore_user(event.restore_id, volume.index), place, noted, ports.table)
    since = noted.since or event.now
    _stop_if_lost(found, since, event)
    _stop_if_overdue(since, event)
    ready, wait_seconds = _judge(found, volume.snapshot_size_gib, event.now)
    if ready and not _take_credit(event, found, ports.table):
        ready = False
        wait_seconds = TURN_SECONDS
    return PrepareSnapshotResult(
        ready=ready,
        wait_seconds=wait_seconds,
        state=found.state if found else "enabling",
        credits=found.credits if found else None,
        enabled_by_us=noted.enabled_by_us,
    )


def _claim(
    event: PrepareSnapshotEvent, found: FastSnapshotRestore | None, ports: PrepareSnapshotPorts
) -> KnownFastRestore:
    """Notes the claim before enabling, so that what a crash leaves enabled is known to be ours."""
    volume = event.volume
    if found is not None and found.state not in RUNNING:
        raise FastSnapshotRestoreUnavailableError(
            f"fast snapshot restore of {volume.snapshot_id} in {volume.availability_zone} "
            f"is {found.state} now"
        )
    place = (volume.snapshot_id, volume.availability_zone)
    asked_at = ports.fast_restores.absent_at(*place) if found is None else None
    user = fast_restore_user(event.restore_id, volume.index)
    record = VolumeNotes(ports.table, event.restore_id, volume.index)
    where = {"snapshotId": volume.snapshot_id, "availabilityZone": volume.availability_zone}
    # By this the sweeper finds the claim if the execution is stopped while EC2 is asked.
    record.note_fast_restore({"enabledByUs": False, **where})
    # Both notes of it may be lost; then the state machine has the answer of the last call.
    was_ours = found is not None and event.previous is not None and event.previous.enabled_by_us
    enabling_time = ports.fast_restores.enabling_time(*place) if was_ours else None
    ports.table.claim_fast_snapshot_restore(*place, user, asked_at=asked_at, enabling_time=enabling_time)
    enabled_by_us = was_ours or (asked_at is not None and _enable(place, asked_at, ports))
    own_since = _own_since(place, ports)
    own = {"enablingTime": own_since.isoformat()} if own_since else {}
    noted = {"enabledByUs": enabled_by_us, "since": iso(event.now), **where, **own}
    record.note_fast_restore(noted)
    return KnownFastRestore.model_validate(noted)


def _enable(place: tuple[str, str], asked_at: datetime, ports: PrepareSnapshotPorts) -> bool:
    """Enables it; False if somebody else enabled it before, so that it stays."""
    try:
        enabling_time = ports.fast_restores.enable(*place)
    except FastSnapshotRestoreUnavailableError:
        # An earlier try of the same call may have enabled it and lost its answer.
        enabling_time = ports.fast_restores.enabling_time(*place)
        if enabling_time is None or came_of(asked_at, enabling_time):
            ports.table.note_fast_snapshot_restore(*place, asked_at=asked_at, enabling_time=enabling_time)
        raise
    # If EC2 gives no time, it is ours, because we asked for it.
    if enabling_time is None:
        return True
    is_ours = came_of(asked_at, enabling_time)
    if is_ours:
        ports.table.note_fast_snapshot_restore(*place, asked_at=asked_at, enabling_time=enabling_time)
    # Otherwise the claim stays noted, and whoever releases it reports that it stays enabled.
    return is_ours


def _own_since(place: tuple[str, str], ports: PrepareSnapshotPorts) -> datetime | None:
    """When this stack enabled it, for any volume; None if somebody else did."""
    claim = ports.table.claim(*place)
    if claim is None or not claim.may_be_on:
        return None
    since = ports.fast_restores.enabling_time(*place) or max(claim.enabling_times, default=None)
    return since if since is not None and claim.is_ours(since) else None


def _stop_if_lost(found: FastSnapshotRestore | None, since: datetime, event: PrepareSnapshotEvent) -> None:
    if found is not None and found.state in RUNNING:
        return
    if found is None and event.now - since < APPEARANCE_PATIENCE:
        return
    state = found.state if found else "disabled"
    raise FastSnapshotRestoreUnavailableError(
        f"fast snapshot restore of {event.volume.snapshot_id} in {event.volume.availability_zone} is "
        f"{state}, though it was enabled; AWS does so where capacity is short or the snapshot changes"
    )


def _stop_if_overdue(since: datetime, event: PrepareSnapshotEvent) -> None:
    size_gib = event.volume.snapshot_size_gib
    expected = _optimizing(size_gib) + timedelta(hours=1 / fsr_credits_per_hour(size_gib))
    taken = event.now - since
    if taken > OVERRUN_FACTOR * expected + OVERRUN:
        raise FastSnapshotRestoreUnavailableError(
            f"fast snapshot restore of {event.volume.snapshot_id} gave no credit within "
            f"{duration_text(taken.total_seconds())}; {duration_text(expected.total_seconds())} were expected"
        )


def _take_credit(event: PrepareSnapshotEvent, found: FastSnapshotRestore | None, table: RestoreTable) -> bool:
    """Takes a credit: volumes of one snapshot see the same balance, but each needs its own credit."""
    return table.take_fast_snapshot_restore_credit(
        event.volume.snapshot_id,
        event.volume.availability_zone,
        fast_restore_user(event.restore_id, event.volume.index),
        credit_count=int(found.credits) if found and found.credits is not None else 1,
        now=event.now,
        window=CREDIT_WINDOW,
    )


def _judge(found: FastSnapshotRestore | None, size_gib: int, now: datetime) -> tuple[bool, int]:
    """Whether a volume would be fast now, and if not, how long to wait."""
    fill = timedelta(hours=1 / fsr_credits_per_hour(size_gib))
    if found is None or found.state != "enabled":
        return False, _wait((_optimizing(size_gib) + fill) / 4)
    if found.credits is None:
        known_since = found.enabled_at
        believed = known_since is not None and now - known_since >= fill + CREDIT_METRIC_PATIENCE
        return believed, 1 if believed else 60
    if found.credits >= 1:
        return True, 1
    return False, _wait(fill * (1 - found.credits))


def _optimizing(size_gib: int) -> timedelta:
    return timedelta(seconds=size_gib / 1024 * PRIORS.fsr_optimizing_seconds_per_tib.p50)


def _wait(duration: timedelta, *, least: int = WAIT_SECONDS[0]) -> int:
    """Whole seconds, rounded up, because a check that comes too early costs another wait."""
    return max(least, min(WAIT_SECONDS[1], math.ceil(duration.total_seconds())))
