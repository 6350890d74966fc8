"""Measures everything on one embedded AWS, and says it as it comes."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from local import ROOT, Json
from local.aws.host import Host
from local.tools.measurements.published import copies, mounts
from local.tools.measurements.published.bench import Bench
from local.tools.measurements.published.figures import FIGURES, Row, rows
from local.tools.measurements.published.page import Results
from local.tools.measurements.published.states import Scale, States

Say = Callable[[str], None]


def measure(host: Host, scale: Scale, say: Say, *, images: Path | None = None) -> Results:
    """All states, copies and mounts."""
    bench = Bench(host)
    texts = {figure.name: figure.text for figure in FIGURES}
    measured: dict[str, float] = {}
    dd_mib_s = None
    for one in States(bench, scale, images or ROOT / ".local" / "images").measure():
        measured[one.name] = one.iops
        say(f"{texts[one.name]}: {one.iops:,.0f} IOPS")
        if one.name == "dd" and one.note:
            dd_mib_s = float(one.note)
            say(f"  dd itself read {dd_mib_s:.1f} MiB/s")
    copied = []
    for row in copies.measure(bench):
        copied.append(row)
        say(f"copy like {row.reader.figure.text}: {row.first_seconds:.1f} s, then {row.second_seconds:.1f} s")
    say(f"mounts side by side, {scale.seconds} s each")
    return Results(
        facts=facts(),
        method={**asdict(scale), "rate_gib": scale.rate_gib},
        rows=rows(measured),
        dd_mib_s=dd_mib_s,
        copies=copied,
        mounts=mounts.measure(bench, scale.seconds),
    )


def facts() -> str:
    """What the figures depend on."""
    fio = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return (
        f"Measured on {time.strftime('%Y-%m-%d', time.gmtime())}: {os.cpu_count()} cores, "
        f"{platform.machine()}, Linux {platform.release().partition('-')[0]}, {fio}."
    )


def summary(found: Results) -> Json:
    """For programs."""
    return {
        "verdict": "holds" if found.holds else "does-not-hold",
        "states": [_row(row) for row in found.rows],
        "ddMibS": found.dd_mib_s,
        "copies": [{"name": copy.reader.figure.name, "ratio": copy.ratio} for copy in found.copies],
        "mounts": list(found.mounts),
    }


def _row(one: Row) -> Json:
    return {
        "name": one.figure.name,
        "publishedIops": one.figure.iops,
        "iops": one.iops,
        "publishedRatio": one.published_ratio,
        "ratio": one.ratio,
        "holds": one.holds,
    }
