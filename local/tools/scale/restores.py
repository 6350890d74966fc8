"""Many restores at once in the fast lab, under EC2's documented request limits, held against a single one.

All of them begin at the same instant, as alarms and schedules start them, several to an instance. Time is
virtual; the functions, the adapters and the state machines are the stack's own.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from local.aws.region import RegionSettings
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import Execution
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.random_faults import CallFault, RandomFaults
from local.soak.trouble.scenarios import START

MOST_TIMES_THE_CALLS = 1.5
PER_INSTANCE = 4
PER_SNAPSHOT = 10
SNAPSHOT_GIB = 8
EXTENTS = ((0, 1_000), (4_000, 1_000))
MOST_SECONDS = 86_400.0
"""Virtual; a restore that takes longer is stuck."""
EC2 = ("ec2", "ebs")
FIRST_OUTAGE_SECONDS, SECONDS_A_TURN = 30.0, 0.9
"""Restores begin in turn, one every so many seconds."""
READY = "Rewarm Restore Ready"


@dataclass(frozen=True, slots=True)
class Crowd:
    """What became of them, and what they asked of AWS."""

    restores: int
    ready: int
    ended_otherwise: Mapping[str, int]
    """By error, or by status where there is none."""
    volumes: int
    first_seconds: float
    median_seconds: float
    last_seconds: float
    calls: float
    """Requests to AWS a restore."""
    ec2_calls: float
    """Of them those to EC2 and the EBS direct APIs."""
    throttled_states: int
    """Tries of a state that failed because AWS was busy."""
    held_afterwards: int
    """Devices and places that nobody gave back."""
    told: int = 0
    """Restores whose volume a message called ready."""
    most_functions: int = 0
    """So many ran at once."""
    refused_functions: int = 0
    """Tries of a state whose function Lambda did not run."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Shortage:
    """What Lambda does not give: functions at once, and none at all for a while in the middle."""

    concurrency: int | None = None
    outage_minutes: int = 0

    def faults(self, count: int, seed: int) -> RandomFaults:
        """The outage, while half of so many restores have begun."""
        begins = START + max(FIRST_OUTAGE_SECONDS, count * SECONDS_A_TURN / 2)
        ends = begins + 60 * self.outage_minutes
        outage = CallFault("throttled", None, "lambda", "Invoke", begins, ends, 1.0)
        return RandomFaults(random.Random(seed), [outage])


def crowd(
    count: int, *, strategy: str = "warm-up-agent", seed: int = 1, shortage: Shortage | None = None
) -> Crowd:
    """Start so many at once and let them end; after a shortage the sweeper gets its time as well."""
    shortage = shortage or Shortage()
    with FastLab(seed, RegionSettings(throttling=True), shortage.faults(count, seed)) as lab:
        lab.functions.concurrency = shortage.concurrency
        instances = [lab.region.add_instance() for _ in range(-(-count // PER_INSTANCE))]
        snapshots = [
            lab.region.add_snapshot(size_gib=SNAPSHOT_GIB, extents=EXTENTS)
            for _ in range(-(-count // PER_SNAPSHOT))
        ]
        started = [
            lab.begin(
                f"restore-{number:05d}",
                _input(snapshots[number // PER_SNAPSHOT], instances[number % len(instances)], strategy),
            )
            for number in range(count)
        ]
        for execution in started:
            lab.finish(execution, most_seconds=MOST_SECONDS)
        if shortage.outage_minutes:
            lab.pass_time(SWEPT_SECONDS)
        return _account(lab, started)


def _input(snapshot_id: str, instance_id: str, strategy: str) -> dict[str, Any]:
    request = {
        "source": {"snapshotId": snapshot_id},
        "target": {"instanceId": instance_id},
        "objective": {"strategy": strategy},
    }
    return {"request": request, "trigger": {"kind": "schedule"}}


def _account(lab: FastLab, started: list[Execution]) -> Crowd:
    ready = [one for one in started if one.status == "SUCCEEDED" and one.output["verdict"] == "ready"]
    seconds = sorted((one.stopped or lab.scheduler.now) - one.started for one in started)
    asked = Counter[str]()
    for (_, service, _), number in lab.calls.items():
        asked[service] += number if service != "lambda" else 0
    told = {one["detail"]["restoreId"] for one in lab.events.sent if one["detail-type"] == READY}
    failures = [error for execution in lab.states.executions.values() for _, error in execution.failures]
    return Crowd(
        restores=len(started),
        ready=len(ready),
        ended_otherwise=Counter(one.error or one.status for one in started if one not in ready),
        volumes=len({one.output["volumes"][0]["volumeId"] for one in ready}),
        first_seconds=round(seconds[0], 1),
        median_seconds=round(seconds[len(seconds) // 2], 1),
        last_seconds=round(seconds[-1], 1),
        calls=round(asked.total() / len(started), 2),
        ec2_calls=round(sum(asked[service] for service in EC2) / len(started), 2),
        throttled_states=failures.count("ThrottledError"),
        held_afterwards=len(_held(lab)),
        told=len(told),
        most_functions=lab.functions.most_running,
        refused_functions=failures.count("Lambda.TooManyRequestsException"),
    )


def _held(lab: FastLab) -> list[str]:
    """Rows of the table that hold something."""
    held = []
    for attributes in lab.table("RestoresTable").items():
        key = str(attributes.get("pk", {}).get("S", ""))
        held += [key] if key.startswith("target#") else []
        held += [name for name in attributes if key.startswith("running#") and ":" in name]
    return held


def problems(found: Crowd, alone: Crowd) -> list[str]:
    """What does not hold, in words."""
    told = []
    if found.ready != found.restores:
        told.append(f"{found.restores - found.ready} ended otherwise: {dict(found.ended_otherwise)}")
    if found.volumes != found.ready:
        told.append(f"{found.ready} restores have {found.volumes} volumes")
    # What Lambda refuses is tried again, and EC2 throttles what all restores then do in the same moment.
    for name in () if found.refused_functions else ("calls", "ec2_calls"):
        many, one = getattr(found, name), getattr(alone, name)
        if many > one * MOST_TIMES_THE_CALLS:
            told.append(f"{name}: {many} a restore, {one} where it is alone")
    if found.told != found.ready:
        told.append(f"{found.ready - found.told} volumes are at full speed, and nobody was told")
    if found.held_afterwards:
        told.append(f"{found.held_afterwards} devices or places were not given back")
    return told
