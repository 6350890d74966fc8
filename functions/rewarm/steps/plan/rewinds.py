"""What a rewind of the source volume would take: POST /plans says it, asked for or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType

from rewarm.contracts import Plan, PlannedVolumes, PlanSummary, RestoreRequest, VolumePlan
from rewarm.contracts.plans import RewindPlan
from rewarm.contracts.values import CostPart, VolumeAssignment
from rewarm.domain.blocks.changed import ChangedCount, count_changed
from rewarm.domain.blocks.rewind import RewindFacts, WrittenSince, rewind, with_evidence
from rewarm.domain.blocks.rewindable import (
    MOST_REWOUND,
    attached_to,
    instance_refusal,
    newest_of_lineage,
    pending_seconds,
    volume_refusal,
)
from rewarm.domain.errors import (
    TEMPORARY,
    NoStrategyFitsError,
    RestoreError,
    TargetNotUsableError,
    VolumeNotFoundError,
)
from rewarm.domain.model import (
    BLOCK_BYTES,
    GIB,
    Instance,
    InstanceEbsLimits,
    PriceBook,
    PriceFigure,
    Snapshot,
    Strategy,
    Volume,
)
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import PRIORS
from rewarm.domain.units import ceil_seconds, clock_text, count_text, duration_text, usd_text
from rewarm.domain.volume.volume_types import speed
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.blocks import SnapshotBlocks
from rewarm.ports.instances import Instances
from rewarm.ports.performance import Metrics
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.plan import schedule

MOST_REQUESTS, MOST_REQUESTS_WHERE_ASKED = 16, 80
"""Of ListChangedBlocks for all volumes: half a second each (measured by others). Somebody waits for a plan;
the state `Choose Strategy` ends after a minute.
"""
REWIND_PRICES = ("getBlocksUsdPerThousand", "snapshotUsdPerGibMonth")
"""What only a rewind's price hangs on."""
PARTS_OF_PHASES = MappingProxyType(
    {
        Phase.DELIVER: ("deliver",),
        Phase.EVIDENCE: ("evidence",),
        Phase.WRITE: ("write", "read-back"),
        Phase.VERIFY: ("compare",),
    }
)


@dataclass(frozen=True, kw_only=True)
class RewindFactsPorts:
    """The ports that rewinds_of needs."""

    snapshots: SnapshotCatalog
    instances: Instances
    volumes: VolumeStore
    artifacts: Artifacts
    blocks: SnapshotBlocks
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class _Patience:
    """How long somebody waits for what is looked up."""

    requests: int
    now: datetime
    has_time: Callable[[], bool]
    asked: bool
    """And whether it is what they want."""


def rewinds_of(
    volumes: Sequence[VolumeAssignment],
    book: PriceBook,
    ports: RewindFactsPorts,
    *,
    now: datetime,
    has_time: Callable[[], bool] = lambda: True,
    asked: bool = False,
) -> list[RewindPlan | None]:
    """One for each volume; None where there is no source volume to rewind, and beyond MOST_REWOUND.

    Where it was asked for, raises ThrottledError and ServiceUnavailableError, after which it may be possible.
    """
    requests = (MOST_REQUESTS_WHERE_ASKED if asked else MOST_REQUESTS) // max(
        1, min(len(volumes), MOST_REWOUND)
    )
    found: list[RewindPlan | None] = [None] * len(volumes)
    for place, volume in enumerate(volumes[:MOST_REWOUND]):
        if volume.copy_of is None and volume.source_volume_id is not None:
            patience = _Patience(requests, now, has_time, asked)
            found[place] = _rewind(volume.source_volume_id, volume.snapshot_id, book, ports, patience)
    return found


