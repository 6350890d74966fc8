"""Records of a benchmark, made up for tests."""

from __future__ import annotations

from local.tools.bench.record import Run


def run(volume: str, tool: str, seconds: float, **values) -> Run:
    given = {
        "setting": "auto",
        "round": 1,
        "wall_seconds": seconds,
        "cpu_seconds": 0.1,
        "peak_mib": 3.0,
        "volume_cpu_seconds": seconds / 10,
    }
    return Run(volume=volume, tool=tool, seconds=seconds, **{**given, **values})


def five(volume: str, tool: str, *seconds: float, **values) -> list[Run]:
    return [run(volume, tool, value, round=number, **values) for number, value in enumerate(seconds, start=1)]
