"""Snapshots of another Region: EC2 copies them first, within a duration that Rewarm asks and pays for.

EBS user guide, "Time-based copies for Amazon EBS snapshots": a copy takes 15 minutes to 48 hours, in steps of
15. Its price for each GiB of data falls with its duration. A copy without a duration is made "on a
best-effort basis" (botocore: ec2 CopySnapshot). AWS gives no time for it, so no plan has one.

A copy is the same whatever the strategy. So it takes its time and its price from the deadline and the budget,
and the strategy is chosen with what is left. Direct write alone needs no copy: it reads the blocks where the
snapshot is. So it is planned for all volumes, beside the copies, and the better of the two is taken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.model import MIB, PriceBook, Strategy
from rewarm.domain.plan import cost, reasons
from rewarm.domain.plan.allocation import FrontierStep, falling, frontier
from rewarm.domain.plan.estimates import Estimate, PlanObjective, Times, is_late
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.plan.strategy import Considered, Decision, PlannedEstimate, choose_all
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import Quantiles
from rewarm.domain.units import duration_text, usd_text
from rewarm.domain.value import Value

STEP_MINUTES = 15
MOST_MINUTES = 2_880
COPY_MIB_S = 500
"""The highest rate of one time-based copy."""
TOGETHER_MIB_S = 2_000
"""The default quota of all time-based copies from one Region to another at a time."""
NEEDS_NO_COPY = frozenset({Strategy.DIRECT_WRITE})
NOTHING = Quantiles(0.0, 0.0)
LOOK_SECONDS = 60.0
"""A completed copy is found at most so much later."""


class CopySource(Value):
    """Where the snapshots are; the price of the transfer is None if it is unknown."""

    region: str
    transfer_usd_per_gib: Decimal | None


class CopyPlan(Value):
    """The duration that each copy asks for, and what follows from then on."""

    minutes: int | None
    """None if no copy is made."""
    decisions: tuple[Decision, ...]

    @property
    def usd(self) -> Decimal:
        """All volumes, copies included."""
        return sum((decision.plan.estimate.decidable_usd for decision in self.decisions), Decimal(0))

    @property
    def ready_p90(self) -> float:
        """P90 of the last volume, in seconds."""
        return max(decision.plan.estimate.times.ready_p90 for decision in self.decisions)

    @property
    def is_late(self) -> bool:
        """Some volume misses the deadline."""
        return any(decision.plan.deadline_missed for decision in self.decisions)


def durations(volumes: Sequence[VolumeFacts]) -> list[int]:
    """In minutes: the shortest possible of each price; a longer one of the same price gains nothing."""
    each = max(volume.data_bytes for volume in volumes) / COPY_MIB_S
    together = sum(volume.data_bytes for volume in volumes) / TOGETHER_MIB_S
    least = max(1, math.ceil(max(each, together) / MIB / 60 / STEP_MINUTES)) * STEP_MINUTES
    starts = [*cost.COPY_USD_PER_GIB, MOST_MINUTES + 1]
    possible = [max(start, least) for start, next_one in pairwise(starts) if least < next_one]
    return [minutes for minutes in possible if minutes <= MOST_MINUTES]


def choose_with_copies(
    volumes: Sequence[VolumeFacts],
    source: CopySource,
    objective: PlanObjective,
    book: PriceBook,
) -> CopyPlan:
    """The cheapest copy and strategies that are in time together, else the earliest.

    All copies of a restore ask for the same duration. Raises NoStrategyFitsError.
    """
    if source.transfer_usd_per_gib is None and objective.budget_usd is not None:
        raise NoStrategyFitsError(
            f"the price of the transfer from {source.region} is not known here, so no budget can be kept",
            field="objective.maxCostUsd",
        )
    plans: list[CopyPlan] = []
    refusals: list[NoStrategyFitsError] = []
    for minutes in durations(volumes):
        try:
            plans.append(_plan(volumes, source, minutes, objective, book))
        except NoStrategyFitsError as error:
            price = sum((cost.total(_parts(volume, source, minutes)) for volume in volumes), Decimal(0))
            refusals.append(
                NoStrategyFitsError(
                    f"after a copy from {source.region} that takes {duration_text(minutes * 60)} and costs "
                    f"{usd_text(price)}: {str(error).removeprefix(f'{error.field}: ')}",
                    field=error.field,
                )
            )
    copied = min(plans, key=_rank, default=None)
    direct = _direct(volumes, source, objective, book)
    if copied is None and direct is None:
        raise _of_the_least(refusals, source)
    possible = sorted((plan for plan in (copied, direct) if plan is not None), key=_rank)
    if copied is None or direct is None:
        return possible[0]
    best, other = possible
    pairs = zip(best.decisions, other.decisions, strict=True)
    return CopyPlan(copied.minutes, tuple(_beside(mine, theirs, objective) for mine, theirs in pairs))


def _of_the_least(refusals: Sequence[NoStrategyFitsError], source: CopySource) -> NoStrategyFitsError:
    """The refusal for the cheapest copy if only money is missing, else for the soonest."""
    dear = [refusal for refusal in refusals if refusal.field == "objective.maxCostUsd"]
    for refusal in (*dear[-1:], *refusals):
        return refusal
    return NoStrategyFitsError(
        f"the copies from {source.region} take more than {duration_text(MOST_MINUTES * 60)} at "
        f"{TOGETHER_MIB_S:,} MiB/s together",
        field="source.region",
    )


def _direct(
    volumes: Sequence[VolumeFacts], source: CopySource, objective: PlanObjective, book: PriceBook
) -> CopyPlan | None:
    """All volumes by direct write from the other Region; None if that is not possible."""
    if objective.fixed not in {None, Strategy.DIRECT_WRITE}:
        return None
    price = source.transfer_usd_per_gib
    lines = [cost.transfer(price, volume.data_bytes, source.region) for volume in volumes]
    wanted = replace(objective, fixed=Strategy.DIRECT_WRITE)
    try:
        decisions = choose_all(volumes, _left(wanted, 0.0, cost.total(lines)), book)
    except NoStrategyFitsError:
        return None
    return CopyPlan(
        None,
        tuple(
            _after_copy(_only_direct(decision), _Copy(NOTHING, (line,)), objective)
            for decision, line in zip(decisions, lines, strict=True)
        ),
    )


def _only_direct(decision: Decision) -> Decision:
    return replace(decision, considered=tuple(row for row in decision.considered if row.chosen))


def _beside(best: Decision, other: Decision, objective: PlanObjective) -> Decision:
    """The better of direct write and the plans with a copy; the other's plans stay as fallbacks."""
    chosen = best.plan.estimate
    why = best.plan.why
    more = [
        replace(row, chosen=False, reason=reasons.verdict(row.estimate, chosen, why, objective))
        for row in other.considered
        if row.estimate is not None
    ]
    others = (other.plan.estimate, *(fallback.estimate for fallback in other.fallbacks))
    return replace(
        best,
        considered=(*best.considered, *more, *(row for row in other.considered if row.estimate is None)),
        fallbacks=(
            *best.fallbacks,
            *(
                PlannedEstimate(
                    later, reasons.as_fallback(later, chosen, objective), is_late(later, objective)
                )
                for later in others
            ),
        ),
    )


