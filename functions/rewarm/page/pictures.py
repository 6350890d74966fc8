"""The pictures of a volume, and the schedule of a plan: its picture, a row for each group, the same by hand.

A picture that cannot be drawn is left out, as the tables say the same.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rewarm.domain.time.measured import Sample, rates_mib_s
from rewarm.page import text

if TYPE_CHECKING:
    from rewarm.charts.restore import Band

LOG = logging.getLogger(__name__)
MOST_DRAWN = 4
"""Volumes with pictures: a function has a minute for all of them. Each volume also has its own page."""
Json = dict[str, Any]
PHASES = {
    "copy": "Copy snapshot",
    "queue": "Wait for others",
    "prepare": "Prepare snapshot",
    "create": "Create volume",
    "attach": "Attach",
    "boot": "Start instance",
    "measure": "Measure, cold",
    "deliver": "Agent delivered",
    "evidence": "Snapshot as it was",
    "read": "Agent reads",
    "load": "EBS loads",
    "write": "Agent writes",
    "settle": "Metrics settle",
    "verify": "Verify",
}
Pictures = dict[str, str]
NO_PICTURES: dict[str, Pictures] = {"progress": {}, "phases": {}, "latency": {}, "hot": {}}
STEPS = (
    ("prepare", "copied"),
    ("prepare", "prepared"),
    ("create", "available"),
    ("attach", "attached"),
    ("boot", "started"),
    ("measure", "measuredBefore"),
    ("prepare", "evident"),
    ("initialize", "initialized"),
    ("verify", "verified"),
)
"""Phase of the restore and the entry of the timeline that ends it; each begins where the last one ended."""


def pictures_of(
    volume: Json, result: Json, samples: list[Sample], hot_map: list[Json], started_at: datetime
) -> dict[str, Pictures]:
    """`progress`, `phases`, `latency` and `hot`; empty where there is nothing to show."""
    data: dict[str, Any] = {
        "progress": [result.get("timeline") or {}, samples, started_at.isoformat()],
        "phases": volume.get("phases") or [],
        "latency": {phase: (result.get(phase) or {}).get("result") for phase in ("before", "after")},
        "hot": hot_map,
    }
    name = f"volume-{volume['index']}"
    return {kind: _guarded(kind, name, json.dumps(value)) for kind, value in data.items()}


def drills_picture(drills: list[Json]) -> Pictures:
    """The trend over the drills of a runbook; empty for a first drill."""
    return _guarded("drills", "drills", json.dumps(drills))


def schedule_pictures(lines: list[Json], deadline_seconds: float | None) -> Pictures:
    """When which volumes are made and loaded."""
    return _guarded("schedule", "schedule", json.dumps([lines, deadline_seconds]))


def _guarded(kind: str, name: str, data: str) -> Pictures:
    try:
        return _drawn(kind, name, data)
    except Exception:
        LOG.exception("a picture could not be drawn")
        return {}


@lru_cache(maxsize=4 * MOST_DRAWN)
def _drawn(kind: str, name: str, data: str) -> Pictures:
    """Draws once what a volume's page and the page of its restore both show."""
    values = json.loads(data)
    if kind == "progress":
        return _progress(name, *values)
    if kind == "drills":
        return _drills(name, values)
    if kind == "schedule":
        return _schedule(*values)
    if kind == "hot":
        return _hot(name, values)
    return _phases(name, values) if kind == "phases" else _latency(name, values)


# matplotlib takes seconds to load, and is not needed for the words: imported where it draws.
def _progress(name: str, timeline: Json, looks: list[list[Any]], started_at: str) -> Pictures:
    from rewarm.charts import restore  # noqa: PLC0415

    samples = [Sample(*values) for values in looks]
    rates = [
        (sample.seconds, rate)
        for sample, rate in zip(samples, rates_mib_s(samples), strict=True)
        if rate is not None
    ]
    parts = bands(timeline, datetime.fromisoformat(started_at))
    percents = [(sample.seconds, sample.percent) for sample in samples]
    going = restore.Going(percents=[*_nothing_read(percents, parts), *percents], rates=rates, bands=parts)
    return restore.going_on(going, f"{name}-progress", "Progress and rate of the initialization over time")


def _nothing_read(percents: list[tuple[float, float]], parts: list[Band]) -> list[tuple[float, float]]:
    """0 % when the initialization began, where the first look came later and found some of it done."""
    begins = [part.start for part in parts if part.name == "initialize"]
    if not begins or not percents or percents[0][0] <= begins[0] or not 0 < percents[0][1] < 100:
        return []
    return [(begins[0], 0.0)]


