"""What a request wants of the choice, and whether an estimate keeps to it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from rewarm.domain.model import Strategy
from rewarm.domain.plan.estimates import Estimate, EstimateLimits, Outcome

NEVER_BY_ITSELF = frozenset({Strategy.VOLUME_CLONE})
"""Taken only where the request names it: a clone holds what is on the volume now, not what was restored."""


@dataclass(frozen=True, slots=True)
class PlanObjective:
    """What the request wants. `fixed` names one strategy; None leaves the choice to us."""

    deadline_seconds: float | None = None
    budget_usd: Decimal | None = None
    fixed: Strategy | None = None
    strict: bool = False

    @property
    def limits(self) -> EstimateLimits:
        """For the estimators."""
        return EstimateLimits(self.deadline_seconds, self.budget_usd)

    def allows(self, strategy: Strategy) -> bool:
        """Whether the choice may fall on it."""
        return strategy is self.fixed if self.fixed is not None else strategy not in NEVER_BY_ITSELF


def is_late(estimate: Estimate, objective: PlanObjective) -> bool:
    """Nine of ten are not ready in time."""
    return objective.deadline_seconds is not None and estimate.times.ready_p90 > objective.deadline_seconds


def over_budget(outcome: Outcome, objective: PlanObjective) -> bool:
    """The budget is held against what the choice can change."""
    if objective.budget_usd is None or not isinstance(outcome, Estimate):
        return False
    return outcome.decidable_usd > objective.budget_usd
