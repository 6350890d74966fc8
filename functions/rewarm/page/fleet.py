"""The page of a fleet, made from its report.json: how it ended, what is not ready and why, its restores."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from rewarm.domain.units import usd_text
from rewarm.page import text
from rewarm.page.live import STYLE, drawn, name_of

Json = dict[str, Any]
MOST_RESTORES = 1_000
"""More are in report.json: a page of ten thousand lines opens slowly and nobody reads it."""


def render(account: Json) -> str:
    """The page. Everything is escaped but our own style sheet."""
    facts = {
        "style": STYLE.read_text(encoding="utf-8"),
        "account": account,
        "verdict": verdict(account),
        "askers": _askers(account),
        "cards": _cards(account),
        "failed": [{**row, "snapshot": _named(row["snapshot"])} for row in account["progress"]["failed"]],
        "left": [
            {**thing, "price": text.money(thing["usdPerMonth"]) if thing.get("usdPerMonth") else ""}
            for thing in account.get("left") or []
        ],
        "restores": account["restores"][:MOST_RESTORES],
        "more": len(account["restores"][MOST_RESTORES:]),
    }
    return drawn("fleet.html.j2", facts)


def verdict(account: Json) -> str:
    """The verdict in one line."""
    count = account["progress"]["volumeCount"]
    ready = account["progress"]["counts"].get("ready", 0)
    if account["verdict"] == "ready":
        return f"Ready: {count:,} volumes at full speed"
    said = {"incomplete": "Incomplete", "failed": "Failed", "cancelled": "Cancelled on request"}
    return f"{said[account['verdict']]}: {ready:,} of {count:,} volumes at full speed"


def _askers(account: Json) -> list[tuple[str, str]]:
    """Who asked for the run, and who cancelled it, where that is known."""
    asked = (account.get("trigger") or {}).get("askedBy")
    cancelled = account.get("cancelledBy")
    named = [("Asked for by", name_of(asked)), ("Cancelled by", name_of(cancelled))]
    return [(words, name) for words, name in named if name]


def _cards(account: Json) -> list[tuple[str, str, str]]:
    """The figures that most readers look for first: (label, figure, note)."""
    begun, ended = (datetime.fromisoformat(account[name]) for name in ("startedAt", "finishedAt"))
    run = "of this run" if account["run"] == 1 else f"of run {account['run']}"
    counts = [(state, f"{count:,}", "volumes") for state, count in account["progress"]["counts"].items()]
    return [
        *counts,
        ("Restores", f"{len(account['restores']):,}", "volumes to one instance are one restore"),
        ("Time", text.seconds_text((ended - begun).total_seconds()), _planned_time(account) or run),
        *_price(account),
    ]


def _planned_time(account: Json) -> str | None:
    """What the plan promised, counted from the start of the run."""
    plan = account.get("plan")
    if plan is None:
        return None
    begun, ready = (datetime.fromisoformat(at) for at in (account["startedAt"], plan["readyP90At"]))
    return f"planned were {text.seconds_text((ready - begun).total_seconds())} (P90)"


def _price(account: Json) -> list[tuple[str, str, str]]:
    plan = account.get("plan")
    billed = account.get("billedUsd")
    if plan is None:
        return []
    price = "not known" if billed is None else usd_text(Decimal(billed))
    return [("Price", price, f"planned were {usd_text(Decimal(str(plan['totalCostUsd'])))}")]


def _named(snapshot: Json) -> str:
    """The snapshot, or what it was looked for by."""
    tags = ", ".join(f"{key}={value}" for key, value in (snapshot.get("tags") or {}).items())
    return str(snapshot.get("snapshotId") or snapshot.get("volumeId") or tags)
