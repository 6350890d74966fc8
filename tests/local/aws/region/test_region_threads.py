"""Many callers at once: nothing is done twice, nobody waits for another one's data plane."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from local.aws.machines.dataplane import SnapshotImage, VolumeLimits
from tests.local.aws.machines.fake_dataplane import FakeDataPlane
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab


class SlowDataPlane(FakeDataPlane):
    """Making a volume takes until the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.allowed = threading.Event()

    def create_volume(
        self, volume_id: str, size_gib: int, image: SnapshotImage | None, limits: VolumeLimits, *, warm: bool
    ) -> None:
        self.begun.set()
        assert self.allowed.wait(10)
        super().create_volume(volume_id, size_gib, image, limits, warm=warm)


def test_a_slow_data_plane_holds_up_its_own_caller_only() -> None:
    plane = SlowDataPlane()
    lab = Lab(plane=plane)
    request = {"AvailabilityZone": ZONE, "Size": 1, "ClientToken": "once"}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lab.ec2, "CreateVolume", **request)
        assert plane.begun.wait(10)
        volume = lab.ec2("CreateVolume", **request)["VolumeId"]
        lab.wait(60)
        assert lab.shown(volume)["State"] == "creating"
        plane.allowed.set()
        assert first.result(10)["VolumeId"] == volume
    lab.wait(0)
    assert lab.shown(volume)["State"] == "available"


def test_one_token_from_many_threads_makes_one_volume() -> None:
    lab = Lab()
    request = {"AvailabilityZone": ZONE, "Size": 1, "ClientToken": "once"}
    with ThreadPoolExecutor(8) as pool:
        made = {one["VolumeId"] for one in pool.map(lambda _: lab.ec2("CreateVolume", **request), range(40))}
    assert made == set(lab.plane.volumes)
    assert len(made) == 1


def test_commands_and_ticks_from_many_threads_run_each_command_once() -> None:
    lab = Lab()
    lab.instance()
    params = {
        "DocumentName": "AWS-RunShellScript",
        "InstanceIds": [INSTANCE],
        "Parameters": {"commands": ["true"]},
    }

    def work(_number: int) -> str:
        command: str = lab.ssm("SendCommand", **params)["Command"]["CommandId"]
        lab.wait(1)
        return command

    with ThreadPoolExecutor(8) as pool:
        commands = list(pool.map(work, range(32)))
    lab.wait(2)
    assert len(lab.plane.commands) == len(commands) == 32
    for command in commands:
        assert lab.ssm("GetCommandInvocation", CommandId=command, InstanceId=INSTANCE)["Status"] == "Success"
    assert lab.region.inventory()["commands"] == []
