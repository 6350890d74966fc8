"""Many volumes of a foreign client within a minute, adopted by a rule in the fast lab, under EC2's limits.

The client makes and attaches them as a CSI driver does, several to an instance, and asks Rewarm for nothing.
Time is virtual; rules, functions and state machines are the stack's own.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from local import Json
from local.aws.region import RegionSettings
from local.aws.region.throttling import DESCRIBE, Throttle
from local.soak.audit.adoptions import AdoptionAudit
from local.soak.lab.endings import RESTORE
from local.soak.lab.lab import FastLab
from local.tools.scale.restores import EC2, EXTENTS, MOST_TIMES_THE_CALLS, SECONDS_A_TURN, SNAPSHOT_GIB
from rewarm.domain.volume.adopting import WARM_SINCE_TAG
from rewarm.steps.record.restore import RULE_PREFIX

MADE_WITHIN_SECONDS = 60.0
PER_INSTANCE = 4
ATTACHED_AFTER_SECONDS = 3.0
MOST_SECONDS = 14_400.0
"""Virtual; what is not ready by then never is."""
ENOUGH = 1.15
"""The last volume may be ready so many times later than the bound."""
TAG = {"Key": "ebs.csi.aws.com/cluster", "Value": "true"}
RULE: Json = {
    "match": {"volumeTags": {TAG["Key"]: TAG["Value"]}},
    "mode": "act",
    "objective": {"strategy": "warm-up-agent"},
    "limits": {"maxUsdPerDay": 1_000, "maxVolumesPerDay": 10_000, "maxAtOnce": 1_000},
}


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of them, and what the rule asked of AWS."""

    volumes: int
    warm: int
    """They have the tag that says so."""
    requests: int
    """Adoptions that the rule has begun."""
    last_seconds: float
    """From the making of the first to the end of the last adoption."""
    ec2_calls: float
    """A volume."""
    throttled_states: int
    audit: tuple[str, ...]
    """What the auditor says: calls that change volumes, volumes that were warmed or adopted twice."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def adopted(count: int, within_seconds: float = MADE_WITHIN_SECONDS, *, seed: int = 1) -> Adopted:
    """Has so many volumes made, and waits until rules have nothing left to do."""
    with FastLab(seed, RegionSettings(throttling=True)) as lab:
        status, answer = lab.api("PUT", "/rules/volumes-of-pods", RULE)
        if status != 200:
            raise RuntimeError(f"PUT /rules/volumes-of-pods answered {status}: {answer}")
        made: list[str] = []
        snapshot_id = lab.region.add_snapshot(size_gib=SNAPSHOT_GIB, extents=EXTENTS)
        began = lab.scheduler.now
        for number in range(0, count, PER_INSTANCE):
            instance_id = lab.region.add_instance()
            for place in range(min(PER_INSTANCE, count - number)):
                seconds = (number + place) * within_seconds / count
                _later(lab, made, seconds, (snapshot_id, instance_id, place))
        calls = Counter(lab.calls)
        lab.run(lambda: len(made) == count and _is_over(lab, made), most_seconds=MOST_SECONDS)
        asked = Counter(lab.calls) - calls
        executions = [one for one in lab.executions(RESTORE) if one.name.startswith(RULE_PREFIX)]
        ends = [one.stopped or math.inf for one in executions]
        failures = [error for one in lab.states.executions.values() for _, error in one.failures]
        return Adopted(
            volumes=count,
            warm=sum(_is_warm(lab, name) for name in made),
            requests=len(executions),
            last_seconds=round(max(ends, default=math.inf) - began, 1),
            ec2_calls=round(sum(n for (_, service, _), n in asked.items() if service in EC2) / count, 2),
            throttled_states=failures.count("ThrottledError"),
            audit=tuple(AdoptionAudit(lab).findings()),
        )


def _later(lab: FastLab, made: list[str], seconds: float, wanted: tuple[str, str, int]) -> None:
    """The client makes a volume then, and attaches it some seconds later."""
    snapshot_id, instance_id, place = wanted

    def make() -> None:
        asked = {"SnapshotId": snapshot_id, "AvailabilityZone": "us-east-1a", "VolumeType": "gp3"}
        tags = [{"ResourceType": "volume", "Tags": [TAG]}]
        volume_id = _unlimited(lab, "CreateVolume", {**asked, "TagSpecifications": tags})["VolumeId"]
        made.append(volume_id)
        target = {"VolumeId": volume_id, "InstanceId": instance_id, "Device": f"/dev/sd{'fghi'[place]}"}
        lab.scheduler.after(ATTACHED_AFTER_SECONDS, partial(_attach, lab, target))

    lab.scheduler.after(seconds, make)


def _attach(lab: FastLab, target: Json) -> None:
    _unlimited(lab, "AttachVolume", target)


def _unlimited(lab: FastLab, operation: str, parameters: Json) -> Json:
    """Of a client that made a thousand volumes in a minute; EC2's usual limits would not let it."""
    own = lab.region.throttle
    lab.region.throttle = Throttle(lab.region._core.clock, RegionSettings())
    try:
        answer: Json = lab.region.call("ec2", operation, parameters)
        return answer
    finally:
        lab.region.throttle = own


