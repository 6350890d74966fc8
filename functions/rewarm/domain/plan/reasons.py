"""Why a strategy was chosen, and why each other one was not, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_DOWN, ROUND_UP, Decimal
from typing import NamedTuple

from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.model import Strategy
from rewarm.domain.plan.estimates import (
    NEVER_BY_ITSELF,
    Estimate,
    Infeasible,
    Outcome,
    PlanObjective,
    is_late,
    manner,
    over_budget,
)
from rewarm.domain.plan.mixes import Mix
from rewarm.domain.units import MICRO_DOLLAR, duration_text, price_text, usd_text


def why(
    best: Estimate, possible: Iterable[Estimate], objective: PlanObjective, *, is_proven: bool = True
) -> str:
    """Why the estimate `best` was chosen; `possible` are all that could have been chosen.

    Of many volumes that share something, it may not be proven that no other mix of strategies is cheaper.
    """
    ready = f"full speed within {duration_text(best.times.ready_p90)} (P90)"
    price = f"costs {usd_text(best.decidable_usd)}" if best.decidable_usd else "no extra cost"
    name = f"{best.strategy}{manner(best)}"
    if objective.fixed is not None:
        tail = f"; too late by {_lateness(best, objective)}" if is_late(best, objective) else ""
        note = f"; {best.note}" if best.note else ""
        return f"The request asks for {name}: {ready}; {price}{tail}{note}."
    others = [other for other in possible if other is not best]
    if is_late(best, objective):
        late = f"{_lateness(best, objective)} too late"
        return f"{_closest(name, best, others, objective)}: {ready}; {late}; {price}."
    deadline = objective.deadline_seconds
    allowed = f"; deadline in {duration_text(deadline)}" if deadline is not None else ""
    place = _rank(best, others, objective) if is_proven else "part of the cheapest mix that was found"
    return f"{name} is {place}: {ready}{allowed}; {price}."


def _closest(name: str, best: Estimate, others: Iterable[Estimate], objective: PlanObjective) -> str:
    """One of several volumes need not be ready before the last of them, whatever its own share could buy."""
    within = " within the budget" if objective.budget_usd is not None else ""
    if any(other.times.ready_p90 < best.times.ready_p90 for other in others):
        return (
            f"The volumes cannot all meet the deadline{within}; "
            f"{name} is the cheapest here that is ready with the last of them"
        )
    return f"No strategy{within} meets the deadline; {name} comes closest"


def _rank(best: Estimate, others: Sequence[Estimate], objective: PlanObjective) -> str:
    """For one volume alone another may be cheaper, as the other volumes pay for what all share."""
    in_time = " that meets the deadline" if objective.deadline_seconds is not None else ""
    if any(other.decidable_usd < best.decidable_usd and not is_late(other, objective) for other in others):
        return f"the cheapest{in_time} for all volumes together"
    if any(other.decidable_usd == best.decidable_usd for other in others):
        return f"the cheapest{in_time}, and the fastest at that price"
    return f"the cheapest{in_time}"


def verdict(outcome: Outcome, best: Estimate, chosen_why: str, objective: PlanObjective) -> str:
    """Why the strategy was chosen or not."""
    if isinstance(outcome, Infeasible):
        return f"Not possible: {outcome.reason}."
    if outcome is best:
        return chosen_why
    if objective.fixed not in {None, outcome.strategy}:
        return f"Not asked for: the request names {objective.fixed}."
    if outcome.strategy in NEVER_BY_ITSELF:
        return f"Only where the request names it: {outcome.note}."
    return why_not(outcome, best, objective)


def why_not(estimate: Estimate, best: Estimate, objective: PlanObjective) -> str:
    """Why a possible estimate is not the best one."""
    if over_budget(estimate, objective):
        price, budget = _price_and_budget(estimate, objective)
        return f"Over budget: it costs {price}, and the budget leaves {budget}."
    ready = duration_text(estimate.times.ready_p90)
    if is_late(estimate, objective) and not is_late(best, objective):
        late = _lateness(estimate, objective)
        return f"Too late: full speed only within {ready}, {late} after the deadline."
    if is_late(estimate, objective) and estimate.times.ready_p90 > best.times.ready_p90:
        return f"Also misses the deadline, and is slower: {_against(estimate, best)}."
    if estimate.decidable_usd > best.decidable_usd:
        more = usd_text(estimate.decidable_usd - best.decidable_usd)
        return f"Costs {more} more; full speed within {ready}."
    if estimate.decidable_usd < best.decidable_usd:
        return f"Cheaper alone, but not for all volumes together; full speed within {ready}."
    if estimate.times.ready_p90 > best.times.ready_p90:
        return f"Slower at the same price: {_against(estimate, best)}."
    return f"No better: {ready} at the same price."


def as_fallback(estimate: Estimate, best: Estimate, objective: PlanObjective) -> str:
    """When the estimate takes over, and why it is not the best."""
    return f"Takes over if {best.strategy} fails. {why_not(estimate, best, objective)}"


class Lack(NamedTuple):
    """What a request has too little of, in words, and its field."""

    text: str
    field: str


def lacking(within: Mix | None, least: Mix | None, objective: PlanObjective) -> Lack | None:
    """What is missing, money or time; None if neither would help.

    `within` is the earliest mix within the budget, `least` the cheapest in time or else the earliest of all.
    """
    if least is None:
        return None
    wanted = objective.deadline_seconds if objective.strict else None
    deadline = math.inf if wanted is None else wanted
    more = Decimal(0) if objective.budget_usd is None else max(Decimal(0), least.usd - objective.budget_usd)
    in_time = least.seconds <= deadline
    missing = []
    if more:
        money = f"the budget is {price_text(more.quantize(MICRO_DOLLAR, rounding=ROUND_UP))} too small"
        missing.append(money if in_time else f"{money}, and {_too_early(least, deadline)}")
    if within is not None and within.seconds > deadline:
        missing.append(_too_early(within, deadline))
    field = "objective.maxCostUsd" if more and in_time else "objective.readyWithinMinutes"
    return Lack("; or ".join(missing), field) if missing else None


def _too_early(mix: Mix, deadline: float) -> str:
    return f"the deadline is {duration_text(mix.seconds - deadline)} too early"


def nothing_fits(
    outcomes: Mapping[Strategy, Outcome], objective: PlanObjective, lack: Lack | None
) -> NoStrategyFitsError:
    """The refusal, with what rules each strategy out for one volume."""
    asked = [objective.fixed] if objective.fixed is not None else list(outcomes)
    names = [name for name in asked if name is objective.fixed or name not in NEVER_BY_ITSELF]
    reasons = "; ".join(f"{name}: {_refusal(outcomes[name], objective)}" for name in names)
    if lack is not None:
        return NoStrategyFitsError(f"no strategy fits: {lack.text}. {reasons}", field=lack.field)
    if objective.fixed is not None:
        return NoStrategyFitsError(reasons, field="objective.strategy")
    return NoStrategyFitsError(f"no strategy fits. {reasons}", field="objective.maxCostUsd")


def nothing_fits_together(volumes: int, lack: Lack | None) -> NoStrategyFitsError:
    """The refusal where each volume alone would fit, and all together do not."""
    what = f"no mix of strategies fits {volumes} volumes together"
    if lack is None:
        return NoStrategyFitsError(what, field="objective.strategy")
    return NoStrategyFitsError(f"{what}: {lack.text}", field=lack.field)


def _refusal(outcome: Outcome, objective: PlanObjective) -> str:
    if isinstance(outcome, Infeasible):
        return outcome.reason
    if over_budget(outcome, objective):
        price, budget = _price_and_budget(outcome, objective)
        return f"costs {price}, over the budget of {budget}"
    ready = duration_text(outcome.times.ready_p90)
    if not is_late(outcome, objective):
        return f"full speed within {ready}"
    return f"full speed only within {ready}, {_lateness(outcome, objective)} too late"


def _lateness(estimate: Estimate, objective: PlanObjective) -> str:
    return duration_text(estimate.times.ready_p90 - max(0.0, objective.deadline_seconds or 0.0))


def _against(estimate: Estimate, best: Estimate) -> str:
    """`24 min against 20 min`; where both read the same, by how much."""
    ready = estimate.times.ready_p90
    earlier = best.times.ready_p90
    if duration_text(ready) == duration_text(earlier):
        return f"by {duration_text(ready - earlier)}"
    return f"{duration_text(ready)} against {duration_text(earlier)}"


def _price_and_budget(estimate: Estimate, objective: PlanObjective) -> tuple[str, str]:
    """Exact where both would read the same."""
    price = estimate.decidable_usd
    budget = objective.budget_usd or Decimal(0)
    if usd_text(price) == usd_text(budget):
        return price_text(price), price_text(budget.quantize(MICRO_DOLLAR, rounding=ROUND_DOWN))
    return usd_text(price), usd_text(budget)
