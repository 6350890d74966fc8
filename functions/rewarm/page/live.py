"""The page of a restore that has no report yet: plan, prices, progress and news, drawn from its record.

It loads itself again while the restore runs, and holds no script. Its one picture, the schedule, needs no
matplotlib, which takes seconds to load.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rewarm.domain.model import HEX
from rewarm.domain.ready.agent_output import figures
from rewarm.page import application, pictures, text

HERE = Path(__file__).parent
STYLE = HERE / "style.css"
REFRESH_SECONDS = 30
MOST_VOLUMES = 100
"""How many volumes have a line each."""
_PIECE = re.compile(r"<(style|title|svg|pre)\b.*?</\1>|<[^>]*>|[^<]+", re.DOTALL)
"""A tag, or what holds no words for people to read, or a text."""
_ID = re.compile(
    rf"(?<![\w-])(?:(?:vol|snap|ami|i)-{HEX}"
    r"|(?:restore|fleet)-[0-9a-f]{16}(?:-\d+)*|(?:event-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?)(?![\w-])[.,;)]{0,2}"
)
"""Ids and dates, with the signs after them. They keep their hyphens: who copies an id gets what AWS takes."""
_LONG = re.compile(r"\S{21,}")
_BREAK = re.compile(r"(?<=[/:])(?=\w)")
"""Where an address, an ARN or a path may be broken."""
MOST_UNBROKEN = 26
Json = dict[str, Any]


def render(account: Json) -> str:
    """The page. Everything is escaped but our own style sheet."""
    facts = {
        "style": STYLE.read_text(encoding="utf-8"),
        "account": account,
        "failure": account.get("failure"),
        "title": _title(account),
        "refresh": REFRESH_SECONDS if account["running"] else None,
        "cards": _cards(account),
        "volumes": [_volume(account, plan) for plan in account["plans"][:MOST_VOLUMES]],
        "more": max(0, len(account["plans"]) - MOST_VOLUMES),
        "schedule": pictures.schedule_view(account.get("summary")),
        "facts": _facts(account),
        "left_out": application.left_out(account),
        "waiting": account.get("waiting"),
        "application": application.view(account.get("application"), account.get("startedAt")),
        "news": [
            (text.clock_text(news.get("at")), news.get("title"), str(news.get("text") or "").splitlines())
            for news in reversed(account["events"])
        ],
    }
    return drawn("live.html.j2", facts)


def drawn(template: str, facts: Json) -> str:
    """The page, with ids that are not broken at their hyphens, and addresses that are broken at a sign."""
    html = _environment().get_template(template).render(facts)
    return _PIECE.sub(lambda piece: piece[0] if piece[0][0] == "<" else _breaking(piece[0]), html)


def _breaking(words: str) -> str:
    words = _LONG.sub(lambda long: _BREAK.sub("<wbr>", long[0]), words)
    return _ID.sub(_whole, words)


def _whole(found: re.Match[str]) -> str:
    """Not broken; what is longer than a phone's line begins a new one, and is broken where it must be."""
    return f'<span class="{"one" if len(found[0]) <= MOST_UNBROKEN else "whole"}">{found[0]}</span>'


@cache
def _environment() -> Environment:
    """Where the templates are, and what they may call; it keeps what it has compiled."""
    found = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update({"money": text.money, "seconds": text.seconds_text, "clock": text.clock_text})
    return found


def name_of(caller: Json | None) -> str:
    """Who asked; empty where that is not known."""
    return str((caller or {}).get("name") or "")


def started_by(trigger: Json) -> str:
    """Who or what asked for the restore."""
    by = name_of(trigger.get("askedBy"))
    words = {
        "alarm": f"the alarm {trigger.get('alarmName')}",
        "fleet": f"the fleet {trigger.get('fleetId') or ''}".strip() + (f", asked for by {by}" if by else ""),
        "schedule": f"the schedule {trigger.get('scheduleName') or ''}".strip(),
        "api": by or "a call of the API",
    }
    return words.get(str(trigger.get("kind")), "")


