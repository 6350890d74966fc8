"""The words and cells of the table, the same on a terminal and in docs/."""

from __future__ import annotations

from collections.abc import Sequence

from local.tools.bench.goals import LEAST_RUNS, Result
from local.tools.bench.record import Run, Spread, Summaries, Summary, times_faster
from local.tools.bench.specs import (
    DD,
    FIO_AWS,
    FIO_BEST,
    FIO_BEST_MAP,
    PhysicalLimit,
    VolumeSpec,
    physical_limit,
)

COLUMNS = (
    "tool", "setting", "runs", "seconds", "of the limit", "x dd", "x AWS's fio", "x best fio", "CPU s", "MiB",
    "note",
)  # fmt: skip
TOOL_TEXT = {
    "dd": "dd bs=1M",
    "parallel-dd": "16 parallel dd",
    "fio-aws": "fio as AWS documents it",
    "fio-best": "fio, best setting",
    "fio-best-map": "fio, best setting, written blocks only",
    "agent-io_uring": "warmer, io_uring",
    "agent-threads": "warmer, threads",
    "agent-touch": "warmer --touch",
}
METHOD = """\
- Every run has a fresh volume: a new first-touch process whose written blocks are all cold, and a new
  block device without cached pages. Within a round all tools meet the same latencies in the same places;
  rounds differ, and begin with another tool.
- Seconds are the volume's own: from the arrival of the first read to the last answer. What a tool needs
  to start and to end does not count; on volumes of real size it is nothing. The median comes first, the
  least and largest in brackets.
- A run counts only when by the volume's own count every written block is local, and read to its last byte
  (not for --touch). Readers that read more than what is written are measured to the end of their reading.
- fio's best setting is the fastest of {settings} in the first round (of those within 1 % the one that
  takes least CPU); it runs in every round. "Written blocks only" replays the written blocks from a log,
  with {map_settings}: with io_uring fio 3.33 does not wait for the last reads of a log.
- The limit is the largest of bytes / throughput, requests of 256 KiB / IOPS, and fetches x mean latency /
  fetches at a time; for --touch with one request of 4 KiB a block.
- CPU seconds and MiB (largest resident set, by GNU time) are those of the tool's processes together, from
  start to end, without the volume's.
- The volumes fetch ahead of a sequential reader, because dd is as fast as published only so. That serves
  AWS's fio command, too: on fast-64 its 32 reads of 1 MiB then keep the 64 fetches busy, and no reader can be
  much faster. On fast-64-alone nothing is fetched ahead, and a read that has one block waits for its other.
- The fast volumes and the one with a tail are measured on the volume's file: a loop device has 128 tags,
  which caps what is in flight at 32 MiB. dd, which reads through the page cache, has a block device there,
  too. Bytes are zeros in memory, so that the volume's own process does not become the limit."""


def spread_text(spread: Spread) -> str:
    """Median (least - largest), in as many digits as mean something."""
    digits = 1 if spread.median >= 10 else 2
    text = f"{spread.median:.{digits}f}"
    if spread.low == spread.high:
        return text
    return f"{text} ({spread.low:.{digits}f}-{spread.high:.{digits}f})"


def limit_text(limit: PhysicalLimit) -> str:
    """The limit with its three parts."""
    return (
        f"{limit.seconds:.2f} s (throughput {limit.by_throughput_seconds:.2f} s, "
        f"IOPS {limit.by_iops_seconds:.2f} s, fetches {limit.by_fetches_seconds:.2f} s)"
    )


def volume_title(spec: VolumeSpec) -> str:
    """What the volume is, its size, and what limits it."""
    size = f"{spec.size_bytes / (1 << 30):g} GiB"
    return f"{spec.name}: {size}, {spec.text}; limit {limit_text(physical_limit(spec))}"


def row(summaries: Summaries, summary: Summary) -> list[str]:
    """One line of the table."""
    peers = [_times(summaries, summary, peer) for peer in (DD, FIO_AWS)]
    best = FIO_BEST_MAP if (summary.volume, FIO_BEST_MAP) in summaries else FIO_BEST
    return [
        TOOL_TEXT[summary.tool],
        summary.setting,
        str(summary.runs),
        spread_text(summary.seconds),
        f"{summary.limit_ratio:.3f}",
        *peers,
        _times(summaries, summary, best),
        spread_text(Spread(*[summary.cpu_seconds.median] * 3)),
        f"{summary.peak_mib.high:.1f}",
        summary.note,
    ]


def _times(summaries: Summaries, summary: Summary, peer: str) -> str:
    if summary.tool == peer:
        return ""
    times = times_faster(summaries, summary.volume, summary.tool, peer)
    return "" if times is None else f"{times:.2f}"


def goal_row(result: Result) -> list[str]:
    """One line of the checklist."""
    measured = "not measured" if result.measured is None else result.measured
    few = 0 < result.runs < LEAST_RUNS
    return [mark(result), result.volume, result.goal, measured + (f" ({_runs(result.runs)})" if few else "")]


def mark(result: Result) -> str:
    """Yes, no, or not measured."""
    if result.measured is None:
        return "-"
    return "yes" if result.reached else "NO"


def _runs(count: int) -> str:
    return "1 run only" if count == 1 else f"{count} runs only"


def run_line(run: Run, rounds: int, limit_seconds: float) -> str:
    """One line of the running story."""
    head = f"round {run.round}/{rounds}  {run.volume:<16}  {run.tool:<14}  {run.setting:<18}"
    if run.void:
        return f"{head}  void: {run.void}"
    note = f"  {run.note}" if run.note else ""
    return (
        f"{head}  {run.seconds:7.2f} s  {limit_seconds / run.seconds:5.2f} of the limit  "
        f"CPU {run.cpu_seconds:5.2f} s  {run.peak_mib:6.1f} MiB{note}"
    )


def volume_shares(summaries: Summaries, specs: Sequence[VolumeSpec]) -> list[str]:
    """How busy each volume's own process was at most: near one core it would be the bottleneck."""
    found = []
    for spec in specs:
        shares = [one.volume_cpu_share for (volume, _), one in summaries.items() if volume == spec.name]
        if shares:
            found.append(f"{spec.name} {max(shares):.0%}")
    return found
