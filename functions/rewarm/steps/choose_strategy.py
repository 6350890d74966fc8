"""State `Choose Strategy`: how each volume is brought to full speed, and why."""

from __future__ import annotations

from rewarm.contracts import ChooseStrategyEvent, ChooseStrategyResult
from rewarm.ports import Artifacts, FastSnapshotRestores, History, Instances, Prices, Quotas
from rewarm.steps.kept import is_small, keep_plans, kept_volumes
from rewarm.steps.planning import FactSources, plan_volumes

MOST_NOTES = 20
"""A message has room for so many."""


def choose_strategy(  # noqa: PLR0913 - one keyword a port
    event: ChooseStrategyEvent,
    *,
    fast_restores: FastSnapshotRestores,
    instances: Instances,
    prices: Prices,
    quotas: Quotas,
    history: History,
    artifacts: Artifacts,
) -> ChooseStrategyResult:
    """Raises NoStrategyFitsError."""
    planned = plan_volumes(
        event.request,
        kept_volumes(event.volumes_key, artifacts),
        FactSources(fast_restores, instances, prices, quotas, history),
        deadline_at=event.deadline_at,
        now=event.now,
    )
    return ChooseStrategyResult(
        plans_key=keep_plans(event.restore_id, planned.plans, artifacts),
        indexes=[one.volume.index for one in planned.plans],
        summary=planned.summary.model_copy(update={"notes": _few(planned.summary.notes)}),
        plans=planned.plans if is_small(planned.plans) else [],
    )


def _few(notes: list[str]) -> list[str]:
    """The others are in the plans, with their volumes."""
    more = len(notes) - MOST_NOTES
    return notes if more <= 0 else [*notes[:MOST_NOTES], f"And {more} notes more, in the plans."]
