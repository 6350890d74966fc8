"""Snapshots on an Outpost and in a Local Zone make no volumes here, however they are asked for.

EBS user guide, "Amazon EBS local snapshots on Outposts" and "Local snapshots in Local Zones".
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from local.aws.region import ApiError, Region
from local.aws.region.resources import ImageDevice
from local.aws.wire.inprocess import client
from rewarm.adapters.instances import Ec2Instances
from rewarm.adapters.snapshots import Ec2SnapshotCatalog
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.blocks.rewind_facts import newest_of_lineage
from rewarm.domain.errors import SnapshotNotUsableError
from rewarm.steps.fleet.fleet_sources import FleetSourcePorts, resolve_fleet
from rewarm.steps.select.selection import assign_volumes
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab
from tests.support.fakes import FakeArtifacts

OUTPOST = {"outpost_arn": "arn:aws:outposts:us-east-1:123456789012:outpost/op-0123456789abcdef0"}
LOCAL_ZONE = {"availability_zone": "us-east-1-atl-2a"}
COPY = r"aws ec2 copy-snapshot --source-snapshot-id \S+ --source-region us-east-1"
REASONS = {
    "outpost": (OUTPOST, "it is stored on the Outpost op-0123456789abcdef0, and makes volumes on that"),
    "local-zone": (LOCAL_ZONE, f"it is stored in us-east-1-atl-2a, .* {COPY}"),
}
TAGS = {"app": "shop"}
DEVICES = ("/dev/sdf", "/dev/sdg")


@pytest.fixture
def lab() -> Lab:
    return Lab()


def catalog(region: Region) -> Ec2SnapshotCatalog:
    clients = (client(region, service) for service in ("ec2", "ebs", "kms"))
    return Ec2SnapshotCatalog(*clients, elsewhere=lambda name: catalog(region.neighbour(name)))


def ports(lab: Lab) -> FleetSourcePorts:
    ec2 = client(lab.region, "ec2")
    return FleetSourcePorts(
        snapshots=catalog(lab.region),
        instances=Ec2Instances(ec2, client(lab.region, "ssm")),
        volumes=Ec2VolumeStore(ec2),
        artifacts=FakeArtifacts(),
        region=lab.settings.region,
    )


def assign(lab: Lab, source: dict[str, Any]) -> list[VolumeAssignment]:
    body = parse_restore_request({"source": source, "target": {"availabilityZone": ZONE}})
    return assign_volumes(body, restore_id="restore-1", ports=ports(lab)).volumes


def fleet(lab: Lab, source: dict[str, Any]) -> list[str]:
    found = resolve_fleet({**source, "target": {"availabilityZone": ZONE}}, ports(lab))
    return [item.snapshot["snapshotId"] for item in found]


def volumes_of_instance(lab: Lab) -> list[str]:
    tags = [{"ResourceType": "volume", "Tags": [{"Key": key, "Value": TAGS[key]} for key in TAGS]}]
    lab.instance()
    return [lab.attached(lab.volume(Size=8, TagSpecifications=tags), device) for device in DEVICES]


def taken(lab: Lab, volumes: list[str], ago: float, **fields: Any) -> list[str]:
    """A snapshot of each volume, by one CreateSnapshots call."""
    at = lab.region.now() - ago
    return [
        lab.snapshot(volume_id=name, start_time=at, description=str(ago), tags=TAGS, **fields)
        for name in volumes
    ]


@pytest.mark.parametrize("place", REASONS.values(), ids=REASONS)
class TestEveryChoice:
    """The newest snapshots are elsewhere, those before them in the Region."""

    def test_a_volume_tags_an_instance_and_a_list(self, lab: Lab, place: Any) -> None:
        fields, reason = place
        volumes = volumes_of_instance(lab)
        here, elsewhere = taken(lab, volumes, 600), taken(lab, volumes, 300, **fields)
        one = volumes[0]
        asked: list[tuple[dict[str, Any], list[str]]] = [
            ({"volumeId": one}, here[:1]),
            ({"tags": TAGS}, [min(here)]),
            ({"instanceId": INSTANCE, "devices": list(DEVICES)}, here),
            ({"volumes": [{"volumeId": one}, {"snapshotId": here[1]}]}, here),
        ]
        for source, wanted in asked:
            found = assign(lab, source)
            assert [volume.snapshot_id for volume in found] == wanted, source
            passed = {each.snapshot_id: each.reason for each in found[0].passed_over}
            assert passed.keys() & set(elsewhere), source
            for name in passed.keys() & set(elsewhere):
                assert re.search(reason, passed[name]), source

    def test_a_fleet_of_each_kind(self, lab: Lab, place: Any) -> None:
        volumes = volumes_of_instance(lab)
        here = taken(lab, volumes, 600)
        taken(lab, volumes, 300, **place[0])
        asked: list[dict[str, Any]] = [
            {"instance": {"instanceId": INSTANCE, "devices": list(DEVICES)}},
            {"tags": {"volumes": TAGS}},
            {"tags": {"snapshots": TAGS}},
            {"items": [{"source": {"volumeId": name}} for name in volumes]},
        ]
        for source in asked:
            assert set(fleet(lab, source)) == set(here), source
        assert fleet(lab, {"items": [{"source": {"tags": TAGS}}]}) == [min(here)]

    def test_what_names_such_a_snapshot_is_refused(self, lab: Lab, place: Any) -> None:
        fields, reason = place
        snapshot_id = lab.snapshot(**fields)
        image = lab.region.add_image(name="backup", devices=[ImageDevice("/dev/sdf", snapshot_id, 8)])
        for source in (
            {"snapshotId": snapshot_id},
            {"imageId": image},
            {"volumes": [{"snapshotId": snapshot_id}]},
        ):
            with pytest.raises(SnapshotNotUsableError, match=reason):
                assign(lab, source)
        for source in (
            {"items": [{"source": {"snapshotId": snapshot_id}}]},
            {"image": {"imageId": image}},
        ):
            with pytest.raises(SnapshotNotUsableError, match=reason):
                fleet(lab, source)

    def test_where_there_is_no_other_it_is_refused_with_the_reason(self, lab: Lab, place: Any) -> None:
        fields, reason = place
        lab.snapshot(volume_id="vol-0123456789abcdef0", **fields)
        with pytest.raises(SnapshotNotUsableError, match=f"none of the snapshots .*{reason}"):
            assign(lab, {"volumeId": "vol-0123456789abcdef0"})

    def test_a_snapshot_of_another_region_to_copy(self, lab: Lab, place: Any) -> None:
        fields, reason = place
        snapshot_id = lab.region.neighbour("eu-west-1").add_snapshot(size_gib=8, **fields)
        with pytest.raises(SnapshotNotUsableError, match=reason):
            assign(lab, {"snapshotId": snapshot_id, "region": "eu-west-1"})

    def test_a_rewind_compares_with_none_of_them(self, lab: Lab, place: Any) -> None:
        name = "vol-0123456789abcdef0"
        (here,) = taken(lab, [name], 600)
        taken(lab, [name], 300, **place[0])
        found = newest_of_lineage(catalog(lab.region).of_volume(name), name)
        assert found is not None
        assert found.snapshot_id == here

    def test_an_adopted_volume_is_read_whole(self, lab: Lab, place: Any) -> None:
        fields, reason = place
        lab.instance()
        snapshot_id = lab.snapshot()
        volume_id = lab.attached(lab.volume(SnapshotId=snapshot_id))
        lab.region.change_snapshot(snapshot_id, **fields)
        body = parse_restore_request({"source": {"existing": {"volumeIds": [volume_id]}}})
        (found,) = assign_volumes(body, restore_id="restore-1", ports=ports(lab)).volumes
        assert re.search(f"cannot be listed: {reason}", found.unlisted_because or "")

    def test_ec2_makes_nothing_of_it_here(self, lab: Lab, place: Any) -> None:
        snapshot_id = lab.snapshot(**place[0])
        with pytest.raises(ApiError):
            lab.ec2("CreateVolume", SnapshotId=snapshot_id, AvailabilityZone=ZONE)
        with pytest.raises(ApiError):
            lab.region.call("ebs", "ListSnapshotBlocks", {"SnapshotId": snapshot_id})
        refused = lab.ec2(
            "EnableFastSnapshotRestores", SourceSnapshotIds=[snapshot_id], AvailabilityZones=[ZONE]
        )
        assert not refused.get("Successful")


def test_a_zone_of_the_region_is_no_reason(lab: Lab) -> None:
    """botocore's example of AvailabilityZone is us-west-1a, beside a Local Zone."""
    shown = lab.snapshot(availability_zone=ZONE)
    assert [volume.snapshot_id for volume in assign(lab, {"snapshotId": shown})] == [shown]
