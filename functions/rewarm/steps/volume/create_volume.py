"""State `Create Volume`: creates one volume, however often the state is retried."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import (
    BoostUnavailableError,
    QuotaExceededError,
    RequestRefusedError,
    VolumeCopyUnavailableError,
    VolumeNotFoundError,
)
from rewarm.domain.model import Boost, Strategy, VolumeSettings
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import ATTEMPT_TAG, DRILL_TAG, STRATEGY_TAG
from rewarm.domain.volume.performance import BOOST_TAG, performance_of
from rewarm.domain.volume.proof import CREATION_TAG
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.restore import RestoreNotes, Status, stop_if_cancelled
from rewarm.steps.record.volume import KnownVolume, VolumeNotes
from rewarm.steps.registration import Metric, state

TOKEN_LENGTH = 64
"""botocore: ec2 CreateVolume ClientToken, at most 64 ASCII characters."""


class CreateVolumeEvent(StepEvent):
    """Asks for the volume."""

    request: RestoreRequest
    volume: VolumeAssignment
    plan: Plan
    attempt: int = Field(ge=0)


class CreateVolumeResult(Contract):
    """The volume."""

    volume_id: str
    client_token: str


class CreateVolumePorts(Value, kw_only=True):
    """The ports that create_volume needs."""

    volumes: VolumeStore
    table: RestoreTable
    stack_name: str


def _metrics(event: CreateVolumeEvent, _result: CreateVolumeResult) -> Iterator[Metric]:
    yield Metric("VolumesCreated", dimensions={"strategy": event.plan.strategy})


@state("Create Volume", metrics=_metrics)
def create_volume(event: CreateVolumeEvent, ports: CreateVolumePorts) -> CreateVolumeResult:
    """Creates the volume once and returns its id.

    Raises InitializationRateUnavailableError, VolumeCopyUnavailableError, BoostUnavailableError, …
    """
    stop_if_cancelled(ports.table, event.restore_id)
    volume = event.volume
    record = VolumeNotes(ports.table, event.restore_id, volume.index)
    known = _known(event, record)
    token = client_token(event.restore_id, volume.index, event.attempt)
    settings = _encrypted(event, volume.volume.settings(_tags(event, known, ports.stack_name)))
    if event.plan.strategy is Strategy.VOLUME_CLONE:
        volume_id = _copy(event, settings, ports.volumes, token)
    else:
        volume_id = _create(event, settings, ports.volumes, token)
    made = {
        "volumeId": volume_id,
        "volumeIds": {**(known.made_volumes if event.attempt else {}), str(event.attempt): volume_id},
        "snapshotId": volume.snapshot_id,
        "strategy": event.plan.strategy.value,
        "availabilityZone": volume.availability_zone,
        "instanceId": volume.instance_id,
        "device": volume.device,
        "createdAt": iso(event.now),
    }
    record.note_made(made, _boost(event, volume_id))
    RestoreNotes(ports.table, event.restore_id).note_volume(volume_id)
    ports.table.advance(event.restore_id, Status.RESTORING.value)
    return CreateVolumeResult(volume_id=volume_id, client_token=token)


def _encrypted(event: CreateVolumeEvent, settings: VolumeSettings) -> VolumeSettings:
    """Asks for encryption of an empty volume; EC2 encrypts volumes of encrypted snapshots by itself.

    A key belongs to one Region, so for a snapshot of another Region the default key is used.
    """
    volume = event.volume
    if event.plan.strategy is not Strategy.DIRECT_WRITE or not volume.snapshot_encrypted:
        return settings
    own_key = volume.snapshot_kms_key_id if volume.copy_of is None else None
    return replace(settings, encrypted=True, kms_key_id=settings.kms_key_id or own_key)


def _known(event: CreateVolumeEvent, record: VolumeNotes) -> KnownVolume:
    """The volume's record, with what EC2 is about to be asked for. If EC2's answer is lost, only this proves
    that the volume is ours.

    `Announce Plan` writes the plan, and a restore continues if that failed.
    """
    strategy = event.plan.strategy
    boost = event.plan.boost
    origins = {Strategy.DIRECT_WRITE: None, Strategy.VOLUME_CLONE: event.volume.source_volume_id}
    known = record.begin_creation(
        event.attempt,
        {
            "askedAt": iso(event.now),
            "origin": origins.get(strategy, event.volume.snapshot_id),
            "zone": event.volume.availability_zone,
            "boostTarget": boost and performance_of(event.volume.volume.settings()).as_text,
        },
    )
    if known.plan is None:
        record.note_planned(event.volume, event.plan)
    return known


def _create(event: CreateVolumeEvent, settings: VolumeSettings, volumes: VolumeStore, token: str) -> str:
    """Creates the volume. With a boost, a refusal of the settings or the quota counts as the boost's fault.

    If it was not, the next plan gets the same refusal.
    """
    boost = event.plan.boost
    try:
        return volumes.create(
            None if event.plan.strategy is Strategy.DIRECT_WRITE else event.volume.snapshot_id,
            event.volume.availability_zone,
            settings if boost is None else _boosted(settings, boost),
            rate_mib_s=event.plan.initialization_rate_mib_s,
            client_token=token,
        )
    except (QuotaExceededError, RequestRefusedError) as error:
        if boost is None:
            raise
        words = performance_of(boost).in_words
        raise BoostUnavailableError(f"{words} cannot be had: {error}") from error


def _boosted(settings: VolumeSettings, boost: Boost) -> VolumeSettings:
    """The boosted settings, with a tag from the beginning that says which settings to go back to."""
    return replace(
        settings,
        volume_type=boost.volume_type,
        iops=boost.iops,
        throughput_mib_s=boost.throughput_mib_s,
        tags={**settings.tags, BOOST_TAG: performance_of(settings).as_text},
    )


def _copy(event: CreateVolumeEvent, settings: VolumeSettings, volumes: VolumeStore, token: str) -> str:
    """Copies the source volume as it is now; it may have grown since the snapshot."""
    source_id = event.volume.source_volume_id
    if source_id is None:
        raise VolumeCopyUnavailableError(f"{event.volume.snapshot_id} names no source volume to copy")
    try:
        source = volumes.get(source_id)
    except VolumeNotFoundError as error:
        raise VolumeCopyUnavailableError(f"the source volume {source_id} is gone: {error}") from error
    if source.availability_zone != event.volume.availability_zone:
        raise VolumeCopyUnavailableError(
            f"{source_id} is in {source.availability_zone}, and a copy stays there; "
            f"the volume is to be in {event.volume.availability_zone}"
        )
    size_gib = max(settings.size_gib, source.settings.size_gib)
    return volumes.copy(source_id, replace(settings, size_gib=size_gib), client_token=token)


def _boost(event: CreateVolumeEvent, volume_id: str) -> JsonObject | None:
    if event.plan.boost is None:
        return None
    return {
        "volumeId": volume_id,
        "state": "boosted",
        "boosted": performance_of(event.plan.boost).in_words,
        "target": performance_of(event.volume.volume.settings()).in_words,
        "targetSettings": performance_of(event.volume.volume.settings()).as_text,
        "at": iso(event.now),
    }


def client_token(restore_id: str, index: int, attempt: int) -> str:
    """A token that differs only for another plan, because EC2 refuses a token with other parameters."""
    return hashlib.sha256(f"{restore_id}/{index}/{attempt}".encode()).hexdigest()[:TOKEN_LENGTH]


def _tags(event: CreateVolumeEvent, known: KnownVolume, stack_name: str) -> dict[str, str]:
    origin = {"rewarm:snapshot-id": event.volume.snapshot_id}
    if event.plan.strategy is Strategy.VOLUME_CLONE:
        origin = {"rewarm:source-volume-id": event.volume.source_volume_id or ""}
    drill = {DRILL_TAG: "true"} if event.request.is_drill else {}
    creation = known.creations[str(event.attempt)]
    return {
        "rewarm:restore-id": event.restore_id,
        "rewarm:volume-index": str(event.volume.index),
        "rewarm:stack": stack_name,
        STRATEGY_TAG: event.plan.strategy.value,
        ATTEMPT_TAG: str(event.attempt),
        CREATION_TAG: creation.key,
        **origin,
        **drill,
    }
