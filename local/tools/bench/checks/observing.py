"""What `warmer observe` costs: its processor time, and an application's latency beside it.

The application is fio, which reads 4 KiB at random from a volume that is warm, at four fifths of the volume's
IOPS. It runs with and without the observer in turn, and the order changes from round to round.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from local.aws.machines.dataplane import DataPlaneError
from local.tools.bench.cold_volume import ColdVolume, cold_volume
from local.tools.bench.measure import Running, run
from local.tools.bench.session import Session
from local.tools.bench.specs import COMMON, FAST, VolumeSpec
from local.tools.bench.tools import agent_result

SPECS = (
    VolumeSpec(name="common", text="3,000 IOPS", size_gib=8, limits=COMMON),
    VolumeSpec(name="fast", text="16,000 IOPS", size_gib=8, limits=FAST),
)
SECONDS, SHARE_OF_IOPS, DEPTH = 20, 0.8, 16
LEAD_SECONDS = 2
"""fio needs them to start and end."""
MOST_CPU_SHARE, MOST_RATIO = 0.005, 1.02
STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Observing:
    """What the rounds on one volume showed."""

    volume: str
    source: str
    """histogram or events."""
    reads_per_second: float
    cpu_shares: tuple[float, ...]
    """Of a core, of each round."""
    p99_ratios: tuple[float, ...]
    """The application's p99 with the observer by that without it, of each round."""
    blocks: int
    dropped: int


def check_observing(
    session: Session, size_gib: float | None, rounds: int, tell: Callable[[str], None]
) -> list[Observing]:
    """Measure on each volume, and print a line about it with both goals."""
    found = []
    for spec in SPECS:
        sized = spec if size_gib is None else spec.sized(size_gib)
        with cold_volume(session.volumes, sized, f"vol-{spec.name}", session.backing.path) as volume:
            volume.initialize(1.0)
            found.append(_measure(session.agent, volume, sized, rounds))
        tell(observing_line(found[-1]))
    return found


def observing_line(found: Observing) -> str:
    """One line; the marks say whether the medians keep the goals."""
    shares, ratios = found.cpu_shares, found.p99_ratios
    marks = [
        "✓" if good else "✗" for good in (median(shares) <= MOST_CPU_SHARE, median(ratios) <= MOST_RATIO)
    ]
    return (
        f"{found.volume:<12} {found.reads_per_second:8,.0f} reads/s by {found.source}  "
        f"{marks[0]} {median(shares):.2%} of a core ({min(shares):.2%} to {max(shares):.2%}; "
        f"goal {MOST_CPU_SHARE:.1%})  {marks[1]} p99 {median(ratios):.3f} times that without "
        f"({min(ratios):.3f} to {max(ratios):.3f}; goal {MOST_RATIO:.2f})  "
        f"{found.blocks:,} blocks, {found.dropped:,} reads dropped"
    )


def _measure(agent: Path, volume: ColdVolume, spec: VolumeSpec, rounds: int) -> Observing:
    shares, ratios, reads, last = [], [], [], {}
    for number in range(rounds):
        p99_ms = {}
        for is_beside in (number % 2 == 0, number % 2 != 0):
            folder = volume.folder / f"round-{number}-{is_beside}"
            folder.mkdir()
            observer = _observer(agent, volume, folder) if is_beside else None
            try:
                p99_ms[is_beside], iops = _application(volume, spec, folder)
                if observer is not None:
                    observer.wait(LEAD_SECONDS + STOP_SECONDS)
            finally:
                if observer is not None:
                    observer.kill()
            if is_beside:
                last = agent_result(folder / "observer")
                if last.get("verdict") != "recorded":
                    raise DataPlaneError(f"the observer said {last.get('error')}")
                shares.append(last["cpuSeconds"] / last["elapsedSeconds"])
                reads.append(iops)
        ratios.append(p99_ms[True] / p99_ms[False])
    return Observing(
        volume=spec.text,
        source=last["source"],
        reads_per_second=median(reads),
        cpu_shares=tuple(shares),
        p99_ratios=tuple(ratios),
        blocks=last["blocks"],
        dropped=last["dropped"],
    )


def _observer(agent: Path, volume: ColdVolume, folder: Path) -> Running:
    (folder / "observer").mkdir()
    command = [str(agent), "observe", volume.target, "--output", str(folder / "recording")]
    command += ["--seconds", str(SECONDS + LEAD_SECONDS)]
    return Running([command], folder / "observer")


def _application(volume: ColdVolume, spec: VolumeSpec, folder: Path) -> tuple[float, float]:
    """Its p99 in milliseconds, and its reads a second."""
    output = folder / "fio.json"
    command = ["fio", "--name=application", f"--filename={volume.target}", "--rw=randread", "--bs=4k"]
    command += ["--ioengine=libaio", f"--iodepth={DEPTH}", "--direct=1", "--time_based"]
    command += [f"--runtime={SECONDS}", f"--rate_iops={spec.limits.iops * SHARE_OF_IOPS:.0f}"]
    usage = run([[*command, "--output-format=json", f"--output={output}"]], folder, SECONDS + 60)
    if usage.status:
        raise DataPlaneError(f"the application's fio ended with exit status {usage.status}")
    read = json.loads(output.read_text(encoding="utf-8"))["jobs"][0]["read"]
    return read["clat_ns"]["percentile"]["99.000000"] / 1e6, read["iops"]