def plan_rewinds(
    request: RestoreRequest,
    volumes: Sequence[VolumeAssignment],
    book: PriceBook,
    ports: RewindFactsPorts,
    *,
    deadline_at: datetime | None,
    now: datetime,
) -> PlannedVolumes:
    """The plans of a restore that makes no volume: each one's volume goes back, with all blocks listed.

    Raises TargetNotUsableError, NoStrategyFitsError.
    """
    found = rewinds_of(volumes, book, ports, now=now, asked=True)
    check_asked(found, request.target.instance_id)
    left = None if deadline_at is None else max(0.0, (deadline_at - now).total_seconds())
    plans = [
        VolumePlan(volume=volume, plan=_as_plan(one, book, left))
        for volume, one in zip(volumes, found, strict=True)
        if one is not None
    ]
    total = sum((plan.plan.cost_usd for plan in plans), Decimal(0))
    slowest = max(plan.plan.ready_p90_seconds for plan in plans)
    late = 0 if left is None else max(0, ceil_seconds(slowest - left))
    if request.objective.strict and (late or total > (request.objective.max_cost_usd or total)):
        raise NoStrategyFitsError(
            f"a rewind takes {duration_text(slowest)} (P90) and costs {usd_text(total)}; that is not within "
            "the deadline or the budget that objective.strict asks for"
        )
    notes = [note for one in found if one is not None for note in (one.evidence, *one.notes) if note]
    summary = PlanSummary(
        total_cost_usd=total,
        ready_p90_at=now + timedelta(seconds=slowest),
        deadline_missed=bool(late),
        deadline_seconds=None if left is None else ceil_seconds(left),
        late_seconds=late,
        schedule=schedule.lines(plans, left),
        why=plans[0].plan.why if len(plans) == 1 else f"{len(plans)} volumes go back to their snapshots.",
        price_book_as_of=book.as_of,
        price_book_stale=any(figure.is_stale(now) for figure in _figures(book)),
        price_source=book.source,
        notes=notes,
    )
    return PlannedVolumes(plans=plans, summary=summary)


def _figures(book: PriceBook) -> list[PriceFigure]:
    return [book.figures[name] for name in REWIND_PRICES if name in book.figures]


def _as_plan(found: RewindPlan, book: PriceBook, left: float | None) -> Plan:
    p90 = found.seconds_p90 or 0
    return Plan(
        strategy=Strategy.REWIND,
        usable_seconds=found.seconds_p50 or 0,
        ready_p50_seconds=found.seconds_p50 or 0,
        ready_p90_seconds=p90,
        cost_usd=found.cost_usd or Decimal(0),
        cost_parts=found.cost_parts,
        phases=_phases(found),
        block_usd_per_thousand=book.get_blocks_usd_per_thousand,
        why=f"{found.volume_id} goes back itself: {count_text(found.blocks or 0, 'block')} are written, "
        f"{found.most_blocks or 0:,} at most.",
        deadline_missed=left is not None and p90 > left,
    )


def _phases(found: RewindPlan) -> dict[Phase, tuple[float, float]]:
    """As the report of a restore has them."""
    parts = {phase: [found.phases[name] for name in names] for phase, names in PARTS_OF_PHASES.items()}
    return {
        phase: (sum(p50 for p50, _ in times), sum(p90 for _, p90 in times)) for phase, times in parts.items()
    }


def check_asked(rewinds: Sequence[RewindPlan | None], instance_id: str | None) -> None:
    """Raises TargetNotUsableError where a rewind was asked for and is not possible on this instance."""
    for found in rewinds:
        if found is None:
            raise TargetNotUsableError(
                "found rewind, and the snapshot's volume is gone; allowed are attach and replace",
                field="target.mode",
            )
        if found.instance_id not in {None, instance_id}:
            raise TargetNotUsableError(
                f"found {instance_id}; {found.volume_id} goes back on {found.instance_id}, which has it",
                field="target.instanceId",
            )
        if not found.possible:
            raise TargetNotUsableError(f"found rewind; {found.reason}", field="target.mode")


def _rewind(
    volume_id: str, snapshot_id: str, book: PriceBook, ports: RewindFactsPorts, patience: _Patience
) -> RewindPlan | None:
    """A plan never fails for what nobody asked: then an error of AWS is the reason why it is not possible."""
    try:
        volume = ports.volumes.get(volume_id)
    except VolumeNotFoundError:
        return None
    plan = RewindPlan(volume_id=volume_id, instance_id=attached_to(volume), possible=False)
    if not patience.has_time():
        return plan.model_copy(
            update={"reason": "there was no time left to look; plan fewer volumes at once"}
        )
    try:
        case = _rewindable(volume, snapshot_id, ports)
        if isinstance(case, _Rewindable):
            return _told(plan, case, book, ports, patience)
    except RestoreError as error:
        if patience.asked and isinstance(error, TEMPORARY):
            raise
        case = str(error)
    return plan.model_copy(update={"reason": case})


