"""Scenarios of volumes that others have made: they are adopted, and somebody moves, stops or deletes things.

Nothing that Rewarm does may make, attach, detach or delete a volume then (audit/adoptions.py).
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

from local import Json
from local.aws.region import ApiError, FaultRule, ImageDevice
from local.soak.lab.functions import Mishap
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.adopt_paths import CONSENT, in_use
from local.soak.trouble.random_faults import MISHAP_KINDS, CallFault, InvocationFault

if TYPE_CHECKING:
    from local.soak.trouble.scenarios import Plan

DEVICES = ("/dev/sdf", "/dev/sdg", "/dev/sdh")
TAG = {"Key": "app", "Value": "orders"}
KINDS = ("cold", "cold", "cold", "warm", "loaded", "empty", "without its snapshot")
ACTS = (
    "snapshot is deleted",
    "volume is attached elsewhere",
    "instance is stopped",
    "instance is terminated",
)
MEDDLING = 0.5
RULES, RULES_ALONE = 0.5, 0.5
"""Of so many scenarios a rule adopts the volumes, too; of so many of these nobody else asks for them."""
ATTACHED_LATE = 0.3
"""Of so many scenarios a volume is attached later; of most of these requests wait for it."""
BOOSTS, BOOST_WITHIN_MINUTES = 0.3, 40
"""Of so many scenarios requests allow boosts of large volumes of few IOPS; one asks for nothing else."""
BOOST_ACTS = ("takes back the consent", "lowers it", "changes it", "grows it", "does nothing")
INSISTS_SECONDS, INSISTS_TIMES = 60.0, 400
"""EC2 takes no change until it has finished the raise, so the owner asks again."""
CHANGES_BEFORE = (0, 0, 0, 0, 1, 1, 2, 3)
"""Of the four changes of a volume that EC2 takes in a day."""
OPTIMIZED_SECONDS = 2_200.0
BOOST_PLACES = ("Boost Volume", "Release", "Clean Up", "SweepFunction")
BOOST_FAULTS = 0.3
"""Of so many boosts an invocation dies in one of these places; with as many others ModifyVolume fails."""
LAUNCHES = 0.6
"""Of so many scenarios with a rule an instance is launched; no event tells of the volumes of a launch."""
BY_INSTANCE = 0.3
RUNNING, RUNNING_EFFECTS = "EC2 Instance State-change Notification", ("as it is", "drop", "duplicate", "late")
MOST_LATE_SECONDS = 5_400
WISHES, LATE_SECONDS = 0.4, 7_200.0
"""Of so many scenarios somebody changes what is wanted, or EBS's event comes again after hours."""
WISH_ACTS = ("tag is taken off", "rule is deleted", "rule only observes", "event comes again")
RULE_LOOKS_SECONDS = 1_900.0
"""Two sweeps: the first may come before the last volume is attached."""


