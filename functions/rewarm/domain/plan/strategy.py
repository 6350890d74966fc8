"""The choice: the cheapest strategy that is at full speed in time, with its reasons and the rejected ones'.

Rule: of the strategies within the budget, the cheapest whose P90 meets the deadline. If none does, the one
with the earliest P90, marked as too late, or a refusal if the request is strict. Ties: earlier P90, then
earlier P50, then the order of ESTIMATORS. Several volumes: see rewarm.domain.plan.allocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan import cost, reasons
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import (
    Estimate,
    EstimateLimits,
    Infeasible,
    Outcome,
    PlanObjective,
    is_late,
    over_budget,
)
from rewarm.domain.plan.estimators import ESTIMATORS, at_rate, moved_by_agent
from rewarm.domain.plan.facts import VolumeFacts, beside_each_other
from rewarm.domain.plan.mixes import Mix, rank
from rewarm.domain.time.timings import Quantiles
from rewarm.domain.value import Value

__all__ = [
    "Considered", "Decision", "PlanObjective", "PlannedEstimate", "Share",
    "carry_out", "choose", "choose_all", "choose_briefly",
]  # fmt: skip


class Considered(Value):
    """One strategy, chosen or rejected; `estimate` is None if it is not possible."""

    strategy: Strategy
    estimate: Estimate | None
    chosen: bool
    reason: str


class PlannedEstimate(Value):
    """An estimate that is to be carried out, or to take over."""

    estimate: Estimate
    why: str
    deadline_missed: bool


class Decision(Value):
    """The plan, the fallbacks if it fails (best first), and all strategies that were considered."""

    plan: PlannedEstimate
    fallbacks: tuple[PlannedEstimate, ...]
    considered: tuple[Considered, ...]
    budget_usd: Decimal | None = None
    """What the request's budget leaves this volume."""
    could_save_usd: Decimal = Decimal(0)
    """How much less another mix of strategies for all volumes could cost at most."""


class Share(Value):
    """What the plan of a fleet gives one of its volumes."""

    strategy: Strategy
    rate_mib_s: int | None = None
    wait_seconds: float = 0.0
    """Until the fleet's other volumes are expected to have freed the Region's rate."""
    ready_seconds: float = 0.0
    """P90 of full speed, in case they hold the rate longer."""
    is_late: bool = False
    """The plan of the fleet has it later than the deadline."""
    sharers: int = 1
    """Volumes of the fleet that share fast snapshot restore of its snapshot in its zone, or its blocks."""
    fast_restore_usd: Decimal = Decimal(0)
    """Its part of the price of fast snapshot restore."""
    blocks_usd: Decimal = Decimal(0)
    """Its part of the price of the snapshot's blocks, which are fetched once for all that write them."""
    snapshots_read: int = 1
    """Snapshots whose blocks the fleet fetches."""
    read_beside: tuple[int, ...] = ()
    """Bytes through its instance for other restores of the fleet."""


def choose(facts: VolumeFacts, objective: PlanObjective, book: PriceBook) -> Decision:
    """The decision for one volume, beside others as far as its facts say. Raises NoStrategyFitsError."""
    return _choose([facts], objective, book)[0]


