"""Fleets of growing size in the fast lab, held against the least time that the account's limits allow.

Of ten volumes, eight go to one instance and two to a zone alone. Each fleet has a new account with AWS's
default quotas and EC2's documented request limits. Time is virtual; the functions, the adapters and the state
machines are the stack's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from local.aws.region import RegionSettings
from local.aws.region.throttling import CREATE_VOLUME, DESCRIBE, MUTATING, Bucket
from local.soak.lab.lab import FastLab

MOST_RATIO = 1.15
"""Makespan by the largest of the bounds."""
MOST_TIMES_THE_CALLS = 1.1
"""Calls a volume, by those of the smallest fleet."""
PER_INSTANCE, OF_THEM_TO_ZONE = 10, (4, 9)
SIZES_GIB = (8, 16, 32)
DEADLINE_MINUTES = 120
"""The Region's initialization rate alone keeps 10,000 of these volumes for 66."""
RATE_QUOTA_MIB_S, CHEAPEST_RATE_MIB_S = 5_000, 100
LOADED_AT_ONCE = RATE_QUOTA_MIB_S // CHEAPEST_RATE_MIB_S
MOST_SECONDS = 864_000.0
"""Virtual; a fleet that takes longer is stuck."""
NO_MUTATION = ("Describe", "Get", "List")


@dataclass(frozen=True, slots=True)
class Fleet:
    """What became of a fleet, and what it asked of AWS."""

    volumes: int
    restores: int
    ready: int
    makespan_seconds: float
    """From the start of the fleet's execution until its last volume is ready."""
    ended_seconds: float
    """Until the execution has ended, which confirms by CloudWatch what is ready."""
    bounds_seconds: dict[str, float]
    """By the limit that each comes from."""
    calls: dict[str, float]
    """Requests to AWS by service, a volume; `lambda` are invocations."""
    states: float
    """Entered states of all executions, a volume."""

    @property
    def bound(self) -> str:
        """The limit that allows the least."""
        return max(self.bounds_seconds, key=self.bounds_seconds.__getitem__)

    @property
    def bound_seconds(self) -> float:
        """No fleet of so many volumes is ready earlier."""
        return self.bounds_seconds[self.bound]

    @property
    def ratio(self) -> float:
        """Makespan by the largest bound."""
        return self.makespan_seconds / self.bound_seconds

    @property
    def all_calls(self) -> float:
        """Requests to AWS a volume, invocations aside."""
        return sum(number for service, number in self.calls.items() if service != "lambda")

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "bound": self.bound, "ratio": self.ratio}


def fleet(count: int, *, alone: Fleet | None = None, seed: int = 1) -> Fleet:
    """Restore a fleet of so many volumes; `alone` is the smallest one, whose volumes nobody disturbs."""
    with FastLab(seed, RegionSettings(throttling=True)) as lab:
        items = _items(lab, count)
        request = {"source": {"items": items}, "objective": {"readyWithinMinutes": DEADLINE_MINUTES}}
        status, answer = lab.api("POST", "/fleets", request)
        if status != 202:
            raise RuntimeError(f"the fleet was refused: {answer}")
        execution = lab.execution("FleetStateMachine", answer["fleetId"])
        if execution is None:
            raise RuntimeError("the fleet's execution has not begun")
        lab.finish(execution, most_seconds=MOST_SECONDS)
        _, record = lab.api("GET", f"/fleets/{answer['fleetId']}")
        restores = lab.executions("RestoreStateMachine")
        ready_after = sorted(
            ((one.stopped or 0.0) - execution.started, one.input["plan"]["strategy"])
            for one in lab.executions("RestoreVolumeStateMachine")
        )
        return Fleet(
            volumes=count,
            restores=len(restores),
            ready=record["progress"]["counts"].get("ready", 0),
            makespan_seconds=round(ready_after[-1][0], 1),
            ended_seconds=round((execution.stopped or 0.0) - execution.started, 1),
            bounds_seconds=_bounds(lab, count, alone.bounds_seconds if alone else _undisturbed(ready_after)),
            calls=_calls(lab, count),
            states=round(sum(len(one.visits) for one in lab.states.executions.values()) / count, 1),
        )


