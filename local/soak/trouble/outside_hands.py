"""What people and other programs do to a restore's things while it runs, and clocks that disagree.

Tags are taken off volumes, items of the table are deleted, and somebody makes a volume of the same snapshot
with all tags of ours. Each has a moment, and waits until there is something to do it to.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from local import Json
from local.aws.region import ApiError
from local.soak.lab.lab import ClockSkew, FastLab
from local.soak.lab.scheduler import Future
from local.soak.trouble.scenarios import Plan

SKEWS_SECONDS = (-10.0, -3.0, 0.0, 3.0, 10.0)
"""How far Lambda's and Step Functions' clocks are ahead of EC2's."""
LOOK_SECONDS, PATIENCE_SECONDS = 5.0, 1_800.0
LOST_KINDS = ("restore#", "restore-volume#", "fsr#")
TAG_SETS = (
    ("rewarm:stack",), ("rewarm:restore-id",), ("rewarm:volume-index",), ("rewarm:boost",),
    ("rewarm:attempt",), ("rewarm:stack", "rewarm:restore-id", "rewarm:boost", "rewarm:volume-index"),
)  # fmt: skip
CANCEL_SECONDS = 2.0
"""After its record was deleted somebody cancels the restore."""

Act = Callable[["OutsideHands", FastLab, Plan], bool]


@dataclass
class OutsideHands:
    """All that is done from outside in one scenario."""

    chance: random.Random
    skew: ClockSkew = field(default_factory=ClockSkew)
    acts: list[tuple[float, str]] = field(default_factory=list)
    """Seconds after the beginning, and the name of an act."""
    wrong: list[str] = field(default_factory=list)
    """What the API answered and should not have."""

    def arrange(self, lab: FastLab, plan: Plan) -> None:
        """Begins all of it; the plan says it to people."""
        lab.set_skew(self.skew)
        if self.skew != ClockSkew():
            plan.told.append(f"clocks ahead of EC2's: {self.skew}")
        for seconds, name in self.acts:
            plan.harmless = False
            plan.told.append(f"after {seconds:.0f} s somebody {name}")
            lab.scheduler.start(self._when_there_is_something(seconds, ACTS[name], lab, plan))

    def _when_there_is_something(
        self, seconds: float, act: Act, lab: FastLab, plan: Plan
    ) -> Generator[Future, Any, None]:
        yield lab.scheduler.sleep(seconds)
        until = lab.scheduler.now + PATIENCE_SECONDS
        while not act(self, lab, plan) and lab.scheduler.now < until:
            yield lab.scheduler.sleep(LOOK_SECONDS)


def outside_hands(seed: int) -> OutsideHands:
    """Drawn by a separate chance, so that all else that a seed stands for stays as it was."""
    chance = random.Random(seed + 4)
    hands = OutsideHands(chance)
    if chance.random() < 0.3:
        hands.skew = ClockSkew(chance.choice(SKEWS_SECONDS), chance.choice(SKEWS_SECONDS))
    if chance.random() < 0.3:
        for _ in range(chance.choice((1, 1, 2))):
            hands.acts.append((chance.expovariate(1 / 120), chance.choice(sorted(ACTS))))
    return hands


def _volumes(lab: FastLab) -> list[Json]:
    """Those that restores have made, as DescribeVolumes shows them."""
    shown = lab.region.call("ec2", "DescribeVolumes", {})["Volumes"]
    return [
        one
        for one in shown
        if any(tag["Key"] == "rewarm:restore-id" for tag in one.get("Tags", []))
        and one["State"] in ("available", "in-use")
        and one["VolumeId"] not in {*lab.outside.copies, *lab.outside.others}
    ]


def _untag(hands: OutsideHands, lab: FastLab, _plan: Plan) -> bool:
    volumes = _volumes(lab)
    if not volumes:
        return False
    name, keys = hands.chance.choice(volumes)["VolumeId"], hands.chance.choice(TAG_SETS)
    lab.outside.untagged.setdefault(name, set()).update(keys)
    lab.region.call("ec2", "DeleteTags", {"Resources": [name], "Tags": [{"Key": key} for key in keys]})
    return True


def _copy(hands: OutsideHands, lab: FastLab, _plan: Plan) -> bool:
    """As EC2's console does it with "create volume" and the tags of another one."""
    volumes = [one for one in _volumes(lab) if one.get("SnapshotId")]
    if not volumes:
        return False
    model = hands.chance.choice(volumes)
    wanted = {name: model[name] for name in ("SnapshotId", "AvailabilityZone", "VolumeType", "Size")}
    wanted |= {name: model[name] for name in ("Iops", "Throughput") if name in model}
    tags = [{"ResourceType": "volume", "Tags": model["Tags"]}]
    try:
        made = lab.region.call("ec2", "CreateVolume", {**wanted, "TagSpecifications": tags})
    except ApiError:
        return False
    lab.outside.copies[made["VolumeId"]] = {tag["Key"]: tag["Value"] for tag in model["Tags"]}
    return True


def _lose(hands: OutsideHands, lab: FastLab, _plan: Plan) -> bool:
    return _lost(hands, lab, hands.chance.choice(LOST_KINDS)) is not None


def _lost(hands: OutsideHands, lab: FastLab, kind: str) -> str | None:
    """The key of the item that is gone."""
    table = lab.table("RestoresTable")
    keys = sorted(item["pk"]["S"] for item in table.items())
    fitting = [key for key in keys if key.startswith(kind)]
    if not fitting:
        return None
    key = str(hands.chance.choice(fitting))
    lab.outside.lost.add(key)
    table.delete({"pk": {"S": key}})
    return key


def _lose_and_cancel(hands: OutsideHands, lab: FastLab, plan: Plan) -> bool:
    key = _lost(hands, lab, "restore#")
    if key is None:
        return False
    plan.cancels_any = True
    lab.scheduler.start(_cancel(hands, lab, key))
    return True


def _cancel(hands: OutsideHands, lab: FastLab, key: str) -> Generator[Future, Any, None]:
    yield lab.scheduler.sleep(CANCEL_SECONDS)
    name = key.partition("#")[2]
    execution = lab.execution("RestoreStateMachine", name)
    answer, failure = yield lab.begin_api("DELETE", f"/restores/{name}").result
    runs = execution is not None and execution.status == "RUNNING"
    # One that only tells people of its failure has nothing left that could be cancelled.
    has_failed = execution is not None and "Report Failure" in execution.visits
    if runs and not has_failed and failure is None and int(answer["statusCode"]) == 404:
        hands.wrong.append(f"DELETE of {name} is answered by 404 while it runs: {answer['body'][:200]}")


ACTS: dict[str, Act] = {
    "removes tags of a volume": _untag,
    "copies all tags to a volume of the same snapshot": _copy,
    "deletes an item of the table": _lose,
    "deletes a restore's item and cancels the restore": _lose_and_cancel,
}
