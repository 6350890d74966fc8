"""Fleets: many volumes restored by one request. Which snapshots they are made of, and how far a fleet is.

The snapshots are the newest usable of each volume, and those of an instance together. A tag query finds any
number of snapshots, so only those that can still be chosen are kept in memory. Volumes to one instance share
a restore.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import IMAGE_ID, SNAPSHOT_ID, Snapshot
from rewarm.domain.snapshots import Refusal
from rewarm.domain.units import clock_text, elapsed_text, shown
from rewarm.domain.value import Value
from rewarm.domain.volume.targets import device_slot

FLEET_PREFIX = "fleet-"
"""The prefix of fleets' ids and of their records' statuses, which keeps them out of lists of restores."""
MOST_SHOWN = 20
"""Failures, and the slowest restores, that an account names."""
WAITING, READY, FAILED = "waiting", "ready", "failed"
"""States of a volume; while its restore runs, it has the restore's status."""
CANCELLED = "cancelled"
ENDS = (READY, FAILED, CANCELLED)
"""States of a volume whose restore is over."""
MOST_VOLUMES = 10_000
MOST_CANDIDATES = 20
"""How many of each volume's newest snapshots are searched for sets that were taken together."""
_RECOVERY_POINT = re.compile(
    r"arn:aws[a-z-]*:ec2:(?P<region>[a-z0-9-]+):(\d{12})?:"
    rf"(snapshot/(?P<snapshot>{SNAPSHOT_ID})|image/(?P<image>{IMAGE_ID}))"
)


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


PLAN_PREFIX = f"{FLEET_PREFIX}plan-"
ONLY_PLANNED = 0
"""The run of an execution that makes a plan and nothing else."""


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


class RestoreStanding(Value):
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


class SlowRestore(Value):
    """A restore that has not ended, and since when it runs."""

    restore_id: str
    status: str
    started_at: datetime


class FailedVolumeOfFleet(Value):
    """A volume that is not ready though its restore is over, and why."""

    restore_id: str
    index: int
    snapshot: dict[str, Any]
    state: Literal["failed", "cancelled"]
    cause: str | None


class FleetProgress(Value):
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
            failed.append(_failed(volume, standing.cause, is_cancelled=state == CANCELLED))
        if standing.status is not None and standing.status not in ended:
            running[volume.restore_id] = standing
    slow = [
        SlowRestore(restore_id, str(standing.status), standing.started_at)
        for restore_id, standing in running.items()
        if standing.started_at is not None
    ]
    slow.sort(key=lambda restore: (restore.started_at, restore.restore_id))
    over = sum(counts[state] for state in ENDS)
    return FleetProgress(
        volume_count=len(volumes),
        counts=dict(sorted(counts.items())),
        slowest=tuple(slow[:MOST_SHOWN]),
        failed=tuple(failed),
        running_restores=tuple(running),
        eta=_eta(over - before, len(volumes) - before, since, now),
    )


def _failed(volume: FleetVolume, cause: str | None, *, is_cancelled: bool) -> FailedVolumeOfFleet:
    snapshot = volume.item["snapshot"]
    state: Literal["failed", "cancelled"] = "cancelled" if is_cancelled else "failed"
    return FailedVolumeOfFleet(volume.restore_id, volume.index, snapshot, state, cause)


def _eta(ended: int, count: int, since: datetime, now: datetime) -> datetime | None:
    if ended <= 0 or ended == count:
        return None
    return now + timedelta(seconds=(now - since).total_seconds() * (count - ended) / ended)


Span = tuple[float, float]
"""Of a volume that begins at once: seconds until it is its turn, and until it is at full speed."""


def ready_from(span: Span, begins: float) -> float:
    """Seconds until the volume is at full speed, if it begins then; after its turn it does not wait."""
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


def recovery_point(arn: str, region: str, *, field: str) -> tuple[str, str | None]:
    """(Snapshot id, None) of an EBS volume's recovery point, ("", AMI id) of an EC2 instance's.

    AWS Backup keeps both in EC2, and their ARNs are EC2's (AWS Backup developer guide, "Access control":
    table of recovery point ARNs). Raises InvalidRequestError.
    """
    found = _RECOVERY_POINT.fullmatch(arn)
    if found is None:
        raise InvalidRequestError(
            f"found {shown(arn)}; allowed is the ARN of a recovery point of an EBS volume "
            f"(arn:aws:ec2:{region}::snapshot/snap-0123456789abcdef0) or of an EC2 instance "
            f"(arn:aws:ec2:{region}::image/ami-0123456789abcdef0)",
            field=field,
        )
    if found["region"] != region:
        raise InvalidRequestError(
            f"is in {found['region']}; allowed is a recovery point in {region}, "
            "and AWS Backup can copy this one there",
            field=field,
        )
    return found["snapshot"] or "", found["image"]