def frontier_with_copies(
    volumes: Sequence[VolumeFacts], source: CopySource, objective: PlanObjective, book: PriceBook
) -> list[FrontierStep]:
    """As allocation.frontier, over each duration of the copies."""
    direct = _direct(volumes, source, PlanObjective(fixed=objective.fixed), book)
    found: list[FrontierStep] = []
    if direct is not None:
        estimates = tuple(decision.plan.estimate for decision in direct.decisions)
        usd = sum((estimate.cost_usd for estimate in estimates), Decimal(0))
        found.append(FrontierStep(direct.ready_p90, usd, estimates))
    for minutes in durations(volumes):
        lead = lead_of(volumes, minutes)
        copies = [_Copy(lead, _parts(volume, source, minutes)) for volume in volumes]
        usd = sum((cost.total(copy.parts) for copy in copies), Decimal(0))
        found += [
            FrontierStep(
                step.deadline_seconds + lead.p90,
                step.cost_usd + usd,
                tuple(copy.added_to(estimate) for copy, estimate in zip(copies, step.estimates, strict=True)),
            )
            for step in frontier(volumes, replace(objective, without=NEEDS_NO_COPY), book)
        ]
    return falling(found)


def _rank(plan: CopyPlan) -> tuple[bool, float, Decimal, float]:
    return plan.is_late, plan.ready_p90 if plan.is_late else 0.0, plan.usd, plan.ready_p90


