"""What each kind of source makes of a fleet."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from rewarm.domain.errors import (
    DeviceInUseError,
    InvalidRequestError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
    TargetNotFoundError,
    TargetNotUsableError,
)
from rewarm.domain.model import Attachment, ImageVolume, Volume, VolumeSettings
from rewarm.domain.snapshots import BinnedSnapshot
from rewarm.steps.fleet.fleet_sources import FleetItem, FleetSourcePorts, resolve_fleet
from tests.support.builders import INSTANCE_ID, NOW, ZONE, instance, snapshot
from tests.support.fakes import FakeArtifacts, FakeInstances, FakeSnapshots, FakeVolumes

OTHER_ID = "i-0fedcba9876543210"
IMAGE_ID = "ami-0123456789abcdef0"
TO_ZONE = {"availabilityZone": ZONE}
VOLUMES = [f"vol-{number:017x}" for number in range(1, 4)]


class World:
    """An account with snapshots, volumes and instances."""

    def __init__(self):
        self.snapshots = FakeSnapshots()
        self.volumes = FakeVolumes(NOW)
        self.instances = FakeInstances()
        self.instances.add(instance())

    def take(self, volume_id, hours, **changes):
        """A snapshot of a volume, so many hours old."""
        number = len(self.snapshots.snapshots) + 1
        one = snapshot(
            f"snap-{number:017x}", volume_id=volume_id, started_at=NOW - timedelta(hours=hours), **changes
        )
        return self.snapshots.add(one).snapshot_id

    def volume(self, volume_id, instance_id=None, device="/dev/sdf", **tags):
        attachments = () if instance_id is None else (Attachment(instance_id, device, "attached"),)
        self.volumes.volumes[volume_id] = Volume(
            volume_id, "available", ZONE, VolumeSettings("gp3", 100, tags=tags), None, None, attachments, NOW
        )

    def resolve(self, source, target=TO_ZONE, **parts):
        ports = FleetSourcePorts(
            snapshots=self.snapshots,
            instances=self.instances,
            volumes=self.volumes,
            artifacts=FakeArtifacts(),
            region="ap-northeast-1",
        )
        return resolve_fleet({**source, "target": target, **parts}, ports)

    def ids(self, source, **parts):
        return [item.snapshot["snapshotId"] for item in self.resolve(source, **parts)]


@pytest.fixture
def world():
    return World()


class TestInstance:
    SOURCE = {"instance": {"instanceId": OTHER_ID}}

    @pytest.fixture
    def world(self):
        world = World()
        devices = dict(zip(("/dev/sda1", "/dev/sdf", "/dev/sdg"), VOLUMES, strict=True))
        world.instances.add(instance(OTHER_ID, devices=devices))
        return world

    def test_the_newest_set_that_is_whole_is_taken_in_the_order_of_the_devices(self, world):
        whole = [world.take(volume_id, 5, description="nightly") for volume_id in VOLUMES]
        world.take(VOLUMES[0], 1)
        items = world.resolve(self.SOURCE, volume={"volumeType": "io2", "iops": 500})
        assert [item.snapshot for item in items] == [{"snapshotId": name} for name in whole]
        assert items[0] == FleetItem(
            snapshot={"snapshotId": whole[0]},
            target=TO_ZONE,
            volume={"volumeType": "io2", "iops": 500},
            started_at="2026-11-20T22:00:00Z",
            because="the newest usable set: 3 snapshots of one CreateSnapshots call at 2026-11-20 22:00 UTC",
            consistent_set=True,
        )

    def test_without_a_whole_set_the_newest_of_each_is_taken_and_the_fleet_says_so(self, world):
        found = [world.take(volume_id, hours) for hours, volume_id in enumerate(VOLUMES, 1)]
        items = world.resolve(self.SOURCE)
        assert [item.snapshot["snapshotId"] for item in items] == found
        assert {item.consistent_set for item in items} == {False}

    def test_a_point_in_time_gives_the_set_before_it(self, world):
        before = [world.take(volume_id, 50) for volume_id in VOLUMES]
        for volume_id in VOLUMES:
            world.take(volume_id, 5)
        at = "2026-11-20T03:00:00Z"
        assert world.ids({**self.SOURCE, "at": at}) == before
        with pytest.raises(
            SnapshotNotFoundError, match=r"^source.instance.instanceId: no snapshot of vol-.* is as old as"
        ):
            world.resolve({**self.SOURCE, "at": "2025-01-01T00:00:00Z"})

    def test_device_names_are_kept_on_an_instance_where_they_can_be(self, world):
        for volume_id in VOLUMES:
            world.take(volume_id, 5)
        items = world.resolve(self.SOURCE, target={"instanceId": INSTANCE_ID})
        assert [item.target["device"] for item in items] == ["/dev/sdh", "/dev/sdf", "/dev/sdg"]
        some = {"instance": {"instanceId": OTHER_ID, "devices": ["/dev/sdg", "/dev/sdf"]}}
        items = world.resolve(some, target={"instanceId": INSTANCE_ID})
        assert [item.target["device"] for item in items] == ["/dev/sdf", "/dev/sdg"]

    def test_errors_name_the_field(self, world):
        with pytest.raises(TargetNotFoundError, match=r"^source.instance.instanceId: "):
            world.resolve({"instance": {"instanceId": "i-0aaaaaaaaaaaaaaaa"}})
        world.instances.add(replace(world.instances.get(OTHER_ID), devices={}))
        with pytest.raises(InvalidRequestError, match=r"^source.instance.instanceId: .* has no EBS volumes"):
            world.resolve(self.SOURCE)

    def test_a_volume_without_a_completed_snapshot_is_named_with_the_reasons(self, world):
        world.take(VOLUMES[0], 5)
        world.take(VOLUMES[1], 5, state="pending", progress_percent=37)
        world.take(VOLUMES[2], 5)
        told = rf"^source.instance.instanceId: none of the snapshots of {VOLUMES[1]} .* pending \(37 % done\)"
        with pytest.raises(SnapshotNotUsableError, match=told):
            world.resolve(self.SOURCE)

    def test_a_volume_without_any_snapshot_is_named_with_what_the_recycle_bin_has_of_it(self, world):
        for volume_id in VOLUMES[:2]:
            world.take(volume_id, 5)
        with pytest.raises(SnapshotNotFoundError, match=f"no snapshot of {VOLUMES[2]} belongs to this"):
            world.resolve(self.SOURCE)
        gone = BinnedSnapshot("snap-0bbbbbbbbbbbbbbbb", VOLUMES[2], NOW, NOW + timedelta(days=1))
        world.snapshots.binned.append(gone)
        with pytest.raises(SnapshotNotUsableError, match=r"restore-snapshot-from-recycle-bin"):
            world.resolve(self.SOURCE)


class TestImage:
    def test_each_mapping_is_one_volume_with_its_device_name(self, world):
        devices = {name: world.take(None, 5) for name in ("/dev/xvda", "/dev/sdf")}
        world.snapshots.images[IMAGE_ID] = devices
        items = world.resolve({"image": {"imageId": IMAGE_ID}}, target={"instanceId": INSTANCE_ID})
        assert [(item.snapshot["snapshotId"], item.target["device"]) for item in items] == [
            (devices["/dev/sdf"], "/dev/sdf"),
            (devices["/dev/xvda"], "/dev/sdg"),
        ]
        assert [item.consistent_set for item in items] == [True, True]
        assert items[1].because == f"{IMAGE_ID} has it for /dev/xvda"

    @pytest.mark.parametrize(
        ("settings", "asked", "volume"),
        [
            (("gp3", 200, 4_000, 250), {}, ("gp3", 200, 4_000, 250)),
            (("gp3", 200, 4_000, 250), {"iops": 5_000}, ("gp3", 200, 5_000, 250)),
            (("gp3", 200, 4_000, 250), {"volumeType": "io2", "iops": 900}, ("io2", 200, 900, None)),
            (("gp2", 200, 600, None), {}, ("gp2", 200, None, None)),
            (("io1", 200, 600, None), {"sizeGib": 300}, ("io1", 300, 600, None)),
            (("standard", 200, None, None), {"iops": 3_000}, (None, None, 3_000, None)),
            ((None, None, None, None), {}, (None, None, None, None)),
        ],
    )
    def test_a_volume_is_what_the_image_says_unless_the_request_says_otherwise(
        self, world, settings, asked, volume
    ):
        one = world.take(None, 5)
        world.snapshots.images[IMAGE_ID] = {"/dev/sdf": one}
        world.snapshots.image_volumes[one] = ImageVolume(one, *settings)
        (item,) = world.resolve({"image": {"imageId": IMAGE_ID}}, volume=asked)
        names = ("volumeType", "sizeGib", "iops", "throughputMibS")
        assert item.volume == {
            name: value for name, value in zip(names, volume, strict=True) if value is not None
        }

    def test_a_recovery_point_of_an_instance_is_an_image_and_one_of_a_volume_a_snapshot(self, world):
        one = world.take(None, 5)
        world.snapshots.images[IMAGE_ID] = {"/dev/xvda": one}
        for resource in (f"image/{IMAGE_ID}", f"snapshot/{one}"):
            arn = f"arn:aws:ec2:ap-northeast-1::{resource}"
            assert world.ids({"recoveryPoint": {"arn": arn}}) == [one]

    def test_errors_name_the_field(self, world):
        with pytest.raises(SnapshotNotFoundError, match=r"^source.image.imageId: "):
            world.resolve({"image": {"imageId": IMAGE_ID}})
        world.snapshots.images[IMAGE_ID] = {"/dev/xvda": "snap-0aaaaaaaaaaaaaaaa"}
        with pytest.raises(SnapshotNotFoundError, match=r"^source.image.imageId: .*snap-0aaaaaaaaaaaaaaaa"):
            world.resolve({"image": {"imageId": IMAGE_ID}})
        arn = f"arn:aws:ec2:ap-northeast-1::image/{IMAGE_ID}"
        with pytest.raises(SnapshotNotFoundError, match=r"^source.recoveryPoint.arn: "):
            world.resolve({"recoveryPoint": {"arn": arn}})
        with pytest.raises(InvalidRequestError, match=r"^source.image.devices: .* has volumes at /dev/xvda"):
            world.resolve({"image": {"imageId": IMAGE_ID, "devices": ["/dev/sdz"]}})


class TestTags:
    def test_of_tagged_volumes_the_newest_snapshot_each_in_the_order_of_their_ids(self, world):
        for volume_id in reversed(VOLUMES):
            world.volume(volume_id, app="shop")
        world.volume("vol-0cccccccccccccccc", app="bakery")
        world.take(VOLUMES[0], 9)
        newest = [world.take(volume_id, hours) for hours, volume_id in enumerate(VOLUMES, 1)]
        items = world.resolve({"tags": {"volumes": {"app": "shop"}}})
        assert [item.snapshot["snapshotId"] for item in items] == newest
        assert [item.consistent_set for item in items] == [None] * 3

    @pytest.mark.parametrize("kind", ["volumes", "snapshots"])
    def test_the_volumes_of_an_instance_come_from_one_set(self, world, kind):
        tags = {"app": "shop"}
        for volume_id, device in zip(VOLUMES[:2], ("/dev/sdf", "/dev/sdg"), strict=True):
            world.volume(volume_id, OTHER_ID, device, **tags)
        world.volume(VOLUMES[2], **tags)
        together = [world.take(volume_id, 5, tags=tags) for volume_id in VOLUMES[:2]]
        world.take(VOLUMES[0], 1, tags=tags)
        alone = world.take(VOLUMES[2], 2, tags=tags)
        items = world.resolve({"tags": {kind: tags}}, target={"instanceId": INSTANCE_ID})
        assert [item.snapshot["snapshotId"] for item in items] == [*together, alone]
        assert [item.consistent_set for item in items] == [True, True, None]
        assert [item.target["device"] for item in items] == ["/dev/sdf", "/dev/sdg", "/dev/sdh"]

    def test_tagged_snapshots_need_no_volume_that_still_exists(self, world):
        tags = {"app": "shop"}
        world.take(VOLUMES[0], 9, tags=tags)
        newest = [world.take(volume_id, 3, tags=tags) for volume_id in VOLUMES]
        world.take(VOLUMES[0], 1)
        world.take(VOLUMES[1], 1, tags=tags, state="error")
        assert world.ids({"tags": {"snapshots": tags}}) == newest

    def test_of_copies_a_tag_says_of_which_volume_they_are(self, world):
        tags = {"app": "shop"}

        def copied(hours, **more):
            return world.take("vol-ffffffff", hours, is_copy=True, tags=tags | more)

        copied(9, disk="data")
        data, log = copied(2, disk="data"), copied(3, disk="log")
        copied(1)
        source = {"tags": {"snapshots": tags, "volumeTag": "disk"}}
        assert world.ids(source) == [data, log]
        with pytest.raises(InvalidRequestError, match=r"^source.tags.volumeTag: is missing: snap-.* a copy"):
            world.resolve({"tags": {"snapshots": tags}})

    @pytest.mark.parametrize("kind", ["volumes", "snapshots"])
    def test_tags_that_nothing_has_are_refused(self, world, kind):
        with pytest.raises(InvalidRequestError, match=rf"^source.tags.{kind}: nothing matches"):
            world.resolve({"tags": {kind: {"app": "shop"}}})


class TestItems:
    def test_the_list_keeps_its_order_and_each_item_may_say_its_own(self, world):
        old, new = world.take(VOLUMES[0], 9), world.take(VOLUMES[0], 5)
        items = world.resolve(
            {
                "items": [
                    {"source": {"volumeId": VOLUMES[0]}},
                    {"source": {"snapshotId": old}, "target": {"instanceId": INSTANCE_ID, "device": None}},
                    {"source": {"snapshotId": old}, "volume": {"sizeGib": 200}},
                ]
            },
            volume={"volumeType": "gp3", "sizeGib": 100},
        )
        assert [item.snapshot["snapshotId"] for item in items] == [new, old, old]
        assert [item.target for item in items] == [TO_ZONE, {"instanceId": INSTANCE_ID}, TO_ZONE]
        assert [item.volume for item in items[1:]] == [
            {"volumeType": "gp3", "sizeGib": 100},
            {"sizeGib": 200},
        ]

    def test_an_item_may_name_its_own_time_or_tags(self, world):
        times = [world.take(VOLUMES[0], hours) for hours in (50, 30, 10)]
        tagged = world.take(VOLUMES[1], 40, tags={"app": "shop"})
        world.take(VOLUMES[1], 5, tags={"app": "shop"})
        source = {
            "at": "2026-11-20T03:00:00Z",
            "items": [
                {"source": {"volumeId": VOLUMES[0]}},
                {"source": {"volumeId": VOLUMES[0], "at": "2026-11-19T03:00:00Z"}},
                {"source": {"volumeId": VOLUMES[0], "at": "latest"}},
                {"source": {"tags": {"app": "shop"}}},
            ],
        }
        assert world.ids(source) == [times[1], times[0], times[2], tagged]

    @pytest.mark.parametrize(
        ("wrong", "field", "error"),
        [
            ({"snapshotId": "snap-0aaaaaaaaaaaaaaaa"}, "snapshotId", SnapshotNotFoundError),
            ({"volumeId": "vol-0aaaaaaaaaaaaaaaa"}, "volumeId", SnapshotNotFoundError),
            ({"tags": {"app": "bakery"}}, "tags", SnapshotNotFoundError),
        ],
    )
    def test_an_error_names_the_item(self, world, wrong, field, error):
        good = {"source": {"snapshotId": world.take(VOLUMES[0], 9)}}
        with pytest.raises(error, match=rf"^source.items.2.source.{field}: "):
            world.resolve({"items": [good, good, {"source": wrong}]})

    def test_a_snapshot_that_cannot_be_restored_is_refused(self, world):
        one = world.take(VOLUMES[0], 9, storage_tier="archive")
        with pytest.raises(SnapshotNotUsableError, match=r"^source.items.0.source.snapshotId: .*archived"):
            world.resolve({"items": [{"source": {"snapshotId": one}}]})

    def test_two_items_cannot_have_one_device(self, world):
        item = {
            "source": {"snapshotId": world.take(VOLUMES[0], 9)},
            "target": {"instanceId": INSTANCE_ID, "device": "/dev/sdf"},
        }
        with pytest.raises(InvalidRequestError, match=r'^source.items.1.target.device: found "/dev/sdf"'):
            world.resolve({"items": [item, item]})


class TestTarget:
    def items(self, world, count):
        return {"items": [{"source": {"snapshotId": world.take(VOLUMES[0], 9)}} for _ in range(count)]}

    def instance_of(self, world, devices):
        for volume_id in devices.values():
            world.take(volume_id, 5)
        world.instances.add(instance(OTHER_ID, devices=devices))
        return {"instance": {"instanceId": OTHER_ID}}

    def test_a_target_that_cannot_be_used_is_refused_before_anything_is_made(self, world):
        with pytest.raises(TargetNotFoundError, match=r"^target.availabilityZone: "):
            world.resolve(self.items(world, 1), target={"availabilityZone": "eu-west-1a"})
        with pytest.raises(TargetNotFoundError, match=r"^target.instanceId: "):
            world.resolve(self.items(world, 1), target={"instanceId": "i-0aaaaaaaaaaaaaaaa"})
        world.instances.add(instance(OTHER_ID, state="stopped"))
        with pytest.raises(TargetNotUsableError, match=r"^target.instanceId: .* is stopped"):
            world.resolve(self.items(world, 1), target={"instanceId": OTHER_ID})

    @pytest.mark.parametrize("part", [{"device": "/dev/sdf"}, {"bringOnline": True, "mountPath": "E:"}])
    def test_what_only_one_volume_can_have_is_refused_for_several(self, world, part):
        source = self.instance_of(world, {"/dev/sdf": VOLUMES[0], "/dev/sdg": VOLUMES[1]})
        with pytest.raises(InvalidRequestError, match=rf"^target.{list(part)[-1]}: found .* for 2 volumes"):
            world.resolve(source, target={"instanceId": INSTANCE_ID, **part})

    def test_one_volume_goes_where_the_request_says(self, world):
        source = self.instance_of(world, {"/dev/sdf": VOLUMES[0]})
        (item,) = world.resolve(source, target={"instanceId": OTHER_ID, "device": "/dev/sdk"})
        assert item.target == {"instanceId": OTHER_ID, "device": "/dev/sdk"}
        with pytest.raises(DeviceInUseError, match=r"^target.device: /dev/sdf already holds"):
            world.resolve(source, target={"instanceId": OTHER_ID, "device": "/dev/sdf"})

    def test_each_volume_replaces_the_one_at_its_own_device(self, world):
        devices = {"/dev/sdf": VOLUMES[0], "/dev/sdg": VOLUMES[1]}
        source = self.instance_of(world, devices)
        items = world.resolve(source, target={"instanceId": OTHER_ID, "mode": "replace"})
        assert [item.target for item in items] == [
            {"instanceId": OTHER_ID, "mode": "replace", "device": device} for device in devices
        ]
        with pytest.raises(InvalidRequestError, match=r"^target.device: nothing is attached at /dev/sdf"):
            world.resolve(source, target={"instanceId": INSTANCE_ID, "mode": "replace"})

    def test_two_volumes_cannot_replace_the_same_one(self, world):
        source = self.instance_of(world, {"/dev/sdf": VOLUMES[0], "xvdf": VOLUMES[1]})
        with pytest.raises(InvalidRequestError, match=r'^target.device: found "/dev/sdf" on'):
            world.resolve(source, target={"instanceId": OTHER_ID, "mode": "replace"})


def test_a_spread_wider_than_asked_for_is_refused(world):
    items = {"items": [{"source": {"snapshotId": world.take(VOLUMES[0], hours)}} for hours in (2, 1)]}
    assert len(world.resolve({**items, "maxSpreadSeconds": 3_600})) == 2
    with pytest.raises(InvalidRequestError, match=r"^source.maxSpreadSeconds: allowed are 3,599 s"):
        world.resolve({**items, "maxSpreadSeconds": 3_599})


@pytest.mark.parametrize("kind", ["volumes", "snapshots", "items"])
def test_of_ten_thousand_volumes_none_is_asked_about_alone(world, kind, monkeypatch):
    tags = {"app": "shop"}
    names = [f"vol-{number:017x}" for number in range(10_000)]
    for number, volume_id in enumerate(names):
        world.volume(volume_id, f"i-{number // 4:017x}", f"/dev/sd{'fghi'[number % 4]}", **tags)
        world.take(volume_id, 1, tags=tags)
    for port in (FakeSnapshots, FakeVolumes, FakeInstances):
        monkeypatch.setattr(port, "get", None)
    monkeypatch.setattr(FakeSnapshots, "of_volume", None)
    listed = {"items": [{"source": {"volumeId": name}} for name in names]}
    items = world.resolve(listed if kind == "items" else {"tags": {kind: tags}})
    assert len({item.snapshot["snapshotId"] for item in items}) == 10_000