def _title(account: Json) -> str:
    """What the restore does now."""
    if account["running"] and account.get("cancelRequested"):
        return "Being cancelled"
    return str(account.get("status") or "accepted").replace("-", " ")


def _cards(account: Json) -> list[tuple[str, str, str]]:
    """Label, figure and note of what most readers look for first."""
    summary = account.get("summary") or {}
    started = text.parsed(account.get("startedAt"))
    now = text.parsed(account["at"])
    seconds = (now - started).total_seconds() if started and now else None
    label = "Running for" if account["running"] else "Started before"
    cards = [(label, text.seconds_text(seconds), f"since {text.clock_text(account.get('startedAt'))}")]
    if summary:
        by = f"{text.estimate_text(summary['lateSeconds'])} " if summary.get("lateSeconds") else ""
        late = f"{by}after the deadline" if summary.get("deadlineMissed") else ""
        cards.append(("Full speed expected by (P90)", text.clock_text(summary.get("readyP90At")), late))
        prices = f"by prices of {str(summary.get('priceBookAsOf'))[:10]}"
        cards.append(("Extra cost, as planned", text.money(summary.get("totalCostUsd")), prices))
    if account.get("deadlineAt"):
        cards.append(("Deadline", text.clock_text(account["deadlineAt"]), ""))
    return cards


def _volume(account: Json, planned: Json) -> Json:
    """One line: how the volume is restored, and how far it is."""
    plan = planned["plan"]
    index = planned["index"]
    known: Json = next((volume for volume in account["volumes"] if volume["index"] == index), {})
    made = {**(known.get("volume") or {}), **(known.get("attached") or {})}
    return {
        "index": index,
        "what": made.get("volumeId") or planned.get("adopts") or planned["snapshotId"],
        "strategy": plan["strategy"],
        "why": plan["why"],
        "usable": text.estimate_text(plan["usableSeconds"]),
        "p50": text.estimate_text(plan["readyP50Seconds"]),
        "p90": text.estimate_text(plan["readyP90Seconds"]),
        "cost": text.money(plan["costUsd"]),
        "progress": _progress(account, index, known),
    }


def _progress(account: Json, index: int, volume: Json) -> tuple[float | None, str]:
    """Per cent and words, by the agent's own figures, seconds old, or else those of the last look."""
    if index in account.get("settled", ()):
        return 100.0, "at full speed"
    agent = volume.get("agent") or {}
    polled = volume.get("initialization") or {}
    found = figures(agent if agent.get("bytesTotal") else polled)
    done = found.bytes_done
    total = found.bytes_total
    left = found.eta_seconds
    if done is None or not total:
        return None, ""
    words = [text.percent(100 * done / total), f"{text.size(done)} of {text.size(total)}"]
    words += [text.rate(found.mib_per_second)] if found.mib_per_second else []
    words += [f"hot set {text.percent(found.first_percent)}"] if found.first_percent is not None else []
    looked_at = text.parsed(polled.get("at"))
    now = text.parsed(account["at"])
    if left and (agent or polled.get("progressKey")):
        words.append(f"{text.estimate_text(left)} to go")
    elif left is not None and not agent and looked_at and now:
        ahead = left - (now - looked_at).total_seconds()
        when = f"in about {text.estimate_text(ahead)}" if ahead >= 1 else "by now, as planned"
        words.append(f"loaded {when}; AWS reports it up to 5 minutes later")
    return 100 * done / total, ", ".join(words)


def _facts(account: Json) -> list[tuple[str, str]]:
    found = [
        ("Restore", str(account["restoreId"])),
        ("Started by", started_by(account.get("trigger") or {})),
        ("Started", text.clock_text(account.get("startedAt"))),
        ("Cancelled by", name_of(account.get("cancelledBy"))),
        ("Prices", str((account.get("summary") or {}).get("priceSource") or "")),
        ("This page is of", text.clock_text(account["at"])),
    ]
    return [(name, value) for name, value in found if value]
