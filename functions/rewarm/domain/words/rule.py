"""The words of a rule's message: what it has adopted within an hour, or would have, and what it has not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Protocol

from rewarm.domain.units import count_text, usd_text
from rewarm.domain.words.message import Message, Severity

KIND = "Rule"
MOST_REASONS = 5
"""How many of one kind a message names; the logs of the restores have all."""


class RuleHour(Protocol):
    """What happened, in volumes, as the contract RuleNews has it."""

    observes: bool
    begun: int
    ready: int
    usd: Decimal
    failed: dict[str, int]
    refused: dict[str, int]
    put_off: dict[str, int]


def report(name: str, hour: RuleHour) -> Message:
    """The one message of a rule within an hour."""
    failed = sum(hour.failed.values())
    lines = [line for line in (_done(hour), *_others(hour)) if line]
    does = "would adopt" if hour.observes else "adopts"
    title = f"The rule {name} {does} {count_text(hour.begun, 'new volume')}"
    if failed:
        title = f"{title}, and {count_text(failed, 'adoption')} failed"
    return Message(
        event="rule-report",
        restore_id=name,
        kind=KIND,
        title=title,
        text=" ".join(lines),
        severity=Severity.WARNING if failed or hour.refused else Severity.INFO,
        fields=(("Price", usd_text(hour.usd)),),
        next_steps=_next_steps(name, hour),
        links=(("rule", f"/rules/{name}"),),
    )


def _done(hour: RuleHour) -> str:
    if hour.observes:
        planned = (
            f"Plans of {count_text(hour.ready, 'volume')} were made, and none was begun: the rule observes. "
        )
        return f"{planned}They would cost {usd_text(hour.usd)}." if hour.ready or hour.begun else ""
    if not hour.ready:
        return ""
    return f"{count_text(hour.ready, 'volume')} reached full speed, for {usd_text(hour.usd)}."


def _others(hour: RuleHour) -> Iterator[str]:
    for what, reasons in (("Failed", hour.failed), ("Refused", hour.refused), ("Put off", hour.put_off)):
        yield _reasons(what, reasons)


def _reasons(what: str, reasons: Mapping[str, int]) -> str:
    """`Refused: 3 volumes (…), 1 volume (…).`"""
    often = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    said = [f"{count_text(count, 'volume')} ({why.rstrip('.')})" for why, count in often[:MOST_REASONS]]
    more = sum(count for _, count in often[MOST_REASONS:])
    if more:
        said.append(f"{count_text(more, 'volume')} for other reasons")
    return f"{what}: {', '.join(said)}." if said else ""


def _next_steps(name: str, hour: RuleHour) -> tuple[str, ...]:
    steps = [f"rewarm rule get {name} shows the rule, and rewarm list what it has begun."]
    if hour.observes:
        steps = [f"With mode act, the rule {name} adopts volumes that are made from then on."]
    if hour.failed or hour.refused:
        steps.append("rewarm warm with a volume's id adopts it by hand: a rule does so once at most.")
    return tuple(steps)
