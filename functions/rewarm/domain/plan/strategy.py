"""The choice: the cheapest strategy that is at full speed in time, with its reasons and the rejected ones'.

Rule: of the strategies within the budget, the cheapest whose P90 meets the deadline; if none does, the one
with the earliest P90, marked as too late, or a refusal where the request is strict. Ties: earlier P90, then
earlier P50, then the order of ESTIMATORS. Several volumes: see rewarm.domain.plan.allocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan import reasons
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import Estimate, Outcome, PlanObjective, is_late, over_budget
from rewarm.domain.plan.estimators import ESTIMATORS
from rewarm.domain.plan.facts import VolumeFacts, beside_each_other
from rewarm.domain.plan.mixes import rank

__all__ = ["Considered", "Decision", "PlanObjective", "PlannedEstimate", "choose", "choose_all"]


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
    budget_usd: Decimal | None = None
    """What the request's budget leaves this volume."""
    could_save_usd: Decimal = Decimal(0)
    """How much less another mix of strategies for all volumes could cost at most."""


def choose(facts: VolumeFacts, objective: PlanObjective, book: PriceBook) -> Decision:
    """For one volume, beside others only so far as its facts say. Raises NoStrategyFitsError."""
    return _choose([facts], objective, book)[0]


def choose_all(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[Decision]:
    """For all volumes of a restore; deadline and budget are for them together. Raises NoStrategyFitsError."""
    return _choose(beside_each_other(volumes), objective, book)


def _choose(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[Decision]:
    mix = allocate(volumes, objective, book)
    chosen = mix.estimates if mix is not None else ()
    if mix is None or (objective.strict and any(is_late(best, objective) for best in chosen)):
        raise _refusal(volumes, objective, book)
    return [
        replace(
            _explained(facts, best, own, book, is_proven=mix.is_proven),
            could_save_usd=mix.usd - mix.least_usd,
        )
        for facts, best, own in zip(volumes, chosen, _own_objectives(chosen, objective), strict=True)
    ]


def _own_objectives(chosen: Sequence[Estimate], objective: PlanObjective) -> list[PlanObjective]:
    """What the budget leaves each volume: its own price, and an even part of what nobody needs.

    So even if every volume falls back at once, all together stay within the budget.
    """
    if objective.budget_usd is None:
        return [objective] * len(chosen)
    spare = objective.budget_usd - sum((best.decidable_usd for best in chosen), Decimal(0))
    return [replace(objective, budget_usd=best.decidable_usd + spare / len(chosen)) for best in chosen]


def _outcomes(facts: VolumeFacts, objective: PlanObjective, book: PriceBook) -> dict[Strategy, Outcome]:
    return {name: estimator(facts, book, objective.limits) for name, estimator in ESTIMATORS.items()}


def _explained(
    facts: VolumeFacts, best: Estimate, objective: PlanObjective, book: PriceBook, *, is_proven: bool
) -> Decision:
    outcomes = _outcomes(facts, objective, book) | {best.strategy: best}
    others = [
        outcome
        for name, outcome in outcomes.items()
        if isinstance(outcome, Estimate)
        and outcome is not best
        and objective.allows(name)
        and not over_budget(outcome, objective)
    ]
    if objective.strict:
        others = [other for other in others if not is_late(other, objective)]
    why = reasons.why(best, [best, *others], objective, is_proven=is_proven)
    return Decision(
        plan=PlannedEstimate(best, why, is_late(best, objective)),
        fallbacks=tuple(
            PlannedEstimate(other, reasons.as_fallback(other, best, objective), is_late(other, objective))
            for other in sorted(others, key=lambda other: _turn(other, objective))
        ),
        considered=tuple(
            Considered(
                name,
                outcome if isinstance(outcome, Estimate) else None,
                outcome is best,
                reasons.verdict(outcome, best, why, objective),
            )
            for name, outcome in outcomes.items()
        ),
        budget_usd=objective.budget_usd,
    )


def _turn(
    estimate: Estimate, objective: PlanObjective
) -> tuple[bool, float, tuple[Decimal, float, float, int]]:
    """In time before late; among those in time price counts first, among the late ones time."""
    late = is_late(estimate, objective)
    return (late, estimate.times.ready_p90 if late else 0.0, rank(estimate))


def _refusal(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> Exception:
    """Of the volume that is to blame where one is; the same whatever their order."""
    for facts in sorted(volumes, key=repr):
        outcomes = _outcomes(facts, objective, book)
        fitting = [
            outcome
            for name, outcome in outcomes.items()
            if isinstance(outcome, Estimate)
            and objective.allows(name)
            and not over_budget(outcome, objective)
            and not (objective.strict and is_late(outcome, objective))
        ]
        if not fitting:
            return reasons.nothing_fits(outcomes, objective)
    wanted = PlanObjective(objective.deadline_seconds if objective.strict else None, fixed=objective.fixed)
    least = allocate(volumes, wanted, book)
    return reasons.too_dear_together(len(volumes), least.usd if least else Decimal(0), objective)
