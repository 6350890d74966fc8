"""State `Choose Strategy`: how each volume is brought to full speed, and why."""

from __future__ import annotations

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, StepEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Approval, ApprovalQuestion, FleetShare, PlanSummary, VolumePlan
from rewarm.ports.restores import Pace
from rewarm.steps.plan.plan_notes import after_notes, few_notes
from rewarm.steps.plan.planning import (
    PlanningPorts,
    approval_rule,
    gather,
    plan_shares,
    question_of,
    with_approval,
)
from rewarm.steps.plan.rewind_cases import RewindFactsPorts
from rewarm.steps.plan.rewinds import plan_rewinds
from rewarm.steps.record.learned_times import known_application
from rewarm.steps.record.payloads import is_small, read_volumes, write_plans
from rewarm.steps.record.recordings import with_hot_sets
from rewarm.steps.registration import state
from rewarm.steps.select.turns import turn_notes, turn_of_volumes


class ChooseStrategyEvent(StepEvent):
    """Asks how each volume is to be initialized."""

    request: RestoreRequest
    deadline_at: Instant | None = None
    volumes_key: str
    approved: Approval | None = Field(
        default=None, description="What was approved of an earlier plan; null before anything was."
    )
    fleet_shares: list[FleetShare] | None = Field(
        default=None, description="What the plan of its fleet gives each volume; null outside a fleet."
    )
    turn_at: Instant | None = Field(
        default=None, description="The turn at EC2 that its fleet took for it and its volumes."
    )


class ChooseStrategyResult(Contract):
    """Where the plans are kept, and which volumes they are for."""

    plans_key: str
    indexes: list[int]
    summary: PlanSummary
    question: ApprovalQuestion | None = Field(
        default=None, description="What somebody must approve first; null where the restore goes on."
    )
    plans: list[VolumePlan] = Field(
        default_factory=list, description="The same for readers, where they have at most 64 KiB."
    )


class ChooseStrategyPorts(RewindFactsPorts, PlanningPorts, kw_only=True):
    """The ports that choose_strategy needs."""

    pace: Pace


@state("Choose Strategy")
def choose_strategy(
    event: ChooseStrategyEvent,
    ports: ChooseStrategyPorts,
) -> ChooseStrategyResult:
    """Plans each volume, stores the plans, and returns their key and summary. Raises NoStrategyFitsError."""
    volumes = read_volumes(event.volumes_key, ports.artifacts)
    turns = [event.now for _ in volumes]
    if not event.request.dry_run and event.turn_at is None:
        turns = turn_of_volumes(volumes, ports.pace, event.now)
    now = max(turns)
    book = ports.prices.book(now=now)
    rule = approval_rule(event.request, event.approved.usd if event.approved else None)
    if event.request.target.mode == "rewind":
        rewinds = plan_rewinds(event.request, volumes, book, ports, deadline_at=event.deadline_at, now=now)
        planned = with_approval(rewinds, rule, book)
    else:
        shares = event.fleet_shares or ()
        if len(shares) == len(volumes):
            volumes = [
                volume.model_copy(update={"card": share.card})
                for volume, share in zip(volumes, shares, strict=True)
            ]
        cases = gather(event.request, volumes, ports, deadline_at=event.deadline_at, now=now)
        planned = plan_shares(cases, shares, book, rule, now=now)
    known, hot = with_hot_sets(event.request, planned.plans, ports.artifacts)
    plans = [plan.model_copy(update={"starts_at": turn}) for plan, turn in zip(known, turns, strict=True)]
    application = known_application(event.request.after, volumes[0], ports.history, now)
    after = after_notes(event.request, application)
    notes = few_notes([*turn_notes(now, event.now), *after, *hot, *planned.summary.notes])
    return ChooseStrategyResult(
        plans_key=write_plans(event.restore_id, plans, ports.artifacts),
        indexes=[plan.volume.index for plan in plans],
        summary=planned.summary.model_copy(update={"notes": notes}),
        question=None
        if event.request.dry_run
        else question_of(planned.summary, event.deadline_at, event.now),
        plans=plans if is_small(plans) else [],
    )