def bands(timeline: Mapping[str, Any], started_at: datetime) -> list[Band]:
    """The phases of the restore whose end the timeline has."""
    from rewarm.charts.restore import Band  # noqa: PLC0415

    found: list[Band] = []
    began = text.parsed(timeline.get("began"))
    since = 0.0 if began is None else (began - started_at).total_seconds()
    if since > 0:
        found.append(Band("plan", 0.0, since))
    for step, entry in STEPS:
        at = text.parsed(timeline.get(entry))
        if at is not None:
            until = max(since, (at - started_at).total_seconds())
            found.append(Band(step, since, until))
            since = until
    return found


def _phases(name: str, phases: list[Json]) -> Pictures:
    from rewarm.charts import restore  # noqa: PLC0415

    bars = [
        restore.PhaseBar(
            PHASES.get(phase["phase"]) or str(phase["phase"]),
            phase.get("estimatedP50Seconds"),
            phase.get("estimatedP90Seconds"),
            phase.get("actualSeconds"),
        )
        for phase in phases
    ]
    return restore.phases(bars, f"{name}-phases", "Each phase of the restore, estimated and actual")


def _drills(name: str, past: list[Json]) -> Pictures:
    from rewarm.charts import restore  # noqa: PLC0415

    marks = [
        restore.DrillMark(
            str(drill["at"])[:16].replace("T", " "),
            drill["outcome"],
            drill.get("recoverySeconds"),
            drill.get("recoveryObjectiveSeconds"),
        )
        for drill in past
    ]
    return restore.trend(marks, name, "Recovery times of the drills of this runbook, against their objective")


def _schedule(lines: list[Json], deadline_seconds: float | None) -> Pictures:
    from rewarm.charts import schedule  # noqa: PLC0415
    from rewarm.contracts.values import Schedule  # noqa: PLC0415

    return schedule.pictures(Schedule(lines=lines).lines, deadline_seconds)


def _latency(name: str, measured: Json) -> Pictures:
    from rewarm.charts import restore  # noqa: PLC0415

    return restore.latency(measured, f"{name}-latency", "Read latency before and after the initialization")


def _hot(name: str, parts: list[list[float]]) -> Pictures:
    from rewarm.charts import restore  # noqa: PLC0415

    return restore.hot_map(parts, f"{name}-hot", "Where on the volume the blocks are that were read first")


Row = tuple[str, ...]
_TIMES = ("usableSeconds", "readyP50Seconds", "readyP90Seconds")


def schedule_view(summary: Json | None) -> Json | None:
    """What the templates show; None before there is a plan."""
    lines: list[Json] = (summary or {}).get("schedule") or []
    if summary is None or not lines:
        return None
    return {
        "pictures": schedule_pictures(lines, summary.get("deadlineSeconds")),
        "rows": [_row(line) for line in lines],
        "together": _together(summary, lines),
        "byHand": [_by_hand(way) for way in summary.get("byHand") or []],
    }


def _row(line: Json) -> Row:
    """(volumes, way, begins, usable, P50, P90, price of each, price together)."""
    up_to = "" if line["alike"] else "up to "
    volumes = f"{line['volumes']:,} x {up_to}{text.size(line['dataBytes'])}"
    source = f" of {line['snapshotId']}" if line.get("snapshotId") else ""
    target = f" to {line['target']}" if line.get("target") else ""
    return (
        volumes + source + target,
        text.strategy_text(line),
        text.estimate_text(line["startSeconds"]) if line["startSeconds"] else "at once",
        *(text.estimate_text(line[name]) for name in _TIMES),
        up_to + text.money(line["eachCostUsd"]),
        text.money(line["togetherCostUsd"]),
    )


def _together(summary: Json, lines: list[Json]) -> Row:
    late = summary.get("lateSeconds")
    return (
        f"{sum(line['volumes'] for line in lines):,} together",
        f"{text.estimate_text(late)} after the deadline" if late else "",
        "",
        *(text.estimate_text(max(line[name] for line in lines)) for name in _TIMES),
        "",
        text.money(summary["totalCostUsd"]),
    )


def _by_hand(way: Json) -> Row:
    """(program, time, price, effort)."""
    time = f"about {text.estimate_text(way['readySeconds'])}"
    effort = f"{way['effort']}: {way['command']}"
    return f"by hand, {way['program']}", time, text.money(way["costUsd"]), effort
