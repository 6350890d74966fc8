"""From facts to plans: shared by choose_strategy and the API's dry run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import (
    ApprovalQuestion,
    Candidate,
    FleetShare,
    Keeping,
    Plan,
    PlannedVolumes,
    PlanSummary,
    VolumeAssignment,
    VolumePlan,
)
from rewarm.domain.model import (
    BLOCK_BYTES,
    FastSnapshotRestore,
    InstanceEbsLimits,
    PriceBook,
    Strategy,
    VolumeSettings,
)
from rewarm.domain.parts import EVERY_PART, Part, Parts
from rewarm.domain.plan import cost
from rewarm.domain.plan.approval import ApprovalRule, open_until
from rewarm.domain.plan.copying import CopySource, choose_with_copies
from rewarm.domain.plan.estimates import Estimate
from rewarm.domain.plan.facts import CloneSource, UnusedQuotas, VolumeFacts, beside_each_other, in_place
from rewarm.domain.plan.strategy import (
    Considered,
    Decision,
    PlannedEstimate,
    PlanObjective,
    Share,
    carry_out,
    choose_all,
    choose_briefly,
)
from rewarm.domain.time.measured import Likeness, Phase
from rewarm.domain.time.timings import Timings
from rewarm.domain.units import ceil_seconds, duration_text
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import ModificationRule
from rewarm.domain.volume.volume_types import speed
from rewarm.domain.words.message import could_save
from rewarm.ports.instances import Instances
from rewarm.ports.prices import Prices, Quotas
from rewarm.ports.restores import History
from rewarm.ports.snapshots import FastSnapshotRestores
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.plan import schedule
from rewarm.steps.plan.cards import with_cards
from rewarm.steps.plan.plan_notes import adoption_notes, plan_notes, stale_prices, warm_up_notes
from rewarm.steps.record.learned_times import known_priors, known_records, likeness, timings_of

_Place = tuple[str, str]
_NOT_KNOWN_YET = InstanceEbsLimits(100_000.0, 100_000.0, None, None)
"""Limits for a volume that is not attached yet: its instance is assumed to be faster than the volume."""


class PlanningPorts(Value, kw_only=True):
    """The ports for facts of a plan that are not in the request."""

    fast_restores: FastSnapshotRestores
    instances: Instances
    volumes: VolumeStore
    prices: Prices
    quotas: Quotas
    history: History
    parts: Parts = EVERY_PART
    rule: ModificationRule = ModificationRule.FOUR_IN_24_H


class Case(Value):
    """One volume with everything that its plan follows from."""

    volume: VolumeAssignment
    facts: VolumeFacts
    objective: PlanObjective
    copies: CopySource | None = None
    """The Region that all of a restore's snapshots are copied from."""


def approval_rule(request: RestoreRequest, approved_usd: Decimal | None = None) -> ApprovalRule:
    """What needs approval in a restore, after this amount was approved."""
    wanted = request.objective
    replaces = wanted.approve_replace and request.target.mode in {"replace", "rewind"}
    return ApprovalRule(wanted.approve_above_usd, replaces, approved_usd)


def question_of(summary: PlanSummary, deadline_at: datetime | None, now: datetime) -> ApprovalQuestion | None:
    """What somebody must approve before the plan is carried out; None if it needs no approval."""
    if summary.needs_approval is None:
        return None
    return ApprovalQuestion(
        asked_at=now,
        until=open_until(now, deadline_at, summary.ready_p90_at),
        usd=summary.total_cost_usd,
        reason=summary.needs_approval,
    )


