"""Tags are looked for as they are: EC2's wildcards have no meaning in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.aws.wire.inprocess import client
from rewarm.adapters.instances import Ec2Instances
from rewarm.adapters.snapshots import Ec2SnapshotCatalog
from rewarm.adapters.tags import tag_filters
from rewarm.adapters.volumes import Ec2VolumeStore
from tests.contract.answers import Aws
from tests.local.aws.region.region_lab import INSTANCE, Lab

TEXT = st.text(st.sampled_from("*?\\ab [].^$"), max_size=6)
LOOK_ALIKES = [
    # what is asked for, what would fit it as a wildcard
    ("prod*", "production"),
    ("pro?", "prod"),
    ("pro?", "pro"),
    ("*", "anything"),
    ("a\\*", "a*"),
    ("a\\b", "ab"),
    ("[ab]", "a"),
    ("Prod", "prod"),
    (("*" * 200), "*" * 199),
    (("x" * 255 + "y"), "x" * 255 + "z"),
]


def snapshots_of(lab: Lab) -> Ec2SnapshotCatalog:
    return Ec2SnapshotCatalog(*(client(lab.region, service) for service in ("ec2", "ebs", "kms")))


@pytest.mark.parametrize(("asked", "other"), LOOK_ALIKES)
def test_what_looks_alike_is_not_found(asked: str, other: str) -> None:
    lab = Lab()
    wanted = {"app": asked}
    specification = [
        {"ResourceType": "volume", "Tags": [{"Key": "app", "Value": value}]} for value in (asked, other)
    ]
    lab.instance(tags=wanted)
    lab.region.add_instance(tags={"app": other})
    mine = lab.snapshot(tags=wanted), lab.volume(Size=8, TagSpecifications=specification[:1])
    lab.snapshot(tags={"app": other})
    lab.volume(Size=8, TagSpecifications=specification[1:])
    ec2 = client(lab.region, "ec2")
    assert [found.snapshot_id for found in snapshots_of(lab).with_tags(wanted)] == [mine[0]]
    assert [found.volume_id for found in Ec2VolumeStore(ec2).with_tags(wanted)] == [mine[1]]
    found = Ec2Instances(ec2, client(lab.region, "ssm")).with_tags(wanted)
    assert [instance.instance_id for instance in found] == [INSTANCE]


@given(TEXT, TEXT)
def test_a_filter_finds_just_what_carries_the_tag(asked: str, other: str) -> None:
    lab = Lab()
    mine = lab.snapshot(tags={"app": asked})
    theirs = lab.snapshot(tags={"app": other})
    shown = lab.ec2("DescribeSnapshots", Filters=tag_filters({"app": asked}))["Snapshots"]
    wanted = {mine} | ({theirs} if other == asked else set())
    assert {snapshot["SnapshotId"] for snapshot in shown} == wanted
    assert {found.snapshot_id for found in snapshots_of(lab).with_tags({"app": asked})} == wanted


@given(st.text(st.sampled_from("*?\\x"), min_size=120, max_size=256))
def test_a_long_value_is_found_by_a_filter_of_255_characters(value: str) -> None:
    (filtered,) = tag_filters({"app": value})
    assert len(filtered["Values"][0]) <= 255
    lab = Lab()
    mine = lab.snapshot(tags={"app": value})
    assert [found.snapshot_id for found in snapshots_of(lab).with_tags({"app": value})] == [mine]


def test_any_value_is_asked_for_by_a_wildcard() -> None:
    lab = Lab()
    mine = lab.snapshot(tags={"app": "shop"})
    lab.snapshot(tags={"other": "shop"})
    assert tag_filters({"app": None}) == [{"Name": "tag:app", "Values": ["*"]}]
    assert [found.snapshot_id for found in snapshots_of(lab).with_tags({"app": None})] == [mine]


@pytest.mark.parametrize("shown", [{"app": "shopping"}, {"App": "shop"}, {}])
def test_an_answer_that_does_not_carry_the_tag_is_left_out(shown: dict[str, str]) -> None:
    """Whatever a filter may do, the tags in the answer decide."""
    listed: dict[str, Any] = {
        "SnapshotId": "snap-0123456789abcdef0", "State": "completed", "VolumeSize": 8, "StartTime": 0,
        "Tags": [{"Key": key, "Value": value} for key, value in shown.items()],
    }  # fmt: skip
    ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": [listed]})
    catalog = Ec2SnapshotCatalog(ec2.client, Aws("ebs").client, Aws("kms").client)
    assert list(catalog.with_tags({"app": "shop"})) == []
