"""Ways of adoptions: a volume that others have made and attached is brought to full speed in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local import Json
from local.soak.lab.endings import RESTORE, Ending, ended
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.hook_paths import PATHS
from local.soak.trouble.paths.paths import in_state, path, restored, snapshot

__all__ = ["DEVICE", "PATHS", "adoption", "in_use"]

DEVICE = "/dev/sdf"
ADOPTED_SECONDS = 7_200.0
"""Eight sweeps."""
READS = ("Poll Initialization", "Wait For Initialization")


def in_use(lab: FastLab, instance_id: str | None = None, device: str = DEVICE, **wanted: Any) -> str:
    """A cold volume of a snapshot, made and attached by EC2's own calls, without any tag of ours."""
    asked = {"SnapshotId": snapshot(lab), "AvailabilityZone": "us-east-1a", "VolumeType": "gp3", **wanted}
    made: str = lab.region.call("ec2", "CreateVolume", {name: asked[name] for name in asked if asked[name]})[
        "VolumeId"
    ]
    lab.pass_time(30)
    place = {"InstanceId": instance_id or lab.region.add_instance(), "Device": device}
    lab.region.call("ec2", "AttachVolume", {"VolumeId": made, **place})
    lab.pass_time(30)
    return made


def adoption(*volume_ids: str, strategy: str = "auto", **existing: int) -> Json:
    """The request that adopts these volumes."""
    return {
        "source": {"existing": {"volumeIds": list(volume_ids), **existing}},
        "objective": {"strategy": strategy},
        "verify": {"samples": 100},
    }


def _while_read(lab: FastLab, act: Callable[[str, str], None]) -> Ending:
    """An adoption of much data; `act` gets the restore's id and the volume's while the agent reads."""
    much = lab.region.add_snapshot(size_gib=40, extents=((0, 70_000),))
    volume_id = in_use(lab, SnapshotId=much)

    def during(restore_id: str) -> None:
        in_state(lab, restore_id, *READS)
        act(restore_id, volume_id)

    return restored(lab, adoption(volume_id), during)


@path("adopted")
def _adopted(lab: FastLab) -> Ending:
    return restored(lab, adoption(in_use(lab)))


@path("adopted-by-rule")
def _by_rule(lab: FastLab) -> Ending:
    """A rule hears of the volume before it is attached, and finds it attached a quarter of an hour later."""
    rule = {"match": {"volumeTags": {"app": "orders"}}, "mode": "act", "verify": {"samples": 100}}
    status, body = lab.api("PUT", "/rules/orders", rule)
    if status != 200:
        return Ending(f"refused {status}", str(body.get("error", "")), str(body.get("message", "")))
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "app", "Value": "orders"}]}]
    in_use(lab, TagSpecifications=tags)
    if not lab.run(lambda: bool(lab.executions(RESTORE)), most_seconds=ADOPTED_SECONDS):
        # Nothing has begun, and an alarm leads to the function's log.
        return Ending("failed", "", "; ".join(dict.fromkeys(lab.alarmed)))
    return ended(lab, lab.executions(RESTORE)[0].name)


@path("adopted-once-attached")
def _once_attached(lab: FastLab) -> Ending:
    """The request comes before the volume is attached, and waits."""
    volume_id = in_use(lab)
    detach(lab, volume_id)
    place = {"VolumeId": volume_id, "InstanceId": lab.region.add_instance(), "Device": DEVICE}

    def attach() -> None:
        lab.region.call("ec2", "AttachVolume", place)

    lab.scheduler.after(90, attach)
    return restored(lab, adoption(volume_id, waitForAttachmentMinutes=30))


@path("adopted-by-background")
def _background(lab: FastLab) -> Ending:
    return restored(lab, adoption(in_use(lab), strategy="background"))


@path("adopted-though-warm")
def _warm(lab: FastLab) -> Ending:
    """Somebody has read all of it, which EBS does not say."""
    volume_id = in_use(lab)
    volume = lab.data_plane.volumes[volume_id]
    volume.fetched = volume.written
    return restored(lab, adoption(volume_id))


@path("adopted-though-empty")
def _empty(lab: FastLab) -> Ending:
    return restored(lab, adoption(in_use(lab, SnapshotId=None, Size=8)))


@path("adopted-without-its-snapshot")
def _without_snapshot(lab: FastLab) -> Ending:
    snapshot_id = snapshot(lab)
    volume_id = in_use(lab, SnapshotId=snapshot_id)
    lab.region.call("ec2", "DeleteSnapshot", {"SnapshotId": snapshot_id})
    return restored(lab, adoption(volume_id))


@path("adopted-and-cancelled")
def _cancelled(lab: FastLab) -> Ending:
    return _while_read(lab, lambda restore_id, _volume: _cancel(lab, restore_id))


def _cancel(lab: FastLab, restore_id: str) -> None:
    lab.api("DELETE", f"/restores/{restore_id}")


@path("adopted-and-detached")
def _detached(lab: FastLab) -> Ending:
    return _while_read(lab, lambda _restore, volume_id: detach(lab, volume_id))


def detach(lab: FastLab, volume_id: str) -> None:
    """Somebody detaches the volume."""
    lab.region.call("ec2", "DetachVolume", {"VolumeId": volume_id})


@path("adopted-and-deleted")
def _deleted(lab: FastLab) -> Ending:
    def delete(_restore: str, volume_id: str) -> None:
        detach(lab, volume_id)
        lab.pass_time(30)
        lab.region.call("ec2", "DeleteVolume", {"VolumeId": volume_id})

    return _while_read(lab, delete)


@path("adopted-on-a-stopped-instance")
def _instance_stopped(lab: FastLab) -> Ending:
    def stop(_restore: str, volume_id: str) -> None:
        (place,) = lab.region._tables.volumes[volume_id].attachments.values()
        lab.region.call("ec2", "StopInstances", {"InstanceIds": [place.instance_id]})

    return _while_read(lab, stop)
