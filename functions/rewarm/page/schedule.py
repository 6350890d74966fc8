"""The plan as a schedule: the picture, a row for each group of alike volumes, and the same by hand."""

from __future__ import annotations

from typing import Any

from rewarm.page import text
from rewarm.page.pictures import schedule_pictures

Json = dict[str, Any]
Row = tuple[str, ...]


def view(summary: Json | None) -> Json | None:
    """What the templates show; None before there is a plan."""
    lines: list[Json] = (summary or {}).get("schedule") or []
    if summary is None or not lines:
        return None
    by_hand: list[Json] = summary.get("byHand") or []
    return {
        "pictures": schedule_pictures(lines, summary.get("deadlineSeconds")),
        "rows": [_row(line) for line in lines],
        "together": _together(summary, lines),
        "byHand": [_by_hand(way) for way in by_hand],
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
        *(text.estimate_text(line[name]) for name in ("usableSeconds", "readyP50Seconds", "readyP90Seconds")),
        up_to + text.money(line["eachCostUsd"]),
        text.money(line["togetherCostUsd"]),
    )


def _together(summary: Json, lines: list[Json]) -> Row:
    late = summary.get("lateSeconds")
    p90 = text.estimate_text(max(line["readyP90Seconds"] for line in lines))
    return (
        f"{sum(line['volumes'] for line in lines):,} together",
        f"{text.estimate_text(late)} after the deadline" if late else "",
        "",
        text.estimate_text(max(line["usableSeconds"] for line in lines)),
        text.estimate_text(max(line["readyP50Seconds"] for line in lines)),
        p90,
        "",
        text.money(summary["totalCostUsd"]),
    )


def _by_hand(way: Json) -> Row:
    """(program, time, price, effort)."""
    time = f"about {text.estimate_text(way['readySeconds'])}"
    return (
        f"by hand, {way['program']}",
        time,
        text.money(way["costUsd"]),
        f"{way['effort']}: {way['command']}",
    )