def gather(
    request: RestoreRequest,
    volumes: Sequence[VolumeAssignment],
    ports: PlanningPorts,
    *,
    deadline_at: datetime | None,
    now: datetime,
) -> list[Case]:
    """Asks AWS once for the facts of each volume, so that plan and messages use the same facts.

    The number of calls does not grow with the number of volumes.
    """
    records = known_records(ports.history)
    priors = known_priors(ports.history)
    objective = _objective(request, deadline_at, now)
    left = ports.quotas.left(now=now)
    enabled = _fast_restores(volumes, ports, now)
    known: dict[Likeness, Timings] = {}
    facts = []
    placed = with_cards(volumes, ports.instances, ports.volumes)
    for volume in placed:
        like = likeness(volume)
        if like not in known:
            known[like] = timings_of(volume, records, now, priors)
        fast = enabled.get(_place(volume))
        facts.append(replace(_facts(request, volume, ports, left), timings=known[like], fast_restore=fast))
    copies = _copy_source(volumes[0], ports.prices, now)
    return [
        Case(volume.model_copy(update={"agent_available": beside.agent_available}), beside, objective, copies)
        for volume, beside in zip(placed, beside_each_other(facts), strict=True)
    ]


def _place(volume: VolumeAssignment) -> _Place:
    return volume.snapshot_id, volume.availability_zone


def _fast_restores(
    volumes: Sequence[VolumeAssignment], ports: PlanningPorts, now: datetime
) -> dict[_Place, FastSnapshotRestore | None]:
    return ports.fast_restores.of_places(dict.fromkeys(map(_place, volumes)), now=now)


def _share(share: FleetShare, now: datetime) -> Share:
    """The share, with its times counted from now."""
    begins = share.start_at or now
    return Share(
        strategy=share.strategy,
        rate_mib_s=share.initialization_rate_mib_s,
        wait_seconds=max(0.0, (begins - now).total_seconds()),
        ready_seconds=max(0.0, (share.ready_p90_at - now).total_seconds()),
        is_late=share.deadline_missed,
        sharers=share.sharers,
        fast_restore_usd=share.fast_restore_usd,
        blocks_usd=share.blocks_usd,
        snapshots_read=share.snapshots_read,
        read_beside=tuple(share.read_beside),
    )


def plan_cases(
    cases: Sequence[Case], book: PriceBook, rule: ApprovalRule, *, now: datetime
) -> PlannedVolumes:
    """Returns the plan of each case, and their summary. Raises NoStrategyFitsError."""
    decisions, minutes = _decided(cases, book)
    return planned_by(decisions, cases, book, rule, now=now, minutes=minutes)


def plan_shares(
    cases: Sequence[Case], shares: Sequence[FleetShare], book: PriceBook, rule: ApprovalRule, *, now: datetime
) -> PlannedVolumes:
    """As plan_cases; a restore uses its part of its fleet's plan if possible. Raises NoStrategyFitsError."""
    if len(shares) != len(cases):
        return plan_cases(cases, book, rule, now=now)
    given = [_share(share, now) for share in shares]
    found = carry_out([case.facts for case in cases], given, cases[0].objective, book)
    if isinstance(found, str):
        planned = plan_cases(cases, book, rule, now=now)
        note = f"It plans on its own, because its part of the fleet's plan cannot be had: {found}."
    else:
        planned = planned_by(found, cases, book, rule, now=now)
        note = "It is a part of the fleet's plan."
    summary = planned.summary.model_copy(update={"notes": [note, *planned.summary.notes]})
    return planned.model_copy(update={"summary": summary})


def plan_briefly(
    cases: Sequence[Case], book: PriceBook, rule: ApprovalRule, *, now: datetime
) -> PlannedVolumes:
    """As plan_cases, for thousands of volumes: only the chosen plans. Raises NoStrategyFitsError."""
    decisions = choose_briefly([case.facts for case in cases], cases[0].objective, book)
    return planned_by(decisions, cases, book, rule, now=now)


def planned_by(
    decisions: Sequence[Decision],
    cases: Sequence[Case],
    book: PriceBook,
    rule: ApprovalRule,
    *,
    now: datetime,
    minutes: int | None = None,
) -> PlannedVolumes:
    """The decisions as plans; `minutes` is the duration of the copies of foreign snapshots."""
    plans = [
        _plan(case.volume, decision, minutes, book, now)
        for case, decision in zip(cases, decisions, strict=True)
    ]
    summary = _summary(cases, plans, book, now, decisions[0].could_save_usd)
    return with_approval(PlannedVolumes(plans=plans, summary=summary), rule, book)


