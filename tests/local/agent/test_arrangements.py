"""`warmer apply` on devices that are used in every way that a kernel knows: nothing in use is written to.

Whatever is drawn is built for real. Devices that nobody uses are among them and must be written to; else an
agent that refuses everything would pass. `play.py --seed SEED --first NUMBER --count 1` repeats one.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from local import ROOT
from rewarm.domain.ready.agent_output import AgentExit
from rewarm.domain.volume.replacing import device_use
from tests.local.agent.arrangements import guest
from tests.local.agent.arrangements.play import PREFIX, REFUSALS
from tests.local.agent.arrangements.second_writer import WAYS
from tests.support.waiting import output_within

AGENT = ROOT / "warmer" / "build" / "warmer"
DELTA = ROOT / "warmer" / "tests" / "cli" / "delta.py"
KERNEL = ROOT / ".local" / "kernel"
DISKS = 16
LIMIT_SECONDS = 840
LONG_SECONDS = 6 * 3600

pytestmark = [
    pytest.mark.agent,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="this machine has no loop devices"),
]
in_guest = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="Debian's kernel is set up for x86-64 machines only"
)


def seed_of(request: pytest.FixtureRequest) -> str:
    """The seed of the properties of `make test-long`; else always the same one."""
    return str(request.config.getoption("--hypothesis-seed") or "1")


def played(output: str, count: int, seed: str) -> list[dict[str, Any]]:
    """What was said of each arrangement; a failure has the seed and the numbers."""
    lines = [line.split(PREFIX, 1)[1] for line in output.splitlines() if PREFIX in line]
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    bad = [one for one in found if one["problem"]]
    text = "\n".join(json.dumps(one) for one in bad[:20])
    assert not bad, f"seed {seed}: {len(bad)} of {count} failed\n{text}"
    assert len(found) == count, f"seed {seed}: {len(found)} of {count} were played\n{output[-4000:]}"
    return found


def play_here(seed: str, count: int, seconds: int, *more: str) -> list[dict[str, Any]]:
    options = ["--agent", str(AGENT), "--delta", str(DELTA), "--seed", seed, "--count", str(count), *more]
    command = [sys.executable, "-m", "tests.local.agent.arrangements.play", *options]
    return played(output_within(seconds, command), count, seed)


def play_writers(seed: str, count: int, seconds: int) -> list[dict[str, Any]]:
    """What was said of each application beside which somebody else may write."""
    options = ["--agent", str(AGENT), "--delta", str(DELTA), "--seed", seed, "--count", str(count)]
    command = [sys.executable, "-m", "tests.local.agent.arrangements.second_writer", *options]
    return played(output_within(seconds, command), count, seed)


def play_in_guest(folder: Path, seed: str, count: int, seconds: int, *more: str) -> list[dict[str, Any]]:
    image = folder / "image"
    guest.build(KERNEL, AGENT, DELTA, ["--seed", seed, "--count", str(count), *more], image)
    command = guest.command(KERNEL, image, guest.disks(folder, DISKS))
    return played(output_within(seconds, command), count, seed)


def show_both_ends(found: list[dict[str, Any]]) -> None:
    """Devices in use were refused, and free ones were written to; a replacement would do as well."""
    statuses = [play["status"] for play in found]
    assert any(status in REFUSALS for status in statuses)
    assert 0 in statuses
    for play in found:
        use = device_use(play["use"])
        assert use is not None, play
        assert use.is_free is not (play["isInUse"] or play["isHeld"]), play


def test_no_device_in_use_is_written_to(request: pytest.FixtureRequest) -> None:
    show_both_ends(play_here(seed_of(request), 24, LIMIT_SECONDS, "--places", "8", "--quick"))


@pytest.mark.long
@pytest.mark.timeout(LONG_SECONDS + 60)
def test_none_of_nine_thousand_devices_in_use_is_written_to(request: pytest.FixtureRequest) -> None:
    show_both_ends(play_here(seed_of(request), 9000, LONG_SECONDS, "--places", "16"))


def test_nothing_is_applied_to_a_device_that_somebody_else_writes_to(request: pytest.FixtureRequest) -> None:
    statuses = [play["status"] for play in play_writers(seed_of(request), 9, LIMIT_SECONDS)]
    assert AgentExit.OK in statuses
    assert AgentExit.DISTURBED in statuses


@pytest.mark.long
@pytest.mark.timeout(LONG_SECONDS + 60)
def test_nothing_is_applied_beside_a_thousand_second_writers(request: pytest.FixtureRequest) -> None:
    found = play_writers(seed_of(request), 1000, LONG_SECONDS)
    noticed = {play["way"] for play in found if play["status"] == AgentExit.DISTURBED}
    assert noticed == set(WAYS)


@in_guest
@pytest.mark.long
@pytest.mark.timeout(LONG_SECONDS + 60)
def test_none_of_a_thousand_devices_in_use_is_written_to_with_debians_kernel(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    show_both_ends(play_in_guest(tmp_path, seed_of(request), 1000, LONG_SECONDS))
