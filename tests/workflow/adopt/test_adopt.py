"""A volume that a foreign client has made, attached and uses is brought to full speed where it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.aws.machines.instances import link_names
from tests.support.stack.restores import PATIENT, RestoreUser, texts, unique

DEVICE = "/dev/sdf"
GIB = 1024**3
LARGE_GIB, SLOW_IOPS = 32, 100
READ = """
dd if="$DEVICE" of=/tmp/all bs=1M count=64 iflag=direct status=none
sha256sum < /tmp/all
"""


def made_by_others(
    user: RestoreUser, instance_id: str, wanted: dict[str, Any] | None = None, **tags: str
) -> str:
    """By EC2's own calls, without any tag of ours; of type gp3 and of the small snapshot, unless wanted."""
    ec2: Any = user.lab.client("ec2")
    asked = [{"Key": key, "Value": value} for key, value in tags.items()]
    specification = [{"ResourceType": "volume", "Tags": asked}] if asked else []
    source = wanted or {"SnapshotId": user.snapshot(), "VolumeType": "gp3"}
    made = ec2.create_volume(AvailabilityZone=user.zone, TagSpecifications=specification, **source)
    volume_id = str(made["VolumeId"])
    user.wait_until(lambda: user.volume(volume_id)["State"] == "available", lambda: "it is being made")
    ec2.attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device=DEVICE)
    user.wait_until(
        lambda: [place["State"] for place in user.volume(volume_id)["Attachments"]] == ["attached"],
        lambda: "it is being attached",
    )
    return volume_id


@pytest.mark.usefixtures("cold_volumes")
def test_a_volume_in_use_is_read_in_its_place_and_then_known_to_be_warm(user: RestoreUser) -> None:
    """How fast a warm volume is read depends on the machine: test_adoptions.py plays it in virtual time."""
    instance_id = user.instance()
    volume_id = made_by_others(user, instance_id)
    before = user.region.inventory()
    environment = {"DEVICE": f"/dev/disk/by-id/{link_names(volume_id)[0]}"}
    reader: Any = user.lab.machine.run_command(instance_id, READ, environment=environment)
    source = {"existing": {"volumeIds": [volume_id]}}

    read = user.restore({"source": source, "objective": {"strategy": "warm-up-agent"}})

    assert read.main.status == "SUCCEEDED", read.why
    assert reader.wait(300) == 0, reader.output()
    (volume,) = read.volumes
    assert not {"Create Volume", "Attach Volume", "Announce Attached", "Clean Up"} & set(volume.states)
    assert user.counters(volume_id).read_blocks == sum(count for _, count in user.image.extents)
    shown = user.volume(volume_id)
    assert list(shown["Tags"]) == ["rewarm:warm-since"]
    assert [place["Device"] for place in shown["Attachments"]] == [DEVICE]
    assert user.region.inventory() == before

    known = user.restore({"source": source})

    assert known.main.status == "SUCCEEDED", known.why
    (again,) = known.volumes
    is_fast = again.answer("Verify Volume Before")["verdict"] == "fast"
    assert not is_fast or "Dispatch Warmer" not in again.states
    assert ("a sample of its blocks" in str(again.answer("Poll Initialization")["reasons"])) == is_fast


@pytest.mark.usefixtures("cold_volumes")
def test_a_boosted_volume_is_raised_read_and_lowered_again(
    user: RestoreUser, volumes_take: Callable[..., None], tmp_path: Path
) -> None:
    """EBS has all blocks of a large volume, and its file system has few in use, so the test reads little."""
    volumes_take(modifying_seconds=0.0, optimizing_seconds_per_tib=0.0)
    path = tmp_path / "large.ext4"
    subprocess.run(["cp", "--sparse=always", str(user.image.path), str(path)], check=True)
    os.truncate(path, LARGE_GIB * GIB)
    subprocess.run(["resize2fs", "-f", str(path)], check=True, capture_output=True)
    much = user.region.add_snapshot(size_gib=LARGE_GIB, extents=((0, LARGE_GIB * 2_048),), path=path)
    wanted = {"SnapshotId": much, "VolumeType": "io2", "Iops": SLOW_IOPS}
    instance_id = user.instance(instance_type="m5.4xlarge")
    volume_id = made_by_others(user, instance_id, wanted, **{"rewarm:managed": "true"})

    source = {"existing": {"volumeIds": [volume_id], "boost": True}}
    objective = {"strategy": "boosted-warm-up", "readyWithinMinutes": 20}
    asked = {"source": source, "objective": objective, "warmUp": {"scope": "used"}}
    done = user.restore(asked)

    assert done.main.status == "SUCCEEDED", done.why
    raise_, lowering = user.region._tables.volumes[volume_id].modifications
    assert done.record["plans"][0]["plan"]["boost"]["iops"] == raise_.target.iops > SLOW_IOPS
    assert lowering.target.iops == user.volume(volume_id)["Iops"] == SLOW_IOPS
    assert done.volumes[0].answer("Boost Volume")["boost"]["state"] == "raised"
    assert set(user.volume(volume_id)["Tags"]) == {"rewarm:managed", "rewarm:warm-since"}
    assert user.counters(volume_id).read_blocks >= sum(count for _, count in user.image.extents)
    assert user.report(done.restore_id)["volumes"][0]["boost"]["state"] == "lowered"
    said = "".join(map(texts, user.messages(done.restore_id)))
    assert f"and is lowered to io2 with {SLOW_IOPS} IOPS" in said


@pytest.mark.usefixtures("cold_volumes")
def test_a_rule_adopts_what_ebs_announces_and_nobody_asks_for(user: RestoreUser) -> None:
    name = unique("rule")
    rule = {"match": {"volumeTags": {"app": name}}, "mode": "act", "verify": PATIENT}
    user.call("PUT", f"/rules/{name}", rule)
    before = set(user.executions())
    volume_id = made_by_others(user, user.instance(), app=name)

    def begun() -> list[str]:
        return [one for one in user.executions() if one not in before and one.startswith("rule-")]

    user.wait_until(lambda: bool(begun()), lambda: "EBS has announced the volume, and no rule adopts it")
    (restore_id,) = begun()
    adopted = user.finished(restore_id)

    assert adopted.main.status == "SUCCEEDED", adopted.why
    assert user.counters(volume_id).read_blocks == sum(count for _, count in user.image.extents)
    assert list(user.volume(volume_id)["Tags"]) == ["app", "rewarm:warm-since"]
    record = user.call("GET", f"/restores/{restore_id}").body
    assert record["trigger"]["ruleName"] == name
    user.call("DELETE", f"/rules/{name}")
