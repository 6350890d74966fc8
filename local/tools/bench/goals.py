"""What the agent must reach, beside what it did reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from local.tools.bench.record import Summaries, Summary, times_faster
from local.tools.bench.specs import (
    DD,
    FIO_AWS,
    FIO_BEST,
    FIO_BEST_MAP,
    IO_URING,
    READERS,
    THREADS,
    TOUCH,
    VolumeSpec,
)

LEAST_RUNS = 5
AT_THE_LIMIT = 0.97
TOUCH_SLACK = 1.2
TOUCHED = "quarter-large"
MEMORY_MIB = 32.0
EXTENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Result:
    """One goal. `measured` is None where something that it needs was not measured."""

    volume: str
    goal: str
    measured: str | None
    reached: bool
    runs: int
    """The fewest runs behind any of its medians."""


@dataclass(frozen=True, slots=True)
class _Ratio:
    """The agent must be at least this many times faster than a peer."""

    volume: str
    peer: str
    words: str
    at_least: float
    or_at_the_limit: bool = False


RATIOS = (
    _Ratio("full", FIO_BEST, "fio's best setting", 1.0),
    _Ratio("full", DD, "dd", 3.5),
    _Ratio("fast-64", DD, "dd", 9.0),
    _Ratio("fast-64-alone", FIO_AWS, "AWS's fio command", 1.25, or_at_the_limit=True),
    _Ratio("fast-256", FIO_AWS, "AWS's fio command", 3.0),
    _Ratio("fast-256-quarter", FIO_AWS, "AWS's fio command", 4.0),
    _Ratio("quarter", FIO_AWS, "AWS's fio command", 3.8),
    _Ratio("quarter", DD, "dd", 6.0),
    _Ratio("quarter-tail", FIO_BEST_MAP, "fio's best setting on the same bytes", 1.5, or_at_the_limit=True),
)
CPU_PEERS = {"full": (FIO_AWS, FIO_BEST), "quarter": (FIO_BEST_MAP,), "fast-256": (FIO_AWS, FIO_BEST)}
"""Where fio reads the same bytes as the agent."""


def evaluate(summaries: Summaries, specs: Sequence[VolumeSpec]) -> list[Result]:
    """Every goal of the volumes given."""
    names = {spec.name for spec in specs}
    results = [_limit(summaries)] if "full" in names else []
    results += [_ratio(summaries, ratio) for ratio in RATIOS if ratio.volume in names]
    results += [_touch(summaries)] if TOUCHED in names else []
    results += [_cpu(summaries, volume, peers) for volume, peers in CPU_PEERS.items() if volume in names]
    return results + [_memory(summaries, spec) for spec in specs]


def agent(summaries: Summaries, volume: str) -> Summary | None:
    """The engine that `auto` takes: io_uring, and threads where the kernel has none."""
    return summaries.get((volume, IO_URING)) or summaries.get((volume, THREADS))


def _limit(summaries: Summaries) -> Result:
    goal = f"at least {AT_THE_LIMIT} of the physical limit"
    mine = agent(summaries, "full")
    if mine is None:
        return Result("full", goal, None, False, 0)
    return Result("full", goal, f"{mine.limit_ratio:.3f}", mine.limit_ratio >= AT_THE_LIMIT, mine.runs)


def _ratio(summaries: Summaries, ratio: _Ratio) -> Result:
    never = ratio.at_least == 1
    goal = (
        f"never slower than {ratio.words}" if never else f"{ratio.at_least:g} times faster than {ratio.words}"
    )
    if ratio.or_at_the_limit:
        goal += f", or {AT_THE_LIMIT} of the limit"
    mine, peer = agent(summaries, ratio.volume), summaries.get((ratio.volume, ratio.peer))
    if mine is None or peer is None:
        return Result(ratio.volume, goal, None, False, 0)
    # Hundredths: beyond them two runs of one tool differ, too.
    value = round(times_faster(summaries, ratio.volume, mine.tool, ratio.peer) or 0.0, 2)
    at_the_limit = ratio.or_at_the_limit and mine.limit_ratio >= AT_THE_LIMIT
    measured = f"{value:.2f} times" + (
        f", {mine.limit_ratio:.2f} of the limit" if ratio.or_at_the_limit else ""
    )
    reached = value >= ratio.at_least or at_the_limit
    return Result(ratio.volume, goal, measured, reached, min(mine.runs, peer.runs))


def _touch(summaries: Summaries) -> Result:
    goal = f"with --touch within {TOUCH_SLACK:g} times of the larger of fetches and requests"
    mine = summaries.get((TOUCHED, TOUCH))
    if mine is None:
        return Result(TOUCHED, goal, None, False, 0)
    times = 1 / mine.limit_ratio
    return Result(TOUCHED, goal, f"{times:.2f} times", times <= TOUCH_SLACK, mine.runs)


def _cpu(summaries: Summaries, volume: str, peers: Sequence[str]) -> Result:
    goal = "CPU seconds not above fio's on the same bytes"
    mine = agent(summaries, volume)
    others = [found for peer in peers if (found := summaries.get((volume, peer)))]
    if mine is None or not others:
        return Result(volume, goal, None, False, 0)
    least = min(others, key=lambda other: other.cpu_seconds.median)
    measured = f"{mine.cpu_seconds.median:.2f} s, fio {least.cpu_seconds.median:.2f} s"
    reached = mine.cpu_seconds.median <= least.cpu_seconds.median
    return Result(volume, goal, measured, reached, min(mine.runs, least.runs))


def _memory(summaries: Summaries, spec: VolumeSpec) -> Result:
    allowed = MEMORY_MIB + EXTENT_BYTES * len(spec.extents) / (1 << 20)
    goal = f"memory under {MEMORY_MIB:g} MiB and {EXTENT_BYTES} bytes an extent"
    mine = [found for tool in READERS if (found := summaries.get((spec.name, tool)))]
    if not mine:
        return Result(spec.name, goal, None, False, 0)
    peak = max(found.peak_mib.high for found in mine)
    return Result(spec.name, goal, f"{peak:.1f} MiB", peak < allowed, min(found.runs for found in mine))
