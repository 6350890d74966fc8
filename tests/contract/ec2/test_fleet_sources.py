"""What a fleet is made of, by what the Region shows over AWS's own protocols."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.resources import ImageDevice
from local.aws.wire.inprocess import client
from rewarm.adapters.instances import Ec2Instances
from rewarm.adapters.snapshots import Ec2SnapshotCatalog
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.domain.errors import SnapshotNotUsableError
from rewarm.steps.fleet.fleet_sources import FleetItem, FleetSourcePorts, resolve_fleet
from tests.contract.answers import Aws
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab
from tests.support.fakes import FakeArtifacts

DEVICES = ("/dev/sdf", "/dev/sdg")
TAGS = {"app": "shop"}


def resolve(lab: Lab, source: dict[str, Any], **target: Any) -> list[FleetItem]:
    ec2 = client(lab.region, "ec2")
    ports = FleetSourcePorts(
        snapshots=Ec2SnapshotCatalog(ec2, client(lab.region, "ebs"), client(lab.region, "kms")),
        instances=Ec2Instances(ec2, client(lab.region, "ssm")),
        volumes=Ec2VolumeStore(ec2),
        artifacts=FakeArtifacts(),
        region=lab.settings.region,
    )
    return resolve_fleet({**source, "target": target or {"availabilityZone": ZONE}}, ports)


def ids(lab: Lab, source: dict[str, Any], **target: Any) -> list[str]:
    return [item.snapshot["snapshotId"] for item in resolve(lab, source, **target)]


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.instance()
    return lab


def attached(lab: Lab) -> list[str]:
    """Two volumes of the instance, with tags."""
    tags = [{"ResourceType": "volume", "Tags": [{"Key": key, "Value": TAGS[key]} for key in TAGS]}]
    return [
        lab.attached(lab.volume(Size=8, VolumeType="gp3", TagSpecifications=tags), device)
        for device in DEVICES
    ]


def taken_together(lab: Lab, volumes: list[str], ago: float) -> list[str]:
    """What CreateSnapshots does: one time and one description for all."""
    at = lab.region.now() - ago
    return [
        lab.snapshot(volume_id=volume, start_time=at, description=f"run {ago:g}", tags=TAGS)
        for volume in volumes
    ]


@pytest.mark.parametrize(
    "source",
    [
        {"instance": {"instanceId": INSTANCE, "devices": list(DEVICES)}},
        {"tags": {"volumes": TAGS}},
        {"tags": {"snapshots": TAGS}},
        {"tags": {"snapshots": {"app": "*"}}},
        {"tags": {"volumes": {"app": "*"}}},
    ],
)
def test_the_volumes_of_an_instance_come_from_the_newest_set_that_is_whole(
    lab: Lab, source: dict[str, Any]
) -> None:
    volumes = attached(lab)
    taken_together(lab, volumes, 900)
    whole = taken_together(lab, volumes, 600)
    taken_together(lab, volumes[:1], 300)
    items = resolve(lab, source, instanceId=INSTANCE, mode="replace")
    found = {item.snapshot["snapshotId"]: item for item in items}
    assert set(found) == set(whole)
    assert [found[one].target["device"] for one in whole] == list(DEVICES)
    assert {item.consistent_set for item in items} == {True}
    assert len({item.started_at for item in items}) == 1


def test_an_image_and_its_recovery_point_are_one(lab: Lab) -> None:
    snapshots = [lab.snapshot() for _ in DEVICES]
    devices = [ImageDevice(device, one, 8) for device, one in zip(DEVICES, snapshots, strict=True)]
    image_id = lab.region.add_image(name="backup", devices=devices)
    items = resolve(lab, {"image": {"imageId": image_id}})
    assert [item.snapshot["snapshotId"] for item in items] == snapshots
    assert items[0].volume == {"volumeType": "gp3", "sizeGib": 8}
    arn = f"arn:aws:ec2:{lab.settings.region}::image/{image_id}"
    assert ids(lab, {"recoveryPoint": {"arn": arn}}) == snapshots


def test_another_accounts_snapshot_can_be_listed_only_where_it_may_be_used(lab: Lab) -> None:
    shared = lab.snapshot(owner_id="999999999999", shared_with_me=True)
    public = lab.snapshot(owner_id="999999999999", public=True)
    theirs = lab.snapshot(owner_id="999999999999")
    items = [{"source": {"snapshotId": one}} for one in (shared, public, theirs)]
    assert ids(lab, {"items": items[:2]}) == [shared, public]
    told = rf"^source.items.2.source.snapshotId: {theirs} .* another account, .*createVolumePermission"
    with pytest.raises(SnapshotNotUsableError, match=told):
        resolve(lab, {"items": items})


def test_many_volumes_are_asked_about_200_at_a_time(lab: Lab) -> None:
    volumes = [f"vol-{number:017x}" for number in range(201)]
    newest = [lab.snapshot(volume_id=volume) for volume in volumes]
    assert ids(lab, {"items": [{"source": {"volumeId": volume}} for volume in volumes]}) == newest
    assert ids(lab, {"items": [{"source": {"snapshotId": one}} for one in newest]}) == newest


@pytest.mark.parametrize("kind", ["snapshot", "volume", "instance"])
def test_a_call_has_at_most_200_filter_values_and_asks_for_pages(kind: str) -> None:
    names = [f"vol-{number:017x}" for number in range(401)]
    if kind == "volume":
        ec2 = Aws("ec2").on("DescribeVolumes", {"Volumes": []})
        assert list(Ec2VolumeStore(ec2.client).existing(names)) == []
        calls = ec2.params("DescribeVolumes")
    elif kind == "instance":
        ec2 = Aws("ec2").on("DescribeInstances", {"Reservations": []})
        assert list(Ec2Instances(ec2.client, Aws("ssm").client).existing(names)) == []
        calls = ec2.params("DescribeInstances")
    else:
        ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": []})
        catalog = Ec2SnapshotCatalog(ec2.client, Aws("ebs").client, Aws("kms").client)
        assert list(catalog.of_volumes(names)) == []
        calls = ec2.params("DescribeSnapshots")
        assert {tuple(call["OwnerIds"]) for call in calls} == {("self",)}
    assert [len(call["Filters"][0]["Values"]) for call in calls] == [200, 200, 1]
    named = "instance-id" if kind == "instance" else "volume-id"
    assert {call["Filters"][0]["Name"] for call in calls} == {named}
    assert all(call["MaxResults"] >= 500 for call in calls)


def test_listed_snapshots_are_looked_for_among_those_that_may_be_restored() -> None:
    ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": []})
    catalog = Ec2SnapshotCatalog(ec2.client, Aws("ebs").client, Aws("kms").client)
    assert list(catalog.restorable(["snap-0123456789abcdef0"])) == []
    (call,) = ec2.params("DescribeSnapshots")
    assert call["RestorableByUserIds"] == ["self"]
    assert call["Filters"] == [{"Name": "snapshot-id", "Values": ["snap-0123456789abcdef0"]}]


@pytest.mark.parametrize(
    ("fields", "are_copies"),
    [
        ([{"VolumeId": "vol-0123456789abcdef0", "TransferType": "standard"}], [False]),
        ([{"VolumeId": "vol-0123456789abcdef0", "TransferType": "time-based"}], [True]),
        ([{"VolumeId": "vol-ffffffff", "TransferType": "standard"}], [True]),
    ],
)
def test_a_copy_is_told_from_what_a_volume_gave(fields: list[dict[str, Any]], are_copies: list[bool]) -> None:
    lab = Lab()
    shown = lab.ec2("DescribeSnapshots", SnapshotIds=[lab.snapshot(tags=TAGS)])["Snapshots"][0]
    ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": [{**shown, **each} for each in fields]})
    found = Ec2SnapshotCatalog(ec2.client, Aws("ebs").client, Aws("kms").client)
    assert [one.is_copy for one in found.with_tags(TAGS)] == are_copies
