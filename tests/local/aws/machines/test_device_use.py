"""The SSM documents that look at a volume's device, at work on the machine's volumes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import ROOT
from local.aws.machines.dataplane import SnapshotImage
from local.aws.machines.instances import BY_ID
from local.aws.machines.machine import Machine
from rewarm.domain.benchmark import fio_output
from tests.contract.stack import documents
from tests.local.aws.machines.commands import INSTANCE, VOLUME, run, with_volume

LINK = f"/dev/disk/by-id/{BY_ID}vol0123456789abcdef0"
IMAGE = SnapshotImage("snap-0123456789abcdef0", 1, ((0, 8),), None)
HOME = "/var/lib/rewarm"
AGENT = ROOT / "warmer" / "build" / "warmer"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with with_volume(tmp_path, IMAGE) as made:
        yield made


def filled(document: str, values: dict[str, str]) -> str:
    """curl loads the agent from where it was built."""
    sha256 = hashlib.sha256(AGENT.read_bytes()).hexdigest()
    values |= {"agentUrl": "http://127.0.0.1/agent", "agentSha256": sha256}
    return documents.filled(document, values).replace(values["agentUrl"], AGENT.as_uri())


def look(machine: Machine, action: str = "check", volume: str = VOLUME) -> tuple[int, str, str]:
    return run(machine, filled("DeviceUseDocument", {"action": action, "volumeId": volume, "mountPath": ""}))


def use(machine: Machine, action: str = "check") -> tuple[list[str], list[str]]:
    status, output, errors = look(machine, action)
    assert status == 0, errors
    told = json.loads(output)
    assert (told["event"], told["volumeId"]) == ("use", VOLUME)
    return told["mounts"], told["others"]


def mount(machine: Machine, *points: str) -> None:
    lines = [f"mkfs.ext4 -q {LINK}"]
    lines += [f"mkdir -p '{point}' && mount {LINK} '{point}'" for point in points]
    status, _, errors = run(machine, " && ".join(lines))
    assert status == 0, errors


def test_a_volume_that_nobody_uses_is_free(machine: Machine) -> None:
    assert use(machine) == ([], [])
    assert use(machine, "unmount") == ([], [])


def test_mount_points_are_named_and_stay_where_it_only_looks(machine: Machine) -> None:
    mount(machine, f"{HOME}/data")
    assert use(machine) == ([f"{HOME}/data"], [])
    assert use(machine) == ([f"{HOME}/data"], [])


def test_everything_is_unmounted_where_that_is_asked_for(machine: Machine) -> None:
    mount(machine, f"{HOME}/a", f"{HOME}/a/with a blank")
    assert use(machine)[0] == [f"{HOME}/a", rf"{HOME}/a/with\040a\040blank"]
    assert use(machine, "unmount") == ([], [])


def test_a_file_system_in_use_stays_mounted(machine: Machine) -> None:
    mount(machine, f"{HOME}/data")
    machine.run_command(INSTANCE, f"cd {HOME}/data && exec sleep 60", environment={})
    status, output, errors = 0, "", ""
    for _ in range(50):
        status, output, errors = run(machine, f"ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -c {HOME}/data")
        if output.strip() not in ("", "0"):
            break
    assert use(machine, "unmount") == ([f"{HOME}/data"], []), (status, errors)


def test_a_process_that_has_the_device_open_is_named(machine: Machine) -> None:
    machine.run_command(INSTANCE, f"exec sleep 60 <{LINK}", environment={})
    for _ in range(50):
        mounts, others = use(machine)
        if others:
            break
    assert mounts == []
    assert len(others) == 1
    assert others[0].endswith(("(sleep)", "(sh)"))


def test_a_volume_that_is_not_there_is_no_free_volume(machine: Machine) -> None:
    status, output, errors = look(machine, volume="vol-0000000000000dead")
    assert (status, json.loads(output)["verdict"]) == (66, "refused")
    assert "vol0000000000000dead" in errors


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not here")
def test_a_benchmark_opens_the_device_read_only_and_as_a_whole(machine: Machine, tmp_path: Path) -> None:
    url = "http://127.0.0.1/result"
    flags = "--rw=randread --bs=4k --direct=1 --size=1M --runtime=1 --time_based"
    values = {"targets": VOLUME, "jobs": f"random-read 1 {flags}", "limitSeconds": "60", "installFio": "no"}
    script = filled("BenchmarkDocument", {**values, "resultUrl": url})
    status, output, errors = run(machine, script.replace(url, (tmp_path / "result").as_uri()))
    assert (status, json.loads(output)["failed"]) == (0, 0), errors
    result = (tmp_path / "result").read_text(encoding="utf-8")
    (measured,) = fio_output.runs(result)
    assert (measured.target, measured.source, measured.problem) == (VOLUME, LINK, None)
    (job,) = json.loads(result[result.index("{") : result.rindex("}") + 1])["jobs"]
    assert "size" not in job["job options"]
    assert machine.counters(VOLUME).write_ops == 0
