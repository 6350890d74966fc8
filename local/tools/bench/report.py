"""The benchmark on paper: docs/benchmarks.md with its picture, and the result as JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from local import Json
from local.tools.bench.goals import Result
from local.tools.bench.plot import draw
from local.tools.bench.record import Run, Summaries
from local.tools.bench.specs import VolumeSpec, physical_limit
from local.tools.bench.tools import FIO_MAP_SETTINGS, FIO_SETTINGS
from local.tools.bench.wording import COLUMNS, METHOD, goal_row, row, volume_shares, volume_title

PAGE, PICTURE = "benchmarks.md", "benchmarks.svg"
INTRODUCTION = """\
Written by `make bench`: the warm-up agent beside `dd` and `fio` on the first-touch volumes of the embedded
AWS (see [fidelity-data-plane.md](fidelity-data-plane.md)), scaled to sizes that end in minutes."""


def machine_facts(agent: Path) -> Json:
    """What the figures depend on."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "kernel": platform.release().partition("-")[0],
        "fio": _version("fio", "--version"),
        "agent": _version(str(agent), "--version"),
    }


def _version(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return f"no {command[0]}"


def result(
    facts: Json,
    specs: Sequence[VolumeSpec],
    runs: Sequence[Run],
    summaries: Summaries,
    goals: Sequence[Result],
) -> Json:
    """Everything that was measured."""
    return {
        "machine": facts,
        "volumes": [
            {
                "name": spec.name,
                "sizeBytes": spec.size_bytes,
                "writtenBlocks": spec.written_blocks,
                "extents": len(spec.extents),
                "limitSeconds": asdict(physical_limit(spec)),
                "touchLimitSeconds": asdict(physical_limit(spec, touch=True)),
            }
            for spec in specs
        ],
        "runs": [asdict(run) for run in runs],
        "summaries": [asdict(summary) for summary in summaries.values()],
        "goals": [asdict(goal) for goal in goals],
    }


def write(
    folder: Path, facts: Json, specs: Sequence[VolumeSpec], summaries: Summaries, goals: Sequence[Result]
) -> Path:
    """Write the page and its picture; the page's path."""
    draw(folder / PICTURE, summaries, specs)
    settings, map_settings = (
        ", ".join(setting.text for setting in some) for some in (FIO_SETTINGS, FIO_MAP_SETTINGS)
    )
    busy = ", ".join(volume_shares(summaries, specs)) or "not measured"
    parts = [
        "# Benchmarks",
        INTRODUCTION,
        _facts_text(facts),
        f"![Time to fully warm by volume and tool]({PICTURE})",
        "## How it is measured",
        METHOD.format(settings=settings, map_settings=map_settings),
        f"The volumes' own processes took at most this much of one core: {busy}.",
        "## Must reach",
        markdown_table(("reached", "volume", "goal", "measured"), [goal_row(goal) for goal in goals]),
        "## Time to fully warm",
        *[text for spec in specs for text in _volume_parts(spec, summaries)],
    ]
    page = folder / PAGE
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _facts_text(facts: Json) -> str:
    return (
        f"Measured on {facts['date']}: {facts['cores']} cores, {facts['architecture']}, "
        f"Linux {facts['kernel']}, {facts['fio']}, {facts['agent']}."
    )


def _volume_parts(spec: VolumeSpec, summaries: Summaries) -> list[str]:
    rows = [row(summaries, summary) for (volume, _), summary in summaries.items() if volume == spec.name]
    return [f"### {volume_title(spec)}", markdown_table(COLUMNS, rows)]


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; upright bars in cells are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def save_json(path: Path, value: Json) -> None:
    """For programs."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
