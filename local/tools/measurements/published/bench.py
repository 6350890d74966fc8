"""Benchmarks on an instance of the embedded AWS as a user runs them: POST /benchmarks, wait, look."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence

from local import Json
from local.aws.host import Host
from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.instances import link_names
from local.tools.run.lab import Lab

PAUSE_SECONDS = 0.2
HANGS_SECONDS = 900.0
STEP_SECONDS = 1.0
"""Of lab time, between two looks at what AWS is doing."""
LONGEST_STEP_SECONDS = 60.0


class Bench:
    """An instance, volumes on it, and benchmarks of them."""

    def __init__(self, host: Host) -> None:
        self.host, self.lab = host, Lab(host)
        self.ec2, self._ssm = host.client("ec2"), host.client("ssm")
        self.zone = host.region.settings.zones[0]
        self.instance_id = host.region.add_instance(instance_type="m5.4xlarge")
        self._devices = itertools.cycle("fghijklmnop")

    def attached(self, snapshot_id: str | None, **settings: int) -> str:
        """A new gp3 volume, from the snapshot or empty, on the instance as soon as AWS has it there."""
        wanted: Json = {"AvailabilityZone": self.zone, "VolumeType": "gp3", **settings}
        wanted |= {"SnapshotId": snapshot_id} if snapshot_id else {}
        volume_id: str = self.ec2.create_volume(**wanted)["VolumeId"]
        self._until(volume_id, "available")
        self.ec2.attach_volume(
            VolumeId=volume_id, InstanceId=self.instance_id, Device=f"/dev/sd{next(self._devices)}"
        )
        self._until(volume_id, "in-use")
        return volume_id

    def run(self, targets: Sequence[Json], patterns: Sequence[str], seconds: int) -> list[Json]:
        """The runs of a benchmark; raises DataPlaneError where one gave no figures."""
        request = {
            "instanceId": self.instance_id,
            "targets": list(targets),
            "patterns": list(patterns),
            "runtimeSeconds": seconds,
        }
        started = self.lab.api.expect(202, "POST", "/benchmarks", request)
        told = self._wait(started["benchmarkId"])
        problems = [run["problem"] for run in told["runs"] if run["problem"]]
        if told["status"] != "completed" or problems or not told["runs"]:
            raise DataPlaneError(f"the benchmark gave no figures: {told['reason']}; {'; '.join(problems)}")
        return list(told["runs"])

    def iops(self, target: Mapping[str, str], pattern: str, seconds: int) -> float:
        """Of one pattern on one target."""
        return float(self.run([dict(target)], [pattern], seconds)[0]["totalIops"])

    def command(self, script: str) -> str:
        """Run a shell script on the instance; its standard output. Raises DataPlaneError where it fails."""
        sent = self._ssm.send_command(
            DocumentName="AWS-RunShellScript",
            InstanceIds=[self.instance_id],
            Parameters={"commands": [script]},
        )
        command_id = sent["Command"]["CommandId"]
        self.lab.clock.sleep(STEP_SECONDS * 2)
        give_up = time.monotonic() + HANGS_SECONDS
        while time.monotonic() < give_up:
            told = self._ssm.get_command_invocation(CommandId=command_id, InstanceId=self.instance_id)
            if told["Status"] == "Success":
                return str(told["StandardOutputContent"])
            if told["Status"] not in {"Pending", "InProgress", "Delayed"}:
                raise DataPlaneError(f"{told['StatusDetails']}: {told['StandardErrorContent'][-300:]}")
            self._pause()
        raise DataPlaneError(f"the command {command_id} does not end")

    def mounted(self, volume_id: str, *, make: bool) -> str:
        """The volume's file system on a folder of the instance; with `make` a new one."""
        device = device_of(volume_id)
        folder = f"$HOME/{volume_id}"
        format_it = f"mkfs.ext4 -q -E nodiscard {device} && " if make else ""
        return self.command(
            f"{format_it}mkdir -p {folder} && mount {device} {folder} && echo {folder}"
        ).strip()

    def unmount(self, folder: str) -> None:
        """So that the volume can go."""
        self.command(f"umount {folder} && rmdir {folder}")

    def remove(self, volume_id: str) -> None:
        """It has been measured; the next one gets the room."""
        self.ec2.detach_volume(VolumeId=volume_id)
        self._until(volume_id, "available")
        self.ec2.delete_volume(VolumeId=volume_id)

    def wait(self, seconds: float) -> None:
        """Lab time passes, and with it what AWS does by itself."""
        left = seconds
        while left > 0:
            step = min(left, LONGEST_STEP_SECONDS)
            self.lab.clock.sleep(step)
            left -= step

    def _until(self, volume_id: str, state: str) -> None:
        give_up = time.monotonic() + HANGS_SECONDS
        while time.monotonic() < give_up:
            shown = self.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
            attachments = {one["State"] for one in shown.get("Attachments", [])}
            if shown["State"] == state and attachments <= {"attached"}:
                return
            self.lab.clock.sleep(STEP_SECONDS)
        raise DataPlaneError(f"{volume_id} does not become {state}")

    def _wait(self, benchmark_id: str) -> Json:
        give_up = time.monotonic() + HANGS_SECONDS
        while time.monotonic() < give_up:
            told = self.lab.api.expect(200, "GET", f"/benchmarks/{benchmark_id}")
            if told["status"] != "running":
                return told
            self._pause()
        raise DataPlaneError(f"{benchmark_id} does not end")

    def _pause(self) -> None:
        """The command works in real time; lab time keeps pace while it does."""
        time.sleep(PAUSE_SECONDS)
        self.lab.clock.sleep(PAUSE_SECONDS)


def device_of(volume_id: str) -> str:
    """Its name on the instance."""
    return f"/dev/disk/by-id/{link_names(volume_id)[0]}"
