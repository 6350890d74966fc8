"""The rates over any window, and how they are taken. Nothing here says how even the agent is."""

from __future__ import annotations

import subprocess

import pytest

from local import ROOT
from local.aws.machines.dataplane import DataPlaneError
from local.tools.bench.checks.rate_limit import (
    RateResult,
    Rates,
    Timing,
    check_rate_limit,
    rate_line,
    rates_of,
)
from local.tools.bench.session import Session
from local.tools.bench.specs import MIB, THREADS
from local.tools.bench.tools import AGENT


def even(seconds: int, mib_s: int) -> list[tuple[float, int]]:
    return [(tenth / 10, tenth * mib_s * MIB // 10) for tenth in range(seconds * 10 + 1)]


def test_an_even_rate_is_the_same_in_every_window():
    rates = rates_of(even(20, 40), 5.0)
    assert (rates.mean_mib_s, rates.least_mib_s, rates.most_mib_s) == pytest.approx((40, 40, 40))
    assert rates.off(40) == pytest.approx(0)
    assert rates.off(50) == pytest.approx(0.2)


def test_a_pause_shows_in_the_least_and_a_burst_in_the_most():
    pause = [(at + (1 if at > 10 else 0), count) for at, count in even(20, 10)]
    assert rates_of(pause, 5.0).least_mib_s == pytest.approx(8, abs=0.2)
    assert rates_of(pause, 5.0).most_mib_s == pytest.approx(10, abs=0.2)
    burst = [(at, count + (5 * MIB if at > 10 else 0)) for at, count in even(20, 10)]
    assert rates_of(burst, 5.0).most_mib_s == pytest.approx(11)
    assert rates_of(burst, 5.0).least_mib_s == pytest.approx(10)


def test_too_few_samples_are_refused():
    with pytest.raises(DataPlaneError, match="less than 5 s"):
        rates_of(even(4, 10), 5.0)


@pytest.mark.parametrize(("most", "verdict"), [(10.19, "kept"), (10.21, "NOT KEPT")])
def test_the_verdict_rests_on_what_the_volume_is_asked_for(most, verdict):
    found = RateResult(THREADS, "cold", 10.0, Rates(10.0, 9.9, most), Rates(10.0, 9.0, 11.0))
    assert rate_line(found).endswith(f"off by 10.00%: {verdict}")


def test_the_agent_is_measured_while_it_reads_and_while_it_writes(tmp_path):
    if not AGENT.exists():
        subprocess.run(["make", "-s", "-C", ROOT / "warmer"], check=True)
    timing = Timing(lead_seconds=0.5, measured_seconds=1.0, window_seconds=0.5)
    told: list[str] = []
    with Session(tmp_path / "state", AGENT) as session:
        all_found = check_rate_limit(session, [THREADS], 16.0, told.append, timing)
    assert [found.volume for found in all_found] == ["cold", "warm", "written"]
    assert len(told) == 3
    for found in all_found:
        # A busy machine gives less; twice as much it never is.
        assert 0 < found.asked.mean_mib_s < 32
        assert 0 < found.given.mean_mib_s < 32
