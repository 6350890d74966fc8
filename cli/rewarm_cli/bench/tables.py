"""The runs of a benchmark as rows of text, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

PATTERNS = {
    "random-read": "random reads of 4 KiB, one at a time",
    "random-write": "random writes of 4 KiB, one at a time, to a scratch file",
    "cache": "70 % reads and 30 % writes of 4 KiB, 16 jobs with a file of 100 MiB each",
    "upload": "sequential writes of 1 MiB, 4 jobs with a file of 50 MiB each",
    "init": "sequential reads of 1 MiB, 32 at a time",
}
"""Pattern -> what it does, as the functions have it."""
COLUMNS = ("rank", "target", "IOPS", "MiB/s", "read p50 / p99", "write p50 / p99", "provisioned", "met")


def by_pattern(runs: Sequence[Json]) -> dict[str, list[Json]]:
    """The runs by pattern, fastest first; those without figures last."""
    found: dict[str, list[Json]] = {}
    for run in runs:
        found.setdefault(run["pattern"], []).append(run)
    for same in found.values():
        same.sort(key=lambda run: run["rank"] or len(runs) + 1)
    return found


def title(pattern: str) -> str:
    """The pattern's name, and what it does."""
    return f"{pattern}: {PATTERNS[pattern]}"


def row(run: Json) -> list[str]:
    """The cells of COLUMNS."""
    if run["problem"]:
        return ["-", run["target"], "-", "-", "-", "-", _provisioned(run), run["problem"]]
    return [
        str(run["rank"]),
        run["target"],
        f"{run['totalIops']:,.0f}",
        f"{run['totalMibS']:,.1f}",
        _latency(run["read"]),
        _latency(run["write"]),
        _provisioned(run),
        run["limit"]["text"],
    ]


def _latency(side: Json | None) -> str:
    return "-" if side is None else f"{side['p50Ms']:.2f} / {side['p99Ms']:.2f} ms"


def _provisioned(run: Json) -> str:
    iops = run["provisionedIops"]
    mib_s = run["provisionedMibS"]
    parts = [f"{iops:,.0f} IOPS"] if iops else []
    parts += [f"{mib_s:,.0f} MiB/s"] if mib_s else []
    return ", ".join(parts) or "not known"
