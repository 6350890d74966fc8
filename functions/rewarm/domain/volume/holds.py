"""Who works on which device of an instance, and which alarm has started what: two never do it at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from rewarm.domain.errors import TargetBusyError, TooManyRestoresError
from rewarm.domain.units import clock_text
from rewarm.domain.value import Value
from rewarm.domain.volume.targets import device_slot

MOST_NAMED = 5
"""A message names this number of restores, and counts the others."""
START_GRACE = timedelta(minutes=5)
"""A restore is recorded before its execution starts, so at first a missing execution is not its end."""


class ConcurrencyLimits(Value):
    """How many restores may run at once (parameters of the stack)."""

    per_instance: int
    in_stack: int


class Running(Value):
    """A restore that runs, and the instance that it restores to, if it is one."""

    restore_id: str
    since: datetime
    instance_id: str | None = None


class Hold(Value):
    """A device that a restore works on, for the volume with this index."""

    restore_id: str
    index: int
    device: str
    since: datetime


class TargetHolds(Value):
    """All that is held on one instance; `version` changes with every change of it."""

    instance_id: str
    holds: tuple[Hold, ...] = ()
    version: str | None = None

    @property
    def restore_ids(self) -> list[str]:
        """Who works on the instance, the first one first."""
        return list(
            dict.fromkeys(hold.restore_id for hold in sorted(self.holds, key=lambda hold: hold.since))
        )

    def of(self, restore_id: str) -> dict[int, str]:
        """The restore's devices by volume."""
        return {hold.index: hold.device for hold in self.holds if hold.restore_id == restore_id}

    def others(self, restore_id: str) -> list[str]:
        """Devices that other restores work on."""
        return [hold.device for hold in self.holds if hold.restore_id != restore_id]

    def without(self, restore_ids: Collection[str]) -> TargetHolds:
        """What is held, without what these restores hold."""
        return replace(self, holds=tuple(hold for hold in self.holds if hold.restore_id not in restore_ids))

    def with_devices(self, restore_id: str, devices: Mapping[int, str], since: datetime) -> TargetHolds:
        """The restore has these devices and no others; all of them, or TargetBusyError."""
        if self.of(restore_id) == devices:
            return self
        for device in devices.values():
            self.check_device(restore_id, device)
        own = [Hold(restore_id, index, device, since) for index, device in devices.items()]
        return replace(self, holds=(*self.without({restore_id}).holds, *own))

    def check_device(self, restore_id: str, device: str) -> None:
        """Raises TargetBusyError where another restore works on it."""
        for hold in self.holds:
            if hold.restore_id != restore_id and device_slot(hold.device) == device_slot(device):
                raise TargetBusyError(
                    f"{hold.device} on {self.instance_id} is being restored to by {hold.restore_id} since "
                    f"{clock_text(hold.since)}; wait until it has ended, cancel it "
                    f"(rewarm cancel {hold.restore_id}), or take another device",
                    field="target.device",
                    held_by=hold.restore_id,
                )

    def check_room(self, restore_id: str, limit: int, field: str) -> None:
        """Raises TooManyRestoresError with the field if that many others already work on the instance."""
        others = [name for name in self.restore_ids if name != restore_id]
        if len(others) >= limit:
            raise TooManyRestoresError(
                f"{named(others)} {_runs(others)} on {self.instance_id}; the stack's parameter "
                f"MaxRestoresPerInstance allows {limit} at once",
                field=field,
                running=others,
            )


def check_stack(others: Collection[str], limit: int) -> None:
    """Raises TooManyRestoresError if that many restores already run."""
    if len(others) >= limit:
        raise TooManyRestoresError(
            f"{named(others)} {_runs(others)}; the stack's parameter MaxRestoresInFlight allows {limit} "
            "at once",
            running=others,
        )


def named(restore_ids: Collection[str]) -> str:
    """The first few by name, the others by number."""
    first = list(restore_ids)[:MOST_NAMED]
    more = len(restore_ids) - MOST_NAMED
    return ", ".join(first) + (f" and {more:,} more" if more > 0 else "")


def _runs(restore_ids: Collection[str]) -> str:
    return "runs" if len(restore_ids) == 1 else "run"


class AlarmStart(Value):
    """The last restore that an alarm started; `runbook` identifies its runbook."""

    restore_id: str
    at: datetime
    runbook: str
    version: str | None = None

    def cooldown_ends(self, cooldown: timedelta, runbook: str) -> datetime:
        """Until then another ALARM is the same disaster. A changed runbook asks for something else."""
        return self.at if runbook != self.runbook else self.at + cooldown
