"""Ways of adoptions: a volume that others have made and attached is brought to full speed in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local import Json
from local.soak.lab.endings import RESTORE, VOLUME, Ending, ended
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.hook_paths import PATHS
from local.soak.trouble.paths.interrupted_paths import stop
from local.soak.trouble.paths.paths import in_state, path, restored, snapshot

__all__ = ["DEVICE", "PATHS", "adoption", "in_use"]

DEVICE = "/dev/sdf"
ADOPTED_SECONDS = 7_200.0
"""Eight sweeps."""
CONSENT = {"Key": "rewarm:managed", "Value": "true"}
TESTS = "RestoreTestingStateMachine"
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


def volume_of_a_test(lab: FastLab, *, blocks: int = 0, **fields: Any) -> tuple[str, Json]:
    """A cold volume as a restore test of AWS Backup makes it, and the detail of its event."""
    lab.region.add_instance(tags={"restore-testing": "yes"})
    source = lab.region.add_snapshot(size_gib=40, extents=((0, blocks),)) if blocks else snapshot(lab)
    tags = {"awsbackup-restore-test": "nightly"}
    volume_id = lab.region.add_volume(size_gib=40 if blocks else 8, snapshot_id=source, tags=tags, **fields)
    return volume_id, lab.region.restore_jobs.add(volume_id)


def told_by_backup(lab: FastLab, detail: Json, times: int = 1) -> None:
    """AWS Backup's event that the volume of a test is there, so many times."""
    for _ in range(times):
        lab.events.put("Restore Job State Change", "aws.backup", detail, [])


def boostable(lab: FastLab, size_gib: int = 100, iops: int = 200) -> str:
    """A volume of much data and few IOPS, whose owner allows to change its performance."""
    much = lab.region.add_snapshot(size_gib=size_gib, extents=((0, size_gib * 1_500),))
    tags = [{"ResourceType": "volume", "Tags": [CONSENT]}]
    return in_use(lab, SnapshotId=much, VolumeType="io2", Iops=iops, Size=size_gib, TagSpecifications=tags)


def lose_boosts(lab: FastLab) -> None:
    """Somebody deletes every note of a boost."""
    table = lab.table("RestoresTable")
    for key in [item["pk"] for item in table.items() if item["pk"]["S"].startswith("boost#")]:
        table.delete({"pk": key})
        lab.outside.lost.add(key["S"])


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
    def stop_instance(_restore: str, volume_id: str) -> None:
        (place,) = lab.region._tables.volumes[volume_id].attachments.values()
        lab.region.call("ec2", "StopInstances", {"InstanceIds": [place.instance_id]})

    return _while_read(lab, stop_instance)


def _boosted(lab: FastLab, act: Callable[[str, str], None] | None = None, **volume: int) -> Ending:
    """An adoption with a boost; `act` gets the restore's id and the volume's while the agent reads."""
    volume_id = boostable(lab, **volume)

    def during(restore_id: str) -> None:
        if act is not None:
            in_state(lab, restore_id, *READS)
            act(restore_id, volume_id)

    return restored(lab, adoption(volume_id, strategy="boosted-warm-up", boost=True), during)


@path("adopted-and-boosted")
def _adopted_boosted(lab: FastLab) -> Ending:
    return _boosted(lab)


@path("adopted-and-boosted-until-warm")
def _boosted_until_warm(lab: FastLab) -> Ending:
    """EC2 has finished the raise before the agent has read all."""
    return _boosted(lab, size_gib=40, iops=100)


@path("adopted-and-boosted-and-cancelled-late")
def _boosted_cancelled_late(lab: FastLab) -> Ending:
    """EC2 has finished the raise, so clean-up lowers the volume."""

    def cancel(restore_id: str, _volume: str) -> None:
        lab.pass_time(1_000)
        _cancel(lab, restore_id)

    return _boosted(lab, cancel, size_gib=40, iops=100)


@path("adopted-and-boosted-and-cancelled")
def _boosted_cancelled(lab: FastLab) -> Ending:
    return _boosted(lab, lambda restore_id, _volume: _cancel(lab, restore_id))


@path("adopted-and-boosted-and-stopped")
def _boosted_stopped(lab: FastLab) -> Ending:
    """No Catch runs then; the sweeper lowers the volume."""

    def kill(restore_id: str, _volume: str) -> None:
        stop(lab, f"{restore_id}-0", VOLUME)
        stop(lab, restore_id)

    return _boosted(lab, kill)


@path("adopted-and-not-boosted")
def _boost_refused(lab: FastLab) -> Ending:
    """Its owner changes the volume just before, and EC2 takes one change at a time."""
    volume_id = boostable(lab)

    def change() -> None:
        lab.region.call("ec2", "ModifyVolume", {"VolumeId": volume_id, "Iops": 200})

    lab.scheduler.after(20, change)
    return restored(lab, adoption(volume_id, strategy="boosted-warm-up", boost=True))


@path("adopted-and-boosted-and-lowered-by-hand")
def _lowered_by_hand(lab: FastLab) -> Ending:
    return _boosted(lab, lambda _restore, volume_id: _modify(lab, volume_id, 200))


@path("adopted-and-boosted-and-changed-by-hand")
def _changed_by_hand(lab: FastLab) -> Ending:
    return _boosted(lab, lambda _restore, volume_id: _modify(lab, volume_id, 150))


def _modify(lab: FastLab, volume_id: str, iops: int) -> None:
    """Somebody changes the volume once EC2 has finished the raise, while the agent reads."""
    changes = lab.region._tables.volumes[volume_id].modifications
    if not changes:
        return  # EC2 has refused the raise
    changes[-1].end = lab.scheduler.now
    lab.region.call("ec2", "ModifyVolume", {"VolumeId": volume_id, "Iops": iops})


@path("adopted-and-boosted-without-consent-by-then")
def _consent_taken_back(lab: FastLab) -> Ending:
    """Only the owner may lower the volume then; the message says how."""

    def untag(_restore: str, volume_id: str) -> None:
        key = CONSENT["Key"]
        lab.region.call("ec2", "DeleteTags", {"Resources": [volume_id], "Tags": [{"Key": key}]})
        lab.outside.unconsented.add(volume_id)

    return _boosted(lab, untag)
