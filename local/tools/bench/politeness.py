"""What a warm-up leaves to an application that reads 4 KiB at a time from blocks that are warm already."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError
from local.tools.bench.cold_volume import ColdVolume, cold_volume
from local.tools.bench.measure import Running, run
from local.tools.bench.session import Session
from local.tools.bench.specs import FIO_AWS, IO_URING, MIB, SPECS, VolumeSpec
from local.tools.bench.tools import tool_settings

WARM_BLOCKS = 64
"""What the application reads; warm before anything starts. The rest must outlast the measurement."""
LEAD_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Politeness:
    """What the application and the warm-up got of the volume."""

    case: str
    iops: float
    mean_ms: float
    p99_ms: float
    warm_mib_s: float


def check_politeness(
    session: Session,
    size_gib: float | None,
    polite_latency_ms: float,
    seconds: float,
    tell: Callable[[str], None],
) -> list[Politeness]:
    """The application alone, beside AWS's fio command, and beside the agent without and with politeness."""
    spec = SPECS[0].sized(max(size_gib or 0.0, SPECS[0].size_gib))
    agent = tool_settings(IO_URING, session.agent)[0].commands
    aws = tool_settings(FIO_AWS)[0].commands
    polite = ["--polite-latency-ms", f"{polite_latency_ms:g}"]
    cases: list[tuple[str, Callable[[ColdVolume], list[str]] | None]] = [
        ("alone", None),
        ("beside AWS's fio command", lambda volume: aws(volume, spec)[0]),
        ("beside warmer", lambda volume: agent(volume, spec)[0]),
        (f"beside warmer {' '.join(polite)}", lambda volume: agent(volume, spec)[0] + polite),
    ]
    found = []
    for name, warm_up in cases:
        found.append(_measure(session, spec, name, warm_up, seconds))
        tell(politeness_line(found[-1]))
    return found


def politeness_line(found: Politeness) -> str:
    """One line."""
    return (
        f"application {found.case:<40} {found.iops:8.0f} IOPS  mean {found.mean_ms:8.2f} ms  "
        f"p99 {found.p99_ms:8.2f} ms  warm-up {found.warm_mib_s:6.1f} MiB/s"
    )


def _measure(
    session: Session,
    spec: VolumeSpec,
    name: str,
    warm_up: Callable[[ColdVolume], list[str]] | None,
    seconds: float,
) -> Politeness:
    with cold_volume(session.volumes, spec, "vol-polite", session.backing) as volume:
        volume.initialize(WARM_BLOCKS / spec.written_blocks)
        folders = [volume.folder / part for part in ("application", "warm-up")]
        for folder in folders:
            folder.mkdir()
        warm_mib_s = 0.0
        warming = Running([warm_up(volume)], folders[1]) if warm_up else None
        try:
            # The beginning is left out: what counts is how the two live together.
            time.sleep(LEAD_SECONDS)
            before, began = volume.stats()["fetched_blocks"], time.monotonic()
            report = _application(volume, folders[0], seconds)
            blocks = volume.stats()["fetched_blocks"] - before
            warm_mib_s = blocks * BLOCK_BYTES / MIB / (time.monotonic() - began)
        finally:
            if warming:
                warming.kill()
        read = report["jobs"][0]["read"]
        latency = read["clat_ns"]
        p99_ms = latency.get("percentile", {}).get("99.000000", 0) / 1e6
        return Politeness(name, read["iops"], latency["mean"] / 1e6, p99_ms, warm_mib_s)


def _application(volume: ColdVolume, folder: Path, seconds: float) -> Json:
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
        f"--runtime={seconds:g}",
        "--output-format=json",
        f"--output={output}",
    ]
    usage = run([command], folder, seconds + 60)
    if usage.status:
        raise DataPlaneError(f"the application's fio ended with exit status {usage.status}")
    return dict(json.loads(output.read_text(encoding="utf-8")))
