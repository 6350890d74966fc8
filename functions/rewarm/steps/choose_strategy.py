"""State `Choose Strategy`: how each volume is brought to full speed, and why."""

from __future__ import annotations

from rewarm.contracts import ChooseStrategyEvent, ChooseStrategyResult
from rewarm.ports import FastSnapshotRestores, Instances, Prices, Quotas
from rewarm.steps.planning import plan_volumes


def choose_strategy(
    event: ChooseStrategyEvent,
    *,
    fast_restores: FastSnapshotRestores,
    instances: Instances,
    prices: Prices,
    quotas: Quotas,
) -> ChooseStrategyResult:
    """Raises NoStrategyFitsError."""
    return plan_volumes(
        event.request,
        event.volumes,
        deadline_at=event.deadline_at,
        now=event.now,
        fast_restores=fast_restores,
        instances=instances,
        prices=prices,
        quotas=quotas,
    )
