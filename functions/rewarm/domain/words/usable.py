"""What people are told once a volume can be used: from that message on it is theirs, and never deleted."""

from __future__ import annotations

from rewarm.domain.units import clock_text, duration_text
from rewarm.domain.words.message import COPY_PACE, Message, PlannedVolume, Severity

YOURS = "From now on it is never deleted by a failing restore: it is yours."


def attached(
    restore_id: str, volume_id: str, device: str, instance_id: str, volume: PlannedVolume
) -> Message:
    """Usable, and still cold."""
    at_once = "It should be at full speed at once; that is measured now."
    return Message(
        event="attached",
        restore_id=restore_id,
        title=f"{volume_id} is attached to {instance_id} and can be used",
        text=f"{volume_id}, {_origin(volume)}, is {device} on {instance_id}. {_speed(volume, at_once)}",
        severity=Severity.INFO,
        fields=(("Device", device), ("Data as of", _data_as_of(volume))),
        next_steps=("Mount it if you need the data now.", YOURS),
    )


def available(restore_id: str, volume_id: str, availability_zone: str, volume: PlannedVolume) -> Message:
    """The same of a volume that nobody asked to be attached: any instance in the zone may take it."""
    at_once = "It should be at full speed at once; nothing can be measured without an instance."
    return Message(
        event="available",
        restore_id=restore_id,
        title=f"{volume_id} is available in {availability_zone} and can be used",
        text=f"{volume_id}, {_origin(volume)}, is in {availability_zone}. {_speed(volume, at_once)}",
        severity=Severity.INFO,
        fields=(("Availability Zone", availability_zone), ("Data as of", _data_as_of(volume))),
        next_steps=(f"Attach it to an instance in {availability_zone} if you need the data now.", YOURS),
    )


def _speed(volume: PlannedVolume, at_once: str) -> str:
    full_speed = f"Full speed in about {duration_text(volume.ready_p50_seconds)} by {volume.how}."
    if volume.is_fast_at_once:
        return at_once
    if volume.is_copy:
        return f"It can be read {COPY_PACE}. {full_speed}"
    return (
        "It is still slow: data that has not been read before may come at as few as 10 reads a second; "
        f"writes are at full speed. {full_speed}"
    )


def _origin(volume: PlannedVolume) -> str:
    return f"a copy of {volume.source_volume_id}" if volume.is_copy else f"restored from {volume.snapshot_id}"


def _data_as_of(volume: PlannedVolume) -> str:
    return "the moment of the copy" if volume.is_copy else clock_text(volume.snapshot_started_at)
