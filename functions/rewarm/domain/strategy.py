"""The choice: the cheapest strategy that is at full speed in time, with its reasons and the rejected ones'.

Rule: of the strategies within the budget, the cheapest whose P90 meets the deadline; if none does, the one
with the earliest P90, marked as too late, or a refusal where the request is strict. Ties: earlier P90, then
earlier P50, then the order of ESTIMATORS. The budget is held against what the choice can change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.estimates import ESTIMATORS, Estimate, Estimator, Infeasible, Limits, VolumeFacts
from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.units import duration_text, usd_text


@dataclass(frozen=True, slots=True)
class Objective:
    """What the request wants. `fixed` names one strategy; None leaves the choice to us."""

    deadline_seconds: float | None = None
    budget_usd: Decimal | None = None
    fixed: Strategy | None = None
    strict: bool = False

    @property
    def limits(self) -> Limits:
        """For the estimators."""
        return Limits(self.deadline_seconds, self.budget_usd)


@dataclass(frozen=True, slots=True)
class Considered:
    """One strategy and what became of it; `estimate` is None where it cannot be had."""

    strategy: Strategy
    estimate: Estimate | None
    chosen: bool
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedEstimate:
    """An estimate that is to be carried out, or to take over."""

    estimate: Estimate
    why: str
    deadline_missed: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan, what takes over if it cannot be had (best first), and all that was considered."""

    plan: PlannedEstimate
    fallbacks: tuple[PlannedEstimate, ...]
    considered: tuple[Considered, ...]


def choose(
    facts: VolumeFacts,
    objective: Objective,
    book: PriceBook,
    estimators: Mapping[Strategy, Estimator] = MappingProxyType(dict(ESTIMATORS)),
) -> Decision:
    """Raises NoStrategyFitsError."""
    outcomes = {name: estimator(facts, book, objective.limits) for name, estimator in estimators.items()}
    possible = [
        outcome
        for name, outcome in outcomes.items()
        if isinstance(outcome, Estimate)
        and objective.fixed in {None, name}
        and not _over_budget(outcome, objective)
    ]
    ranked = sorted(possible, key=lambda estimate: _rank(estimate, objective, list(outcomes)))
    if not ranked or (objective.strict and _is_late(ranked[0], objective)):
        raise _no_strategy(outcomes, objective)
    best, *others = ranked
    if objective.strict:
        others = [estimate for estimate in others if not _is_late(estimate, objective)]
    why = _why(best, ranked, objective)
    considered = [
        Considered(name, _estimate(outcome), outcome is best, _verdict(outcome, best, why, objective))
        for name, outcome in outcomes.items()
    ]
    return Decision(
        plan=PlannedEstimate(best, why, _is_late(best, objective)),
        fallbacks=tuple(_as_fallback(estimate, best, objective) for estimate in others),
        considered=tuple(considered),
    )


def _estimate(outcome: Estimate | Infeasible) -> Estimate | None:
    return outcome if isinstance(outcome, Estimate) else None


def _over_budget(estimate: Estimate, objective: Objective) -> bool:
    return objective.budget_usd is not None and estimate.decidable_usd > objective.budget_usd


def _is_late(estimate: Estimate, objective: Objective) -> bool:
    return objective.deadline_seconds is not None and estimate.times.ready_p90 > objective.deadline_seconds


def _rank(
    estimate: Estimate, objective: Objective, order: list[Strategy]
) -> tuple[bool, Decimal | float, Decimal | float, float, int]:
    """In time before late; among those in time price counts first, among the late ones time."""
    late, times, price = _is_late(estimate, objective), estimate.times, estimate.decidable_usd
    first: tuple[Decimal | float, Decimal | float] = (
        (times.ready_p90, price) if late else (price, times.ready_p90)
    )
    return (late, *first, times.ready_p50, order.index(estimate.strategy))