@dataclass(frozen=True, slots=True)
class _Rewindable:
    """A volume that can be rewound, and between which snapshots its blocks are compared."""

    volume: Volume
    limits: InstanceEbsLimits
    good: Snapshot
    newest: Snapshot
    pending: list[float]
    """How long earlier snapshots were pending, in seconds."""


def _rewindable(volume: Volume, snapshot_id: str, ports: RewindFactsPorts) -> _Rewindable | str:
    """Or why there is none."""
    good, instance_id = ports.snapshots.get(snapshot_id), attached_to(volume)
    refusal = volume_refusal(volume, good)
    if refusal is not None or instance_id is None:
        return refusal or ""
    instance = ports.instances.get(instance_id)
    limits = ports.instances.ebs_limits(instance.instance_type)
    available = _has_agent(instance, ports.artifacts)
    refusal = instance_refusal(volume, instance, limits, agent_available=available)
    if refusal is not None:
        return refusal
    others = ports.snapshots.of_volume(volume.volume_id)
    newest = newest_of_lineage([*others, good], volume.volume_id) or good
    return _Rewindable(volume, limits, good, newest, pending_seconds(others, volume.volume_id))


def _has_agent(instance: Instance, artifacts: Artifacts) -> bool:
    try:
        artifacts.agent(instance.platform, instance.architecture)
    except TargetNotUsableError:
        return False
    return True


def _changed(good: Snapshot, newest: Snapshot, blocks: SnapshotBlocks, patience: _Patience) -> ChangedCount:
    if good.snapshot_id == newest.snapshot_id:
        return ChangedCount(0)
    return count_changed(
        lambda start: blocks.changed(good.snapshot_id, newest.snapshot_id, start_block=start),
        good.size_gib * GIB // BLOCK_BYTES,
        patience.requests,
        patience.has_time,
    )


def _written(volume: Volume, newest: Snapshot, metrics: Metrics, now: datetime) -> WrittenSince | None:
    try:
        return metrics.written(volume.volume_id, since=newest.started_at, until=now)
    except RestoreError:
        return None


def _told(
    plan: RewindPlan, case: _Rewindable, book: PriceBook, ports: RewindFactsPorts, patience: _Patience
) -> RewindPlan:
    facts = RewindFacts(
        volume_bytes=case.volume.settings.size_gib * GIB,
        speed=speed(case.volume.settings),
        instance_limits=case.limits,
        changed=_changed(case.good, case.newest, ports.blocks, patience),
        since=_written(case.volume, case.newest, ports.metrics, patience.now),
        timings=with_evidence(PRIORS, case.pending),
    )
    estimate = rewind(facts, book)
    update = {
        "possible": True,
        "compared_with": case.newest.snapshot_id,
        "blocks": estimate.expected.blocks,
        "most_blocks": estimate.most.blocks,
        "bytes": estimate.expected.blocks * BLOCK_BYTES,
        "seconds_p50": ceil_seconds(estimate.seconds.p50),
        "seconds_p90": ceil_seconds(estimate.seconds.p90),
        "phases": {name: (round(part.p50, 1), round(part.p90, 1)) for name, part in estimate.phases},
        "cost_usd": estimate.usd,
        "most_usd": estimate.most_usd,
        "cost_parts": [CostPart.model_validate(part) for part in estimate.parts],
        "evidence": _evidence(plan.volume_id, estimate.evidence_usd_a_month),
        "notes": _notes(facts, case),
    }
    return plan.model_copy(update=update)


def _evidence(volume_id: str, usd_a_month: Decimal) -> str:
    price = f", about {usd_text(usd_a_month)} a month" if usd_a_month else ""
    return (
        f"A snapshot of {volume_id} as it is then is made first and kept{price}. A rewind to it undoes the "
        "rewind."
    )


def _notes(facts: RewindFacts, case: _Rewindable) -> list[str]:
    notes = []
    if facts.changed.listed_share < 1:
        notes.append(
            f"The list of changed blocks was read for {facts.changed.listed_share:.0%} of the volume; the "
            "rest is drawn out from that."
        )
    if facts.since is None:
        notes.append(
            f"CloudWatch does not say what was written since {case.newest.snapshot_id} of "
            f"{clock_text(case.newest.started_at)}, so at most the whole volume has changed."
        )
    if not case.pending:
        notes.append("How long the snapshot that is made first is pending is a guess: no earlier one says.")
    return notes