def _items(lab: FastLab, count: int) -> list[dict[str, Any]]:
    items, zone, instance = [], lab.region.settings.zones[0], ""
    for number in range(count):
        if number % PER_INSTANCE == 0:
            instance = lab.region.add_instance()
        to_zone = number % PER_INSTANCE in OF_THEM_TO_ZONE
        size_gib = SIZES_GIB[number % len(SIZES_GIB)]
        snapshot = lab.region.add_snapshot(size_gib=size_gib, extents=((0, size_gib * 1_024),))
        target = {"availabilityZone": zone} if to_zone else {"instanceId": instance}
        items.append({"source": {"snapshotId": snapshot}, "target": target})
    return items


def _undisturbed(ready_after: Sequence[tuple[float, str]]) -> dict[str, float]:
    """Seconds that a volume needs alone, from those of the smallest fleet."""
    rates = (seconds for seconds, strategy in ready_after if strategy == "provisioned-rate")
    shortest, longest = ready_after[0][0], ready_after[-1][0]
    return {"shortest volume": shortest, "longest volume": longest, "initialization rate": min(rates)}


def _bounds(lab: FastLab, count: int, alone: Mapping[str, float]) -> dict[str, float]:
    """The last volume that a limit lets begin still needs what such a volume needs alone."""
    asked = Counter[str]()
    for (_, service, operation), number in lab.calls.items():
        if service == "ec2":
            asked[operation if operation == "CreateVolume" else _kind(operation)] += number
    shortest, longest = alone["shortest volume"], alone["longest volume"]
    return {
        "shortest volume": round(shortest, 1),
        "longest volume": round(longest, 1),
        "initialization rate": round(_wait_for_rate(count) + alone["initialization rate"], 1),
        "CreateVolume requests": round(_wait(CREATE_VOLUME, count) + shortest, 1),
        "other requests that change": round(_wait(MUTATING, asked["mutating"]), 1),
        "describe requests": round(_wait(DESCRIBE, asked["Describe"]), 1),
    }


def _wait_for_rate(count: int) -> float:
    """Until the last volume of a zone has its turn: at the cheapest rate, which is in time, for each of them.

    All but those that are still loaded then, the largest at best, have had the whole of the Region's rate.
    """
    data_mib = sorted(SIZES_GIB[n % 3] * 512 for n in range(count) if n % PER_INSTANCE in OF_THEM_TO_ZONE)
    before = data_mib[:-LOADED_AT_ONCE]
    return max(sum(before) / RATE_QUOTA_MIB_S, min(before) / CHEAPEST_RATE_MIB_S) if before else 0.0


def _kind(operation: str) -> str:
    return "Describe" if operation.startswith(NO_MUTATION) else "mutating"


def _wait(bucket: Bucket, requests: int) -> float:
    return max(0.0, (requests - bucket.size) / bucket.refill_per_second)


def _calls(lab: FastLab, count: int) -> dict[str, float]:
    found = Counter[str]()
    for (_, service, _), number in lab.calls.items():
        found[service] += number
    return {service: round(number / count, 2) for service, number in sorted(found.items())}


def problems(found: Fleet, smallest: Fleet) -> list[str]:
    """What does not hold, in words."""
    said = []
    if found.ready != found.volumes:
        said.append(f"{found.volumes - found.ready} volumes are not ready")
    if found.ratio > MOST_RATIO:
        said.append(
            f"it took {found.ratio:.2f} times the {found.bound_seconds:,.0f} s that "
            f"{found.bound} allow; {MOST_RATIO} times are the goal"
        )
    if found.all_calls > smallest.all_calls * MOST_TIMES_THE_CALLS:
        said.append(
            f"{found.all_calls:,.0f} requests a volume, and {smallest.all_calls:,.0f} in the smallest"
        )
    return said


def ordered(counts: Sequence[int]) -> list[int]:
    """Ascending, with the smallest fleet, in which nobody disturbs a volume."""
    return sorted({PER_INSTANCE, *counts})
