"""POST /plans in the fast lab: what a rewind would take, by what the Region's snapshots hold."""

from __future__ import annotations

from local import Json
from local.soak.lab.lab import FastLab


def rewind_of(lab: FastLab, good: str, instance_id: str) -> Json:
    asked = {"source": {"snapshotId": good}, "target": {"instanceId": instance_id}}
    status, answer = lab.api("POST", "/plans", asked)
    assert status == 200, answer
    return dict(answer["plans"][0]["rewind"])


def way_of(found: Json, compare: str) -> Json:
    return next(way for way in found["ways"] if way["compare"] == compare)


def price_of(found: Json, compare: str, item: str) -> str:
    parts = way_of(found, compare)["costParts"]
    return str(next(part["arithmetic"] for part in parts if part["item"] == item))


def test_a_plan_says_what_a_rewind_would_take_or_why_there_can_be_none() -> None:
    with FastLab(seed=1) as lab:
        instance_id = lab.region.add_instance()
        volume_id = lab.region.add_volume(size_gib=8, attach_to=instance_id, device="/dev/sdf")
        good = lab.region.add_snapshot(size_gib=8, extents=((0, 150), (1_000, 250)), volume_id=volume_id)
        lab.pass_time(3_600)
        newest = lab.region.add_snapshot(size_gib=8, extents=((0, 180), (1_000, 200)), volume_id=volume_id)
        lab.pass_time(600)
        found = rewind_of(lab, good, instance_id)
        # 50 blocks come from the good snapshot, and 30 that it has not got become zeros.
        assert (found["comparedWith"], found["blocks"], found["mostBlocks"]) == (newest, 80, 80)
        # Beside those that are written, 256 of the others are compared.
        assert price_of(found, "snapshots", "GetSnapshotBlock requests") == "306 blocks x $0.003 / 1,000"
        assert price_of(found, "device", "GetSnapshotBlock requests") == "400 blocks x $0.003 / 1,000"

        lab.region.change_snapshot(newest, lineage="another")
        unrelated = rewind_of(lab, good, instance_id)
        assert unrelated["possible"]
        assert "are not related" in way_of(unrelated, "snapshots")["reason"]
        assert way_of(unrelated, "device")["chosen"]

        root = next(iter(lab.region.call("ec2", "DescribeVolumes", {})["Volumes"]))["VolumeId"]
        of_root = lab.region.add_snapshot(size_gib=8, extents=((0, 10),), volume_id=root)
        reason = rewind_of(lab, of_root, instance_id)["reason"]
        assert "is the root volume" in reason
        assert "target.device /dev/xvda and target.reboot" in reason
        lab.region.call("ec2", "DetachVolume", {"VolumeId": volume_id})
        assert "attached to no instance" in rewind_of(lab, good, instance_id)["reason"]
