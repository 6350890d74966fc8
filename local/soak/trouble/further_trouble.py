"""Trouble that scenarios got later: Lambda, benchmarks, long plans, old events, redrives, recordings.

It has a chance of its own, so that every seed means what it meant before, and more.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from local.aws.region.resources import NO_VOLUME
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.benchmark import BENCHMARK
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import stamp
from local.soak.trouble.paths.interrupted_paths import whole_instance
from local.soak.trouble.paths.paths import (
    ALARM,
    ALARM_ARN,
    ALARM_CHANGE,
    ALARM_DETAIL,
    MUTED_DETAIL,
    OLD_SECONDS,
    SUPPRESSED_DETAIL,
)
from local.soak.trouble.random_faults import CallFault
from rewarm.domain.model import GIB
from rewarm.steps.record.bucket import recording_key

if TYPE_CHECKING:
    from local.soak.trouble.scenarios import Plan

SHARES = {"lambda": 0.3, "benchmark": 0.2, "long": 0.02, "old": 0.1, "redrive": 0.15, "approval": 0.1,
          "whole": 0.1, "hot": 0.2}  # fmt: skip
OUTAGES = {"throttled": (5.0, 60.0, 300.0), "internal": (5.0, 60.0), "lost": (5.0, 60.0)}
"""Kind -> for how long: no restore may fail for it."""
CONCURRENCIES = (1, 2, 5, 10)
BENCHMARK_KINDS = (None, "no-fio", "hangs", "no-upload")
LONG_GIB = (600, 1_024)
"""At the Region's 1.2 MiB/s five and ten days; a restore used to end after seven."""
BLOCKS_A_GIB = 2_048
OBSERVE_KINDS = (None, "killed", "hangs", "no-download", "no-progress", "wrong-sha256")
"""What befalls the agent that records; nothing of it matters to a restore."""
_HEAD = (
    '{"recording":1,"volumeId":"vol-00000001","bytes":%d,"blockBytes":524288,"seconds":60,"complete":true}\n'
)
RECORDINGS: dict[str, Callable[[int], str]] = {
    "good": lambda size: (_HEAD % size) + "".join(f"{block} 2 0\n" for block in (3, 1, 2)),
    "of another volume": lambda size: (_HEAD % (3 * size)) + "1 1 0\n",
    "beyond the end": lambda size: (_HEAD % size) + f"{size // 524_288} 1 0\n",
    "cut short": lambda size: (_HEAD % size) + "1 1",
    "oversized": lambda size: (_HEAD % size) + 900_000 * "1 1 0\n",
    "no recording": lambda _size: "\x00\xff" * 500,
    "empty": lambda _size: "",
}
"""What the bucket may have of a lineage, by the bytes of its device."""
APPROVALS = ((5.0,), (20.0, 21.0), (60.0, 60.0), (590.0, 900.0, 1_800.0), (40_000.0,), (90_000.0,), ())
"""Seconds after the start; a restore without a deadline waits for a day."""