def with_approval(planned: PlannedVolumes, rule: ApprovalRule, book: PriceBook) -> PlannedVolumes:
    """The plans limited to the approved amount, with the reason if somebody must approve them."""
    usd = sum((plan.plan.decidable_usd for plan in planned.plans), Decimal(0))
    return PlannedVolumes(
        plans=_limited(planned.plans, rule.ceiling_usd(usd), usd),
        summary=_asking(planned, usd, rule, book),
    )


def _decided(cases: Sequence[Case], book: PriceBook) -> tuple[Sequence[Decision], int | None]:
    """The decisions, and the duration of the copies of foreign snapshots in minutes, if there are any."""
    facts = [case.facts for case in cases]
    objective = cases[0].objective
    source = cases[0].copies
    if source is None:
        return choose_all(facts, objective, book), None
    planned = choose_with_copies(facts, source, objective, book)
    return planned.decisions, planned.minutes


def _copy_source(volume: VolumeAssignment, prices: Prices, now: datetime) -> CopySource | None:
    if volume.copy_of is None:
        return None
    region = volume.copy_of.region
    return CopySource(region, prices.transfer_usd_per_gib(region, now=now))


def _limited(plans: Sequence[VolumePlan], ceiling_usd: Decimal | None, usd: Decimal) -> list[VolumePlan]:
    """The plans with each volume's budget: its own price, and an even part of the spare approved money."""
    if ceiling_usd is None:
        return list(plans)
    spare = (ceiling_usd - usd) / len(plans)
    limits = [plan.plan.decidable_usd + spare for plan in plans]
    return [
        plan.model_copy(
            update={"budget_usd": limit if plan.budget_usd is None else min(limit, plan.budget_usd)}
        )
        for plan, limit in zip(plans, limits, strict=True)
    ]


def _asking(planned: PlannedVolumes, usd: Decimal, rule: ApprovalRule, book: PriceBook) -> PlanSummary:
    summary = planned.summary
    unpriced = book.clone_usd_per_gib is None and any(
        plan.plan.strategy is Strategy.VOLUME_CLONE for plan in planned.plans
    )
    reason = rule.reason(usd, unpriced=unpriced)
    if reason is None:
        return summary
    notes = [f"{reason} Nothing is made before.", *summary.notes]
    return summary.model_copy(update={"needs_approval": reason, "notes": notes})


def _facts(
    request: RestoreRequest, volume: VolumeAssignment, ports: PlanningPorts, left: UnusedQuotas
) -> VolumeFacts:
    settings = volume.volume.settings()
    limits = _limits(volume, ports.instances)
    agent_available = _agent_available(volume, limits)
    return VolumeFacts(
        data_bytes=0 if volume.warm_because else volume.data_bytes,
        written_bytes=volume.written_blocks * BLOCK_BYTES,
        written_blocks=volume.written_blocks,
        snapshot_size_gib=volume.snapshot_size_gib,
        speed=speed(settings),
        instance_limits=None if limits is None else limits.of_card(volume.card),
        agent_available=agent_available,
        verified=request.verify.samples > 0 and agent_available,
        clone_source=_clone_source(volume, left),
        settings=settings,
        snapshot_id=volume.snapshot_id,
        availability_zone=volume.availability_zone,
        instance_id=volume.instance_id,
        card=volume.card,
        max_warm_up_mib_s=request.warm_up.max_mib_per_second,
        scope=request.warm_up.scope,
        polite_latency_ms=volume.politeness(request.warm_up.polite_latency_ms),
        is_there=volume.adopts is not None,
        boost_refusal=volume.boost_refusal or ports.parts.lacks(Part.PERFORMANCE_CHANGES),
        modification_rule=ports.rule,
        warm_because=volume.warm_because,
        starts_instance=volume.starts_instance,
        swaps_root=bool(request.target.reboot),
        priority=volume.priority,
        fast_restore_quota_left=left.fast_snapshot_restores,
        rate_quota_left_mib_s=left.initialization_rate_mib_s,
        clone_quota_left=left.volume_copies,
        of_drill=request.is_drill,
        agent_writes=volume.platform == "linux",
        writing_left_out=ports.parts.lacks(Part.REWINDS),
    )


