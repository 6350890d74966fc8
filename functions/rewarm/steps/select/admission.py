"""What a restore waits for before it begins: its place in the stack, its devices, and its turn at EC2.

Two restores never work on one device, and no more run at once than the stack allows. The API asks before it
answers, the state machine again with the same restore id, which holds what it has. What belongs to a restore
that is over, because it was stopped or lost, goes to whoever needs it.

EC2 answers so many describe calls a second, to the whole account. A thousand restores that begin at once
would be refused, try again, and be refused again. What they need is known, so each restore and each volume is
given a time, and waits in the state machine, where waiting costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import accumulate

from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import (
    RestoreError,
    ServiceUnavailableError,
    TargetBusyError,
    TargetNotUsableError,
    TooManyRestoresError,
)
from rewarm.domain.units import clock_text
from rewarm.domain.volume.holds import START_GRACE, ConcurrencyLimits, Running, TargetHolds, check_stack
from rewarm.ports.executions import RestoreExecutions
from rewarm.ports.restores import MOST_ROUNDS, Holds, Pace, RestoreTable
from rewarm.steps.record.restore import FINISHED
from rewarm.steps.select.selection import SelectionPorts, assign_volumes

MOST_CHECKED = 10
"""So many of the oldest restores are looked at where the stack is full; the sweeper looks at all."""

ROOT = -1
"""In the place of a volume's index, for the root device that is swapped; the volume has one of its own."""
CALLS_OF_RESTORE = 3
"""Describe calls up to the plan: snapshot, source volume, instance or fast snapshot restore."""
CALLS_OF_VOLUME = 4
"""Three describe calls of a volume in its first minute: available, attached, its status; later ones spread.

With a fourth, volumes begin a little slower than EC2 takes CreateVolume: 5 a second, and 20 describe calls.
"""
WORTH_TELLING_SECONDS = 30


@dataclass(frozen=True)
class Keeper:
    """What it takes to hold something, and to see who is over.

    `executions` is None for steps of the state machine: the sweeper and the API see to it that what is noted
    as running does run.
    """

    holds: Holds
    table: RestoreTable
    limits: ConcurrencyLimits
    executions: RestoreExecutions | None = None

    def is_over(self, one: Running, now: datetime) -> bool:
        """The record says so, or it is not noted as running, or nothing runs under that name."""
        if self.table.standing(one.restore_id).status in FINISHED:
            return True
        if now - one.since <= START_GRACE:
            return False
        if self.holds.entry(one.restore_id) is None:
            return True
        return self.executions is not None and self.executions.is_over(one.restore_id, 0)


def enter_stack(request: RestoreRequest, *, restore_id: str, now: datetime, keeper: Keeper) -> None:
    """Counts the restore among those that run; not after an error. Raises TooManyRestoresError.

    Noted first and counted then: of two that come at once, neither overlooks the other.
    """
    if request.dry_run:
        return
    if not keeper.holds.enter(restore_id, instance_id=request.target.instance_id, now=now):
        return
    try:
        _check_room_in_stack(restore_id, now, keeper)
    except RestoreError:
        with suppress(RestoreError):
            keeper.holds.leave(restore_id)
        raise


def _check_room_in_stack(restore_id: str, now: datetime, keeper: Keeper) -> None:
    limit = keeper.limits.in_stack
    others = [running for running in keeper.holds.running() if running.restore_id != restore_id]
    if len(others) >= limit:
        # They stay noted: the sweeper finds them so, and sees to what they left.
        others = [other for other in others[:MOST_CHECKED] if not keeper.is_over(other, now)] + others[
            MOST_CHECKED:
        ]
    check_stack([other.restore_id for other in others], limit)


@dataclass(frozen=True, kw_only=True)
class HoldingPorts(SelectionPorts):
    """The ports that assign_and_hold needs."""

    keeper: Keeper


def assign_and_hold(
    request: RestoreRequest,
    *,
    restore_id: str,
    now: datetime,
    ports: HoldingPorts,
) -> list[VolumeAssignment]:
    """assign_volumes, with every device held: all of them or none.

    Raises TargetBusyError, TooManyRestoresError, and every error that names a field of the request.
    """
    assign = partial(assign_volumes, request, restore_id=restore_id, ports=ports)
    instance_id = request.target.instance_id
    if instance_id is None or request.dry_run:
        return assign()
    for _round in range(MOST_ROUNDS):
        held = ports.keeper.holds.on_target(instance_id)
        try:
            _check(request, held, restore_id, ports.keeper.limits)
            assigned = assign(taken=held.others(restore_id), kept=held.of(restore_id))
            devices = {
                assignment.index: assignment.device
                for assignment in assigned
                if assignment.device is not None
            }
            devices |= [(ROOT, one.place) for one in assigned if one.swaps_root and one.place]
            wanted = held.with_devices(restore_id, devices, now)
        except (TargetBusyError, TooManyRestoresError, TargetNotUsableError):
            wanted = held.without(_over(held, restore_id, now, ports.keeper))
            if wanted == held:
                raise
            ports.keeper.holds.keep(held, wanted)
            continue
        if wanted == held or ports.keeper.holds.keep(held, wanted):
            return assigned
    raise ServiceUnavailableError(f"other restores to {instance_id} begin all the time; try again")


def _check(request: RestoreRequest, held: TargetHolds, restore_id: str, limits: ConcurrencyLimits) -> None:
    """Before EC2 is asked anything."""
    if request.target.device is not None:
        held.check_device(restore_id, request.target.device)
    held.check_room(restore_id, limits.per_instance)


def _over(held: TargetHolds, restore_id: str, now: datetime, keeper: Keeper) -> set[str]:
    since = {hold.restore_id: hold.since for hold in held.holds if hold.restore_id != restore_id}
    return {name for name, at in since.items() if keeper.is_over(Running(name, at), now)}


def turn_of_restore(pace: Pace, now: datetime) -> datetime:
    """When the restore may look for its snapshots."""
    return pace.due(CALLS_OF_RESTORE, now=now)


def turn_of_volumes(count: int, pace: Pace, now: datetime) -> list[datetime]:
    """When each of the volumes may be begun, in their order."""
    return [pace.due(CALLS_OF_VOLUME, now=now) for _ in range(count)]


def turns_of_fleet(volume_counts: Sequence[int], pace: Pace) -> list[float]:
    """After how many seconds each restore of a fleet may begin with all its volumes, in this order."""
    seconds = [pace.seconds_of(calls_of_restore(count)) for count in volume_counts]
    return [0.0, *accumulate(seconds)][: len(seconds)]


def calls_of_restore(volume_count: int) -> int:
    """Describe calls of a restore with all its volumes."""
    return CALLS_OF_RESTORE + volume_count * CALLS_OF_VOLUME


def seconds_until(instant: datetime | None, now: datetime) -> int:
    """Whole seconds, as a Wait state takes them."""
    return 0 if instant is None else max(0, math.ceil((instant - now).total_seconds()))


def turn_notes(last: datetime, now: datetime) -> list[str]:
    """For the plan's reader, where the wait is worth telling."""
    if (last - now).total_seconds() < WORTH_TELLING_SECONDS:
        return []
    told = (
        "Many restores begin at this time, and EC2 answers so many calls a second: it is the turn of this "
        f"one at {clock_text(last)}; the times count from then on."
    )
    return [told]
