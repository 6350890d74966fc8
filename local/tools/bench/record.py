"""What the benchmark keeps of each run, and the sums over rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from local.tools.bench.specs import FIO_BEST, FIO_BEST_MAP, TOOLS, TOUCH, VolumeSpec, physical_limit

EQUALLY_FAST = 1.01
SCREENED = {FIO_BEST, FIO_BEST_MAP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One tool on one cold volume."""

    volume: str
    tool: str
    setting: str
    round: int
    seconds: float
    """To fully warm, or to the last answer of a reader that reads more than what is written."""
    wall_seconds: float
    cpu_seconds: float
    peak_mib: float
    volume_cpu_seconds: float
    """CPU that the volume's own process took meanwhile."""
    void: str = ""
    """Why the run does not count; empty when it does."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and largest."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(median(values), min(values), max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All counted runs of one tool on one volume."""

    volume: str
    tool: str
    setting: str
    runs: int
    seconds: Spread
    cpu_seconds: Spread
    peak_mib: Spread
    limit_ratio: float
    """The physical limit / the median: 1 is as fast as is possible."""
    volume_cpu_share: float
    """Of one core, the median: near 1 the volume itself was the bottleneck."""
    note: str


Summaries = dict[tuple[str, str], Summary]


def best_setting(runs: Sequence[Run], volume: str, tool: str) -> str | None:
    """The setting of a tool that its first round chose; None while nothing counts.

    The fastest, and of those that are equally fast the one that takes least CPU.
    """
    mine = [run for run in runs if run.volume == volume and run.tool == tool and not run.void]
    if not mine:
        return None
    first = min(run.round for run in mine)
    tried = [run for run in mine if run.round == first]
    fastest = min(run.seconds for run in tried)
    equal = [run for run in tried if run.seconds <= fastest * EQUALLY_FAST]
    return min(equal, key=lambda run: run.cpu_seconds).setting


def counted(runs: Sequence[Run], volume: str, tool: str) -> list[Run]:
    """The runs that count: not void, and of the best setting where several were tried."""
    mine = [run for run in runs if run.volume == volume and run.tool == tool and not run.void]
    if tool not in SCREENED:
        return mine
    best = best_setting(runs, volume, tool)
    return [run for run in mine if run.setting == best]


def summarise(runs: Sequence[Run], specs: Sequence[VolumeSpec]) -> Summaries:
    """By volume and tool, in the order of showing; without those of which no run counts."""
    found: Summaries = {}
    for spec in specs:
        for tool in TOOLS:
            mine = counted(runs, spec.name, tool)
            if mine:
                found[spec.name, tool] = _summary(spec, tool, mine)
    return found


def _summary(spec: VolumeSpec, tool: str, runs: Sequence[Run]) -> Summary:
    seconds = Spread.of([run.seconds for run in runs])
    return Summary(
        volume=spec.name,
        tool=tool,
        setting=runs[0].setting,
        runs=len(runs),
        seconds=seconds,
        cpu_seconds=Spread.of([run.cpu_seconds for run in runs]),
        peak_mib=Spread.of([run.peak_mib for run in runs]),
        limit_ratio=physical_limit(spec, touch=is_touch(tool)).seconds / seconds.median,
        volume_cpu_share=median(run.volume_cpu_seconds / run.wall_seconds for run in runs),
        note=next((run.note for run in runs if run.note), ""),
    )


def is_touch(tool: str) -> bool:
    """Whether the tool reads 4 KiB of a block only, which has its own limit."""
    return tool == TOUCH


def times_faster(summaries: Summaries, volume: str, tool: str, peer: str) -> float | None:
    """How many times faster the tool is than the peer, by their medians; None where one is missing."""
    mine, other = summaries.get((volume, tool)), summaries.get((volume, peer))
    return other.seconds.median / mine.seconds.median if mine and other else None
