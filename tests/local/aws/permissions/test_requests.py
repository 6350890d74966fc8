"""What calls of the block engine need."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.permissions.policies import Need
from local.aws.permissions.region_state import RegionState
from local.aws.permissions.requests import Asked, Place, needs
from tests.local.aws.region.region_lab import INSTANCE, Lab

PLACE = Place("123456789012", "us-east-1")
SNAPSHOT = "arn:aws:ec2:us-east-1::snapshot/"
KEY = "arn:aws:kms:us-east-1:123456789012:key/0"
VIA = {"kms:viaservice": "ec2.us-east-1.amazonaws.com"}
PLAIN, LOCKED = "snap-0000000000000aaaa", "snap-0000000000000bbbb"


def needed(lab: Lab, service: str, operation: str, **params: Any) -> list[Need]:
    return needs(Asked(service, operation, params, PLACE, RegionState(lab.region)))


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("ListChangedBlocks", {"FirstSnapshotId": PLAIN, "SecondSnapshotId": LOCKED}),
        ("GetSnapshotBlock", {"SnapshotId": LOCKED, "BlockIndex": 0, "BlockToken": "x"}),
    ],
)
def test_who_reads_blocks_needs_each_snapshot_and_its_key(operation: str, params: dict[str, Any]) -> None:
    lab = Lab()
    lab.snapshot(snapshot_id=PLAIN, tags={"team": "orders"})
    lab.snapshot(snapshot_id=LOCKED, encrypted=True, kms_key_id=KEY)
    plain = Need(f"ebs:{operation}", SNAPSHOT + PLAIN, {"aws:resourcetag/team": "orders"})
    locked = [Need(f"ebs:{operation}", SNAPSHOT + LOCKED), Need("kms:Decrypt", KEY, VIA)]
    assert needed(lab, "ebs", operation, **params) == [
        *([plain] if "FirstSnapshotId" in params else []), *locked
    ]  # fmt: skip


def test_who_replaces_a_root_volume_needs_the_instance_the_task_and_the_volume() -> None:
    lab = Lab()
    lab.instance()
    volume = lab.region.add_volume(size_gib=8)
    found = needed(lab, "ec2", "CreateReplaceRootVolumeTask", InstanceId=INSTANCE, VolumeId=volume)
    here = "arn:aws:ec2:us-east-1:123456789012:"
    assert {(one.action, one.resource) for one in found} == {
        ("ec2:CreateReplaceRootVolumeTask", f"{here}{kind}")
        for kind in (f"instance/{INSTANCE}", f"volume/{volume}", "replace-root-volume-task/*")
    }