class Further:
    """Adds to one plan."""

    def __init__(self, plan: Plan, chance: random.Random) -> None:
        self._plan = plan
        self._chance = chance

    def write(self, lab: FastLab) -> None:
        """What the chance says."""
        adders = {
            "lambda": self._lambda,
            "benchmark": self._benchmark,
            "long": self._long,
            "old": self._old,
            "redrive": self._redrive,
            "approval": self._approval,
            "whole": self._whole,
            "hot": self._hot,
        }
        for name, share in SHARES.items():
            if self._chance.random() < share:
                adders[name](lab)

    def outage(self, lab: FastLab) -> None:
        """Nothing but what may befall Lambda."""
        if self._chance.random() < SHARES["lambda"]:
            self._lambda(lab)

    def _when(self) -> float:
        return self._chance.expovariate(1 / 90)

    def _lambda(self, lab: FastLab) -> None:
        """Lambda refuses to run functions for a while, or runs a few at once only."""
        if self._chance.random() < 0.3:
            lab.functions.concurrency = self._chance.choice(CONCURRENCIES)
            self._plan.told.append(f"Lambda runs {lab.functions.concurrency} functions at once")
            return
        kind = self._chance.choice(tuple(OUTAGES))
        begins, seconds = lab.scheduler.now + self._when(), self._chance.choice(OUTAGES[kind])
        share = 0.3 if kind == "lost" else 1.0
        fault = CallFault(kind, None, "lambda", "Invoke", begins, begins + seconds, share)
        self._plan.faults.call_faults.append(fault)
        self._plan.told.append(str(fault))

    def _benchmark(self, _lab: FastLab) -> None:
        """Optional: whatever becomes of it, the volume is ready."""
        asked = [one for one in self._plan.requests if "instanceId" in one["target"]]
        if not asked:
            return
        wanted = self._chance.choice((["random-read"], ["random-read", "init"]))
        self._chance.choice(asked)["verify"] |= {"benchmarks": wanted, "benchmarkSeconds": 10}
        kind = self._chance.choice(BENCHMARK_KINDS)
        if kind is not None:
            self._plan.troubles.append(Trouble(kind, BENCHMARK))
        self._plan.told.append(f"benchmarks of a volume, {kind or 'which go well'}")

    def _long(self, lab: FastLab) -> None:
        """A volume that EBS loads for days or weeks."""
        size_gib = self._chance.choice(LONG_GIB)
        snapshot_id = lab.region.add_snapshot(size_gib=size_gib, extents=((0, size_gib * BLOCKS_A_GIB),))
        self._plan.requests.append(
            {
                "source": {"snapshotId": snapshot_id},
                "target": {"availabilityZone": "us-east-1a"},
                "objective": {"strategy": "background"},
                "verify": {"samples": 0},
            }
        )
        self._plan.delays.append(0.0)
        self._plan.told.append(f"restore {len(self._plan.requests) - 1} loads {size_gib:,} GiB")

    def _whole(self, lab: FastLab) -> None:
        """A stopped instance with two volumes, which may not come up."""
        asked = whole_instance(lab, self._chance.choice(("auto", "warm-up-agent", "provisioned-rate")))
        comes_up = self._chance.random() < 0.7
        if not comes_up:
            lab.region.change_instance(asked["target"]["instanceId"], reachable=False, impaired="instance")
            self._plan.harmless = False
        self._plan.requests.append(asked)
        self._plan.delays.append(0.0)
        what = "comes up" if comes_up else "does not come up"
        self._plan.told.append(f"restore {len(self._plan.requests) - 1} is of a whole instance, which {what}")

    def _hot(self, lab: FastLab) -> None:
        """Reads are recorded, and the bucket has recordings, good and bad ones: no restore may notice."""
        asked = self._chance.choice(self._plan.requests)
        source, minutes = asked["source"], self._chance.choice((1, 2, 5))
        asked.setdefault("warmUp", {})["learn"] = {"minutes": minutes}
        is_here = "snapshotId" in source and "region" not in source
        found = self._chance.sample(list(RECORDINGS), self._chance.randint(0, 4)) if is_here else []
        for age, kind in enumerate(found):
            self._keep(lab, source["snapshotId"], kind, age)
        trouble = self._chance.choice(OBSERVE_KINDS)
        if trouble is not None:
            self._plan.troubles.append(Trouble(trouble, "observe", self._chance.random()))
        self._plan.told.append(f"reads are recorded ({trouble or 'which goes well'}); kept are: {found}")

    def _keep(self, lab: FastLab, snapshot_id: str, kind: str, age_days: int) -> None:
        """A recording of the snapshot's lineage, which somebody may delete meanwhile."""
        (shown,) = lab.region.call("ec2", "DescribeSnapshots", {"SnapshotIds": [snapshot_id]})["Snapshots"]
        whose = snapshot_id if shown["VolumeId"] == NO_VOLUME else shown["VolumeId"]
        at = datetime.fromtimestamp(lab.region.now(), UTC) - timedelta(days=age_days)
        key, bucket = recording_key(whose, at, "restore-0", 0, "vol-00000001"), lab.stack.buckets[0]
        lab.buckets.put(bucket, key, RECORDINGS[kind](shown["VolumeSize"] * GIB).encode("latin-1"))
        if self._chance.random() < 0.3:
            lab.scheduler.after(self._when(), lambda: forget(lab, key))

    def _old(self, lab: FastLab) -> None:
        """An alarm's event that restores nothing: of three days ago, replayed, or suppressed."""
        nothing: dict[str, str] = {}
        detail, fields = self._chance.choice(
            (
                (ALARM_DETAIL, {"time": stamp(lab.scheduler.now - OLD_SECONDS)}),
                (ALARM_DETAIL, {"replay-name": "everything"}),
                (SUPPRESSED_DETAIL, nothing),
                (MUTED_DETAIL, nothing),
            )
        )
        put = lab.events.put
        lab.scheduler.after(
            self._when(), lambda: put(ALARM_CHANGE, "aws.cloudwatch", detail, [ALARM_ARN], **fields)
        )
        self._plan.told.append(f"an event of the alarm {ALARM} that restores nothing")

    def _redrive(self, _lab: FastLab) -> None:
        """Somebody stops an execution, and then lets it go on."""
        plan, restore = self._plan, self._chance.randrange(len(self._plan.requests))
        plan.stop_after.setdefault(restore, self._when())
        plan.redrive_after[restore] = self._chance.choice((0.1, 5.0, 60.0, 600.0))
        plan.harmless = False
        plan.told.append(
            f"restore {restore} is stopped after {plan.stop_after[restore]:.0f} s and redriven "
            f"{plan.redrive_after[restore]:g} s later"
        )

    def _approval(self, _lab: FastLab) -> None:
        """A plan that waits: approved soon, late, several times, or by nobody."""
        plan, restore = self._plan, self._chance.randrange(len(self._plan.requests))
        if restore in plan.redrive_after:
            return  # with its item lost, too, it would wait for a day after its end was told
        plan.requests[restore]["objective"]["approveAboveUsd"] = self._chance.choice((0, 0, 1))
        plan.approve_after[restore] = list(self._chance.choice(APPROVALS))
        # A plan that waited may be dearer, and is asked about again.
        plan.harmless = False
        times = ", ".join(f"{seconds:g} s" for seconds in plan.approve_after[restore])
        plan.told.append(f"restore {restore} is approved after {times or 'nothing: never'}")


def forget(lab: FastLab, key: str) -> None:
    """Somebody deletes the object, if it is there."""
    lab.buckets[lab.stack.buckets[0]].pop(key, None)
