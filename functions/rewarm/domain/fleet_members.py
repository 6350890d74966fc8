"""Which snapshots a fleet is made of: the newest usable of each volume, and those of an instance together.

A tag query finds any number of snapshots, so only those that can still be chosen are kept in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import Snapshot
from rewarm.domain.snapshots import Refusal
from rewarm.domain.units import clock_text, elapsed_text, shown
from rewarm.domain.volume.targets import device_slot

MOST_VOLUMES = 10_000
MOST_CANDIDATES = 20
"""Of each volume, sets of snapshots taken together are sought among its newest so many."""

_RECOVERY_POINT = re.compile(
    r"arn:aws[a-z-]*:ec2:(?P<region>[a-z0-9-]+):(\d{12})?:"
    r"(snapshot/(?P<snapshot>snap-([0-9a-f]{8}|[0-9a-f]{17}))|image/(?P<image>ami-([0-9a-f]{8}|[0-9a-f]{17})))"
)


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
    for field, instance_id, device in places:
        if instance_id is None or device is None:
            continue
        place = (instance_id, device_slot(device))
        if place in taken:
            raise InvalidRequestError(
                f"found {shown(device)} on {instance_id}, where another volume of this fleet goes",
                field=field,
            )
        taken.add(place)
