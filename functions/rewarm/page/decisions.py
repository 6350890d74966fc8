"""The log of decisions in the order of time: what was chosen and why, what took over, what was given back."""

from __future__ import annotations

from typing import Any

from rewarm.page import text

Json = dict[str, Any]
Row = tuple[str, str, list[str]]
"""(when, what, in words)."""


def decisions(account: Json) -> list[Row]:
    """First how each snapshot was found and each strategy chosen, then what happened, then what is left."""
    rows: list[Row] = []
    for one in account["plans"]:
        rows += _of_plan(one, many=len(account["plans"]) > 1)
    rows += [_of_event(one) for one in account.get("events") or []]
    for result in account["results"]:
        rows += _of_result(result)
    return rows


def _of_plan(one: Json, *, many: bool) -> list[Row]:
    volume, plan = one["volume"], one["plan"]
    name = f"Volume {volume['index']}: " if many else ""
    taken = [volume.get("chosenBecause") or f"{volume['snapshotId']} was named."]
    taken += [f"Not {other['snapshotId']}: {other['reason']}." for other in volume.get("passedOver") or []]
    chosen = [plan["why"]]
    chosen += [
        f"Not {other['strategy']}: {other['reason']}"
        for other in one.get("candidates") or []
        if not other["chosen"]
    ]
    fallbacks = [fallback["strategy"] for fallback in one.get("fallbacks") or []]
    chosen += [f"Fallback order: {', then '.join(fallbacks)}."] if fallbacks else []
    return [
        ("plan", f"{name}snapshot {volume['snapshotId']}", taken),
        ("plan", f"{name}strategy {plan['strategy']}", chosen),
    ]


def _of_event(one: Json) -> Row:
    return (
        text.clock_text(one.get("at")),
        str(one.get("title") or one.get("event")),
        str(one.get("text") or "").splitlines(),
    )


def _of_result(result: Json) -> list[Row]:
    rows: list[Row] = []
    name = result.get("volumeId") or f"volume {result.get('index')}"
    if result.get("warmUps"):
        words = "The warm-up agent read it once more, as it had come to a standstill or was still slow."
        rows.append(("initialization", f"{name} was warmed up again", [words]))
    released = (result.get("released") or {}).get("released") or []
    if released:
        rows.append(("release", f"{name}: given back", [str(one) for one in released]))
    boost = (result.get("released") or {}).get("boost")
    if boost and boost.get("state") != "lowered":
        why = boost.get("reason") or "no reason is known"
        words = f"Still {boost['boosted']}, to be {boost['target']}: {why}."
        rows.append(("release", f"{name}: the boost still costs money", [words]))
    return rows
