"""The words of a fleet's messages: what is planned, how far it is, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from rewarm.domain.model import Caller
from rewarm.domain.units import clock_text, count_text, duration_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.words.message import Message, PricedPlan, Severity, could_save

KIND = "Fleet"
MOST_NAMED = 5
"""Failed volumes that a message names; the report has all."""
MOST_REMOVALS = 2
"""Things that are left and that a message says how to remove."""


class FleetEnd(Value):
    """How a fleet ended."""

    verdict: str
    volume_count: int
    ready: int
    failed: Sequence[str]
    """A line for each volume that is not ready."""
    cause: str | None = None
    """Why the fleet ended before its restores had."""
    cancelled_by: Caller | None = None
    plan: PricedPlan | None = None
    billed_usd: Decimal | None = None
    """By Rewarm's own clock; None where a part of it is not known."""
    left_count: int = 0
    """Things that its restores have left and that cost money."""
    left_usd: Decimal = Decimal(0)
    """What they cost a month together, as far as that is known."""
    removals: Sequence[str] = ()
    """The first of them, with the command that removes each."""


class FleetStart(Value):
    """The restores of a run that begin now."""

    volumes: int
    restores: int
    at_once: int
    run: int
    deadline_at: datetime | None
    plan: PricedPlan | None = None
    """None where each of them plans on its own."""


def planned(fleet_id: str, start: FleetStart) -> Message:
    """The message that the restores of a run begin, with the plan of all."""
    deadline_at = start.deadline_at
    plan = start.plan
    again = "" if start.run == 1 else " Volumes that are ready already are not restored again."
    until = f", to be ready by {clock_text(deadline_at)}" if deadline_at is not None else ""
    parallel = f", at most {start.at_once:,} at once" if start.at_once < start.restores else ""
    begin = "begins" if start.restores == 1 else "begin"
    message = _message(
        "fleet-planned",
        fleet_id,
        f"{count_text(start.volumes, 'volume')} of {fleet_id} will be restored{_for(plan, deadline_at)}",
        f"{count_text(start.restores, 'restore')} {begin} now{parallel}{until}. Volumes to one instance are "
        f"one restore.{again}{_plan(plan, deadline_at)}",
        Severity.WARNING if _late_seconds(plan, deadline_at) > 0 else Severity.INFO,
        next_steps=(
            f"rewarm fleet status {fleet_id} --watch shows how far it is, and rewarm fleet cancel ends it.",
        ),
    )
    return message if plan is None else replace(message, fields=tuple(_fields(plan, deadline_at)))


def _late_seconds(plan: PricedPlan | None, deadline_at: datetime | None) -> float:
    if plan is None or deadline_at is None:
        return 0.0
    return (plan.ready_p90_at - deadline_at).total_seconds()


def _for(plan: PricedPlan | None, deadline_at: datetime | None) -> str:
    if plan is None:
        return ""
    late = ", too late" if _late_seconds(plan, deadline_at) > 0 else ""
    return f" for {usd_text(plan.total_cost_usd)}{late}"


def _plan(plan: PricedPlan | None, deadline_at: datetime | None) -> str:
    if plan is None:
        return " There is no plan for all: each restore plans on its own."
    late = _late_seconds(plan, deadline_at)
    if late <= 0:
        return f" {plan.why}"
    by = duration_text(late)
    return f" {plan.why} The fleet cannot meet its deadline: the last volume is {by} too late (P90)."


def _fields(plan: PricedPlan, deadline_at: datetime | None) -> Iterator[tuple[str, str]]:
    price = plan.total_cost_usd
    yield "Price", "; ".join([usd_text(price), *could_save(plan.could_save_usd, price)])
    yield "Full speed expected by", f"{clock_text(plan.ready_p90_at)} (P90)"
    if deadline_at is not None:
        yield "Deadline", clock_text(deadline_at)


def progress(fleet_id: str, *, counts: Mapping[str, int], volumes: int, eta: datetime | None) -> Message:
    """The message of how far a fleet is."""
    ready = counts.get("ready", 0)
    others = ", ".join(f"{count:,} {state}" for state, count in counts.items() if state != "ready")
    until = f" At this pace all have ended by {clock_text(eta)}." if eta is not None else ""
    return _message(
        "fleet-progress",
        fleet_id,
        f"{ready:,} of {count_text(volumes, 'volume')} of {fleet_id} are ready",
        f"The others: {others}.{until}" if others else "All are ready.",
        Severity.INFO,
    )


def ended(fleet_id: str, end: FleetEnd) -> Message:
    """The message of a fleet that is over, with what was planned and what has come of it."""
    message = _with_left(_ended(fleet_id, end), fleet_id, end)
    if end.plan is None:
        return message
    billed = "not known yet" if end.billed_usd is None else usd_text(end.billed_usd)
    fields = (
        ("Price", f"{billed}; planned were {usd_text(end.plan.total_cost_usd)}"),
        ("Full speed was expected by", f"{clock_text(end.plan.ready_p90_at)} (P90)"),
    )
    return replace(message, fields=fields)


def _with_left(message: Message, fleet_id: str, end: FleetEnd) -> Message:
    if not end.left_count:
        return message
    price = f", {usd_text(end.left_usd)} a month together" if end.left_usd else ""
    left = f"Left behind and still costing money: {count_text(end.left_count, 'thing')}{price}."
    steps = [f"To remove {removal}" for removal in end.removals[:MOST_REMOVALS]]
    more = end.left_count - len(steps)
    steps += [f"rewarm fleet report {fleet_id} shows the other {more:,}."] if more else []
    return replace(message, text=f"{message.text} {left}", next_steps=(*message.next_steps, *steps))


def _ended(fleet_id: str, end: FleetEnd) -> Message:
    missing = end.volume_count - end.ready
    if end.verdict == "ready":
        title = f"{fleet_id} is ready: {count_text(end.volume_count, 'volume')} at full speed"
        return _message("fleet-ended", fleet_id, title, "Every volume is at full speed.", Severity.GOOD)
    verdicts = {"incomplete": "is incomplete", "failed": "failed", "cancelled": "was cancelled"}
    named = [*end.failed[:MOST_NAMED]]
    more = len(end.failed) - len(named)
    text = " ".join(
        [
            *([end.cause] if end.cause else []),
            *([f"It was cancelled by {end.cancelled_by.name}."] if end.cancelled_by else []),
            f"{end.ready:,} of {count_text(end.volume_count, 'volume')} are ready, {missing:,} are not.",
            *named,
            *([f"And {more:,} more; the report names them."] if more else []),
        ]
    )
    return _message(
        "fleet-ended",
        fleet_id,
        f"{fleet_id} {verdicts[end.verdict]}: {end.ready:,} of {end.volume_count:,} volumes are ready",
        text,
        Severity.WARNING if end.verdict == "cancelled" else Severity.ERROR,
        next_steps=(
            "Each failed restore has cleaned up after itself; its own report says why it failed.",
            f"rewarm fleet redrive {fleet_id} restores what is not ready, and nothing else.",
        ),
    )


def _message(
    event: str, fleet_id: str, title: str, text: str, severity: Severity, next_steps: tuple[str, ...] = ()
) -> Message:
    return Message(
        event=event,
        restore_id=fleet_id,
        kind=KIND,
        title=title,
        text=text,
        severity=severity,
        next_steps=next_steps,
        links=(("fleet", f"/fleets/{fleet_id}"),),
    )
