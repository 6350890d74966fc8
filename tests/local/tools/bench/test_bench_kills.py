"""Killed at any moment and started anew: by the volume's own count nothing is left out, little read twice."""

from __future__ import annotations

import pytest

from local.aws.machines.dataplane import DataPlaneError, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.tools.bench.checks.kills import SHARE_AT_BEGINNING, check_kills, kill_line, kill_volume, moments
from local.tools.bench.specs import ENGINES, THREADS, VolumeSpec
from local.tools.bench.tools import AGENT
from tests.local.tools.bench.sessions import session_below

KILLS, DEPTH = 10, 4
SPEC = VolumeSpec(
    name="kill",
    text="",
    size_gib=4,
    written_fraction=0.5,
    limits=VolumeLimits(iops=100_000, throughput_mib_s=10_000),
    settings=FirstTouchSettings(mean_latency_ms=1.0, read_latency_ms=0.1),
    on_file=True,
)
OPTIONS = ["--depth", str(DEPTH)]


@pytest.fixture
def session(tmp_path):
    with session_below(tmp_path) as made:
        yield made


@pytest.mark.parametrize("tool", ENGINES)
def test_killed_and_resumed_it_reads_every_block_and_at_most_one_in_a_hundred_twice(session, tool):
    found = check_kills(session, SPEC, tool, KILLS, 3, OPTIONS)
    assert found.unread_blocks == 0
    assert found.kills >= KILLS / 2
    assert found.is_good
    assert kill_line(found).endswith(": good")
    # Nothing but what was in flight at a kill: on any machine, however fast.
    assert found.reread_blocks <= found.kills * DEPTH
    assert found.reread_share <= 0.01
    assert found.written_blocks == SPEC.written_blocks
    assert list(session.volumes.iterdir()) == []


def test_an_agent_without_its_state_is_seen_to_read_again(session):
    forgetful = session.state_dir / "forgetful"
    forgetful.write_text(f'#!/bin/sh\nrm -f "${{10}}"\nexec {AGENT} "$@"\n')
    forgetful.chmod(0o755)
    session.agent = forgetful
    found = check_kills(session, SPEC.sized(1), THREADS, 4, 3, OPTIONS)
    assert found.unread_blocks == 0
    assert found.reread_blocks > found.kills * DEPTH


def test_an_agent_that_leaves_a_block_out_is_seen(session):
    lazy = session.state_dir / "lazy"
    lazy.write_text(f'#!/bin/sh\nsed -i "\\$d" "$4"\nexec {AGENT} "$@"\n')
    lazy.chmod(0o755)
    session.agent = lazy
    found = check_kills(session, SPEC.sized(0.25), THREADS, 1, 3, OPTIONS)
    assert found.unread_blocks > 0
    assert "NOT GOOD" in kill_line(found)


def test_an_agent_that_fails_stops_the_check(session):
    session.agent.write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
    with pytest.raises(DataPlaneError, match="exit status 3: no such thing"):
        check_kills(session, SPEC.sized(0.25), THREADS, 1, 3, OPTIONS)


def test_moments_are_drawn_over_the_whole_run_and_repeat():
    drawn = moments(100, 10_000, seed=1)
    assert drawn == moments(100, 10_000, seed=1) != moments(100, 10_000, seed=2)
    counts = [moment.read_blocks for moment in drawn if moment.read_blocks]
    assert counts == sorted(counts)
    assert counts[0] < 1_000
    assert counts[-1] > 9_000
    assert 0 < 100 - len(counts) < 3 * 100 * SHARE_AT_BEGINNING


def test_the_volume_grows_with_the_kills_unless_a_size_is_given():
    assert kill_volume(100, None).size_gib == 10 * kill_volume(10, None).size_gib
    assert kill_volume(100, 2.5).size_gib == 2.5
