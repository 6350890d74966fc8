"""What several messages say of a volume: where it goes, by which plan, and which volume it replaces."""

from __future__ import annotations

from rewarm.contracts.values import Plan, PlanSummary, ScheduleLine, VolumeAssignment
from rewarm.domain.volume.performance import performance_of
from rewarm.domain.words.message import AnnouncedVolume, DetachedVolume, StartedInstance
from rewarm.domain.words.schedule import PlannedGroup
from rewarm.steps.record.restore import KnownRestore


def planned_volume(
    volume: VolumeAssignment, plan: Plan, record: KnownRestore | None = None
) -> AnnouncedVolume:
    """The volume and its plan. With the record, also the volume that it has replaced."""
    where = f"{volume.place} on {volume.instance_id}" if volume.instance_id else volume.availability_zone
    return AnnouncedVolume(
        snapshot_id=volume.snapshot_id,
        snapshot_started_at=volume.snapshot_started_at,
        data_bytes=volume.data_bytes,
        where=where,
        how=_how(plan),
        source_volume_id=volume.source_volume_id,
        usable_seconds=plan.usable_seconds,
        ready_p50_seconds=plan.ready_p50_seconds,
        ready_p90_seconds=plan.ready_p90_seconds,
        cost_usd=plan.cost_usd,
        why=plan.why,
        replaced=_replaced(volume, record) if record is not None else None,
        started=_started(volume, record) if record is not None else None,
        root_of=volume.instance_id if volume.swaps_root else None,
    )


def planned_groups(summary: PlanSummary) -> list[PlannedGroup]:
    """The lines of the plan's schedule."""
    return [
        PlannedGroup(
            volumes=line.volumes,
            alike=line.alike,
            snapshot_id=line.snapshot_id,
            target=line.target,
            data_bytes=line.data_bytes,
            how=_how(line),
            start_seconds=line.start_seconds,
            ready_p50_seconds=line.ready_p50_seconds,
            ready_p90_seconds=line.ready_p90_seconds,
            deadline_missed=line.deadline_missed,
            each_usd=line.each_cost_usd,
            together_usd=line.together_cost_usd,
            bar=line.bar,
        )
        for line in summary.schedule
    ]


def _how(plan: Plan | ScheduleLine) -> str:
    rate = f" at {plan.initialization_rate_mib_s} MiB/s" if plan.initialization_rate_mib_s else ""
    boost = f" as {performance_of(plan.boost.values()).in_words}" if plan.boost else ""
    return f"{plan.strategy}{rate}{boost}"


def _started(volume: VolumeAssignment, record: KnownRestore) -> StartedInstance | None:
    noted = record.instance
    if not volume.starts_instance or noted.started_at is None or noted.up_at is None:
        return None
    return StartedInstance(str(noted.instance_id), noted.started_at, noted.up_at, noted.checked_at)


def _replaced(volume: VolumeAssignment, record: KnownRestore) -> DetachedVolume | None:
    if volume.replaces is None:
        return None
    mount_points = record.volume(volume.index).replaced.unmounted
    return DetachedVolume(volume.replaces.volume_id, volume.replaces.size_gib, mount_points)
