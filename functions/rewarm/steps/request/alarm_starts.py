"""Decides which event of an alarm starts a restore: no duplicate, and no event of a flapping alarm."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from rewarm.domain.errors import ServiceUnavailableError
from rewarm.domain.volume.holds import AlarmStart, Running
from rewarm.ports import JsonObject
from rewarm.steps.select.target_lock import MOST_ROUNDS, Keeper


@dataclass(frozen=True, slots=True)
class Earlier:
    """The restore that an event already belongs to."""

    outcome: Literal["duplicate", "suppressed"]
    restore_id: str
    reason: str


def earlier_delivery(key: str, restore_id: str, keeper: Keeper) -> Earlier | None:
    """Returns the restore of an earlier delivery; None for the first. EventBridge delivers at least once."""
    owner = keeper.table.claim_event(key, restore_id)
    if owner == restore_id:
        return None
    return Earlier("duplicate", owner, "it was delivered twice")


def earlier_alarm(
    alarm_name: str,
    restore_id: str,
    *,
    runbook: JsonObject | None,
    cooldown: timedelta,
    now: datetime,
    keeper: Keeper,
) -> Earlier | None:
    """Returns the alarm's last restore until it has ended and its cooldown is over; else None.

    Raises ServiceUnavailableError.
    """
    digest = _digest(runbook)
    for _round in range(MOST_ROUNDS):
        last = keeper.holds.alarm(alarm_name)
        if last is not None and last.restore_id == restore_id:
            return None
        if last is not None:
            ends = last.cooldown_ends(cooldown, digest)
            if now < ends:
                return Earlier("suppressed", last.restore_id, f"the cooldown ends at {ends:%H:%M:%S} UTC")
            if not keeper.is_over(Running(last.restore_id, last.at), now):
                return Earlier("suppressed", last.restore_id, "it still runs")
        if keeper.holds.keep_alarm(alarm_name, last, AlarmStart(restore_id, now, digest)):
            return None
    raise ServiceUnavailableError(f'the alarm "{alarm_name}" goes off all the time; try again')


def _digest(runbook: JsonObject | None) -> str:
    return hashlib.sha256(json.dumps(runbook, sort_keys=True).encode()).hexdigest()[:16]
