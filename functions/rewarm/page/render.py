"""Puts the page together from the account, which is the very object that report.json holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rewarm.page import text
from rewarm.page.decisions import decisions
from rewarm.page.pictures import MOST_DRAWN
from rewarm.page.volumes import Figure, view

HERE = Path(__file__).parent
STYLE = HERE / "style.css"
Json = dict[str, Any]


def render(account: Json) -> str:
    """The page. Everything is escaped but our own style sheet and pictures."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update({"money": text.money, "seconds": text.seconds_text, "clock": text.clock_text})
    volumes = [view(account, place, is_drawn=place < MOST_DRAWN) for place in range(len(account["volumes"]))]
    facts = {
        "style": STYLE.read_text(encoding="utf-8"),
        "account": account,
        "verdict": verdict(account),
        "ready": account["verdict"] == "ready",
        "volumes": volumes,
        "cards": _cards(account),
        "facts": _facts(account),
        "decisions": decisions(account),
        "left": _left(account),
        "request": json.dumps(account["request"], indent=2, ensure_ascii=False) if account["request"] else "",
    }
    return environment.get_template("page.html.j2").render(facts)


def verdict(account: Json) -> str:
    """The verdict in one line."""
    count = len(account["volumes"])
    what = "the volume" if count == 1 else f"{count} volumes"
    if account["verdict"] == "ready":
        took = text.seconds_text(float(account["slowestSeconds"]))
        return f"Ready: {what} at full speed {took} after the request"
    failure = account.get("failure") or {}
    if failure.get("error") == "RestoreCancelledError":
        return "Cancelled on request"
    good = sum(one["verdict"] == "ready" for one in account["volumes"])
    return f"Failed: {count - good} of {count} volumes" if good else "Failed"


def _cards(account: Json) -> list[Json]:
    """The figures that most readers look for first."""
    cards = [
        _time_card(account),
        {
            "label": "Extra cost",
            "figure": Figure(text.money(account["costUsd"]), account["costUsd"], "costUsd"),
            "note": "as planned; storage of the volume is not in it",
            "kind": "",
        },
    ]
    if account.get("billedUsd") is not None:
        cards[1]["note"] = f"as planned; by the clock {text.money(account['billedUsd'])}"
    if account.get("deadlineAt"):
        cards.insert(1, _deadline_card(account))
    return cards


def _time_card(account: Json) -> Json:
    """All times of a restore run from the request."""
    ended, planned = account["actualSeconds"], account["estimatedP90Seconds"]
    estimate = f"estimate (P90): {text.estimate_text(planned)}" if planned else ""
    if account["verdict"] != "ready":
        figure = Figure(text.seconds_text(float(ended)), ended, "actualSeconds")
        return {"label": "Ended, after the request", "figure": figure, "note": estimate, "kind": ""}
    seconds = account["slowestSeconds"]
    figure = Figure(text.seconds_text(float(seconds)), seconds, "slowestSeconds")
    note = f"{estimate}; report written after {text.seconds_text(float(ended))}"
    return {"label": "At full speed, after the request", "figure": figure, "note": note, "kind": ""}


def _deadline_card(account: Json) -> Json:
    met = account.get("deadlineMet")
    words = {True: "met", False: "missed", None: "not reached"}[met]
    return {
        "label": "Deadline",
        "figure": Figure(words, met, "deadlineMet"),
        "note": text.clock_text(account["deadlineAt"]),
        "kind": "good" if met else "bad",
    }


def _facts(account: Json) -> list[tuple[str, str]]:
    trigger, summary = account.get("trigger") or {}, account.get("summary") or {}
    started_by = {
        "alarm": f"the alarm {trigger.get('alarmName')}",
        "schedule": f"the schedule {trigger.get('scheduleName') or ''}".strip(),
        "api": "a call of the API",
    }
    prices = ""
    if summary.get("priceSource"):
        old = ", more than 90 days old" if summary.get("priceBookStale") else ""
        prices = f"{summary['priceSource']}, of {str(summary.get('priceBookAsOf'))[:10]}{old}"
    found = [
        ("Restore", account["restoreId"]),
        ("Started by", started_by.get(str(trigger.get("kind")), "")),
        ("Started", text.clock_text(account["startedAt"])),
        ("This page is of", text.clock_text(account["finishedAt"])),
        ("Prices", prices),
        ("As JSON", account["reportKey"]),
    ]
    return [(name, value) for name, value in found if value]


def _left(account: Json) -> Json:
    """What stays, what was removed, and what still costs money."""
    costs = [
        f"{one.get('volumeId')} is still {one['boost']['boosted']}, to be {one['boost']['target']}"
        for one in account["volumes"]
        if (one.get("boost") or {}).get("state") not in (None, "lowered")
    ]
    costs += [
        f"what {one['strategy']} needed for {one.get('volumeId')} may still be on: "
        f"{one['releaseFailure']['cause'].rstrip('.')}"
        for one in account["volumes"]
        if one.get("releaseFailure")
    ]
    kept = list(account.get("kept") or [])
    return {"kept": kept, "removed": list(account.get("removed") or []), "costs": costs}
