"""Puts the page together from the account, which is the very object that report.json holds.

It has the log of decisions by time: what was chosen and why, what took over, and what was released.
"""

from __future__ import annotations

import json
from typing import Any

from rewarm.domain.volume.performance import COSTS
from rewarm.page import application, pictures, text
from rewarm.page.live import STYLE, drawn, name_of, started_by
from rewarm.page.pictures import MOST_DRAWN, drills_picture
from rewarm.page.volumes import Figure, view

Json = dict[str, Any]
Row = tuple[str, str, list[str]]
"""(when, what, in words)."""


def render(account: Json) -> str:
    """The page. Everything is escaped but our own style sheet and pictures."""
    volumes = [view(account, place, is_drawn=place < MOST_DRAWN) for place in range(len(account["volumes"]))]
    facts = {
        "style": STYLE.read_text(encoding="utf-8"),
        "account": account,
        "verdict": verdict(account),
        "good": _is_good(account),
        "left_out": application.left_out(account),
        "volumes": volumes,
        "cards": _cards(account),
        "facts": _facts(account),
        "decisions": decisions(account),
        "drill": _drill(account),
        "application": application.view(account.get("application"), account["startedAt"]),
        "schedule": pictures.schedule_view(account.get("summary"))
        if account["volumeIndex"] is None
        else None,
        "left": _left(account),
        "request": json.dumps(account["request"], indent=2, ensure_ascii=False) if account["request"] else "",
    }
    return drawn("page.html.j2", facts)


def _is_good(account: Json) -> bool:
    is_back = (account.get("application") or {}).get("state") in (None, "back")
    is_back = is_back and not any(left.missing for left in application.left_out(account))
    return account["verdict"] == "ready" and (account.get("drill") or {}).get("outcome") != "late" and is_back


def verdict(account: Json) -> str:
    """The verdict in one line."""
    words = _of_volumes(account)
    found = account.get("application")
    missing = next((left.missing for left in application.left_out(account) if left.missing), "")
    if account["verdict"] != "ready":
        return words
    if missing:
        return f"{words}, but {missing}"
    if found is None:
        return words
    if found["state"] == "back":
        return f"{words}; the application is back after {text.seconds_text(account['applicationSeconds'])}"
    return f"{words}, but the application {application.words_of(found['state'], found['reason'])}"


def _of_volumes(account: Json) -> str:
    count = len(account["volumes"])
    what = "the volume" if count == 1 else f"{count} volumes"
    if account["verdict"] == "ready":
        took = text.seconds_text(account["slowestSeconds"])
        if account.get("drill"):
            return f"Drill {account['drill']['outcome']}: {what} at full speed {took} after the request"
        return f"Ready: {what} {_where(account)} {took} after the request"
    failure = account.get("failure") or {}
    if failure.get("error") == "RestoreCancelledError":
        return "Cancelled on request"
    good = sum(volume["verdict"] == "ready" for volume in account["volumes"])
    return f"Failed: {count - good} of {count} volumes" if good else "Failed"


def _where(account: Json) -> str:
    """At full speed; after a rewind what matters more is what the volumes have."""
    request = account.get("request") or {}
    if (request.get("target") or {}).get("mode") != "rewind":
        return "at full speed"
    undoes = (request.get("source") or {}).get("undoOf")
    return "back as before the rewind" if undoes else "back at the snapshot"


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
    ended = account["actualSeconds"]
    planned = account["estimatedP90Seconds"]
    estimate = f"estimate (P90): {text.estimate_text(planned)}" if planned else ""
    if account["verdict"] != "ready":
        figure = Figure(text.seconds_text(ended), ended, "actualSeconds")
        return {"label": "Ended, after the request", "figure": figure, "note": estimate, "kind": ""}
    seconds = account["slowestSeconds"]
    figure = Figure(text.seconds_text(seconds), seconds, "slowestSeconds")
    note = f"{estimate}; report written after {text.seconds_text(ended)}"
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
    trigger = account.get("trigger") or {}
    summary = account.get("summary") or {}
    prices = ""
    if summary.get("priceSource"):
        old = ", more than 90 days old" if summary.get("priceBookStale") else ""
        prices = f"{summary['priceSource']}, of {str(summary.get('priceBookAsOf'))[:10]}{old}"
    found = [
        ("Restore", account["restoreId"]),
        ("Started by", started_by(trigger)),
        ("Started", text.clock_text(account["startedAt"])),
        ("Approval", _approval(account.get("approval"))),
        ("Cancelled by", name_of(account.get("cancelledBy"))),
        ("This page is of", text.clock_text(account["finishedAt"])),
        ("Prices", prices),
        ("As JSON", account["reportKey"]),
    ]
    return [(name, value) for name, value in found if value]


