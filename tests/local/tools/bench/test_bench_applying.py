"""`make bench ARGS=--apply`: a run counts only where every block is on the volume as it must be."""

from __future__ import annotations

import pytest

from local.aws.machines.dataplane import DataPlaneError, VolumeLimits
from local.tools.bench.checks.applying import (
    AGENT,
    COMPARED,
    WRITTEN,
    Applied,
    apply_spec,
    check_apply,
    goals_line,
)
from tests.local.tools.bench.sessions import session_below

SPEC = apply_spec(VolumeLimits(iops=100_000, throughput_mib_s=10_000), 0.0625)


@pytest.fixture
def session(tmp_path):
    with session_below(tmp_path) as made:
        yield made


def test_agent_and_dd_write_the_same_blocks(session):
    told: list[str] = []
    found = check_apply(session, [SPEC], 1, told.append)
    assert [one["tool"] for one in found] == [AGENT, WRITTEN, COMPARED]
    assert all(one["seconds"] > 0 and one["ofLimit"] > 0 for one in found)
    assert told[0].endswith("16 MiB to write")
    assert list(session.volumes.iterdir()) == []


def test_an_agent_that_writes_nothing_is_seen(session):
    session.agent.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(DataPlaneError, match="left blocks out"):
        check_apply(session, [SPEC], 1, lambda _: None)


def test_goals_are_of_medians():
    def runs(tool: str, seconds: float, cpu_seconds: float) -> list[Applied]:
        return [Applied("v", tool, seconds, 8.0, cpu_seconds, 30.0) for _ in range(3)]

    found = [*runs(AGENT, 8.2, 0.5), *runs(WRITTEN, 4.0, 0.1), *runs(COMPARED, 9.0, 0.6)]
    lines = goals_line(found).splitlines()
    assert [line.strip()[0] for line in lines] == ["✓", "✓", "✓", "✗"]
    assert "0.976 of the limit" in lines[0]
