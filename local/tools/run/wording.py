"""How instants, amounts and messages are written for people; shared by the live view and the report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from local import Json
from local.tools.run.recording import RestoreRecord, StateVisit
from rewarm.domain.units import duration_text, elapsed_text, size_text, usd_text

TIME_NOTE = (
    "Times are lab time, what AWS's clock shows here. AWS's own waits (metric minutes, fast snapshot "
    "restore's 60 min/TiB, background initialization) are skipped ahead; the agent's reads are real and take "
    "as long as they take."
)

PHASES = {
    "Plan": {
        "Take Input",
        "Parse Request",
        "Wait For Turn",
        "Select Snapshot",
        "Choose Strategy",
        "Announce Plan",
        "Announce Approval",
        "Check Approval",
        "Await Signal Of Approval",
        "Wait For Approval",
        "Load Plan",
        "Wait For Turn Of Volume",
    },
    "Prepare snapshot": {"Prepare Snapshot", "Await Signal Of Snapshot", "Wait For Snapshot"},
    "Create volume": {
        "Create Volume",
        "Check Volume",
        "Wait For Volume",
        "Announce Available",
        "Choose Fallback",
        "No Fallback",
        "Clean Up Attempt",
        "Announce Fallback",
    },
    "Attach": {
        "Replace Check",
        "Wait For Replace Check",
        "Replace Detachment",
        "Wait For Detachment",
        "Attach Volume",
        "Wait For Attachment",
        "Announce Attached",
    },
    "Measure": {"Verify Volume Before", "Wait For Measurement Before"},
    "Initialize": {
        "Boost Volume",
        "Dispatch Warmer",
        "Dispatch Warmer To Observe",
        "Announce Hot",
        "Wait For Agent",
        "Rewind",
        "Copy Blocks",
        "Wait For Rewind",
        "Poll Initialization",
        "Await Signal",
        "Wait For Initialization",
    },
    "Verify": {
        "Verify Volume After",
        "Wait For Measurement After",
        "Confirm Readiness",
        "Wait For Confirmation",
        "Report Confirmation",
        "Announce Confirmation",
    },
    "Report": {
        "Release",
        "Wait For Release",
        "Report Volume",
        "Announce Ready",
        "Announce Application",
        "Keep Result",
        "Result Not Kept",
        "Report",
        "Release Target",
        "Report Failure",
        "Release Target After Failure",
        "Clean Up",
        "Clean Up Drill",
        "Announce Failure",
        "Announce Drill",
        "Announce Unreported",
    },
    "Boot": {
        "Start Instance",
        "Wait For Instance",
        "Start Instance Check",
        "Wait For Status Checks",
        "Replace Root",
        "Wait For Root",
        "Run Hook",
        "Wait For Hook",
    },
}
"""Which states belong together in a picture, in the order of rewarm.charts.restore.PHASES."""


NOT_OURS = ("prepare", "create", "attach", "boot", "deliver", "evidence", "read", "load", "write")
"""Phases of the report in which AWS works or the agent reads or writes, until somebody looked."""


def overhead_text(report: Json | None, full_speed_seconds: float) -> str:
    """What AWS and the agent took of the time to full speed, and what is left for everything else."""
    volume = max((report or {}).get("volumes") or [{}], key=lambda one: one.get("actualSeconds") or 0)
    took = {one["phase"]: one.get("actualSeconds") or 0.0 for one in volume.get("phases") or []}
    theirs = {name: took[name] for name in NOT_OURS if name in took}
    parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in theirs.items()) or "nothing"
    left = full_speed_seconds - sum(theirs.values())
    return f"  of it AWS and the agent: {parts}; everything else: {left:.1f} s"


def phase_of(visit: StateVisit) -> str | None:
    """The phase that a visit belongs to."""
    return next((phase for phase, states in PHASES.items() if visit.state in states), None)


def offset_text(seconds: float) -> str:
    """`+0:07.3`, `+1:02:05`: how long after the start."""
    whole, tenths = divmod(round(max(0.0, seconds) * 10), 10)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"+{hours}:{minute:02d}:{second:02d}" if hours else f"+{minute}:{second:02d}.{tenths}"


def kept_text(thing: Json) -> str:
    """What a restore has left, as its record says it."""
    usd = thing.get("usdPerMonth")
    price = "" if usd is None else f", {usd_text(Decimal(usd))} a month"
    return f"{thing['thing']}{price}; to end it: {thing['remove']}"


def seconds_text(seconds: float | None) -> str:
    """A duration that was measured: `7.3 s`, `4 min 05 s`, `1 h 02 min`."""
    if seconds is None:
        return "-"
    return f"{seconds:.1f} s" if seconds < 100 else elapsed_text(seconds)


def estimate_text(seconds: float | None) -> str:
    """A duration that was estimated."""
    return "-" if seconds is None else duration_text(seconds)


def money(amount: Any) -> str:
    """US dollars, or a dash."""
    return "-" if amount is None else usd_text(Decimal(str(amount)))


def milliseconds(value: float | None) -> str:
    """`91 ms`, `0.61 ms`."""
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2f} ms"


def progress_text(payload: Json) -> str:
    """One line of how far an initialization is."""
    parts = [f"{payload['progressPercent']:.0f} %"]
    if payload.get("bytesTotal"):
        parts.append(f"{size_text(payload['bytesDone'])} of {size_text(payload['bytesTotal'])}")
    if payload.get("mibPerSecond"):
        parts.append(f"{payload['mibPerSecond']:.0f} MiB/s")
    if payload.get("etaSeconds"):
        parts.append(f"{estimate_text(payload['etaSeconds'])} to go")
    return ", ".join(parts)


def latency_rows(restore: RestoreRecord) -> list[tuple[str, str, str]]:
    """(what, before, after) of the measurements; empty where none was taken."""
    before, after = restore.measured("Before"), restore.measured("After")
    if before is None and after is None:
        return []
    rows = [
        (name, _latency(before, key), _latency(after, key))
        for name, key in (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("slowest", "max"))
    ]
    rows.append(("4 KiB reads a second, one at a time", _number(before, "iops"), _number(after, "iops")))
    rows.append(("samples", _number(before, "samples"), _number(after, "samples")))
    return rows


def _latency(measured: Json | None, key: str) -> str:
    return milliseconds(measured["latencyMs"].get(key)) if measured else "-"


def _number(measured: Json | None, key: str) -> str:
    return f"{measured[key]:,.0f}" if measured else "-"


def message_lines(body: Json) -> list[str]:
    """A Slack message as its reader sees it, without the mark-up."""
    lines = [line for block in _blocks(body) for line in _block_lines(block)]
    return lines or _plain(str(body.get("text", ""))).splitlines()


def _blocks(body: Json) -> Iterator[Json]:
    yield from body.get("blocks", [])
    for attachment in body.get("attachments", []):
        yield from attachment.get("blocks", [])


def _block_lines(block: Json) -> Iterator[str]:
    parts = [block.get("text"), *block.get("fields", []), *block.get("elements", [])]
    if block.get("type") == "divider":
        yield "────"
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, dict):  # a button's label is an object of its own
            text = f"[{text.get('text', '')}]"
        if text:
            label, _, value = str(text).partition("\n")
            is_field = part in block.get("fields", []) and value
            yield from _plain(f"{label}: {value}" if is_field else str(text)).splitlines()


def _link(found: re.Match[str]) -> str:
    """A signed address is longer than a screen is wide, and no one types it."""
    return f"{found[2]} ({'a signed link' if '?' in found[1] or '/pages/' in found[1] else found[1]})"


def _plain(text: str) -> str:
    """Slack's mrkdwn without its marks."""
    text = re.sub(r"<([^|>]+)\|([^>]+)>", _link, text)
    text = re.sub(r"<([^>]+)>", r"\1", text)
    text = re.sub(r"(?<![\w*])\*([^*\n]+)\*", r"\1", text)
    text = text.replace("`", "")
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