def _limits(volume: VolumeAssignment, instances: Instances) -> InstanceEbsLimits | None:
    if volume.instance_type:
        return instances.ebs_limits(volume.instance_type)
    return None if volume.waits_because is None else _NOT_KNOWN_YET


def _agent_available(volume: VolumeAssignment, limits: InstanceEbsLimits | None) -> bool:
    """Whether an agent can read the volume on its instance, of which a stopped one may not be known yet."""
    is_there = volume.agent_available or limits is _NOT_KNOWN_YET
    return is_there and limits is not None and limits.nvme


def _clone_source(volume: VolumeAssignment, left: UnusedQuotas) -> CloneSource | None:
    source = volume.living_source
    if source is None:
        return None
    settings = VolumeSettings(source.volume_type, source.size_gib, source.iops, source.throughput_mib_s)
    busy = source.volume_id in left.being_copied
    return CloneSource(source.volume_id, source.size_gib, speed(settings), being_copied=busy)


def _objective(request: RestoreRequest, deadline_at: datetime | None, now: datetime) -> PlanObjective:
    """The objective for all volumes together."""
    wanted = request.objective
    existing = request.source.existing
    return PlanObjective(
        deadline_seconds=None if deadline_at is None else (deadline_at - now).total_seconds(),
        budget_usd=wanted.max_cost_usd,
        fixed=None if wanted.strategy == "auto" else Strategy(wanted.strategy),
        strict=wanted.strict,
        without=frozenset() if existing is None else frozenset(Strategy) - in_place(boost=existing.boost),
    )


def _plan(
    volume: VolumeAssignment, decision: Decision, copy_minutes: int | None, book: PriceBook, now: datetime
) -> VolumePlan:
    def as_plan(planned: PlannedEstimate) -> Plan:
        minutes = None if planned.estimate.strategy is Strategy.DIRECT_WRITE else copy_minutes
        return _as_plan(planned).model_copy(update={"copy_minutes": minutes})

    return VolumePlan(
        volume=_priced(volume, book),
        plan=as_plan(decision.plan).model_copy(update={"start_at": _start_at(decision.plan, now)}),
        fallbacks=[as_plan(fallback) for fallback in decision.fallbacks],
        candidates=[_as_candidate(considered, book) for considered in decision.considered],
        budget_usd=decision.budget_usd,
        keeping=keeping(volume, book) if volume.adopts is None else None,
    )


def _priced(volume: VolumeAssignment, book: PriceBook) -> VolumeAssignment:
    """The volume, with what it costs a month to keep the one that it replaces."""
    old = volume.replaces
    if old is None:
        return volume
    usd = cost.storage_month(book, old.volume_type, old.size_gib)
    return volume.model_copy(update={"replaces": old.model_copy(update={"usd_per_month": usd})})


def keeping(volume: VolumeAssignment, book: PriceBook) -> Keeping:
    """What the volume, a snapshot of it and its fast restore cost a month."""
    made = volume.volume
    return Keeping(
        volume_usd=cost.storage_month(book, made.volume_type, made.size_gib),
        snapshot_usd=cost.snapshot_month(book, volume.snapshot_size_gib),
        fast_restore_usd=cost.fast_snapshot_restore_month(book),
    )


def _start_at(planned: PlannedEstimate, now: datetime) -> datetime | None:
    """When the volume is expected to have its turn; None if it waits for no other volume.

    If others use the rate for longer, EC2 refuses it then, and the restore asks again.
    """
    phases = dict(planned.estimate.times.phases)
    if Phase.QUEUE not in phases:
        return None
    copied = phases.get(Phase.COPY)
    return now + timedelta(seconds=phases[Phase.QUEUE].p50 + (copied.p50 if copied else 0.0))


def _as_plan(planned: PlannedEstimate) -> Plan:
    estimate = planned.estimate
    return Plan(
        strategy=estimate.strategy,
        why=planned.why,
        deadline_missed=planned.deadline_missed,
        phases={phase: (round(part.p50, 1), round(part.p90, 1)) for phase, part in estimate.times.phases},
        read_limit_mib_s=estimate.read_limit_mib_s,
        **_figures(estimate),
    )


