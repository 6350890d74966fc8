"""Fleets: many volumes restored by one request. Which volumes share a restore, and how far a fleet is."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

FLEET_PREFIX = "fleet-"
"""How the ids of fleets begin, and the statuses of their records: a list of restores has none of them."""
MOST_SHOWN = 20
"""Failures, and the slowest restores, that an account names."""
WAITING, READY, FAILED = "waiting", "ready", "failed"
"""States of a volume; while its restore runs, it has the restore's status."""
CANCELLED = "cancelled"
ENDS = (READY, FAILED, CANCELLED)
"""States of a volume whose restore is over."""


class FleetStatus(StrEnum):
    """Where a fleet is."""

    ACCEPTED = "accepted"
    AWAITING_APPROVAL = "awaiting-approval"
    RESTORING = "restoring"
    READY = "ready"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def recorded(self) -> str:
        """As the record has it."""
        return FLEET_PREFIX + self.value


FLEETS_RUNNING = (FleetStatus.ACCEPTED, FleetStatus.AWAITING_APPROVAL, FleetStatus.RESTORING)


def is_fleet(name: str) -> bool:
    """Whether it is a fleet's id, and not a restore's."""
    return name.startswith(FLEET_PREFIX)


def status_of_fleet(recorded: object) -> FleetStatus | None:
    """The status that a record has; None for the record of a restore."""
    text = str(recorded)
    return FleetStatus(text.removeprefix(FLEET_PREFIX)) if is_fleet(text) else None


def execution_of_fleet(fleet_id: str, run: int) -> str:
    """The name of the execution of a run."""
    return fleet_id if run == 1 else f"{fleet_id}-{run}"


def fleet_of_execution(name: str) -> str:
    """The fleet whose run has the name."""
    return "-".join(name.split("-")[:2])


@dataclass(frozen=True, slots=True)
class FleetVolume:
    """One volume of a fleet, and where it is restored: the restore and its index there."""

    item: Mapping[str, Any] = field(hash=False)
    """The parts snapshot, target and volume of a request for it alone."""
    restore_id: str
    index: int


@dataclass(frozen=True, slots=True)
class RestoreStanding:
    """What a fleet needs to know of one of its restores."""

    status: str | None
    started_at: datetime | None
    cause: str | None
    settled: frozenset[int]
    """Indexes of the volumes that are at full speed."""

    def state_of(self, index: int, *, ended: frozenset[str]) -> str:
        """The state of one volume; `ended` are the statuses of restores that are over."""
        if self.status == READY or index in self.settled:
            return READY
        if self.status in ended and self.status != CANCELLED:
            return FAILED
        return self.status or WAITING


NOT_BEGUN = RestoreStanding(None, None, None, frozenset())


@dataclass(frozen=True, slots=True)
class SlowRestore:
    """A restore that has not ended, and since when it runs."""

    restore_id: str
    status: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class FailedVolumeOfFleet:
    """A volume that is not ready though its restore is over, and why."""

    restore_id: str
    index: int
    snapshot: dict[str, Any]
    state: Literal["failed", "cancelled"]
    cause: str | None


@dataclass(frozen=True, slots=True)
class FleetProgress:
    """How far a fleet is, counted in volumes."""

    volume_count: int
    counts: Mapping[str, int]
    slowest: tuple[SlowRestore, ...]
    failed: tuple[FailedVolumeOfFleet, ...]
    running_restores: tuple[str, ...]
    eta: datetime | None
    """When all will have ended at the pace so far; None before any has."""

    @property
    def ready(self) -> int:
        """Volumes at full speed."""
        return self.counts.get(READY, 0)

    @property
    def ended(self) -> int:
        """Volumes whose restore is over."""
        return sum(self.counts.get(state, 0) for state in ENDS)


def progress_of(
    volumes: Sequence[FleetVolume],
    restores: Mapping[str, RestoreStanding],
    *,
    ended: frozenset[str],
    since: datetime,
    now: datetime,
    before: int = 0,
) -> FleetProgress:
    """How far the fleet is; a restore that is not in `restores` has not begun.

    `since` the run began, with `before` volumes that were ready already.
    """
    counts: Counter[str] = Counter()
    failed, running = [], {}
    for volume in volumes:
        standing = restores.get(volume.restore_id, NOT_BEGUN)
        state = standing.state_of(volume.index, ended=ended)
        counts[state] += 1
        if state in (FAILED, CANCELLED):
            failed.append(
                FailedVolumeOfFleet(
                    volume.restore_id,
                    volume.index,
                    volume.item["snapshot"],
                    "failed" if state == FAILED else "cancelled",
                    standing.cause,
                )
            )
        if standing.status is not None and standing.status not in ended:
            running[volume.restore_id] = standing
    slow = [
        SlowRestore(restore_id, str(one.status), one.started_at)
        for restore_id, one in running.items()
        if one.started_at is not None
    ]
    slow.sort(key=lambda one: (one.started_at, one.restore_id))
    over = sum(counts[state] for state in ENDS)
    return FleetProgress(
        volume_count=len(volumes),
        counts=dict(sorted(counts.items())),
        slowest=tuple(slow[:MOST_SHOWN]),
        failed=tuple(failed),
        running_restores=tuple(running),
        eta=_eta(over - before, len(volumes) - before, since, now),
    )


def _eta(ended: int, count: int, since: datetime, now: datetime) -> datetime | None:
    if ended <= 0 or ended == count:
        return None
    return now + timedelta(seconds=(now - since).total_seconds() * (count - ended) / ended)


Span = tuple[float, float]
"""Of a volume that begins at once: seconds until it is its turn, and until it is at full speed."""


def ready_from(span: Span, begins: float) -> float:
    """Seconds until the volume is at full speed, if it begins then: after its turn, it waits no more."""
    turn, ready = span
    return max(begins, turn) + ready - turn


def ends_of(
    restores: Sequence[Sequence[Span]], at_once: int, earliest: Sequence[float] | None = None
) -> list[float]:
    """When each restore has ended, in seconds, if they begin in this order and at most so many run at once.

    Each restore is given by its volumes. None begins before its `earliest`.
    """
    running: list[float] = []
    ends = []
    for volumes, turn_at in zip(restores, earliest or [0.0] * len(restores), strict=True):
        begins = max(turn_at, heapq.heappop(running)) if len(running) >= at_once else turn_at
        ends.append(max(ready_from(span, begins) for span in volumes))
        heapq.heappush(running, ends[-1])
    return ends
