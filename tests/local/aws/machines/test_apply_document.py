"""The SSM document that puts a volume back, at work on the machine's volumes: the agent writes real bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local import ROOT
from local.aws.machines.machine import Machine
from tests.local.aws.machines.test_device_use import LINK, VOLUME, filled, machine, mount, run

BLOCK, SIZE = 524_288, 1 << 30
SNAPSHOT = "snap-0123456789abcdef0"
CHANGED = {0: b"a", 1: b"b", 700: b"c", 2_047: b"d"}

__all__ = ["machine"]


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packs and manifest of a few blocks of a volume that holds zeros elsewhere."""
    made = tmp_path_factory.mktemp("made")
    old, new, folder = made / "old", made / "new", made / "delta"
    for path in (old, new):
        path.touch()
        os.truncate(path, SIZE)
    with new.open("r+b") as file:
        for block, letter in CHANGED.items():
            file.seek(block * BLOCK)
            file.write(letter * BLOCK)
    maker = ROOT / "warmer" / "tests" / "cli" / "delta.py"
    more = [f"base=file://{folder}", "samples=0"]
    subprocess.run([sys.executable, maker, old, new, folder, VOLUME, SNAPSHOT, *more], check=True)
    return folder


def apply(machine: Machine, delta: Path, attempt: str) -> tuple[int, dict]:
    """The document with the manifest from the folder, and the agent's last line."""
    values = {
        "volumeId": VOLUME, "attempt": attempt, "manifestUrl": "http://127.0.0.1/manifest",
        "progressUrl": "none", "arguments": "--wait-seconds 60", "executionTimeout": "600",
    }  # fmt: skip
    text = filled("ApplyDocument", values).replace(values["manifestUrl"], (delta / "manifest").as_uri())
    status, output, _ = run(machine, text)
    return status, json.loads(output.splitlines()[-1])


def test_it_writes_the_blocks_of_the_manifest_and_once_more_writes_nothing(machine, delta):
    status, result = apply(machine, delta, "restore-1-0")
    assert (status, result["verdict"], result["blocksWritten"]) == (0, "applied", len(CHANGED)), result
    for block, letter in CHANGED.items():
        command = (
            f"dd if={LINK} bs={BLOCK} skip={block} count=1 status=none | tr -d {letter.decode()} | wc -c"
        )
        assert run(machine, command)[1].strip() == "0"
    status, result = apply(machine, delta, "restore-1-0")
    assert (status, result["blocksWritten"]) == (0, 0), result


def test_a_mounted_volume_is_refused_before_anything_is_written(machine, delta):
    mount(machine, "/mnt/data")
    status, result = apply(machine, delta, "restore-2-0")
    assert (status, result["verdict"]) == (83, "refused"), result
