"""The words of `attached`, `available` and `hot`: the volume can be used, and Rewarm does not delete it."""

from __future__ import annotations

from rewarm.domain.units import clock_text, duration_text, size_text
from rewarm.domain.value import Value
from rewarm.domain.words.message import COPY_PACE, AnnouncedVolume, DetachedVolume, Message, Severity

YOURS = "The volume is yours now: no failing restore deletes it."


def attached(
    restore_id: str, volume_id: str, device: str, instance_id: str, volume: AnnouncedVolume
) -> Message:
    """The message of a volume that is attached, perhaps in the place of another one."""
    at_once = "It should be at full speed at once; that is measured now."
    speed = f"{_online(volume)}{_speed(volume, at_once)}"
    booted = f" {volume.started.sentence}" if volume.started else ""
    text = f"{volume_id}, {_origin(volume)}, is {device} on {instance_id}.{booted} {speed}"
    fields = [("Device", device), ("Data as of", _data_as_of(volume))]
    steps = [*_mounting(volume), YOURS]
    replaced = volume.replaced
    if replaced is not None:
        text += f"\n{_replacement(volume_id, replaced, goes_back=volume.started is None)}"
        fields.append(("Replaced", replaced.volume_id))
        if replaced.mount_points and not volume.mount_points:
            mounts = ", ".join(replaced.mount_points)
            steps.insert(0, f"Mount {volume_id} where {replaced.volume_id} was: {mounts}.")
    if volume.mount_points:
        fields.append(("Drive", ", ".join(volume.mount_points)))
    return Message(
        event="attached",
        restore_id=restore_id,
        title=f"{volume_id} is attached to {instance_id} and can be used",
        text=text,
        severity=Severity.INFO,
        fields=tuple(fields),
        next_steps=tuple(steps),
    )


def available(restore_id: str, volume_id: str, availability_zone: str, volume: AnnouncedVolume) -> Message:
    """The message of a volume that was restored to a zone: any instance there may attach it."""
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


class HotFacts(Value):
    """How much of which data is warm, after how long, and the seconds until the rest is warm."""

    bytes: int
    data_bytes: int
    seconds: float
    left_seconds: int | None = None


def hot(restore_id: str, volume_id: str, warm: HotFacts) -> Message:
    """The message that the blocks of a volume that applications read first are warm."""
    rest = "" if warm.left_seconds is None else f", in about {duration_text(warm.left_seconds)}"
    return Message(
        event="hot",
        restore_id=restore_id,
        title=f"The hot set of {volume_id} is warm",
        text=f"{size_text(warm.bytes)} of {volume_id} were warm after {duration_text(warm.seconds)}. "
        f"Recordings show that applications read these blocks first. The others follow{rest}.",
        severity=Severity.INFO,
        fields=(("Hot set", size_text(warm.bytes)), ("Data", size_text(warm.data_bytes))),
    )


def _online(volume: AnnouncedVolume) -> str:
    mounted = f"Windows has it online at {', '.join(volume.mount_points)}. " if volume.mount_points else ""
    problem = f"It is not as asked for on Windows: {volume.online_problem}. " if volume.online_problem else ""
    return mounted + problem


def _mounting(volume: AnnouncedVolume) -> list[str]:
    if volume.started is not None:
        return ["Use the instance; what has not been read before is slow until the volume is at full speed."]
    if volume.online_problem is not None:
        return ["See to the disk in Disk Management (diskmgmt.msc) if you need the data now."]
    return [] if volume.mount_points else ["Mount it if you need the data now."]


def _speed(volume: AnnouncedVolume, at_once: str) -> str:
    full_speed = f"Full speed in about {duration_text(volume.ready_p50_seconds)} by {volume.how}."
    if volume.is_fast_at_once:
        return at_once
    if volume.is_copy:
        return f"It can be read {COPY_PACE}. {full_speed}"
    return (
        "It is still slow: data that has not been read before may come at as few as 10 reads a second; "
        f"writes are at full speed. {full_speed}"
    )


def _replacement(volume_id: str, replaced: DetachedVolume, *, goes_back: bool) -> str:
    old = replaced.volume_id
    mounts = ", ".join(replaced.mount_points)
    before = f" It was mounted at {mounts}." if mounts else ""
    back = f" If the restore fails, Rewarm puts {old} back and keeps {volume_id}." if goes_back else ""
    return f"It has taken the place of {old}, which is detached and kept.{before}{back}"


def _origin(volume: AnnouncedVolume) -> str:
    return f"a copy of {volume.source_volume_id}" if volume.is_copy else f"restored from {volume.snapshot_id}"


def _data_as_of(volume: AnnouncedVolume) -> str:
    return "the moment of the copy" if volume.is_copy else clock_text(volume.snapshot_started_at)
