"""Scenarios by their seed: what is restored, how, and what goes wrong on the way."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from local import Json
from local.aws.region import FaultRule, ImageDevice, RegionSettings, VolumeSettings
from local.soak.lab.functions import Mishap
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.lab import FastLab
from local.soak.trouble import applications
from local.soak.trouble.foreign_volumes import ForeignVolumes
from local.soak.trouble.further_trouble import Further
from local.soak.trouble.machine_rows import ACTS, AGENT_KINDS
from local.soak.trouble.random_faults import (
    CALL_KINDS,
    MISHAP_KINDS,
    CallFault,
    InvocationFault,
    RandomFaults,
)
from local.soak.trouble.undoings import Undoing
from local.soak.trouble.written_blocks import WrittenBlocks

START = 1_800_000_000.0
STRATEGIES = (
    "auto", "warm-up-agent", "provisioned-rate", "fast-snapshot-restore", "background", "boosted-warm-up",
    "volume-clone",
)  # fmt: skip
WEIGHTS = (5, 5, 4, 3, 1, 2, 2)
SERVICES = ("ec2", "ssm", "dynamodb", "s3", "cloudwatch", "ebs", "sns", "events", None)
OPERATIONS = (
    ("ec2", "CreateVolume"), ("ec2", "DescribeVolumes"), ("ec2", "AttachVolume"), ("ec2", "DeleteVolume"),
    ("ec2", "DetachVolume"), ("ec2", "ModifyVolume"), ("ec2", "DescribeVolumeStatus"),
    ("ec2", "EnableFastSnapshotRestores"), ("ec2", "DisableFastSnapshotRestores"), ("ssm", "SendCommand"),
    ("ssm", "GetCommandInvocation"), ("ssm", "CancelCommand"), ("dynamodb", "UpdateItem"),
    ("dynamodb", "GetItem"), ("s3", "GetObject"), ("s3", "PutObject"), ("ec2", "CreateTags"),
    ("ec2", "CopyVolumes"), ("cloudwatch", "GetMetricData"), ("ec2", "DescribeInstances"),
)  # fmt: skip
PLACES = (
    "Parse Request", "Select Snapshot", "Choose Strategy", "Announce Plan", "Prepare Snapshot",
    "Create Volume", "Check Volume", "Attach Volume", "Announce Attached", "Verify Volume Before",
    "Dispatch Warmer", "Poll Initialization", "Await Signal", "Verify Volume After", "Release", "Clean Up",
    "Report", "Announce Ready", "Announce Failure", "SweepFunction", "WakeUpFunction",
    "RulesFunction",
)  # fmt: skip
EVENTS = ("EBS Volume Notification", "EBS Fast Snapshot Restore State-change Notification",
          "EC2 Command Invocation Status-change Notification")  # fmt: skip
REGION_FAULTS = (
    FaultRule("CreateVolume", code="InsufficientVolumeCapacity", status=500),
    FaultRule("CreateVolume", code="VolumeLimitExceeded", when={"VolumeInitializationRate": "*"}, times=None),
    FaultRule("fast-restore:enable", code="FastSnapshotRestoreLimitExceeded", times=None),
    FaultRule("volume:creation", effect="volume-error"),
    FaultRule("volume:initialization", effect="stall"),
    FaultRule("command:delivery"),
)
FOR_GOOD = 1e9
SIX_HOURS = 0.1
"""Of so many Regions of adoptions."""
FAULTS_OF_REWINDS = 0.3
FLEETS = 0.15
"""Of so many scenarios the restores are one fleet."""
OF_FLEETS = ("strategy", "readyWithinMinutes")
FAST = "m5.4xlarge"
"""Faster than a gp3 volume, so that a boost is of use."""
ROOTS_OF_16 = 5
"""Of 16 restores that replace a volume, so many replace the root volume."""


@dataclass
class Plan:
    """What a seed stands for."""

    seed: int
    requests: list[Json] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    """Seconds from one start to the next."""
    cancel_after: dict[int, float] = field(default_factory=dict)
    """Restore -> seconds after its start."""
    cancels_any: bool = False
    """Somebody has cancelled one of the restores, whichever."""
    stop_after: dict[int, float] = field(default_factory=dict)
    redrive_after: dict[int, float] = field(default_factory=dict)
    """Seconds after it was stopped."""
    approve_after: dict[int, list[float]] = field(default_factory=dict)
    """Restore whose plan may need approval -> when somebody approves it; empty where nobody does."""
    use_after: dict[int, float] = field(default_factory=dict)
    """Restore to a zone -> when somebody begins to look for its volumes, to write to them."""
    undoings: list[Undoing] = field(default_factory=list)
    """Rewinds of rewinds, in the order in which they are asked for."""
    fleet: Json | None = None
    """All requests as one fleet; `requests` then only say of what it is made."""
    redrives: bool = False
    """The fleet is redriven once it has ended."""
    by_rule_seconds: float = 0.0
    """So long a rule is given to adopt what nobody has asked for; 0 without a rule."""
    by_rule_alone: bool = False
    """Nobody asks for anything."""
    troubles: list[Trouble] = field(default_factory=list)
    region_faults: list[FaultRule] = field(default_factory=list)
    faults: RandomFaults = field(default_factory=lambda: RandomFaults(random.Random(0)))
    told: list[str] = field(default_factory=list)
    harmless: bool = True
    """Nothing goes wrong but what every restore must bear."""


class Writer:
    """Makes up one scenario."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.plan = Plan(seed, faults=RandomFaults(random.Random(seed + 1)))

    @staticmethod
    def settings(seed: int, *, adoptions: bool = False) -> RegionSettings:
        """The Region of a scenario; some, where volumes are adopted, take a change of one in six hours."""
        chance = random.Random(seed + 2)
        slow = adoptions and random.Random(seed + 37).random() < SIX_HOURS
        return RegionSettings(
            volume=VolumeSettings(modification_pause_seconds=21_600.0 if slow else 0.0),
            throttling=chance.random() < 0.5,
            metric_delay_seconds=chance.choice([(0.0, 0.0), (60.0, 180.0), (120.0, 120.0), (600.0, 600.0)]),
        )

    def write(self, lab: FastLab) -> Plan:
        """Seeds the Region and says what happens."""
        chance = self.chance
        shared = self._snapshot(lab) if chance.random() < 0.4 else None
        instance_id = self._instance(lab) if chance.random() < 0.3 else None
        for _ in range(chance.choices((1, 2, 3), (6, 3, 1))[0]):
            self.plan.requests.append(self._request(lab, shared, instance_id))
            self.plan.delays.append(chance.choice((0.0, 1.0, 30.0, 600.0)))
        self._use(random.Random(self.plan.seed + 3))
        if chance.random() < 0.75:
            for _ in range(chance.choices((1, 2, 3), (5, 3, 2))[0]):
                self._trouble()
        Further(self.plan, random.Random(self.plan.seed + 4)).write(lab)
        self._fleet(random.Random(self.plan.seed + 5))
        WrittenBlocks(self.plan, random.Random(self.plan.seed + 6)).write(lab)
        if self.plan.fleet is None:
            chance = random.Random(self.plan.seed + 7)
            applications.write(self.plan.requests, self.plan.troubles, chance, lab)
            applications.drill(self.plan.requests, self.plan.told, random.Random(self.plan.seed + 8), lab)
            applications.befall(self.plan, random.Random(self.plan.seed + 10), lab)
        return self.plan

    def write_rewind(self, lab: FastLab) -> Plan:
        """The same, where nothing is asked for but a rewind and what undoes it."""
        WrittenBlocks(self.plan, random.Random(self.plan.seed + 6)).write_rewind(lab)
        if self.chance.random() < FAULTS_OF_REWINDS:
            self._trouble()
        return self.plan

    def write_adoption(self, lab: FastLab) -> Plan:
        """The same, where nothing is asked for but that volumes of others are warmed up."""
        ForeignVolumes(self.plan, random.Random(self.plan.seed + 9)).write(lab)
        for _ in range(self.chance.choice((0, 0, 1, 1, 2))):
            self._trouble()
        Further(self.plan, random.Random(self.plan.seed + 31)).outage(lab)
        return self.plan

    def _fleet(self, chance: random.Random) -> None:
        """Makes one fleet of several restores, by a separate chance: no other seed has changed."""
        plan = self.plan
        if chance.random() > FLEETS or any("snapshotId" not in asked["source"] for asked in plan.requests):
            return
        first = plan.requests[0]
        objective = {name: value for name, value in first["objective"].items() if name in OF_FLEETS}
        items = [{"source": asked["source"], "target": asked["target"]} for asked in plan.requests]
        plan.fleet = {"source": {"items": items}, "objective": objective}
        plan.fleet |= {name: first[name] for name in ("verify", "onFailure", "warmUp") if name in first}
        plan.redrives = chance.random() < 0.5
        plan.approve_after.clear()
        plan.told.append(f"a fleet of {len(items)}{', redriven at its end' if plan.redrives else ''}")

    def _use(self, chance: random.Random) -> None:
        """Lets somebody use volumes, which is no fault, by a separate chance: no other seed has changed."""
        for number, asked in enumerate(self.plan.requests):
            if "instanceId" not in asked["target"] and chance.random() < 0.5:
                self.plan.use_after[number] = chance.expovariate(1 / 60)
                self.plan.told.append(f"somebody writes to the volumes of restore {number}")

    # --------------------------------------------------------------------------------------- what is asked
    def _snapshot(self, lab: FastLab, **fields: Any) -> tuple[str, int]:
        chance = self.chance
        size_gib = chance.choice((1, 4, 8, 20, 64))
        blocks = size_gib * 2_048
        written = max(1, int(blocks * min(1.0, chance.random() ** 2)))
        written = min(written, 12_000)
        first = min(written, chance.randint(1, written))
        extents = ((0, first), (blocks - (written - first), written - first))
        return lab.region.add_snapshot(
            size_gib=size_gib, extents=[extent for extent in extents if extent[1]], **fields
        ), size_gib

    def _instance(self, lab: FastLab) -> str:
        return lab.region.add_instance(instance_type=self.chance.choice(("m5.large", FAST)))

    def _request(self, lab: FastLab, shared: tuple[str, int] | None, instance_id: str | None) -> Json:
        chance = self.chance
        strategy = chance.choices(STRATEGIES, WEIGHTS)[0]
        asked: Json = {"objective": {"strategy": strategy}, "source": self._source(lab, strategy, shared)}
        if chance.random() < (0.7 if strategy == "auto" else 0.2):
            asked["objective"]["readyWithinMinutes"] = chance.choice((5, 15, 60, 600))
        if chance.random() < 0.3:
            asked["objective"]["maxCostUsd"] = chance.choice((0.05, 1, 20))
        needs_agent = strategy in ("warm-up-agent", "boosted-warm-up")
        if chance.random() < 0.8 or needs_agent:
            own = lab.region.add_instance(instance_type=FAST) if strategy == "boosted-warm-up" else None
            asked["target"] = {"instanceId": own or instance_id or self._instance(lab)}
        else:
            asked["target"] = {"availabilityZone": "us-east-1a"}
        asked["verify"] = {"samples": chance.choice((0, 100, 256))}
        if "instanceId" in asked["target"] and chance.random() < 0.2:
            self._replace(lab, asked)
        if chance.random() < 0.2:
            asked["onFailure"] = "keep"
        if chance.random() < 0.2:
            asked["warmUp"] = {"maxMibPerSecond": chance.choice((5, 40))}
        return asked

    def _replace(self, lab: FastLab, asked: Json) -> None:
        """In the place of a volume; two restores may want the same one."""
        if "imageId" in asked["source"]:
            return
        instance_id, device = asked["target"]["instanceId"], "/dev/sdm"
        shown = lab.region.call("ec2", "DescribeInstances", {"InstanceIds": [instance_id]})
        machine = shown["Reservations"][0]["Instances"][0]
        mapped = machine.get("BlockDeviceMappings", [])
        # By its name, so that the other scenarios stay what they were.
        if int(instance_id[-1], 16) < ROOTS_OF_16:
            asked["target"] |= {"device": machine["RootDeviceName"], "mode": "replace", "reboot": True}
            return
        if device not in [one["DeviceName"] for one in mapped]:
            lab.region.add_volume(size_gib=8, attach_to=instance_id, device=device)
        asked["target"] |= {"device": device, "mode": "replace"}

    def _source(self, lab: FastLab, strategy: str, shared: tuple[str, int] | None) -> Json:
        chance = self.chance
        if strategy == "volume-clone":
            volume_id = lab.region.add_volume(size_gib=64)
            return {"snapshotId": self._snapshot(lab, volume_id=volume_id)[0]}
        if chance.random() < 0.15:
            made = [self._snapshot(lab) for _ in range(chance.randint(2, 3))]
            devices = [
                ImageDevice(f"/dev/sd{letter}", *one) for letter, one in zip("fgh", made, strict=False)
            ]
            return {"imageId": lab.region.add_image(name="image", devices=devices)}
        return {"snapshotId": (shared or self._snapshot(lab))[0]}

    # ------------------------------------------------------------------------------------- what goes wrong
    def _trouble(self) -> None:
        chance = self.chance
        kinds = (
            self._call_fault,
            self._invocation_fault,
            self._agent,
            self._region,
            self._cancel,
            self._stop,
            self._events,
        )
        of_request = 2 if self.plan.requests else 0  # rules may be all that asks for anything
        chance.choices(kinds, (6, 3, 3, 2, of_request, of_request, 2))[0]()

    def _when(self) -> float:
        """Most restores take some minutes."""
        return float(self.chance.choice((0, 1, 2, 5)) + self.chance.expovariate(1 / 90))

    def _call_fault(self) -> None:
        chance = self.chance
        service, operation = chance.choice(OPERATIONS)
        place = chance.choice((None, None, chance.choice(PLACES)))
        if chance.random() < 0.3:
            service, operation, place = chance.choice(SERVICES), None, None  # type: ignore[assignment]
        begins = START + self._when()
        seconds = chance.choice((5.0, 60.0, 600.0, FOR_GOOD))
        fault = CallFault(
            chance.choice(CALL_KINDS), place, service, operation, begins, begins + seconds,
            chance.choice((0.3, 1.0)),
        )  # fmt: skip
        self.plan.faults.call_faults.append(fault)
        self._harmful(str(fault))

    def _invocation_fault(self) -> None:
        chance = self.chance
        mishap = Mishap(chance.choice(MISHAP_KINDS), after_work=chance.random() < 0.5)
        fault = InvocationFault(chance.choice(PLACES), mishap, chance.choice((0, 0, 1, 3)))
        self.plan.faults.invocation_faults.append(fault)
        self.plan.told.append(str(fault))

    def _agent(self) -> None:
        chance = self.chance
        kind = chance.choice((*AGENT_KINDS, *ACTS))
        action = chance.choice(("warm", "warm", "verify")) if kind in AGENT_KINDS else "warm"
        trouble = Trouble(kind, action, chance.random(), chance.choice((0, 0, 1)))
        self.plan.troubles.append(trouble)
        self._harmful(f"{kind} during {action} at {trouble.at_share:.0%}, after {trouble.skip}")

    def _region(self) -> None:
        rule = self.chance.choice(REGION_FAULTS)
        self.plan.region_faults.append(rule)
        self._harmful(f"{rule.target} {rule.effect} {rule.code}")

    def _cancel(self) -> None:
        restore = self.chance.randrange(len(self.plan.requests))
        self.plan.cancel_after[restore] = self._when()
        self._harmful(f"restore {restore} is cancelled after {self.plan.cancel_after[restore]:.0f} s")

    def _stop(self) -> None:
        restore = self.chance.randrange(len(self.plan.requests))
        self.plan.stop_after[restore] = self._when()
        self._harmful(f"restore {restore} is stopped after {self.plan.stop_after[restore]:.0f} s")

    def _events(self) -> None:
        effect = self.chance.choice(("drop", "duplicate"))
        name = self.chance.choice(EVENTS)
        self.plan.region_faults.append(FaultRule(f"event:{name}", effect=effect, times=None))
        self.plan.told.append(f"every {name} event: {effect}")

    def _harmful(self, told: str) -> None:
        self.plan.harmless = False
        self.plan.told.append(told)
