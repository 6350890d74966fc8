"""What a request asks of the choice, and what an estimator returns.

All estimates share the phases until a volume is usable, and until it is ready.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from rewarm.domain.model import Boost, PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.facts import IN_PLACE, VolumeFacts
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import BY_PRIORS, Basis, Quantiles
from rewarm.domain.units import duration_text
from rewarm.domain.value import Value

NEVER_BY_ITSELF = frozenset({Strategy.VOLUME_CLONE})
"""Taken only where the request names it: a clone holds what is on the volume now, not what was restored."""


LONGEST_RESTORE_SECONDS = 90 * 86_400
"""The time after which Step Functions ends a restore (`TimeoutSeconds` in statemachine/)."""


class Times(Value):
    """Seconds from now."""

    usable_p50: float
    usable_p90: float
    ready_p50: float
    ready_p90: float
    phases: tuple[tuple[Phase, Quantiles], ...] = ()
    """The parts that add up to `ready`."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One strategy with its numbers."""

    strategy: Strategy
    times: Times
    parts: tuple[cost.CostPart, ...]
    rate_mib_s: int | None = None
    boost: Boost | None = None
    basis: Basis = BY_PRIORS
    read_limit_mib_s: float | None = None
    """What volume, instance and the user allow the agent; S3 aside."""
    note: str = ""
    """What else a reader must know of it; a clause."""
    decidable_usd: Decimal = field(init=False, repr=False, compare=False)
    """The price without what every strategy costs; a budget is compared with this."""

    def __post_init__(self) -> None:
        usd = cost.total(part for part in self.parts if not part.sunk)
        object.__setattr__(self, "decidable_usd", usd)

    @property
    def cost_usd(self) -> Decimal:
        """Everything."""
        return cost.total(self.parts)


class Infeasible(Value):
    """A strategy that is not possible here, and why."""

    strategy: Strategy
    reason: str


class EstimateLimits(Value):
    """What the request allows; None where it does not say."""

    deadline_seconds: float | None = None
    budget_usd: Decimal | None = None


Outcome = Estimate | Infeasible
Estimator = Callable[[VolumeFacts, PriceBook, EstimateLimits], Outcome]


