"""State `Choose Fallback`: decides what to do after a failure, with the time and money that are left."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, StepEvent, Usd
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.results import PrepareSnapshotResult
from rewarm.contracts.values import Failure, Plan, VolumeAssignment
from rewarm.domain.model import Strategy
from rewarm.domain.plan.cost import COPY, TRANSFER
from rewarm.domain.plan.fallback import (
    AGENT_LOST,
    How,
    Option,
    Situation,
    Takeover,
    spent_usd,
    take_over,
)
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import iso, round_usd
from rewarm.ports.restores import Pace, RestoreTable
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.registration import state


class ChooseFallbackEvent(StepEvent):
    """Asks what is to be done after a failure; `tried` are the strategies before the one that failed."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str | None = None
    plan: Plan
    fallbacks: list[Plan]
    tried: list[Strategy]
    failure: Failure
    attached_announced: bool
    warm_ups: int = Field(ge=0)
    agent_lost: bool
    preparation: PrepareSnapshotResult | None = None
    began_at: Instant
    deadline_at: Instant | None = None
    budget_usd: Usd | None = None
    spent_usd: Usd


class ChooseFallbackResult(Contract):
    """What is done now; `plan` and `fallbacks` are those that hold from now on."""

    how: How
    plan: Plan
    fallbacks: list[Plan]
    tried: list[Strategy]
    agent_lost: bool
    spent_usd: Usd
    why: str
    rejected: list[str]


@state("Choose Fallback")
def choose_fallback(
    event: ChooseFallbackEvent, *, table: RestoreTable, rate_requests: Pace
) -> ChooseFallbackResult:
    """Returns the next plan, or why there is none, and records the decision.

    `rate_requests` is the pace at which all waiting volumes ask for the Region's rate again. The next state
    gives back what the failed plan took.
    """
    result = _decided(event, rate_requests)
    noted = {
        "at": iso(event.now),
        "failed": event.plan.strategy.value,
        "error": event.failure.error,
        "how": result.how.value,
        "why": result.why,
        "rejected": result.rejected,
    }
    VolumeNotes(table, event.restore_id, event.volume.index).note_fallback(noted)
    return result


def _decided(event: ChooseFallbackEvent, rate_requests: Pace) -> ChooseFallbackResult:
    spent = event.spent_usd + _spent(event)
    options = [_option(plan) for plan in event.fallbacks]
    situation = _situation(event, spent)
    if situation.waits_for_rate:
        turn = rate_requests.due(1, now=event.now)
        situation = replace(situation, turn_seconds=(turn - event.now).total_seconds())
    found = take_over(situation, options)
    chosen = event.plan if found.option is None else _adjusted(event.fallbacks[found.option], found)
    if found.how is How.SAME_PLAN_LATER:
        chosen = chosen.model_copy(update={"start_at": event.now + timedelta(seconds=found.wait_seconds)})
    another = found.option is not None
    return ChooseFallbackResult(
        how=found.how,
        plan=chosen,
        fallbacks=[plan for place, plan in enumerate(event.fallbacks) if place != found.option],
        tried=[*event.tried, event.plan.strategy] if another else event.tried,
        agent_lost=event.agent_lost or event.failure.error in AGENT_LOST,
        spent_usd=spent if another else event.spent_usd,
        why=found.why,
        rejected=list(found.rejected),
    )


def _situation(event: ChooseFallbackEvent, spent: Decimal) -> Situation:
    wanted = event.request.objective
    left = event.deadline_at
    phases = [event.plan.phases.get(phase, (0.0, 0.0)) for phase in (Phase.COPY, Phase.QUEUE)]
    expected, waits = (sum(phase[place] for phase in phases) for place in (0, 1))
    queued = Phase.QUEUE in event.plan.phases
    since_beginning = (event.now - event.began_at).total_seconds()
    return Situation(
        error=event.failure.error,
        failed=event.plan.strategy,
        tried=frozenset(event.tried),
        demanded=None if wanted.strategy == "auto" else Strategy(wanted.strategy),
        strict=wanted.strict,
        announced=event.attached_announced,
        agent_available=event.volume.agent_available,
        agent_lost=event.agent_lost,
        warm_ups=event.warm_ups,
        seconds_left=None if left is None else (left - event.now).total_seconds(),
        budget_left_usd=None if event.budget_usd is None else event.budget_usd - spent,
        ready_p90_seconds=event.plan.ready_p90_seconds - waits,
        failed_usd=event.plan.decidable_usd,
        queue_seconds_left=max(0.0, waits - since_beginning) if queued else 0.0,
        overdue_seconds=max(0.0, since_beginning - expected),
    )


def _spent(event: ChooseFallbackEvent) -> Decimal:
    """What the failed plan has cost, in USD."""
    seconds = (event.now - event.began_at).total_seconds()
    return round_usd(
        spent_usd(
            event.plan.strategy,
            event.plan.decidable_usd - _copy_usd(event.plan),
            made=event.volume_id is not None,
            enabled_by_us=event.preparation is not None and event.preparation.enabled_by_us,
            share_of_time=seconds / max(1, event.plan.ready_p90_seconds),
        )
    )


def _option(plan: Plan) -> Option:
    """A plan without the copy of a foreign snapshot, which is complete by now."""
    p50, p90 = plan.phases.get(Phase.COPY, (0.0, 0.0))
    usable = max(0.0, plan.usable_seconds - p50)
    ready = max(0.0, plan.ready_p90_seconds - p90)
    return Option(plan.strategy, usable, ready, plan.decidable_usd)


def _copy_usd(plan: Plan) -> Decimal:
    """The price of the copy, paid once: the next plan has it too, so the failed plan has not lost it."""
    parts = (part.usd for part in plan.cost_parts if part.item.startswith((COPY, TRANSFER)))
    return sum(parts, Decimal(0))


def _adjusted(plan: Plan, found: Takeover) -> Plan:
    """The plan as seen from now, so that its estimate can be compared with the actual time."""
    if found.how is How.SAME_VOLUME:
        p50 = p90 = plan.usable_seconds
    else:
        p50, p90 = (round(seconds) for seconds in plan.phases.get(Phase.COPY, (0.0, 0.0)))
    return plan.model_copy(
        update={
            "usable_seconds": max(0, plan.usable_seconds - p50),
            "ready_p50_seconds": max(0, plan.ready_p50_seconds - p50),
            "ready_p90_seconds": max(0, plan.ready_p90_seconds - p90),
            "phases": {phase: part for phase, part in plan.phases.items() if phase is not Phase.COPY},
            "why": found.why,
            "deadline_missed": found.late,
        }
    )
