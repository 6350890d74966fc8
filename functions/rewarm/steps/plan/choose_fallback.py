"""State `Choose Fallback`: decides what is done after a failure, with the time and money that are left."""

from __future__ import annotations

from decimal import Decimal

from rewarm.contracts import ChooseFallbackEvent, ChooseFallbackResult, Plan
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
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.records import fallback_attribute


def choose_fallback(event: ChooseFallbackEvent, *, table: RestoreTable) -> ChooseFallbackResult:
    """Returns the next plan, or why there is none, and records the decision.

    The state that follows gives back what the failed plan took.
    """
    result = _decided(event)
    noted = {
        "at": iso(event.now),
        "failed": event.plan.strategy.value,
        "error": event.failure.error,
        "how": result.how.value,
        "why": result.why,
        "rejected": result.rejected,
    }
    index = event.volume.index
    table.update_volume(event.restore_id, index, {fallback_attribute(index): noted})
    return result


def _decided(event: ChooseFallbackEvent) -> ChooseFallbackResult:
    spent = event.spent_usd + _spent(event)
    options = [_option(plan) for plan in event.fallbacks]
    found = take_over(_situation(event, spent), options)
    chosen = event.plan if found.option is None else _adjusted(event.fallbacks[found.option], found)
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
    wanted, left = event.request.objective, event.deadline_at
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
    )


def _spent(event: ChooseFallbackEvent) -> Decimal:
    """What the failed plan has cost, in USD."""
    seconds = (event.now - event.began_at).total_seconds()
    return round_usd(
        spent_usd(
            event.plan.strategy,
            event.plan.decidable_usd,
            made=event.volume_id is not None,
            enabled_by_us=event.preparation is not None and event.preparation.enabled_by_us,
            share_of_time=seconds / max(1, event.plan.ready_p90_seconds),
        )
    )


def _option(plan: Plan) -> Option:
    """A copy of a foreign snapshot is complete and paid: only what follows it is still to come."""
    p50, p90 = plan.phases.get(Phase.COPY, (0.0, 0.0))
    paid = sum((part.usd for part in plan.cost_parts if part.item.startswith((COPY, TRANSFER))), Decimal(0))
    ready = max(0.0, plan.ready_p90_seconds - p90)
    return Option(plan.strategy, max(0.0, plan.usable_seconds - p50), ready, plan.decidable_usd - paid)


def _adjusted(plan: Plan, found: Takeover) -> Plan:
    """The plan as seen from now, so that its estimate can be compared with the actual time."""
    done = plan.usable_seconds if found.how is How.SAME_VOLUME else 0
    return plan.model_copy(
        update={
            "usable_seconds": plan.usable_seconds - done,
            "ready_p50_seconds": max(0, plan.ready_p50_seconds - done),
            "ready_p90_seconds": max(0, plan.ready_p90_seconds - done),
            "why": found.why,
            "deadline_missed": found.late,
        }
    )