def _as_candidate(considered: Considered, book: PriceBook) -> Candidate:
    estimate = considered.estimate
    if estimate is None:
        return Candidate(strategy=considered.strategy, feasible=False, chosen=False, reason=considered.reason)
    is_fast = considered.strategy is Strategy.FAST_SNAPSHOT_RESTORE
    return Candidate(
        strategy=considered.strategy,
        feasible=True,
        chosen=considered.chosen,
        reason=considered.reason,
        cost_arithmetic=cost.in_words(estimate.parts),
        kept_on_usd_a_month=cost.fast_snapshot_restore_month(book) if is_fast else None,
        **_figures(estimate),
    )


def _figures(estimate: Estimate) -> dict[str, Any]:
    """The fields that a plan and a candidate have in common."""
    return {
        "initialization_rate_mib_s": estimate.rate_mib_s,
        "boost": estimate.boost,
        "usable_seconds": ceil_seconds(estimate.times.usable_p50),
        "ready_p50_seconds": ceil_seconds(estimate.times.ready_p50),
        "ready_p90_seconds": ceil_seconds(estimate.times.ready_p90),
        "cost_usd": estimate.cost_usd,
        "cost_parts": list(estimate.parts),
        "basis": estimate.basis,
    }


def _summary(
    cases: Sequence[Case],
    plans: Sequence[VolumePlan],
    book: PriceBook,
    now: datetime,
    could_save_usd: Decimal,
) -> PlanSummary:
    asked = cases[0].facts
    deadline = cases[0].objective.deadline_seconds
    slowest = max(plan.plan.ready_p90_seconds for plan in plans)
    late = 0 if deadline is None else max(0, ceil_seconds(slowest - max(0.0, deadline)))
    return PlanSummary(
        total_cost_usd=sum((plan.plan.cost_usd for plan in plans), Decimal(0)),
        ready_p90_at=now + timedelta(seconds=slowest),
        deadline_missed=any(plan.plan.deadline_missed for plan in plans),
        deadline_seconds=None if deadline is None else ceil_seconds(max(0.0, deadline)),
        late_seconds=late,
        schedule=schedule.lines(plans, deadline),
        by_hand=schedule.by_hand([case.facts for case in cases]),
        why=_why(plans, could_save_usd, late, cases[0].objective.fixed),
        could_save_usd=could_save_usd,
        price_book_as_of=book.as_of,
        price_book_stale=bool(stale_prices(plans, book, now)),
        price_source=book.source,
        notes=[
            *plan_notes(plans, book),
            *warm_up_notes(plans, asked.scope, asked.polite_latency_ms),
            *adoption_notes(plans, measured=asked.verified),
        ],
    )


def _why(
    plans: Sequence[VolumePlan], could_save_usd: Decimal, late_seconds: int, asked: Strategy | None
) -> str:
    if len(plans) == 1:
        return plans[0].plan.why
    counts = Counter(plan.plan.strategy for plan in plans)
    parts = [f"{len(plans)} volumes: " + ", ".join(f"{count} x {name}" for name, count in counts.items())]
    waiting = sum(plan.plan.start_at is not None for plan in plans)
    if waiting:
        begin = "begins" if waiting == 1 else "begin"
        parts.append(f"{waiting} {begin} when others have left enough of the Region's initialization rate")
    as_soon = " that is ready as soon" if late_seconds else ""
    if asked is not None:
        parts.append("the request asks for it")
    elif could_save_usd:
        total = sum((plan.plan.cost_usd for plan in plans), Decimal(0))
        parts += could_save(could_save_usd, total, as_soon)
    elif any(plan.plan.decidable_usd for plan in plans):
        parts.append(f"no other mix{as_soon} costs less")
    if late_seconds:
        parts.append(f"the last is ready {duration_text(late_seconds)} after the deadline (P90)")
    return "; ".join(parts) + "."
