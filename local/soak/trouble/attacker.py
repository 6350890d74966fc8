"""Somebody who may set every tag in the account, and nothing else; and the things of others that he tags.

Others have volumes old and new, attached and available, fast ones, snapshots, and instances. The attacker
knows the ids of restores and all tags of ours, and puts them on what is theirs. No function may then ask EC2
to delete, detach, attach, change or tag any of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from local import Json
from local.aws.region import ApiError
from local.soak.lab.lab import FastLab
from local.soak.lab.scheduler import Future

YEAR_SECONDS = 365 * 86_400.0
CHANGING = frozenset(
    {
        "AttachVolume", "CreateReplaceRootVolumeTask", "CreateTags", "DeleteSnapshot", "DeleteTags",
        "DeleteVolume", "DetachVolume", "DisableFastSnapshotRestores", "EnableFastSnapshotRestores",
        "ModifyInstanceAttribute", "ModifySnapshotAttribute", "ModifyVolume", "ModifyVolumeAttribute",
        "RebootInstances", "StartInstances", "StopInstances", "TerminateInstances",
    }
)  # fmt: skip
"""Every call of EC2 with which a function could do something to a thing that is there."""
STACK = "rewarm"
PAST = "2020-01-01T00:00:00Z"
BOOST = "gp3 iops=3000 throughputMibS=125"


MEAN_SECONDS = 20.0
"""Between two taggings."""


def attacks(seed: int) -> int:
    """How often the attacker of this scenario tags, by a chance of its own: no other seed has changed."""
    chance = random.Random(seed + 7)
    return 40 if chance.random() < 0.2 else 0


class Attacker:
    """Theirs, and what he does to it."""

    def __init__(self, lab: FastLab, seed: int) -> None:
        self._lab = lab
        self._chance, self._case = random.Random(seed), random.Random(seed + 11)
        self.taggings = 0
        self.theirs: list[str] = []
        self.touched: list[str] = []
        """Calls of functions that name a thing of theirs."""
        self.calibrations: list[str] = ["x"]
        """Names that he gives to calibrations, also of those that run."""
        self._devices = iter(f"/dev/sd{letter}" for letter in "fghijklmnop")

    def _arrange(self) -> None:
        self._instance = self._own(self._lab.region.add_instance(instance_type="m5.large"))
        for _ in range(4):
            self._make(old=True)
        self._watch()

    # ------------------------------------------------------------------------------------------- their things
    def _own(self, name: str) -> str:
        self.theirs.append(name)
        self._lab.outside.others.add(name)
        return name

    def _make(self, *, old: bool) -> None:
        """A volume, often attached or fast, and a backup of it."""
        region, chance = self._lab.region, self._chance
        how: Json = {"iops": 16_000, "throughput_mib_s": 1_000} if chance.random() < 0.5 else {}
        device = next(self._devices, None) if chance.random() < 0.5 else None
        if device is not None:
            how |= {"attach_to": self._instance, "device": device}
        made_at = region.now() - (YEAR_SECONDS if old else 0.0)
        volume = self._own(region.add_volume(size_gib=100, create_time=made_at, **how))
        backup = region.add_snapshot(size_gib=100, extents=((0, 8),), volume_id=volume, start_time=made_at)
        self._own(backup)

    def _make_alike(self) -> None:
        """A volume of the very snapshot, zone, type and size that a restore uses, made in this moment."""
        there = self._lab.region._tables.snapshots
        ours = [one for one in self._ours() if one.get("SnapshotId") in there]
        if not ours:
            return
        model = self._chance.choice(ours)
        wanted = {name: model[name] for name in ("SnapshotId", "AvailabilityZone", "VolumeType", "Size")}
        with suppress(ApiError):  # EC2 may have no capacity
            self._own(self._lab.region.call("ec2", "CreateVolume", wanted)["VolumeId"])

    # ---------------------------------------------------------------------------------------------- his tags
    def tag(self) -> None:
        """One tagging: tags of ours, as they are on a thing of ours or as he makes them up."""
        chance = self._chance
        if chance.random() < 0.1:
            self._make(old=False)
        if chance.random() < 0.1:
            self._make_alike()
        kinds: list[Callable[[], Json]] = [
            self._calibration, self._attempt, self._boost, self._replaced, self._copy, self._started,
            self._copied, self._evidence, self._drill,
        ]  # fmt: skip
        tags = chance.choice(kinds)()
        if chance.random() < 0.3:
            tags |= chance.choice(kinds)()
        self.taggings += 1
        name = chance.choice(self.theirs)
        # IAM knows no case in keys of tags, and EC2 does.
        spelled = str.title if self._case.random() < 0.2 else str
        pairs = [{"Key": spelled(key), "Value": str(value)} for key, value in tags.items()]
        with suppress(ApiError):  # Somebody else may have deleted it.
            self._lab.region.call("ec2", "CreateTags", {"Resources": [name], "Tags": pairs[:40]})

    def _restore(self) -> Json:
        names = [one.name for one in self._lab.executions("RestoreStateMachine")]
        name = self._chance.choice(names) if names else "restore-0123456789abcdef"
        return {"rewarm:stack": STACK, "rewarm:restore-id": name, "rewarm:volume-index": "0"}

    def _calibration(self) -> Json:
        name = self._chance.choice(self.calibrations)
        own = {"rewarm:calibration": name, "rewarm:creation": name, "rewarm:expires-at": PAST}
        return {"rewarm:stack": STACK, **own}

    def _attempt(self) -> Json:
        return {**self._restore(), "rewarm:attempt": str(self._chance.randrange(3))}

    def _boost(self) -> Json:
        of = self._restore() if self._chance.random() < 0.7 else {"rewarm:stack": STACK}
        return {**of, "rewarm:boost": BOOST}

    def _replaced(self) -> Json:
        shown = self._lab.region.call("ec2", "DescribeInstances", {})["Reservations"]
        instance = self._chance.choice(shown)["Instances"][0]["InstanceId"]
        return {
            "rewarm:replaced-by-restore": self._restore()["rewarm:restore-id"],
            "rewarm:replaced-by-stack": STACK,
            "rewarm:replaced-from": f"{instance} /dev/sdz 0 delete",
        }

    def _copy(self) -> Json:
        return {**self._restore(), "rewarm:copy-of": "snap-0123456789abcdef0"}

    def _evidence(self) -> Json:
        return {**self._attempt(), "rewarm:evidence": "snap-0123456789abcdef0"}

    def _started(self) -> Json:
        return {"rewarm:started-by-stack": STACK}

    def _drill(self) -> Json:
        return {**self._restore(), "rewarm:drill": "true"}

    def _copied(self) -> Json:
        """All tags of ours of a thing, whose creation's key is among them.

        Not those of its owner, by which rules and requests adopt volumes: whoever sets these asks for that.
        """
        ours = self._ours()
        if not ours:
            return self._attempt()
        tags = {tag["Key"]: tag["Value"] for tag in self._chance.choice(ours)["Tags"]}
        return {key: value for key, value in tags.items() if key.startswith("rewarm:")} or self._attempt()

    def _ours(self) -> list[Json]:
        shown = self._lab.region.call("ec2", "DescribeVolumes", {})["Volumes"]
        return [one for one in shown if one["VolumeId"] not in self.theirs and one.get("Tags")]

    # --------------------------------------------------------------------------------------- what came of it
    def _watch(self) -> None:
        """Notes every call of a function to EC2 that changes a thing of theirs."""
        note = self._lab.removals.note

        def watched(body: Any) -> None:
            note(body)
            asked = dict(parse_qsl(body.decode() if isinstance(body, bytes) else str(body or "")))
            named = {value for value in asked.values() if value in self.theirs}
            if asked.get("Action") in CHANGING and named:
                self.touched.append(f"{asked['Action']} of {', '.join(sorted(named))}")

        self._lab.removals.note = watched  # type: ignore[method-assign]

    def begin(self, count: int) -> None:
        """So many taggings at random moments. There is nothing of others before the first."""
        if count:
            self._arrange()
            self._lab.scheduler.start(self._tagging(count))

    def _tagging(self, count: int) -> Generator[Future, Any, None]:
        for _ in range(count):
            yield self._lab.scheduler.sleep(self._chance.expovariate(1 / MEAN_SECONDS))
            self.tag()

    def findings(self) -> list[str]:
        """What a function did to a thing of theirs, and what is gone."""
        tables = self._lab.region._tables
        deleted_by_people = self._lab.outside.unsnapped
        there = {*tables.volumes, *tables.snapshots, *tables.instances, *deleted_by_people}
        gone = [f"{name} of others is gone" for name in self.theirs if name not in there]
        return [*self.touched, *gone]
