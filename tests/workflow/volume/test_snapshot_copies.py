"""A snapshot of another Region, in the fast lab: copied, restored, and the copy gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from local.soak.lab.lab import FastLab

Json = dict[str, Any]
REGION = "eu-west-1"
KEY = f"arn:aws:kms:{REGION}:123456789012:key/11111111-2222-3333-4444-555555555555"


@pytest.fixture
def lab() -> Iterator[FastLab]:
    with FastLab(seed=7) as lab:
        yield lab


def request(lab: FastLab, source: Json, **more: Json) -> Json:
    instance_id = lab.region.add_instance(instance_type="m5.large")
    return {"source": {"region": REGION, **source}, "target": {"instanceId": instance_id}, **more}


def foreign(lab: FastLab, **fields: Any) -> str:
    neighbour = lab.region.neighbour(REGION)
    return neighbour.add_snapshot(size_gib=16, extents=[(0, 8 * 2_048)], **fields)


def restored(lab: FastLab, body: Json) -> tuple[str, Json]:
    restore_id = lab.start(body)
    lab.run(lambda: status(lab, restore_id) in {"ready", "failed", "cancelled"}, most_seconds=3 * 86_400)
    lab.pass_time(600)
    return restore_id, lab.api("GET", f"/restores/{restore_id}")[1]


def status(lab: FastLab, restore_id: str) -> str:
    return str(lab.api("GET", f"/restores/{restore_id}")[1].get("status"))


def copies(lab: FastLab) -> list[Json]:
    found: list[Json] = lab.region.call("ec2", "DescribeSnapshots", {"OwnerIds": ["self"]})["Snapshots"]
    return found


def made(lab: FastLab) -> list[Json]:
    """Volumes of the restore; the instance has a root volume beside them."""
    ours = {"Filters": [{"Name": "tag-key", "Values": ["rewarm:restore-id"]}]}
    found: list[Json] = lab.region.call("ec2", "DescribeVolumes", ours)["Volumes"]
    return found


def test_a_snapshot_of_another_region_is_copied_and_the_copy_deleted(lab: FastLab) -> None:
    snapshot_id = foreign(lab, encrypted=True, kms_key_id=KEY)
    body = request(
        lab, {"snapshotId": snapshot_id}, objective={"strategy": "warm-up-agent", "readyWithinMinutes": 120}
    )
    _, done = restored(lab, body)
    assert done["status"] == "ready", done
    plan = done["plans"][0]["plan"]
    assert plan["copyMinutes"] in {15, 30, 60}
    assert plan["phases"]["copy"][0] == 60 * plan["copyMinutes"]
    assert [part["item"] for part in plan["costParts"]][:2] == [
        "Time-based snapshot copy",
        f"Data transfer from {REGION}",
    ]
    assert copies(lab) == []
    (volume,) = made(lab)
    assert volume["Encrypted"]


def test_a_restore_that_is_cancelled_while_it_copies_leaves_nothing(lab: FastLab) -> None:
    body = request(lab, {"snapshotId": foreign(lab, volume_id="vol-0123456789abcdef0")})
    restore_id = lab.start(body)
    assert lab.run(lambda: bool(copies(lab)), most_seconds=3_600)
    assert {"Key": "rewarm:lineage", "Value": "vol-0123456789abcdef0"} in copies(lab)[0]["Tags"]
    lab.pass_time(300)
    assert lab.api("DELETE", f"/restores/{restore_id}")[0] == 202
    lab.run(lambda: status(lab, restore_id) == "cancelled", most_seconds=3_600)
    lab.pass_time(1_800)
    assert copies(lab) == []
    assert made(lab) == []


def test_a_key_that_may_not_be_used_is_refused_before_anything_is_made(lab: FastLab) -> None:
    snapshot_id = foreign(lab, encrypted=True, kms_key_id=KEY)
    lab.region.neighbour(REGION).put_key(KEY, allowed=False)
    code, answer = lab.api("POST", "/restores", request(lab, {"snapshotId": snapshot_id}))
    assert code >= 400
    assert "its policy must allow this account kms:DescribeKey" in str(answer)
    assert copies(lab) == []
