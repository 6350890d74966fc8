"""What several messages say of a volume: where it goes, by which plan, and which volume it replaces."""

from __future__ import annotations

from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.words.message import AnnouncedVolume, DetachedVolume, StartedInstance
from rewarm.domain.words.schedule import how_text
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
        strategy=plan.strategy,
        how=how_text(plan.strategy, plan.initialization_rate_mib_s, plan.boost),
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
