"""What a restore waits for before it begins: its place in the stack, and its devices.

Two restores never work on one device, and the stack limits how many run at once. The API checks both before
it answers; the state machine checks again with the same restore id, which keeps what it holds. If a restore
was stopped or lost, the next one that needs its place or devices takes them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import (
    RestoreError,
    ServiceUnavailableError,
    TargetBusyError,
    TargetNotUsableError,
    TooManyRestoresError,
)
from rewarm.domain.value import Value
from rewarm.domain.volume.holds import START_GRACE, ConcurrencyLimits, Running, TargetHolds, check_stack
from rewarm.domain.volume.targets import device_slot
from rewarm.ports.executions import RestoreExecutions
from rewarm.ports.restores import MOST_ROUNDS, Holds, RestoreTable
from rewarm.steps.record.restore import FINISHED
from rewarm.steps.select.selection import SelectionPorts, assign_volumes
from rewarm.steps.select.sources import Selected

MOST_CHECKED = 10
"""If the stack is full, this many of the oldest restores are checked; the sweeper checks all."""

ROOT = -1
"""Replaces a volume's index in the hold of a root device to swap: the volume holds a device of its own."""


class Keeper(Value):
    """What is needed to hold something, and to see which restores have ended.

    `executions` is None for steps of the state machine: only the API asks whether a restore still runs whose
    record does not say that it has ended.
    """

    holds: Holds
    table: RestoreTable
    limits: ConcurrencyLimits
    executions: RestoreExecutions | None = None

    def is_over(self, running: Running, now: datetime) -> bool:
        """Whether the record says so, or Step Functions says that the execution does not run.

        A missing entry says nothing, because somebody may have deleted it. What nobody here can ask is not
        over. Raises RestoreError if a look failed.
        """
        if self.table.standing(running.restore_id).status in FINISHED:
            return True
        if now - running.since <= START_GRACE:
            return False
        return self.executions is not None and self.executions.is_over(running.restore_id, 0)


def enter_stack(request: RestoreRequest, *, restore_id: str, now: datetime, keeper: Keeper) -> None:
    """Notes the restore as running, unless an error occurs. Raises TooManyRestoresError.

    It is noted first and counted afterwards, so that two restores at once see each other.
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
        # Ended restores stay noted, so that the sweeper finds them and what they left.
        others = [other for other in others[:MOST_CHECKED] if not keeper.is_over(other, now)] + others[
            MOST_CHECKED:
        ]
    check_stack([other.restore_id for other in others], limit)


class HoldingPorts(SelectionPorts, kw_only=True):
    """The ports that assign_and_hold needs."""

    keeper: Keeper


def assign_and_hold(
    request: RestoreRequest,
    *,
    restore_id: str,
    now: datetime,
    ports: HoldingPorts,
) -> Selected:
    """As assign_volumes, and holds every device: all of them or none.

    Nothing is held while a volume is waited for. Volumes that others work on are left out where tags or an
    instance name them.

    Raises TargetBusyError, TooManyRestoresError, and every error that names a field of the request.
    """
    assign = partial(assign_volumes, request, restore_id=restore_id, ports=ports)
    instance_id = request.target.instance_id
    if request.source.existing is not None:
        found = assign()
        if found.waits_because is not None:
            return found
        instance_id = _instance_in_use(found.volumes, restore_id, ports.keeper.holds)
    if instance_id is None or request.dry_run:
        return assign()
    busy: dict[str, str] = {}
    assigned = Selected(request, [])
    for _round in range(MOST_ROUNDS):
        held = ports.keeper.holds.on_target(instance_id)
        try:
            _check(request, held, restore_id, ports.keeper.limits)
            assigned = assign(taken=held.others(restore_id), kept=held.of(restore_id))
            assigned = assigned.without(busy, restore_id)
            devices = {each.index: each.device for each in assigned.volumes if each.device is not None}
            devices |= [(ROOT, root.place) for root in assigned.volumes if root.swaps_root and root.place]
            wanted = held.with_devices(restore_id, devices, now)
        except (TargetBusyError, TooManyRestoresError, TargetNotUsableError) as error:
            wanted = held.without(_over(held, restore_id, now, ports.keeper))
            if wanted != held:
                ports.keeper.holds.keep(held, wanted)
                continue
            others = _busy(assigned, held.without({restore_id})) if isinstance(error, TargetBusyError) else {}
            if not others or len(others) == len(assigned.volumes):
                raise _of_adoption(error, request) from error
            busy |= others
            continue
        if wanted == held or ports.keeper.holds.keep(held, wanted):
            return assigned
    raise ServiceUnavailableError(f"other restores to {instance_id} begin all the time; try again")


def _busy(assigned: Selected, held: TargetHolds) -> dict[str, str]:
    """The reason for each volume that another restore works on; empty if the request names volumes."""
    existing = assigned.request.source.existing
    if existing is None or existing.volume_ids is not None:
        return {}
    holders = {device_slot(hold.device): hold.restore_id for hold in held.holds}
    return {
        each.adopts: f"{holders[device_slot(each.device)]} works on it already"
        for each in assigned.volumes
        if each.adopts and each.device and device_slot(each.device) in holders
    }


def _of_adoption(error: RestoreError, request: RestoreRequest) -> RestoreError:
    """The error; where an adopted volume is held, without the advice to take another device."""
    if request.source.existing is None or not isinstance(error, TargetBusyError):
        return error
    return TargetBusyError(
        f"{error.held_by} works on one of the volumes already; wait until it has ended, or cancel it "
        f"(rewarm cancel {error.held_by})",
        field="source.existing",
        held_by=error.held_by,
    )


def _instance_in_use(volumes: list[VolumeAssignment], restore_id: str, holds: Holds) -> str | None:
    """The instance of adopted volumes, which the request need not name; notes it for the restore.

    Raises TargetNotUsableError if they have moved since the request came.
    """
    instance_id = volumes[0].instance_id
    entry = holds.entry(restore_id)
    if entry is None or instance_id is None or entry.instance_id == instance_id:
        return instance_id
    if entry.instance_id is not None:
        raise TargetNotUsableError(
            f"{volumes[0].adopts} was attached to {entry.instance_id} when the request came, and is attached "
            f"to {instance_id} now",
            field="source.existing",
        )
    holds.note_instance(replace(entry, instance_id=instance_id))
    return instance_id


def _check(request: RestoreRequest, held: TargetHolds, restore_id: str, limits: ConcurrencyLimits) -> None:
    """Checks what is known without EC2."""
    if request.target.device is not None:
        held.check_device(restore_id, request.target.device)
    is_there = request.source.existing is not None
    held.check_room(restore_id, limits.per_instance, "source.existing" if is_there else "target.instanceId")


def _over(held: TargetHolds, restore_id: str, now: datetime, keeper: Keeper) -> set[str]:
    since = {hold.restore_id: hold.since for hold in held.holds if hold.restore_id != restore_id}
    return {name for name, at in since.items() if keeper.is_over(Running(name, at), now)}
