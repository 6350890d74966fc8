"""`warmer observe` beside reads of known blocks: by events here, and by the histogram of Debian's kernel.

`python -m tests.local.agent.observations.play --agent warmer/build/warmer --source events` plays it alone.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

import pytest

from local import ROOT
from tests.local.agent.arrangements import guest
from tests.local.agent.observations.kills import KILLS
from tests.local.agent.observations.play import PREFIX
from tests.local.agent.observations.scenes import SCENES, a_lockdown_for_good_is_refused
from tests.support.waiting import output_within

AGENT = ROOT / "warmer" / "build" / "warmer"
DELTA = ROOT / "warmer" / "tests" / "cli" / "delta.py"
KERNEL = ROOT / ".local" / "kernel"
LIMIT_SECONDS = 840

pytestmark = [
    pytest.mark.agent,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root traces the kernel"),
]
has_tracing = pytest.mark.skipif(
    not Path("/dev/loop-control").exists() or not Path("/sys/kernel/tracing").exists(),
    reason="this machine has no loop devices, or its kernel no tracing",
)
in_guest = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="Debian's kernel is set up for x86-64 machines only"
)


def told(command: list[str]) -> list[dict[str, str]]:
    """What is said of each scene; no scene may have failed."""
    output = output_within(LIMIT_SECONDS, command)
    found: list[dict[str, str]] = [
        json.loads(line.split(PREFIX, 1)[1]) for line in output.splitlines() if PREFIX in line
    ]
    bad = [f"{one['scene']} by {one['source']}:\n{one['problem']}" for one in found if one["problem"]]
    assert not bad, "\n".join(bad)
    assert found, output[-4000:]
    return found


def names(scenes: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(one["source"], one["scene"]) for one in scenes]


def expected(source: str, *, has_kills: bool) -> list[tuple[str, str]]:
    return [(source, scene.__name__) for scene in (*SCENES, *(KILLS if has_kills else ()))]


@has_tracing
@pytest.mark.parametrize("has_mount", [True, False], ids=["mounted", "not mounted"])
def test_known_reads_are_recorded_by_events(*, has_mount: bool) -> None:
    command = [sys.executable, "-m", "tests.local.agent.observations.play", "--agent", str(AGENT)]
    command += ["--source", "events", *(["--mount"] if has_mount else [])]
    found = told(command)
    assert names(found) == expected("events", has_kills=has_mount)
    lacks = {"this kernel has no device-mapper", "a loop device has no volume id"}
    assert {one["skipped"] for one in found} <= {"", *lacks}


@in_guest
@pytest.mark.long
def test_known_reads_are_recorded_by_debians_histogram(tmp_path: Path) -> None:
    image = tmp_path / "image"
    sources = ["histogram", "events"]
    guest.build(KERNEL, AGENT, DELTA, sources, image, "tests.local.agent.observations")
    found = told(guest.command(KERNEL, image, guest.disks(tmp_path, 1)))
    played = [one for source in sources for one in expected(source, has_kills=True)]
    assert names(found) == [*played, ("events", a_lockdown_for_good_is_refused.__name__)]
    assert {one["skipped"] for one in found} == {""}
