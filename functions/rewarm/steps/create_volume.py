"""State `Create Volume`: one volume, however often the state is retried."""

from __future__ import annotations

import hashlib

from rewarm.contracts import CreateVolumeEvent, CreateVolumeResult
from rewarm.domain.units import iso
from rewarm.ports import RestoreTable, VolumeStore
from rewarm.steps.records import Status, stop_if_cancelled, volume_attribute

TOKEN_LENGTH = 64
"""botocore: ec2 CreateVolume ClientToken, at most 64 ASCII characters."""


def create_volume(
    event: CreateVolumeEvent, *, volumes: VolumeStore, table: RestoreTable, stack_name: str
) -> CreateVolumeResult:
    """Raises InitializationRateUnavailableError, CapacityUnavailableError, QuotaExceededError, …"""
    stop_if_cancelled(table, event.restore_id)
    volume = event.volume
    token = client_token(event.restore_id, volume.index, event.attempt)
    volume_id = volumes.create(
        volume.snapshot_id,
        volume.availability_zone,
        volume.volume.settings(_tags(event, stack_name)),
        initialization_rate_mib_s=event.plan.initialization_rate_mib_s,
        client_token=token,
    )
    made = {
        "volumeId": volume_id,
        "snapshotId": volume.snapshot_id,
        "strategy": event.plan.strategy.value,
        "device": volume.device,
        "createdAt": iso(event.now),
    }
    table.update(event.restore_id, {volume_attribute(volume.index): made, "status": Status.RESTORING.value})
    return CreateVolumeResult(volume_id=volume_id, client_token=token)


def client_token(restore_id: str, index: int, attempt: int) -> str:
    """The same for a retried state, another for the next plan: EC2 refuses a token with other parameters."""
    return hashlib.sha256(f"{restore_id}/{index}/{attempt}".encode()).hexdigest()[:TOKEN_LENGTH]


def _tags(event: CreateVolumeEvent, stack_name: str) -> dict[str, str]:
    return {
        "rewarm:restore-id": event.restore_id,
        "rewarm:volume-index": str(event.volume.index),
        "rewarm:stack": stack_name,
        "rewarm:strategy": event.plan.strategy.value,
        "rewarm:snapshot-id": event.volume.snapshot_id,
    }