class ForeignVolumes:
    """Adds to a plan, by a separate chance."""

    def __init__(self, plan: Plan, chance: random.Random) -> None:
        self._plan = plan
        self._chance = chance
        self._by_rule: Json | None = None
        self._volumes: dict[str, str | None] = {}
        """Each with its snapshot."""
        self._boosts = random.Random(plan.seed + 19)
        """A separate chance, so that no seed without boosts has changed."""
        self._is_boosted = self._boosts.random() < BOOSTS
        self._launches = random.Random(plan.seed + 29)

    def write(self, lab: FastLab) -> None:
        """One to three volumes of an instance, and as many requests, which may want the same volume."""
        chance, plan = self._chance, self._plan
        self._rule(lab, random.Random(plan.seed + 13))
        instance_id = lab.region.add_instance(tags={TAG["Key"]: TAG["Value"]})
        for device in DEVICES[: chance.choice((1, 1, 2, 3))]:
            self._volume(lab, instance_id, device)
        waits = self._attached_late(lab, instance_id, random.Random(plan.seed + 17))
        for _ in range(chance.choice((1, 1, 2, 3))):
            if plan.by_rule_alone:
                break
            asked = self._request(instance_id)
            asked["source"]["existing"] |= waits
            if self._is_boosted:
                asked["source"]["existing"]["boost"] = True
                asked["objective"] |= {"readyWithinMinutes": BOOST_WITHIN_MINUTES}
            plan.requests.append(asked)
            plan.delays.append(chance.choice((0.0, 1.0, 30.0, 600.0)))
        if self._is_boosted:
            self._ask_for_boost(lab, waits)
        if self._by_rule is not None and self._launches.random() < LAUNCHES:
            self._launch(lab)
        self._change_wishes(lab, random.Random(plan.seed + 23))
        if chance.random() < MEDDLING:
            act, when = chance.choice(ACTS), chance.expovariate(1 / 30)
            plan.harmless = False
            plan.told.append(f"after {when:.0f} s the {act}")
            lab.scheduler.after(when, lambda: self._meddle(lab, instance_id, act))

    def _rule(self, lab: FastLab, chance: random.Random) -> None:
        """Puts a rule that fits them all, by a separate chance: no seed without a rule has changed."""
        if chance.random() > RULES:
            return
        limits = {"maxAtOnce": chance.choice((1, 2, 40)), "waitForAttachmentMinutes": chance.choice((5, 60))}
        mode = chance.choice(("act", "act", "act", "observe"))
        tags = {TAG["Key"]: chance.choice((TAG["Value"], "*"))}
        match = {"instanceTags" if self._launches.random() < BY_INSTANCE else "volumeTags": tags}
        rule: Json = {"match": match, "mode": mode, "limits": limits, "verify": {"samples": 100}}
        status, _ = lab.api("PUT", "/rules/orders", rule)
        if status == 200:
            self._by_rule = rule
            self._plan.by_rule_seconds = RULE_LOOKS_SECONDS
            self._plan.by_rule_alone = mode == "act" and chance.random() < RULES_ALONE
            self._plan.told.append(f"a rule with {limits} has the mode {mode}")

    def _change_wishes(self, lab: FastLab, chance: random.Random) -> None:
        """Takes a tag off, changes or deletes the rule, or has an event come late, by a separate chance."""
        if chance.random() > WISHES:
            return
        act, when = chance.choice(WISH_ACTS), chance.expovariate(1 / 300)
        when += LATE_SECONDS if act.startswith("event") else 0.0
        self._plan.told.append(f"after {when:.0f} s the {act}")
        if act.startswith("tag"):
            self._plan.harmless = False  # a request by tags finds less
        lab.scheduler.after(when, lambda: self._change_wish(lab, act))

    def _change_wish(self, lab: FastLab, act: str) -> None:
        volume_id = next(iter(self._volumes))
        volume = lab.region._tables.volumes.get(volume_id)
        with suppress(ApiError):
            if act.startswith("tag"):
                tags = {"Resources": [volume_id], "Tags": [{"Key": TAG["Key"]}]}
                lab.region.call("ec2", "DeleteTags", tags)
            elif act.startswith("event") and volume is not None:
                made = {"event": "createVolume", "result": "available", "cause": "", "request-id": "again"}
                lab.events.put("EBS Volume Notification", "aws.ec2", made, [_arn(lab, "volume", volume_id)])
            elif self._by_rule is not None:
                method = "DELETE" if act.endswith("deleted") else "PUT"
                body = None if method == "DELETE" else {**self._by_rule, "mode": "observe"}
                lab.begin_api(method, "/rules/orders", body)

    def _attached_late(self, lab: FastLab, instance_id: str, chance: random.Random) -> Json:
        """Has a volume attached again only later, by a separate chance; what requests say of that."""
        if chance.random() > ATTACHED_LATE:
            return {}
        volume_id, device = chance.choice(list(zip(self._volumes, DEVICES, strict=False)))
        lab.region.call("ec2", "DetachVolume", {"VolumeId": volume_id})
        lab.pass_time(30)
        when = chance.expovariate(1 / 400)
        self._plan.told.append(f"{volume_id} is attached after {when:.0f} s")
        if self._plan.by_rule_seconds:
            self._plan.harmless = False  # the rule may have begun to read it
        lab.scheduler.after(when, lambda: self._attach(lab, volume_id, instance_id, device))
        return chance.choice(({}, {"waitForAttachmentMinutes": 5}, {"waitForAttachmentMinutes": 60}))

    def _volume(self, lab: FastLab, instance_id: str, device: str) -> None:
        chance, kind = self._chance, self._chance.choice(KINDS)
        if self._is_boosted and not self._volumes:
            kind = "cold"
        size_gib = chance.choice((4, 8, 20))
        tags = [{"ResourceType": "volume", "Tags": [TAG]}]
        snapshot_id = None
        if kind != "empty":
            blocks = max(1, int(size_gib * 2_048 * chance.random() ** 2))
            snapshot_id = lab.region.add_snapshot(size_gib=size_gib, extents=((0, blocks),))
        wanted: Json = {"SnapshotId": snapshot_id, "Size": size_gib, "TagSpecifications": tags}
        if self._is_boosted:
            wanted |= self._large(lab, kind)
            snapshot_id = wanted["SnapshotId"]
        volume_id = in_use(lab, instance_id, device, **wanted)
        if kind == "warm":
            lab.data_plane.volumes[volume_id].fetched = lab.data_plane.volumes[volume_id].written
        elif kind == "loaded":
            lab.pass_time(30_000)
        elif kind == "without its snapshot":
            lab.region.call("ec2", "DeleteSnapshot", {"SnapshotId": snapshot_id})
        self._volumes[volume_id] = snapshot_id
        self._plan.told.append(f"{volume_id} is {kind}")

    def _request(self, instance_id: str) -> Json:
        chance, names = self._chance, list(self._volumes)
        existing: Json = chance.choice(
            (
                {"volumeIds": chance.sample(names, chance.randint(1, len(names)))},
                {"instanceId": instance_id},
                {"tags": {TAG["Key"]: TAG["Value"]}},
            )
        )
        # With an instance its root volume is adopted, too, which the lab's agent finds no device of.
        read = ("auto",) if "instanceId" in existing else ("auto", "auto", "warm-up-agent")
        strategy = chance.choice((*read, "background"))
        asked: Json = {"source": {"existing": existing}, "objective": {"strategy": strategy}}
        return {**asked, "verify": {"samples": chance.choice((0, 100, 256))}}

    def _large(self, lab: FastLab, kind: str) -> Json:
        """What a volume must have to be worth a boost; most owners allow it."""
        chance, tags = self._boosts, [TAG]
        if chance.random() < 0.9:
            tags.append(CONSENT)
        size_gib = chance.choice((40, 100))
        extents = ((0, size_gib * chance.randint(800, 1_500)),)
        made = None if kind == "empty" else lab.region.add_snapshot(size_gib=size_gib, extents=extents)
        owner = [{"ResourceType": "volume", "Tags": tags}]
        slow = {"Size": size_gib, "VolumeType": "io2", "Iops": 100}
        return {"SnapshotId": made, **slow, "TagSpecifications": owner}

    def _ask_for_boost(self, lab: FastLab, waits: Json) -> None:
        """Of the first volume, which its owner has changed before, and changes meanwhile."""
        chance, plan, volume_id = self._boosts, self._plan, next(iter(self._volumes))
        changes = chance.choice(CHANGES_BEFORE)
        for number in range(changes):
            self._change(lab, volume_id, Size=101 + number)
            lab.pass_time(OPTIMIZED_SECONDS)
        asked = {"existing": {"volumeIds": [volume_id], "boost": True, **waits}}
        deadline = chance.choice(({}, {"readyWithinMinutes": 30}))
        objective = {"strategy": "boosted-warm-up", **deadline}
        plan.requests.insert(0, {"source": asked, "objective": objective, "verify": {"samples": 100}})
        plan.delays.insert(0, chance.choice((0.0, 30.0)))
        plan.by_rule_alone = False
        act, when = chance.choice(BOOST_ACTS), chance.expovariate(1 / 900)
        plan.told.append(f"a boost is asked for; its owner had made {changes} changes that day")
        plan.told.append(f"after {when:.0f} s the owner of the boosted volume {act}")
        lab.scheduler.after(when, lambda: self._own(lab, volume_id, act))
        if lab.region.settings.volume.modification_pause_seconds:
            plan.told.append("EC2 takes a change of a volume in six hours")
        self._break_boost(lab.scheduler.now)

    def _break_boost(self, now: float) -> None:
        """None of it may fail a warm-up, or leave a volume raised."""
        chance, plan = self._boosts, self._plan
        if chance.random() < BOOST_FAULTS:
            mishap = Mishap(chance.choice(MISHAP_KINDS), after_work=chance.random() < 0.5)
            dies = InvocationFault(chance.choice(BOOST_PLACES), mishap, chance.choice((0, 0, 1)))
            plan.faults.invocation_faults.append(dies)
            plan.told.append(str(dies))
        if chance.random() < BOOST_FAULTS:
            kind, place = chance.choice(("throttled", "internal", "lost")), chance.choice(BOOST_PLACES)
            fails = CallFault(kind, place, "ec2", "ModifyVolume", now, now + 7_200.0, 0.5)
            plan.faults.call_faults.append(fails)
            plan.told.append(str(fails))

    def _own(self, lab: FastLab, volume_id: str, act: str) -> None:
        volume = lab.region._tables.volumes.get(volume_id)
        if volume is None or act == "does nothing":
            return
        if act == "takes back the consent":
            tags = {"Resources": [volume_id], "Tags": [{"Key": CONSENT["Key"]}]}
            lab.region.call("ec2", "DeleteTags", tags)
            lab.outside.unconsented.add(volume_id)
            return
        wanted = {"lowers it": {"Iops": 100}, "changes it": {"Iops": 500}, "grows it": {"Size": 200}}[act]
        self._change(lab, volume_id, INSISTS_TIMES, **wanted)

    def _change(self, lab: FastLab, volume_id: str, tries: int = 1, **wanted: int) -> None:
        try:
            lab.region.call("ec2", "ModifyVolume", {"VolumeId": volume_id, **wanted})
        except ApiError:
            if tries > 1:
                again = INSISTS_SECONDS
                lab.scheduler.after(again, lambda: self._change(lab, volume_id, tries - 1, **wanted))

    def _launch(self, lab: FastLab) -> None:
        """Has an instance launched from an image; EC2's event that it runs comes, or late, twice, never."""
        chance, plan = self._launches, self._plan
        when, effect = chance.expovariate(1 / 300), chance.choice(RUNNING_EFFECTS)
        late = chance.randint(300, MOST_LATE_SECONDS) if effect == "late" else None
        if effect != "as it is":
            name = "duplicate" if effect == "duplicate" else "drop"
            plan.region_faults.append(FaultRule(f"event:{RUNNING}", effect=name, times=None))
        plan.by_rule_seconds += when
        plan.told.append(f"after {when:.0f} s an instance is launched; its running event: {late or effect}")
        extents = [((0, chance.randint(1, 8_000)),) for _ in range(2)]
        made = [lab.region.add_snapshot(size_gib=8, extents=one) for one in extents]
        devices = [ImageDevice(*one, 8) for one in zip(("/dev/xvda", DEVICES[0]), made, strict=True)]
        image_id = lab.region.add_image(name="orders", devices=devices)

        def launch() -> None:
            tags = [{"ResourceType": kind, "Tags": [TAG]} for kind in ("instance", "volume")]
            wanted = {"ImageId": image_id, "InstanceType": "m5.large", "TagSpecifications": tags}
            with suppress(ApiError):
                made = lab.region.call("ec2", "RunInstances", {**wanted, "MinCount": 1, "MaxCount": 1})
                name = made["Instances"][0]["InstanceId"]
                runs = {"instance-id": name, "state": "running"}
                resources = [_arn(lab, "instance", name)]
                if late is not None:
                    put = lab.events.put
                    lab.scheduler.after(late, lambda: put(RUNNING, "aws.ec2", runs, resources))

        lab.scheduler.after(when, launch)

    def _meddle(self, lab: FastLab, instance_id: str, act: str) -> None:
        """Somebody else does what Rewarm must not."""
        volume_id, snapshot_id = next(iter(self._volumes.items()))
        with suppress(ApiError):
            if act.startswith("snapshot"):
                lab.region.call("ec2", "DeleteSnapshot", {"SnapshotId": snapshot_id or "snap-00000000"})
            elif act.startswith("volume"):
                lab.region.call("ec2", "DetachVolume", {"VolumeId": volume_id})
                other = lab.region.add_instance()
                lab.scheduler.after(30, lambda: self._attach(lab, volume_id, other))
            else:
                name = "StopInstances" if "stopped" in act else "TerminateInstances"
                lab.region.call("ec2", name, {"InstanceIds": [instance_id]})

    def _attach(self, lab: FastLab, volume_id: str, instance_id: str, device: str = DEVICES[0]) -> None:
        place = {"InstanceId": instance_id, "Device": device}
        with suppress(ApiError):
            lab.region.call("ec2", "AttachVolume", {"VolumeId": volume_id, **place})


def _arn(lab: FastLab, kind: str, name: str) -> str:
    return lab.region.arn(f"{kind}/{name}")