def _why(best: Estimate, ranked: list[Estimate], objective: Objective) -> str:
    ready = f"full speed within {duration_text(best.times.ready_p90)} in 9 of 10 cases"
    price = usd_text(best.decidable_usd) if best.decidable_usd else "no extra cost"
    rate = f" at {best.rate_mib_s} MiB/s" if best.rate_mib_s else ""
    if objective.fixed is not None:
        tail = f"; too late by {_lateness(best, objective)}" if _is_late(best, objective) else ""
        return f"The request asks for {best.strategy}{rate}: {ready}, {price}{tail}."
    if _is_late(best, objective):
        within = " within the budget" if objective.budget_usd is not None else ""
        return (
            f"No strategy{within} meets the deadline; {best.strategy}{rate} comes closest: "
            f"{ready}, {_lateness(best, objective)} too late, {price}."
        )
    deadline = objective.deadline_seconds
    allowed = f"; the deadline leaves {duration_text(deadline)}" if deadline is not None else ""
    same_price = any(other is not best and other.decidable_usd == best.decidable_usd for other in ranked)
    manner = "no dearer than any other and the fastest of these" if same_price else "the cheapest"
    in_time = " in time" if deadline is not None else ""
    return f"{best.strategy}{rate} is {manner}{in_time}: {ready}{allowed}, {price}."


def _lateness(estimate: Estimate, objective: Objective) -> str:
    return duration_text(estimate.times.ready_p90 - max(0.0, objective.deadline_seconds or 0.0))


def _verdict(outcome: Estimate | Infeasible, best: Estimate, why: str, objective: Objective) -> str:
    if isinstance(outcome, Infeasible):
        return f"Not possible: {outcome.reason}."
    if outcome is best:
        return why
    if objective.fixed not in {None, outcome.strategy}:
        return f"Not asked for: the request names {objective.fixed}."
    return _why_not(outcome, best, objective)


def _why_not(estimate: Estimate, best: Estimate, objective: Objective) -> str:
    if _over_budget(estimate, objective):
        budget = usd_text(objective.budget_usd or Decimal(0))
        return f"Over budget: it costs {usd_text(estimate.decidable_usd)}, and {budget} is allowed."
    ready, best_ready = duration_text(estimate.times.ready_p90), duration_text(best.times.ready_p90)
    if _is_late(estimate, objective) and not _is_late(best, objective):
        return (
            f"Too late: full speed only within {ready}, {_lateness(estimate, objective)} after the deadline."
        )
    if _is_late(estimate, objective):
        return f"Too late as well, and slower: {ready} against {best_ready}."
    if estimate.decidable_usd > best.decidable_usd:
        more = usd_text(estimate.decidable_usd - best.decidable_usd)
        return f"Dearer by {more}; it would be at full speed within {ready}."
    return f"Slower at the same price: {ready} against {best_ready}."


def _as_fallback(estimate: Estimate, best: Estimate, objective: Objective) -> PlannedEstimate:
    why = f"Takes over if {best.strategy} cannot be had. {_why_not(estimate, best, objective)}"
    return PlannedEstimate(estimate, why, _is_late(estimate, objective))


def _no_strategy(
    outcomes: Mapping[Strategy, Estimate | Infeasible], objective: Objective
) -> NoStrategyFitsError:
    names = [objective.fixed] if objective.fixed is not None else list(outcomes)
    reasons = "; ".join(f"{name}: {_refusal(outcomes[name], objective)}" for name in names)
    if objective.fixed is not None:
        return NoStrategyFitsError(reasons, field="objective.strategy")
    late = any(
        isinstance(outcome, Estimate) and not _over_budget(outcome, objective)
        for outcome in outcomes.values()
    )
    field = "objective.readyWithinMinutes" if late else "objective.maxCostUsd"
    return NoStrategyFitsError(f"no strategy fits. {reasons}", field=field)


def _refusal(outcome: Estimate | Infeasible, objective: Objective) -> str:
    if isinstance(outcome, Infeasible):
        return outcome.reason
    if _over_budget(outcome, objective):
        budget = usd_text(objective.budget_usd or Decimal(0))
        return f"costs {usd_text(outcome.decidable_usd)}, over the budget of {budget}"
    ready = duration_text(outcome.times.ready_p90)
    return f"full speed only within {ready}, {_lateness(outcome, objective)} too late"
