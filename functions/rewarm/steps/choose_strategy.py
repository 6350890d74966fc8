"""State `Choose Strategy`: how each volume is brought to full speed, and why."""

from __future__ import annotations

from rewarm.contracts import ChooseStrategyEvent, ChooseStrategyResult
from rewarm.ports import FastSnapshotRestores, History, Instances, Prices, Quotas
from rewarm.steps.planning import FactSources, plan_volumes


def choose_strategy(
    event: ChooseStrategyEvent,
    *,
    fast_restores: FastSnapshotRestores,
    instances: Instances,
    prices: Prices,
    quotas: Quotas,
    history: History,
) -> ChooseStrategyResult:
    """Raises NoStrategyFitsError."""
    return plan_volumes(
        event.request,
        event.volumes,
        FactSources(fast_restores, instances, prices, quotas, history),
        deadline_at=event.deadline_at,
        now=event.now,
    )
