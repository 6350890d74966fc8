"""What a rewind of the source volume would take: POST /plans says it, asked for or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

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
from rewarm.domain.errors import RestoreError, TargetNotUsableError, VolumeNotFoundError
from rewarm.domain.model import BLOCK_BYTES, GIB, Instance, InstanceEbsLimits, PriceBook, Snapshot, Volume
from rewarm.domain.time.timings import PRIORS
from rewarm.domain.units import ceil_seconds, clock_text, usd_text
from rewarm.domain.volume.volume_types import speed
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.blocks import SnapshotBlocks
from rewarm.ports.instances import Instances
from rewarm.ports.performance import Metrics
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.ports.volumes import VolumeStore

MOST_REQUESTS = 16
"""Of ListChangedBlocks for all volumes: half a second each (measured by others), and somebody waits."""


@dataclass(frozen=True, kw_only=True)
class RewindPorts:
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


def rewinds_of(
    volumes: Sequence[VolumeAssignment],
    book: PriceBook,
    ports: RewindPorts,
    *,
    now: datetime,
    has_time: Callable[[], bool],
) -> list[RewindPlan | None]:
    """One for each volume; None where there is no source volume to rewind, and beyond MOST_REWOUND."""
    requests = MOST_REQUESTS // max(1, min(len(volumes), MOST_REWOUND))
    found: list[RewindPlan | None] = [None] * len(volumes)
    for place, volume in enumerate(volumes[:MOST_REWOUND]):
        if volume.copy_of is None and volume.source_volume_id is not None:
            patience = _Patience(requests, now, has_time)
            found[place] = _rewind(volume.source_volume_id, volume.snapshot_id, book, ports, patience)
    return found


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
    volume_id: str, snapshot_id: str, book: PriceBook, ports: RewindPorts, patience: _Patience
) -> RewindPlan | None:
    """A plan never fails for what nobody asked: an error of AWS is the reason why it is not possible."""
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


def _rewindable(volume: Volume, snapshot_id: str, ports: RewindPorts) -> _Rewindable | str:
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
    plan: RewindPlan, case: _Rewindable, book: PriceBook, ports: RewindPorts, patience: _Patience
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
