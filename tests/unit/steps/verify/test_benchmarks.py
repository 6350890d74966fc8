"""POST and GET /benchmarks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rewarm.domain import errors
from rewarm.domain.model import Attachment, InstanceEbsLimits, VolumeSettings
from rewarm.steps.record.bucket import benchmark_output_key
from rewarm.steps.verify.benchmarks import get_benchmark
from rewarm.steps.verify.start_benchmark import BenchmarkPorts, start_benchmark
from tests.support import builders
from tests.support.fakes import FakeArtifacts, FakeCommands, FakeInstances, FakeVolumes
from tests.support.values.fio_outputs import account, run_text, side
from tests.support.wired import wired

INSTANCE = builders.INSTANCE_ID
NOW = builders.NOW
BOTH: dict[str, Any] = {
    "instanceId": INSTANCE,
    "targets": [{"mount": "/data"}, {"mount": "/efs", "iops": 5_000, "throughputMibS": 488}],
    "patterns": ["cache"],
    "runtimeSeconds": 5,
}


class World:
    def __init__(self, platform: str = "linux", *, online: bool = True) -> None:
        self.commands, self.artifacts, self.volumes = FakeCommands(), FakeArtifacts(), FakeVolumes(NOW)
        instance = builders.instance(platform=platform, ssm_online=online, architecture="x86_64")
        self.instances = FakeInstances({instance.instance_id: instance})

    def start(self, body: dict[str, Any]) -> dict[str, Any]:
        return start_benchmark(
            body,
            benchmark_id="benchmark-1",
            by=builders.ALICE,
            now=NOW,
            ports=wired(BenchmarkPorts, self),
        )

    def get(self, seconds: float = 5) -> dict[str, Any]:
        ports = BenchmarkPorts(self.commands, self.instances, self.volumes, self.artifacts)
        return get_benchmark("benchmark-1", now=NOW + timedelta(seconds=seconds), ports=ports)


class TestStart:
    def test_the_document_is_told_everything(self) -> None:
        world = World()
        assert world.start(BOTH)["status"] == "running"
        ((_, instance_id, parameters),) = world.commands.sent
        assert instance_id == INSTANCE
        assert parameters["targets"] == "/data /efs"
        assert parameters["jobs"].startswith("cache 1760 --rw=randrw --bs=4k")
        assert parameters["jobs"].endswith("--runtime=5")
        assert (parameters["installFio"], parameters["limitSeconds"]) == ("no", "185")
        assert benchmark_output_key("benchmark-1") in parameters["resultUrl"]

    def test_fio_is_installed_only_with_consent(self) -> None:
        world = World()
        world.start({**BOTH, "installFio": True})
        assert world.commands.sent[0][2]["installFio"] == "yes"

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"targets": []}, "targets"),
            ({"patterns": []}, "patterns"),
            ({"patterns": ["fast"]}, "patterns.0"),
            ({"targets": [{"mount": "/a b"}]}, "targets.0.mount"),
            ({"targets": [{"mount": "data"}]}, "targets.0.mount"),
            ({"targets": [{}]}, "targets.0"),
            ({"targets": [{"mount": "/data"}, {"mount": "/data"}]}, "targets"),
            ({"targets": [{"volumeId": builders.VOLUME_ID}]}, "targets.0.volumeId"),
            ({"runtimeSeconds": 1}, "runtimeSeconds"),
            ({"direct": True}, "direct"),
            ({"copyFile": {"file": "D:\\a", "toFolder": "E:\\"}}, "copyFile"),
        ],
    )
    def test_what_is_wrong_is_named(self, change: dict[str, Any], field: str) -> None:
        world = World()
        with pytest.raises(errors.InvalidRequestError) as caught:
            world.start({**BOTH, **change})
        assert caught.value.field == field
        assert world.commands.sent == []

    def test_a_device_is_only_read(self) -> None:
        world = World()
        body = {**BOTH, "targets": [{"volumeId": builders.VOLUME_ID}]}
        world.start({**body, "patterns": ["random-read", "init"]})
        assert world.commands.sent[0][2]["targets"] == builders.VOLUME_ID
        with pytest.raises(errors.InvalidRequestError, match="nothing writes to a device"):
            world.start({**body, "patterns": ["random-read", "random-write"]})

    def test_an_instance_that_does_not_listen_is_refused(self) -> None:
        with pytest.raises(errors.AgentUnreachableError):
            World(online=False).start(BOTH)

    def test_each_platform_has_its_own(self) -> None:
        copy = {"instanceId": INSTANCE, "copyFile": {"file": "D:\\big file.bin", "toFolder": "E:\\"}}
        windows = World("windows")
        windows.start(copy)
        assert windows.commands.sent[0][2]["file"] == "D:\\big file.bin"
        with pytest.raises(errors.TargetNotUsableError, match="use copyFile"):
            World("windows").start(BOTH)
        with pytest.raises(errors.TargetNotUsableError, match="for Windows"):
            World().start(copy)


class TestGet:
    def test_targets_side_by_side(self) -> None:
        world = World()
        world.start(BOTH)
        world.artifacts.texts[benchmark_output_key("benchmark-1")] = run_text(
            "/data", "cache", account(side(3_871, mean_ms=4.1), side(1_667)), serial="vol0123456789abcdef0"
        ) + run_text("/efs", "cache", account(side(3_374), side(1_451)))
        world.commands.finish("command-1", stdout={"event": "result"})
        told = world.get()
        assert told["status"] == "completed"
        data, efs = told["runs"]
        assert (data["rank"], efs["rank"]) == (1, 2)
        assert data["volumeId"] == "vol-0123456789abcdef0"
        assert (efs["provisionedIops"], efs["provisionedMibS"]) == (5_000, 488)
        assert efs["limit"]["name"] == "volume-iops"
        assert (data["read"]["p50Ms"], data["totalIops"]) == (4.1, 5_538)

    def test_limits_of_the_volume_that_is_named(self) -> None:
        world = World()
        volume_id = world.volumes.create(
            builders.SNAPSHOT_ID,
            builders.ZONE,
            VolumeSettings("gp3", 100, 3_000, 125),
            rate_mib_s=None,
            client_token="1",
        )
        world.start({**BOTH, "targets": [{"volumeId": volume_id}], "patterns": ["random-read"]})
        world.artifacts.texts[benchmark_output_key("benchmark-1")] = run_text(
            volume_id, "random-read", account(side(1_633))
        )
        world.commands.finish("command-1")
        (run,) = world.get()["runs"]
        assert (run["provisionedIops"], run["provisionedMibS"]) == (3_000, 125)
        assert run["limit"]["name"] == "depth"

    @pytest.mark.parametrize(("card", "limit"), [(1, "instance-throughput"), (0, "depth")])
    def test_on_an_instance_with_several_ebs_cards_the_volumes_card_counts(
        self, card: int, limit: str
    ) -> None:
        world = World()
        small, large = (InstanceEbsLimits(mib_s, mib_s, None, None) for mib_s in (488.0, 4_000.0))
        world.instances.limits = replace(large, cards=(large, small))
        fast = VolumeSettings("gp3", 100, 20_000, 1_000)
        volume_id = world.volumes.create(
            builders.SNAPSHOT_ID, builders.ZONE, fast, rate_mib_s=None, client_token="1"
        )
        world.volumes.change(
            volume_id, attachments=(Attachment(INSTANCE, "/dev/sdf", "attached", card=card),)
        )
        world.start({**BOTH, "targets": [{"volumeId": volume_id}], "patterns": ["init"]})
        world.artifacts.texts[benchmark_output_key("benchmark-1")] = run_text(
            volume_id, "init", account(side(488, block_kib=1_024))
        )
        world.commands.finish("command-1")
        (run,) = world.get()["runs"]
        assert run["limit"]["name"] == limit

    def test_a_run_without_figures_has_its_reason_and_no_rank(self) -> None:
        world = World()
        world.start(BOTH)
        world.artifacts.texts[benchmark_output_key("benchmark-1")] = run_text(
            "/data", "cache", account(side(5))
        ) + run_text("/efs", "cache", None, status=75, note="there is no folder /efs")
        world.commands.finish("command-1")
        data, efs = world.get()["runs"]
        assert data["rank"] == 1
        assert (efs["rank"], efs["problem"]) == (None, "there is no folder /efs")

    def test_what_nobody_asked_for_is_left_out(self) -> None:
        world = World()
        world.start(BOTH)
        world.artifacts.texts[benchmark_output_key("benchmark-1")] = run_text(
            "/etc", "cache", account(side(5))
        )
        world.commands.finish("command-1")
        assert world.get()["runs"] == []

    def test_it_goes_on_and_it_fails(self) -> None:
        world = World()
        world.start(BOTH)
        assert world.get()["status"] == "running"
        assert world.get(seconds=700)["status"] == "failed"
        world.commands.finish("command-1", status="InProgress", status_details="InProgress")
        assert world.get()["reason"] == "the command is InProgress"
        world.commands.finish(
            "command-1", status="Failed", status_details="Failed", exit_code=67, stderr="fio is not installed"
        )
        assert "fio is not installed" in world.get()["reason"]
        world.commands.finish("command-1")
        assert world.get()["reason"] == "the instance has uploaded nothing"

    def test_a_copy_on_windows(self) -> None:
        world = World("windows")
        world.start({"instanceId": INSTANCE, "copyFile": {"file": "D:\\a", "toFolder": "E:\\"}})
        world.commands.finish(
            "command-1", stdout={"sizeBytes": 10 << 30, "firstSeconds": 1376.65, "secondSeconds": 79.341}
        )
        copied = world.get()["copied"]
        assert (copied["ratio"], copied["firstMibS"], copied["secondMibS"]) == (17.351, 7.4, 129.1)
        world.commands.finish("command-1", stdout={"sizeBytes": 0})
        assert world.get()["status"] == "failed"

    def test_an_unknown_one_is_named(self) -> None:
        with pytest.raises(errors.BenchmarkNotFoundError, match="benchmark-1"):
            World().get()