def within_limit(strategy: Strategy, estimator: Estimator) -> Estimator:
    """The estimator, without plans that a restore has no time for, or that a volume in use rules out."""

    def limited(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
        refusal = _not_in_place(strategy, facts)
        outcome = estimator(facts, book, limits) if refusal is None else Infeasible(strategy, refusal)
        if isinstance(outcome, Infeasible) or outcome.times.ready_p90 <= LONGEST_RESTORE_SECONDS:
            return outcome
        ready = duration_text(outcome.times.ready_p90)
        most = duration_text(LONGEST_RESTORE_SECONDS)
        return Infeasible(outcome.strategy, f"full speed only within {ready}, and a restore may take {most}")

    return limited


def _not_in_place(strategy: Strategy, facts: VolumeFacts) -> str | None:
    """Why an adopted volume cannot have the strategy."""
    if not facts.is_there:
        return None
    if strategy not in IN_PLACE and strategy is not Strategy.BOOSTED_WARM_UP:
        return "it needs a new volume, and this one is there already"
    return facts.warm_because if strategy is not Strategy.BACKGROUND else None


Parts = tuple[tuple[Phase, Quantiles], ...]


def listing(facts: VolumeFacts, book: PriceBook) -> cost.CostPart:
    """The one part that every estimate has."""
    return cost.list_blocks(book, facts.written_blocks)


def timed(facts: VolumeFacts, loading: Parts, lead: Parts = (), *, usable_when_loaded: bool = False) -> Times:
    """The lead before the volume is made, creation, attachment, loading, and the measurement at the end."""
    timings = facts.timings
    attached = facts.instance_limits is not None
    create: Parts = () if facts.is_there else ((Phase.CREATE, timings.create_seconds),)
    attach: Parts = ((Phase.ATTACH, timings.attach_seconds),) if attached and not facts.is_there else ()
    boot: Parts = ((Phase.BOOT, timings.boot_seconds),) if facts.starts_instance else ()
    queue: Parts = ((Phase.QUEUE, facts.queue_seconds),) if facts.queue_seconds.p90 else ()
    until_usable: Parts = (*queue, *lead, *create, *attach, *boot)
    verify: Parts = ((Phase.VERIFY, timings.verify_seconds),) if measured(facts) else ()
    swap: Parts = ((Phase.BOOT, timings.boot_seconds),) if facts.swaps_root else ()
    first = cold_measurement(facts) if facts.is_there else ()
    phases = (*until_usable, *first, *loading, *verify, *swap)
    if facts.swaps_root:
        until_usable = phases
    elif usable_when_loaded:
        until_usable = (*until_usable, *loading)
    return Times(
        usable_p50=math.fsum([part.p50 for _, part in until_usable]),
        usable_p90=math.fsum([part.p90 for _, part in until_usable]),
        ready_p50=math.fsum([part.p50 for _, part in phases]),
        ready_p90=math.fsum([part.p90 for _, part in phases]),
        phases=phases,
    )


def ready_p90_if(times: Times, phase: Phase) -> Callable[[float], float]:
    """P90 if that phase took these seconds: the same sum to the last bit, to compare many."""
    others = [part.p90 for name, part in times.phases if name is not phase]
    return lambda seconds: math.fsum((*others, seconds))


def measured(facts: VolumeFacts) -> bool:
    """Whether the volume is measured, before and after."""
    return facts.verified and facts.instance_limits is not None


def cold_measurement(facts: VolumeFacts) -> Parts:
    """Before anything is done to the volume; where EBS loads by itself it costs no time."""
    return ((Phase.MEASURE, facts.timings.measure_seconds),) if measured(facts) else ()


def manner(estimate: Estimate) -> str:
    """` at 120 MiB/s`, ` at 200 MiB/s and 3,000 IOPS`; empty where there is nothing to set."""
    if estimate.rate_mib_s is not None:
        return f" at {estimate.rate_mib_s} MiB/s"
    boost = estimate.boost
    if boost is None:
        return ""
    throughput = f"{boost.throughput_mib_s:,} MiB/s and " if boost.throughput_mib_s else ""
    return f" at {throughput}{boost.iops:,} IOPS"


def in_words(estimate: Estimate) -> str:
    """`fast-snapshot-restore (P90 of full speed: 1 h 20 min)`."""
    ready = duration_text(estimate.times.ready_p90)
    return f"{estimate.strategy}{manner(estimate)} (P90 of full speed: {ready})"


class SearchTime:
    """Whether a search may go on. It remembers that it was cut short."""

    def __init__(self, has_time: Callable[[], bool] = lambda: True) -> None:
        self._has_time = has_time
        self.is_over = False

    def lasts(self) -> bool:
        """Whether there is time left; once there is none, it stays so."""
        self.is_over = self.is_over or not self._has_time()
        return not self.is_over


ENDLESS = SearchTime()


@dataclass(frozen=True, slots=True)
class PlanObjective:
    """What the request wants. `fixed` names one strategy; None leaves the choice to us."""

    deadline_seconds: float | None = None
    budget_usd: Decimal | None = None
    fixed: Strategy | None = None
    strict: bool = False
    without: frozenset[Strategy] = frozenset()
    """Strategies that cannot be taken here."""
    patience: SearchTime = field(default=ENDLESS, compare=False, repr=False)
    """With a search for many volumes."""

    @property
    def limits(self) -> EstimateLimits:
        """For the estimators."""
        return EstimateLimits(self.deadline_seconds, self.budget_usd)

    def allows(self, strategy: Strategy) -> bool:
        """Whether the choice may fall on it."""
        if strategy in self.without:
            return False
        return strategy is self.fixed if self.fixed is not None else strategy not in NEVER_BY_ITSELF


def is_late(estimate: Estimate, objective: PlanObjective) -> bool:
    """Whether the P90 misses the deadline."""
    return objective.deadline_seconds is not None and estimate.times.ready_p90 > objective.deadline_seconds


def over_budget(outcome: Outcome, objective: PlanObjective) -> bool:
    """Whether it exceeds the budget, by what the choice can change."""
    if objective.budget_usd is None or not isinstance(outcome, Estimate):
        return False
    return outcome.decidable_usd > objective.budget_usd
