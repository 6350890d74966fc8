"""What the report says of volumes that were to leave their place."""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.contracts import Replacement, VolumePlan, VolumeReport
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.records import replaced_attribute


def with_replacements(
    volumes: Sequence[VolumeReport], plans: Sequence[VolumePlan], restore_id: str, table: RestoreTable
) -> list[VolumeReport]:
    """Each volume with the one that it replaced, or was to."""
    if all(plan.volume.replaces is None for plan in plans):
        return list(volumes)
    record = table.get_whole(restore_id) or {}
    return [_with(volume, plan, record) for volume, plan in zip(volumes, plans, strict=True)]


def _with(volume: VolumeReport, plan: VolumePlan, record: JsonObject) -> VolumeReport:
    old, device = plan.volume.replaces, plan.volume.device
    if old is None or device is None:
        return volume
    known = record.get(replaced_attribute(volume.index)) or {}
    told = Replacement(
        volume_id=old.volume_id,
        device=device,
        # A message that could not be sent leaves the record behind what is.
        state="replaced" if volume.verdict == "ready" else known.get("state", "in-place"),
        reason=known.get("reason", ""),
    )
    return volume.model_copy(update={"replaced": told})
