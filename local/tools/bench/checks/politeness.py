"""What the agent leaves to an application that reads 4 KiB at a time from blocks that are warm already.

It reads the other blocks of a cold volume, as an adoption of a volume in use does, or writes blocks of a
snapshot to a warm one. A polite agent keeps its promise if the median of the application's p99 is within the
latency that the agent gets as its limit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError
from local.tools.bench.checks.applying import AGENT, apply_spec, delta_of
from local.tools.bench.cold_volume import ColdVolume, cold_volume
from local.tools.bench.measure import Running, run
from local.tools.bench.record import Spread
from local.tools.bench.session import Session
from local.tools.bench.specs import COMMON, FIO_AWS, IO_URING, MIB, SPECS, VolumeSpec
from local.tools.bench.tools import tool_settings

WARM_BLOCKS = 64
"""What the application reads; warm before anything starts. The rest must outlast the measurement."""
LEAD_SECONDS = 1.0
MEASURED_SECONDS = 6.0
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """What the application and the other reader or writer got of the volume in one round."""

    iops: float
    mean_ms: float
    p99_ms: float
    other_mib_s: float
    """What was fetched of a cold volume, or written and read back of a warm one."""


@dataclass(frozen=True, slots=True)
class Politeness:
    """The rounds of one case."""

    case: str
    rounds: list[Measured]
    at_most_ms: float | None
    """The p99 that the agent promises, if it promises one."""

    @property
    def p99_ms(self) -> Spread:
        """Over the rounds."""
        return Spread.of([one.p99_ms for one in self.rounds])

    @property
    def is_kept(self) -> bool:
        """Whether the promise is kept."""
        return self.at_most_ms is None or self.p99_ms.median <= self.at_most_ms


def check_politeness(
    session: Session, size_gib: float | None, polite_latency_ms: float, rounds: int, tell: Tell
) -> list[Politeness]:
    """The application alone, beside AWS's fio command, and beside the agent without and with politeness:
    while it warms a volume, and while it writes to one. A round measures all cases one after the other.
    """
    spec = SPECS[0].sized(max(size_gib or 0.0, SPECS[0].size_gib))
    agent = tool_settings(IO_URING, session.agent)[0].commands
    aws = tool_settings(FIO_AWS)[0].commands
    polite = ["--polite-latency-ms", f"{polite_latency_ms:g}"]
    warmed, written = (" ".join(["beside", *words, *polite]) for words in (["warmer"], [AGENT]))
    read: dict[str, Callable[[ColdVolume], list[str]] | None] = {
        "alone": None,
        "beside AWS's fio command": lambda volume: aws(volume, spec)[0],
        "beside warmer": lambda volume: agent(volume, spec)[0],
        warmed: lambda volume: agent(volume, spec)[0] + polite,
    }
    cases = {name: partial(_measure, session, spec, warm_up) for name, warm_up in read.items()}
    cases[f"beside {AGENT}"] = partial(_while_written, session, [])
    cases[written] = partial(_while_written, session, polite)
    promised = dict.fromkeys((warmed, written), polite_latency_ms)
    found = {name: Politeness(name, [], promised.get(name)) for name in cases}
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}")
        for name, measure in cases.items():
            found[name].rounds.append(measure())
    for one in found.values():
        tell(politeness_line(one))
    return list(found.values())


def _while_written(session: Session, more: list[str]) -> Measured:
    spec = apply_spec(COMMON)
    with delta_of(session, spec) as delta:

        def write(volume: ColdVolume) -> list[str]:
            return delta.commands(AGENT, session.agent, volume)[0] + more

        return _measure(session, spec, write)


def politeness_line(found: Politeness) -> str:
    """One line: medians, and of the p99 the least and the largest, too."""
    iops, mean_ms, other_mib_s = (
        median(getattr(one, name) for one in found.rounds) for name in ("iops", "mean_ms", "other_mib_s")
    )
    p99_ms = found.p99_ms
    return (
        f"{'✓' if found.is_kept else '✗'} {found.case:<44} {iops:8.0f} IOPS  mean {mean_ms:7.2f} ms  "
        f"p99 {p99_ms.median:7.2f} ms ({p99_ms.low:.2f} to {p99_ms.high:.2f})  "
        f"beside it {other_mib_s:6.1f} MiB/s"
    )


def _measure(session: Session, spec: VolumeSpec, busy: Callable[[ColdVolume], list[str]] | None) -> Measured:
    with cold_volume(session.volumes, spec, "vol-polite", session.backing.path) as volume:
        volume.initialize(1.0 if spec.on_file else WARM_BLOCKS / spec.written_blocks)
        folders = [volume.folder / part for part in ("application", "beside-it")]
        for folder in folders:
            folder.mkdir()
        other_mib_s = 0.0
        running = Running([busy(volume)], folders[1]) if busy else None
        try:
            # The beginning is left out: what counts is how the two live together.
            time.sleep(LEAD_SECONDS)
            before, began = _moved(volume), time.monotonic()
            report = _application(volume, folders[0])
            other_mib_s = (_moved(volume) - before) / MIB / (time.monotonic() - began)
        finally:
            if running:
                running.kill()
        read = report["jobs"][0]["read"]
        latency = read["clat_ns"]
        p99_ms = latency.get("percentile", {}).get("99.000000", 0) / 1e6
        return Measured(read["iops"], latency["mean"] / 1e6, p99_ms, other_mib_s)


def _moved(volume: ColdVolume) -> int:
    """Fetched and written so far, in bytes; each block that is written is read back, too."""
    stats = volume.stats()
    return int(stats["fetched_blocks"]) * BLOCK_BYTES + 2 * int(stats["write_bytes"])


def _application(volume: ColdVolume, folder: Path) -> Json:
    output = folder / "fio.json"
    command = [
        "fio",
        "--name=application",
        f"--filename={volume.target}",
        "--rw=randread",
        "--bs=4k",
        "--iodepth=1",
        "--direct=1",
        f"--size={WARM_BLOCKS * BLOCK_BYTES}",
        "--time_based",
        f"--runtime={MEASURED_SECONDS:g}",
        "--output-format=json",
        f"--output={output}",
    ]
    usage = run([command], folder, MEASURED_SECONDS + 60)
    if usage.status:
        raise DataPlaneError(f"the application's fio ended with exit status {usage.status}")
    return dict(json.loads(output.read_text(encoding="utf-8")))