def _approval(approval: Json | None) -> str:
    """Who approved the plan, when and for how much; empty where nobody was asked."""
    if not approval:
        return ""
    price = text.money(approval["usd"])
    if approval.get("approvedAt"):
        return f"{price}, by {approval['by']}, {text.clock_text(approval['approvedAt'])}"
    return f"needed for {price} until {text.clock_text(approval['until'])}; nobody approved it"


def _drill(account: Json) -> Json | None:
    """The drill and those before it, the newest first; None where the restore is none."""
    if not account.get("drill"):
        return None
    past = account.get("drills") or [account["drill"]]
    rows = [
        (text.clock_text(drill["at"]), drill["outcome"], _kept(drill, "recovery"), _kept(drill, "point"))
        for drill in reversed(past)
    ]
    return {"runbook": account["drill"]["runbook"], "rows": rows, "pictures": drills_picture(past)}


def _kept(drill: Json, what: str) -> str:
    """What it took, and its objective."""
    took = drill.get(f"{what}Seconds")
    objective = drill.get(f"{what}ObjectiveSeconds")
    words = text.seconds_text(took)
    kept = words if objective is None else f"{words}, objective {text.seconds_text(objective)}"
    of_application = what == "recovery" and drill.get("recoveryOf") == "application"
    return f"{kept} (application)" if of_application else kept


def _left(account: Json) -> Json:
    """What still costs money, with price and command; then what stays and what was removed."""
    costs = [
        {**thing, "price": text.money(thing["usdPerMonth"]) if thing.get("usdPerMonth") is not None else ""}
        for thing in account.get("left") or []
    ]
    kept = list(account.get("kept") or [])
    return {"kept": kept, "removed": list(account.get("removed") or []), "costs": costs}


def decisions(account: Json) -> list[Row]:
    """First how each snapshot was found and each strategy chosen, then what happened, then what is left."""
    rows: list[Row] = []
    for plan in account["plans"]:
        rows += _of_plan(plan, many=len(account["plans"]) > 1)
    rows += [_of_event(event) for event in account.get("events") or []]
    for result in account["results"]:
        rows += _of_result(result)
    return rows


def _of_plan(planned: Json, *, many: bool) -> list[Row]:
    volume = planned["volume"]
    plan = planned["plan"]
    name = f"Volume {volume['index']}: " if many else ""
    taken = [volume.get("chosenBecause") or f"{volume['snapshotId']} was named."]
    taken += [f"Not {other['snapshotId']}: {other['reason']}." for other in volume.get("passedOver") or []]
    chosen = [plan["why"]]
    chosen += [
        f"Not {other['strategy']}: {other['reason']}"
        for other in planned.get("candidates") or []
        if not other["chosen"]
    ]
    fallbacks = [fallback["strategy"] for fallback in planned.get("fallbacks") or []]
    chosen += [f"Fallback order: {', then '.join(fallbacks)}."] if fallbacks else []
    return [
        ("plan", f"{name}{volume.get('adopts') or 'snapshot ' + volume['snapshotId']}", taken),
        ("plan", f"{name}strategy {plan['strategy']}", chosen),
    ]


def _of_event(news: Json) -> Row:
    return (
        text.clock_text(news.get("at")),
        str(news.get("title") or news.get("event")),
        str(news.get("text") or "").splitlines(),
    )


def _of_result(result: Json) -> list[Row]:
    rows: list[Row] = []
    name = result.get("volumeId") or f"volume {result.get('index')}"
    if result.get("warmUps"):
        words = "The warm-up agent read it once more, as it had come to a standstill or was still slow."
        rows.append(("initialization", f"{name} was warmed up again", [words]))
    released = (result.get("released") or {}).get("released") or []
    if released:
        rows.append(("release", f"{name}: given back", [str(resource) for resource in released]))
    boost = (result.get("released") or {}).get("boost")
    if boost and boost.get("state") in COSTS:
        why = boost.get("reason") or "no reason is known"
        words = f"Still {boost['boosted']}, to be {boost['target']}: {why}."
        rows.append(("release", f"{name}: the boost still costs money", [words]))
    return rows