def choose_all(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[Decision]:
    """Decisions for all volumes of a restore within one deadline and budget. Raises NoStrategyFitsError."""
    return _choose(beside_each_other(volumes), objective, book)


def choose_briefly(
    volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook
) -> list[Decision]:
    """As choose_all, without what takes over and what was rejected: for thousands of volumes.

    Raises NoStrategyFitsError.
    """
    mix = _mix(volumes, objective, book)
    could_save = mix.usd - mix.least_usd
    decisions = []
    for best, own in zip(mix.estimates, _own_objectives(mix.estimates, objective), strict=True):
        why = reasons.why(best, [best], objective, is_proven=mix.is_proven)
        planned = PlannedEstimate(best, why, is_late(best, objective))
        considered = (Considered(best.strategy, best, chosen=True, reason=why),)
        decisions.append(Decision(planned, (), considered, own.budget_usd, could_save))
    return decisions


def carry_out(
    volumes: Sequence[VolumeFacts], shares: Sequence[Share], objective: PlanObjective, book: PriceBook
) -> list[Decision] | str:
    """The decisions of a restore that takes its part of its fleet's plan, by the present facts.

    If that part is no longer possible, or too late or too dear by now, returns why, as a clause. A rate that
    others hold at this moment is asked for repeatedly: another plan would give the turn away.
    """
    beside = beside_each_other(volumes)
    found: list[Estimate] = []
    for index, share in enumerate(shares):
        outcome = _as_given(index, volumes, shares, objective, book)
        if isinstance(outcome, Infeasible):
            return outcome.reason
        if is_late(outcome, objective) and not share.is_late:
            return f"{share.strategy} would be too late by now"
        found.append(outcome)
    price = sum((estimate.decidable_usd for estimate in found), Decimal(0))
    if objective.budget_usd is not None and price > objective.budget_usd:
        return "it costs more by now"
    return [
        _explained(facts, best, own, book, is_proven=False)
        for facts, best, own in zip(beside, found, _own_objectives(found, objective), strict=True)
    ]


def _as_given(
    index: int,
    volumes: Sequence[VolumeFacts],
    shares: Sequence[Share],
    objective: PlanObjective,
    book: PriceBook,
) -> Outcome:
    """The estimate of one volume by its share; only a boost is chosen anew, as low as is in time."""
    facts = volumes[index]
    share = shares[index]
    if share.strategy is Strategy.PROVISIONED_RATE and share.rate_mib_s is not None:
        return _queued(facts, share, book, share.rate_mib_s)
    others = [
        moved
        for place, (volume, other) in enumerate(zip(volumes, shares, strict=True))
        if place != index
        and volume.reads_through == facts.reads_through
        and (moved := moved_by_agent(volume, other.strategy))
    ]
    enabled = {
        volume.place
        for volume, other in zip(volumes, shares, strict=True)
        if other.strategy is Strategy.FAST_SNAPSHOT_RESTORE and not volume.fast_restore_runs
    }
    beside = tuple(sorted([*others, *share.read_beside]))
    given = replace(
        facts,
        read_beside=beside,
        write_beside=beside,
        volumes_of_snapshot=share.sharers,
        snapshots_of_restore=len(enabled),
        snapshots_read=share.snapshots_read,
    )
    outcome = ESTIMATORS[share.strategy](given, book, EstimateLimits(objective.deadline_seconds))
    if isinstance(outcome, Infeasible):
        return outcome
    return _paid_together(outcome, facts, share, book)


def _paid_together(estimate: Estimate, facts: VolumeFacts, share: Share, book: PriceBook) -> Estimate:
    """The estimate with the volume's part of what several volumes of the fleet pay together."""
    lines: tuple[cost.CostPart, ...]
    if share.fast_restore_usd:
        seconds = estimate.times.ready_p90
        lines = (cost.shared_fast_restore(share.fast_restore_usd, share.sharers, seconds),)
    elif share.blocks_usd:
        lines = cost.shared_blocks(share.blocks_usd, facts.written_blocks, share.sharers, book)
    else:
        return estimate
    return replace(estimate, parts=(*(part for part in estimate.parts if part.sunk), *lines))


def _queued(facts: VolumeFacts, share: Share, book: PriceBook, rate_mib_s: int) -> Estimate:
    begun = at_rate(facts, book, rate_mib_s)
    if not share.wait_seconds:
        return begun
    latest = max(share.wait_seconds, share.ready_seconds - begun.times.ready_p90)
    queue = Quantiles(share.wait_seconds, latest)
    return at_rate(replace(facts, queue_seconds=queue), book, rate_mib_s)


def _mix(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> Mix:
    """Raises NoStrategyFitsError."""
    mix = allocate(volumes, objective, book)
    if mix is None or (objective.strict and any(is_late(best, objective) for best in mix.estimates)):
        raise _refusal(volumes, mix, objective, book)
    return mix


def _choose(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[Decision]:
    mix = _mix(volumes, objective, book)
    chosen = mix.estimates
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
    """The order of fallbacks: those in time come first, by price; then the late ones, by time."""
    late = is_late(estimate, objective)
    return (late, estimate.times.ready_p90 if late else 0.0, rank(estimate))


def _refusal(
    volumes: Sequence[VolumeFacts], within: Mix | None, objective: PlanObjective, book: PriceBook
) -> Exception:
    """What is missing, with the reasons of the volume that is to blame where one is; whatever their order.

    `within` is the earliest mix within the budget.
    """
    deadline = objective.deadline_seconds if objective.strict else None
    wanted = replace(objective, deadline_seconds=deadline, budget_usd=None)
    lack = reasons.lacking(within, allocate(volumes, wanted, book), objective)
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
            return reasons.nothing_fits(outcomes, objective, lack)
    return reasons.nothing_fits_together(len(volumes), lack)