def _plan(
    volumes: Sequence[VolumeFacts],
    source: CopySource,
    minutes: int,
    objective: PlanObjective,
    book: PriceBook,
) -> CopyPlan:
    lead = lead_of(volumes, minutes)
    parts = [_parts(volume, source, minutes) for volume in volumes]
    copies_usd = [cost.total(lines) for lines in parts]
    left = _left(objective, lead.p90, sum(copies_usd, Decimal(0)))
    decisions = choose_all(volumes, replace(left, without=NEEDS_NO_COPY), book)
    return CopyPlan(
        minutes,
        tuple(
            _after_copy(_without_direct(decision), _Copy(lead, lines), objective)
            for decision, lines in zip(decisions, parts, strict=True)
        ),
    )


def _without_direct(decision: Decision) -> Decision:
    """Direct write has no copy. If it is impossible, the reason stays."""
    kept = [row for row in decision.considered if row.strategy not in NEEDS_NO_COPY or row.estimate is None]
    return replace(decision, considered=tuple(kept))


def lead_of(volumes: Iterable[VolumeFacts], minutes: int) -> Quantiles:
    """Seconds until the copies are complete. A snapshot's second copy begins after its first."""
    in_turn = max(Counter(volume.snapshot_id for volume in volumes).values())
    seconds = 60.0 * minutes * in_turn
    return Quantiles(seconds, seconds + LOOK_SECONDS)


def _left(objective: PlanObjective, seconds: float, usd: Decimal) -> PlanObjective:
    deadline = objective.deadline_seconds
    budget = objective.budget_usd
    return replace(
        objective,
        deadline_seconds=None if deadline is None else deadline - seconds,
        budget_usd=None if budget is None else budget - usd,
    )


def _parts(volume: VolumeFacts, source: CopySource, minutes: int) -> tuple[cost.CostPart, ...]:
    return (
        cost.timed_copy(volume.data_bytes, minutes),
        cost.transfer(source.transfer_usd_per_gib, volume.data_bytes, source.region),
    )


class _Copy(Value):
    """What the copy of one volume's snapshot adds to every estimate."""

    lead: Quantiles
    parts: tuple[cost.CostPart, ...]

    def added_to(self, estimate: Estimate) -> Estimate:
        """Adds the time and the price of the copy."""
        times = estimate.times
        lead = self.lead
        return replace(
            estimate,
            parts=(*self.parts, *estimate.parts),
            times=Times(
                usable_p50=times.usable_p50 + lead.p50,
                usable_p90=times.usable_p90 + lead.p90,
                ready_p50=times.ready_p50 + lead.p50,
                ready_p90=times.ready_p90 + lead.p90,
                phases=((Phase.COPY, lead), *times.phases) if lead.p90 else times.phases,
            ),
        )


def _after_copy(decision: Decision, copy: _Copy, objective: PlanObjective) -> Decision:
    """The same decision with the copy in each estimate and in each reason."""
    best = copy.added_to(decision.plan.estimate)
    own = decision.budget_usd
    mine = replace(objective, budget_usd=None if own is None else own + cost.total(copy.parts))
    others = [copy.added_to(fallback.estimate) for fallback in decision.fallbacks]
    why = reasons.why(best, [best, *others], mine)

    def considered(row: Considered) -> Considered:
        if row.estimate is None:
            return row
        if row.chosen:
            return replace(row, estimate=best, reason=why)
        estimate = copy.added_to(row.estimate)
        return replace(row, estimate=estimate, reason=reasons.verdict(estimate, best, why, mine))

    return replace(
        decision,
        plan=PlannedEstimate(best, why, is_late(best, mine)),
        fallbacks=tuple(
            PlannedEstimate(other, reasons.as_fallback(other, best, mine), is_late(other, mine))
            for other in others
        ),
        considered=tuple(map(considered, decision.considered)),
        budget_usd=mine.budget_usd,
    )
