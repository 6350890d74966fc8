"""Whether the application is back on its instance, as the page shows it, part by part."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rewarm.contracts.after import Application, HookPart
from rewarm.domain.model import LeftOut
from rewarm.page import text

Json = dict[str, Any]
_LEFT_OUT = TypeAdapter(list[LeftOut])


def view(found: Any, started_at: Any) -> Json | None:
    """None where nothing was to bring it back yet, and where somebody has changed the record."""
    try:
        known = Application.model_validate(found)
    except ValidationError:
        return None
    return {
        "words": words_of(known.state, known.reason),
        "instance": known.instance_id,
        "parts": [_part(part, started_at) for part in known.parts],
    }


def moments(found: Any, index: int) -> list[tuple[datetime, str]]:
    """When each part ended, in words, if the execution of this volume has run them."""
    try:
        known = Application.model_validate(found)
    except ValidationError:
        return []
    parts = known.parts if known.index == index else []
    return [
        (part.ended_at, f"{part.title[:1].upper()}{part.title[1:]}: {part.state}")
        for part in parts
        if part.ended_at is not None
    ]


def left_out(account: Json) -> list[LeftOut]:
    """What the runbook names and the stack lacks; empty where somebody has changed the record."""
    try:
        return _LEFT_OUT.validate_python((account.get("request") or {}).get("leftOut") or [])
    except ValidationError:
        return []


def words_of(state: str, reason: str) -> str:
    """What becomes of it, after `the application`."""
    why = f": {reason}" if reason else ""
    words = {"running": "is being brought back", "back": "is back", "failed": f"is not back{why}"}
    return words.get(state, f"may not be back{why}")


def _part(part: HookPart, started_at: Any) -> Json:
    began = text.parsed(started_at)
    after = (part.since - began).total_seconds() if began and part.since else None
    took = (part.ended_at - part.since).total_seconds() if part.ended_at and part.since else None
    return {
        "title": part.title,
        "state": part.state,
        "after": text.seconds_text(after),
        "took": text.seconds_text(took),
        "limit": text.estimate_text(part.limit_seconds),
        "reason": part.reason,
        "output": part.output,
    }