def _is_warm(lab: FastLab, volume_id: str) -> bool:
    found = _unlimited(lab, "DescribeVolumes", {"VolumeIds": [volume_id]})["Volumes"][0]
    return any(tag["Key"] == WARM_SINCE_TAG for tag in found.get("Tags", []))


def _is_over(lab: FastLab, made: list[str]) -> bool:
    begun = [one for one in lab.executions(RESTORE) if one.name.startswith(RULE_PREFIX)]
    named = {name for one in begun for name in one.input["request"]["source"]["existing"]["volumeIds"]}
    return named >= set(made) and all(one.stopped for one in begun)


def bound_seconds(found: Adopted, alone: Adopted) -> float:
    """No sooner: the last volume is made, and its adoption takes as long as one alone.

    Meanwhile each adoption has its turn, and EC2 answers so many describe calls a second.
    """
    calls_seconds = found.volumes * alone.ec2_calls / DESCRIBE.refill_per_second
    waiting_seconds = max(found.requests * SECONDS_A_TURN, calls_seconds)
    return MADE_WITHIN_SECONDS + waiting_seconds + alone.last_seconds


def problems(found: Adopted, alone: Adopted) -> list[str]:
    """What does not hold, in words."""
    wrong = list(found.audit)
    if found.warm != found.volumes:
        wrong.append(f"{found.volumes - found.warm} volumes were not adopted, or are not proven to be warm")
    most = ENOUGH * bound_seconds(found, alone)
    if found.last_seconds > most:
        wrong.append(
            f"the last was ready after {found.last_seconds:,.0f} s; at most {most:,.0f} s are allowed"
        )
    if found.ec2_calls > alone.ec2_calls * MOST_TIMES_THE_CALLS:
        wrong.append(
            f"{found.ec2_calls} requests to EC2 a volume, {alone.ec2_calls} where an instance is alone"
        )
    return wrong


def line(found: Adopted, alone: Adopted) -> str:
    """For people."""
    mark, times = "✗" if problems(found, alone) else "✓", found.last_seconds / bound_seconds(found, alone)
    return (
        f"{mark} {found.warm:,} of {found.volumes:,} volumes of a foreign client are at full speed, by "
        f"{found.requests:,} adoptions of a rule; the last after {found.last_seconds:,.0f} s, {times:.2f} "
        f"times the least that is possible; {found.ec2_calls:,.1f} requests to EC2 a volume (an instance "
        f"alone: {alone.ec2_calls:,.1f}); {found.throttled_states:,} states were throttled"
    )