def candidates_of_each(
    found: Iterable[Snapshot],
    *,
    name_of: Callable[[Snapshot], str],
    at: datetime | None,
    refusal: Refusal,
    field: str,
) -> dict[str, list[Snapshot]]:
    """The snapshots to choose from by the name of their volume: those nearest to `at`, or the newest.

    Snapshots that cannot be restored are kept as well, for the reasons against them.
    Raises InvalidRequestError where there are more volumes than a fleet can have.
    """
    usable: dict[str, list[Snapshot]] = {}
    others: dict[str, list[Snapshot]] = {}
    for snapshot in found:
        fits = (at is None or snapshot.started_at <= at) and refusal(snapshot) is None
        by_volume = usable if fits else others
        kept = by_volume.setdefault(name_of(snapshot), [])
        kept.append(snapshot)
        if len(kept) > 2 * MOST_CANDIDATES:
            kept[:] = _nearest(kept, at)
        if len(by_volume) > MOST_VOLUMES:
            check_count(len(by_volume), field=field)
    return {
        name: [*_nearest(usable.get(name, ()), at), *_nearest(others.get(name, ()), at)]
        for name in sorted(usable.keys() | others.keys())
    }


def _nearest(snapshots: Sequence[Snapshot], at: datetime | None) -> list[Snapshot]:
    """At most MOST_CANDIDATES."""
    if len(snapshots) <= MOST_CANDIDATES:
        return list(snapshots)
    if at is None:
        return sorted(snapshots, key=lambda snapshot: snapshot.started_at)[-MOST_CANDIDATES:]
    return sorted(snapshots, key=lambda snapshot: abs(snapshot.started_at - at))[:MOST_CANDIDATES]


def check_count(volumes: int, *, field: str) -> None:
    """Raises InvalidRequestError if a fleet cannot have that many volumes."""
    if volumes == 0:
        raise InvalidRequestError("nothing matches; a fleet has at least one volume", field=field)
    if volumes > MOST_VOLUMES:
        raise InvalidRequestError(
            f"more than {MOST_VOLUMES:,} volumes match, which is the most that a fleet can have; "
            "make several fleets of them",
            field=field,
        )


def together(volumes: Iterable[str], instances: Mapping[str, str]) -> list[list[str]]:
    """The volumes in groups: those of one instance are restored as of one moment, where that is possible."""
    groups: dict[str, list[str]] = {}
    for volume in volumes:
        groups.setdefault(instances.get(volume, volume), []).append(volume)
    return list(groups.values())


def spread_seconds(starts: Collection[datetime]) -> float:
    """Seconds between the start of the first snapshot and that of the last."""
    return (max(starts) - min(starts)).total_seconds() if starts else 0.0


def check_spread(snapshots: Collection[Snapshot], most_seconds: int | None, *, field: str) -> None:
    """Raises InvalidRequestError where the snapshots were not started within so many seconds."""
    if most_seconds is None or not snapshots:
        return
    first = min(snapshots, key=lambda snapshot: snapshot.started_at)
    last = max(snapshots, key=lambda snapshot: snapshot.started_at)
    spread = spread_seconds([first.started_at, last.started_at])
    if spread > most_seconds:
        raise InvalidRequestError(
            f"allowed are {most_seconds:,} s, and the snapshots were started within {elapsed_text(spread)}: "
            f"{first.snapshot_id} at {clock_text(first.started_at)}, "
            f"{last.snapshot_id} at {clock_text(last.started_at)}; source.at can name an earlier moment",
            field=field,
        )


def check_devices(places: Iterable[tuple[str, str | None, str | None]]) -> None:
    """(Field, instance id, device) of each volume. Raises InvalidRequestError where two have one place."""
    taken: set[tuple[str, str]] = set()
    for name, instance_id, device in places:
        if instance_id is None or device is None:
            continue
        place = (instance_id, device_slot(device))
        if place in taken:
            raise InvalidRequestError(
                f"found {shown(device)} on {instance_id}, where another volume of this fleet goes",
                field=name,
            )
        taken.add(place)
