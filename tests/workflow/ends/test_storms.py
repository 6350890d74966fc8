"""AWS throttles a whole service for some minutes, on the fast lab: what is under way does not end for that.

A time that is counted from a state's entry would be over before the first look, because retries keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from local.soak.lab.endings import VOLUME
from local.soak.lab.lab import FastLab
from local.soak.lab.transport import Call, NoInterference, Refusal, denied
from local.soak.trouble.paths.adopt_paths import adoption, in_use
from local.soak.trouble.paths.interrupted_paths import replacing, root_volume, whole_instance
from local.soak.trouble.paths.paths import request, restored
from local.soak.trouble.wire_faults import JSON_THROTTLED, THROTTLED
from tests.support.amount import LONG

ELEVEN_MINUTES, TWENTY_MINUTES = 660.0, 1_200.0


@dataclass
class Storm(NoInterference):
    """Refuses all calls of some services, from the first call of a state on, for some time."""

    state: str
    services: tuple[str, ...]
    seconds: float
    after_seconds: float = 0.0
    operations: tuple[str, ...] = ()
    is_denied: bool = False
    only_there: bool = False
    """Only the calls of the state itself."""
    began: float | None = None
    met: int = 0

    def before(self, call: Call) -> Refusal | None:
        if self.began is None and call.place == self.state:
            self.began = call.at + self.after_seconds
        if self.began is None or not self.began <= call.at < self.began + self.seconds:
            return None
        is_other = self.operations and call.operation not in self.operations
        is_elsewhere = self.only_there and call.place != self.state
        if call.service not in self.services or is_other or is_elsewhere:
            return None
        self.met += 1
        return denied(call.service) if self.is_denied else THROTTLED.get(call.service, JSON_THROTTLED)


def long_warm_up(lab: FastLab, blocks: int = 80_000, **parts: Any) -> dict[str, Any]:
    """Three quarters of an hour of reading."""
    snapshot_id = lab.region.add_snapshot(size_gib=200, extents=((0, blocks),))
    slow = {"maxMibPerSecond": 16}
    return request(lab, "warm-up-agent", source={"snapshotId": snapshot_id}, warmUp=slow, **parts)


ACTS: dict[str, tuple[str, Callable[[FastLab], dict[str, Any]]]] = {
    "warm-up": ("Dispatch Warmer", lambda lab: request(lab, "warm-up-agent")),
    "measurement": ("Verify Volume Before", lambda lab: request(lab, "provisioned-rate")),
    "measurement after": ("Verify Volume After", lambda lab: request(lab, "provisioned-rate")),
    "creation": ("Create Volume", lambda lab: request(lab, "provisioned-rate")),
    "look at the old volume": ("Replace Check", lambda lab: replacing(lab, "warm-up-agent")),
    "detachment": ("Replace Detachment", lambda lab: replacing(lab, "warm-up-agent")),
    "swap of a root volume": ("Replace Root", root_volume),
    "start of an instance": ("Start Instance", lambda lab: whole_instance(lab, "warm-up-agent")),
    "fast snapshot restore": ("Prepare Snapshot", lambda lab: request(lab, "fast-snapshot-restore")),
    "adoption": ("Dispatch Warmer", lambda lab: adoption(in_use(lab, SnapshotId=None, Size=8))),
}
STORMS = [(name, service) for name in ACTS for service in ("dynamodb", "ec2", "ssm")]


@pytest.mark.parametrize(("name", "service"), STORMS if LONG else STORMS[:3:2])
def test_eleven_minutes_without_a_service_at_an_act_end_nothing(name: str, service: str) -> None:
    state, asked = ACTS[name]
    storm = Storm(state, (service,), ELEVEN_MINUTES)
    with FastLab(1, interference=storm) as lab:
        ending = restored(lab, asked(lab))
        failed = [one for one in lab.executions(VOLUME) if one.status == "FAILED"]
        assert (ending.kind, [one.cause for one in failed]) == ("ready", [])


def test_what_uses_a_volume_is_asked_again_where_the_detachment_was_throttled_for_long() -> None:
    """Somebody may have mounted it meanwhile, so an old answer detaches nothing."""
    storm = Storm("Replace Detachment", ("ec2",), ELEVEN_MINUTES, operations=("DetachVolume",))
    with FastLab(1, interference=storm) as lab:
        assert restored(lab, replacing(lab, "warm-up-agent")).kind == "ready"
        assert storm.met
        assert lab.calls["Replace Detachment", "ssm", "SendCommand"] > 1


LOOKS: dict[str, tuple[str, Callable[[FastLab], dict[str, Any]], tuple[str, ...], tuple[str, ...]]] = {
    "instance of a silent agent": (
        "Poll Initialization", long_warm_up, ("ec2", "ssm"),
        ("DescribeInstances", "DescribeInstanceInformation"),
    ),
    "reads of the volume": ("Poll Initialization", long_warm_up, ("cloudwatch",), ()),
    "progress of the agent": ("Poll Initialization", long_warm_up, ("s3",), ()),
    "instance of a measurement": (
        "Verify Volume After", lambda lab: request(lab, "provisioned-rate"), ("ec2",), ("DescribeInstances",),
    ),
    "adopted volume": (
        "Poll Initialization", lambda lab: adoption(in_use(lab, SnapshotId=None, Size=100)), ("ec2",),
        ("DescribeVolumes",),
    ),
}  # fmt: skip
"""Look that only helps -> where it is made, in which restore, and its calls."""
HELPS = [(name, is_denied) for name in LOOKS for is_denied in (False, True)]


@pytest.mark.parametrize(("name", "is_denied"), HELPS if LONG else HELPS[:1])
def test_a_look_that_only_helps_ends_nothing(name: str, is_denied: bool) -> None:  # noqa: FBT001
    """It fails for as long as the restore lasts: throttled, or denied."""
    state, asked, services, operations = LOOKS[name]
    storm = Storm(state, services, 86_400.0, operations=operations, is_denied=is_denied, only_there=True)
    with FastLab(1, interference=storm) as lab:
        ending = restored(lab, asked(lab))
        assert (ending.kind, ending.cause) == ("ready", "")


@pytest.mark.parametrize("service", ["ec2", "ssm", "dynamodb", "s3", "cloudwatch"] if LONG else ["ec2"])
def test_twenty_minutes_without_a_service_end_no_warm_up(service: str) -> None:
    """EC2 only explains a silence. Without the others nobody can see the command, and the agent reads on."""
    storm = Storm("Poll Initialization", (service,), TWENTY_MINUTES, after_seconds=900.0)
    with FastLab(1, interference=storm) as lab:
        ending = restored(lab, long_warm_up(lab))
        assert (ending.kind, storm.met > 0) == ("ready", True)
        (volume,) = lab.executions(VOLUME)
        assert volume.visits.count("Dispatch Warmer") == 1
