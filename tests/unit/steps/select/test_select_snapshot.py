"""State Select Snapshot."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.values import LivingSource
from rewarm.domain.errors import (
    DeviceInUseError,
    InvalidRequestError,
    RestoreCancelledError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
    TargetNotFoundError,
    TargetNotUsableError,
)
from rewarm.domain.model import BLOCK_BYTES, GIB, Attachment, Extent, ImageVolume, Volume, VolumeSettings
from rewarm.steps.select.select_snapshot import SelectSnapshotEvent, SelectSnapshotPorts, select_snapshot
from rewarm.steps.select.selection import MOST_STARTED
from tests.contract import repository
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    TO_INSTANCE,
    TO_ZONE,
    ZONE,
    World,
    instance,
    request,
    snapshot,
)
from tests.support.wired import wired
from tests.support.worlds.recordings import keep

OTHER = "snap-0bbbbbbbbbbbbbbbb"


def select(world, body=None, **changes):
    event = SelectSnapshotEvent(restore_id=RESTORE_ID, now=NOW, request=request(body, **changes))
    return select_snapshot(
        event,
        wired(SelectSnapshotPorts, world, keeper=world.keeper()),
    ).volumes


class TestFirst:
    def test_blocks_up_to_the_volumes_end(self):
        last = {"startBlock": 204_799, "blockCount": 1}
        (volume,) = select(World(), warmUp={"first": [last]})
        assert volume.volume.size_gib * 2_048 == 204_800

    def test_blocks_beyond_the_volume_are_refused_before_it_is_made(self):
        extents = [{"startBlock": 0, "blockCount": 1}, {"startBlock": 204_799, "blockCount": 2}]
        found = r"^warmUp.first.1: found 2 blocks from block 204799; the volume has 204,800 blocks"
        with pytest.raises(InvalidRequestError, match=found):
            select(World(), warmUp={"first": extents})

    def test_several_volumes_are_refused(self):
        world = World()
        world.snapshots.images["ami-0123456789abcdef0"] = {"/dev/sdg": SNAPSHOT_ID, "/dev/sdh": SNAPSHOT_ID}
        first = {"first": [{"startBlock": 0, "blockCount": 1}]}
        with pytest.raises(InvalidRequestError, match=r"^warmUp.first: .* one volume, .* has 2$"):
            select(world, source={"imageId": "ami-0123456789abcdef0"}, warmUp=first)


def test_how_many_volumes_there_are_to_be_is_noted():
    world = World()
    world.table.put_new(RESTORE_ID, {})
    select(world)
    assert world.table.records[RESTORE_ID]["volumeCount"] == 1


class TestWhatChanged:
    """Blocks that the snapshot before has not, which are read first of a volume without a recording."""

    KEY = f"restores/{RESTORE_ID}/0/first.map"

    def world(self, changed=(5, 6, 70), *, written=1_000):
        world = World()
        world.snapshots.add(snapshot(), [Extent(0, written)])
        for age, each in ((2, OTHER), (3, "snap-0cccccccccccccccc")):
            world.snapshots.add(snapshot(each, started_at=NOW - timedelta(days=age)))
        world.blocks.differing[OTHER, SNAPSHOT_ID] = list(changed)
        return world

    def selected(self, world, **changes):
        (volume,) = select(world, **changes)
        assert (volume.changed is None) == (self.KEY not in world.artifacts.maps)
        return volume.changed

    def test_is_what_differs_from_the_newest_usable_snapshot_before(self):
        world = self.world()
        for name, changes in {"later": {"started_at": NOW}, "failed": {"state": "error"}}.items():
            at = {"started_at": NOW - timedelta(hours=30)} | changes
            world.snapshots.add(snapshot(f"snap-{name}", **at))
        changed = self.selected(world, source={"snapshotId": SNAPSHOT_ID})
        assert (changed.since_snapshot_id, changed.blocks) == (OTHER, 3)
        assert world.artifacts.maps[self.KEY] == [Extent(5, 2), Extent(70, 1)]

    def test_is_no_order_where_it_is_more_than_a_tenth(self):
        assert self.selected(self.world(range(100))).blocks == 100
        assert self.selected(self.world(range(101))) is None
        assert self.selected(self.world(())) is None

    def test_is_listed_once_for_all_volumes_of_a_snapshot(self):
        world, image = self.world(), "ami-0123456789abcdef0"
        world.snapshots.images[image] = {"/dev/sdg": SNAPSHOT_ID, "/dev/sdh": SNAPSHOT_ID}
        volumes = select(world, source={"imageId": image})
        assert [volume.changed.blocks for volume in volumes] == [3, 3]
        keys = [f"restores/{RESTORE_ID}/{index}/first.map" for index in (0, 1)]
        assert [world.artifacts.maps[key] for key in keys] == [[Extent(5, 2), Extent(70, 1)]] * 2
        assert world.blocks.requests == 1

    def test_is_looked_for_no_longer_than_people_wait(self):
        world = self.world(range(10_000), written=1_000_000)
        world.blocks.page = 100
        assert self.selected(world).blocks == 4_000
        assert world.blocks.requests == 40

    @pytest.mark.parametrize(
        "changes",
        [
            {"warmUp": {"order": []}},
            {"warmUp": {"order": ["lists"]}},
            {"objective": {"strategy": "background"}},
            {"body": TO_ZONE},
        ],
        ids=str,
    )
    def test_is_not_asked_for_where_nobody_reads_it(self, changes):
        world = self.world()
        assert self.selected(world, **changes) is None
        assert world.blocks.requests == 0

    def test_is_not_asked_for_where_a_recording_says_it_better(self):
        world = self.world()
        keep(world.artifacts, [1])
        assert self.selected(world) is None
        assert world.blocks.requests == 0

    @pytest.mark.parametrize(
        ("blocks", "recorded", "asked"),
        [([], {}, {}), ([1], {"bytes": 50 * GIB}, {}), ([1], {}, {"hot": "off"})],
        ids=["nothing was read", "another device", "switched off"],
    )
    def test_is_asked_for_where_no_recording_gives_an_order(self, blocks, recorded, asked):
        world = self.world()
        keep(world.artifacts, blocks, **recorded)
        assert self.selected(world, warmUp=asked).blocks == 3

    def test_is_not_asked_of_a_copy_whatever_volume_its_tag_names(self):
        world = self.world()
        tags = {"rewarm:lineage": SOURCE_VOLUME_ID}
        world.snapshots.add(snapshot(is_copy=True, volume_id="vol-ffffffff", tags=tags))
        (volume,) = select(world, source={"snapshotId": SNAPSHOT_ID})
        assert (volume.lineage, volume.changed) == (f"copies-of-{SOURCE_VOLUME_ID}", None)
        assert world.blocks.requests == 0

    def test_stops_no_restore_where_it_cannot_be_listed(self):
        world = self.world()
        world.blocks.differing.clear()
        assert self.selected(world) is None


class TestCancelled:
    """While the restore waited for its turn, or while the blocks were listed."""

    def test_looks_for_nothing_and_holds_nothing(self):
        world = World()
        world.table.put_new(RESTORE_ID, {})
        world.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError):
            select(world)
        assert world.snapshots.listed == []
        assert world.holds.on_target(INSTANCE_ID).holds == ()

    def test_goes_no_further_once_the_blocks_are_listed(self):
        world = World()
        world.table.put_new(RESTORE_ID, {})
        listing = world.snapshots.written_extents

        def cancelled_meanwhile(*args, **named):
            world.table.request_cancel(RESTORE_ID)
            return listing(*args, **named)

        world.snapshots.written_extents = cancelled_meanwhile
        with pytest.raises(RestoreCancelledError):
            select(world)
        assert world.snapshots.listed == [SNAPSHOT_ID]
        assert not [key for key in world.artifacts.objects if key.endswith("volumes.json")]


class TestSource:
    def test_a_snapshot_by_its_id(self):
        (volume,) = select(World())
        assert volume.snapshot_id == SNAPSHOT_ID
        assert volume.data_bytes == 40 * GIB
        assert volume.data_bytes_from == "fullSnapshotSize"

    def test_recordings_are_those_of_its_source_volume_and_tags_forbid_them(self):
        world = World()
        (volume,) = select(world)
        assert (volume.lineage, volume.unlearned_because) == (SOURCE_VOLUME_ID, None)
        settings = VolumeSettings("gp3", 100, 3_000, 125, tags={"rewarm:learn": "false"})
        source = Volume(SOURCE_VOLUME_ID, "in-use", ZONE, settings, None, None, (), NOW)
        world.volumes.volumes[SOURCE_VOLUME_ID] = source
        assert select(world)[0].unlearned_because.startswith(SOURCE_VOLUME_ID)
        world.snapshots.add(snapshot(tags={"rewarm:learn": "false"}))
        assert select(world)[0].unlearned_because.startswith(SNAPSHOT_ID)

    def test_the_newest_snapshot_of_a_volume_and_why_not_the_others(self):
        world = World()
        world.snapshots.add(snapshot(OTHER, state="pending", progress_percent=37, started_at=NOW))
        (volume,) = select(world, source={"volumeId": SOURCE_VOLUME_ID})
        assert volume.snapshot_id == SNAPSHOT_ID
        assert [(one.snapshot_id, one.reason) for one in volume.passed_over] == [
            (OTHER, "it is pending (37 % done)")
        ]

    def test_the_newest_snapshot_not_later_than_a_time(self):
        world = World()
        world.snapshots.add(snapshot(OTHER, started_at=NOW - timedelta(hours=1)))
        (volume,) = select(world, source={"volumeId": SOURCE_VOLUME_ID, "at": "2026-11-20T12:00:00Z"})
        assert volume.snapshot_id == SNAPSHOT_ID
        assert "later than asked for (2026-11-20 12:00 UTC)" in volume.passed_over[0].reason

    def test_names_at_most_ten_of_those_passed_over(self):
        world = World()
        for number in range(15):
            world.snapshots.add(snapshot(f"snap-{number:017x}", started_at=NOW - timedelta(days=2 + number)))
        (volume,) = select(world, source={"volumeId": SOURCE_VOLUME_ID})
        assert len(volume.passed_over) == 10

    def test_the_newest_snapshot_with_tags(self):
        world = World()
        world.snapshots.add(snapshot(OTHER, tags={"app": "shop", "tier": "db"}))
        (volume,) = select(world, source={"tags": {"app": "shop"}})
        assert volume.snapshot_id == OTHER

    def test_one_volume_for_each_volume_of_an_instance_under_its_old_names(self):
        world = World()
        devices = {"/dev/xvda": SOURCE_VOLUME_ID, "/dev/sdh": "vol-0cccccccccccccccc"}
        world.instances.add(instance("i-0ffffffffffffffff", devices=devices))
        world.snapshots.add(snapshot(OTHER, volume_id="vol-0cccccccccccccccc"))
        volumes = select(world, source={"instanceId": "i-0ffffffffffffffff"})
        assert [(one.index, one.snapshot_id, one.device) for one in volumes] == [
            (0, OTHER, "/dev/sdh"),
            (1, SNAPSHOT_ID, "/dev/sdf"),
        ]
        assert volumes[1].map_key == f"restores/{RESTORE_ID}/1/blocks.map"

    def test_only_the_named_devices_of_an_image(self):
        world = World()
        world.snapshots.images["ami-0123456789abcdef0"] = {"/dev/xvda": OTHER, "/dev/sdg": SNAPSHOT_ID}
        (volume,) = select(world, source={"imageId": "ami-0123456789abcdef0", "devices": ["/dev/sdg"]})
        assert (volume.snapshot_id, volume.device) == (SNAPSHOT_ID, "/dev/sdg")

    def test_lists_the_blocks_of_a_snapshot_once_for_all_its_volumes(self):
        world = World()
        world.snapshots.images["ami-0123456789abcdef0"] = {"/dev/sdg": SNAPSHOT_ID, "/dev/sdh": SNAPSHOT_ID}
        first, second = select(world, source={"imageId": "ami-0123456789abcdef0"})
        assert world.snapshots.listed == [SNAPSHOT_ID]
        assert first.map_key == second.map_key
        assert (first.written_blocks, second.written_blocks) == (4, 4)

    def test_refuses_a_device_that_the_image_does_not_have(self):
        world = World()
        world.snapshots.images["ami-0123456789abcdef0"] = {"/dev/xvda": OTHER}
        source = {"imageId": "ami-0123456789abcdef0", "devices": ["/dev/sdg"]}
        with pytest.raises(InvalidRequestError, match=r'source.devices: found "/dev/sdg"; .* at /dev/xvda'):
            select(world, source=source)

    def test_refuses_a_snapshot_that_does_not_exist(self):
        with pytest.raises(SnapshotNotFoundError, match=f"^source.snapshotId: there is no snapshot {OTHER}"):
            select(World(), source={"snapshotId": OTHER})

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"state": "pending", "progress_percent": 12}, r"it is pending \(12 % done\)"),
            ({"state": "error", "state_message": "KMS"}, r"it is in error \(KMS\)"),
            ({"state": "recoverable"}, "Recycle Bin"),
            ({"storage_tier": "archive"}, "archived.*up to 72 hours"),
        ],
    )
    def test_refuses_a_snapshot_that_cannot_be_restored_with_the_reason(self, changes, reason):
        world = World()
        world.snapshots.add(snapshot(**changes))
        with pytest.raises(SnapshotNotUsableError, match=f"^source.snapshotId: {SNAPSHOT_ID} .*{reason}"):
            select(world)

    def test_refuses_an_instance_that_does_not_exist_as_source(self):
        with pytest.raises(TargetNotFoundError, match=r"^source.instanceId"):
            select(World(), source={"instanceId": "i-0ffffffffffffffff"})


class TestTarget:
    def test_the_first_free_device_name(self):
        world = World()
        world.instances.add(instance(devices={"/dev/sdf": "vol-1", "xvdg": "vol-2"}))
        (volume,) = select(world)
        assert volume.device == "/dev/sdh"

    def test_takes_zone_and_platform_from_the_instance(self):
        (volume,) = select(World())
        assert (volume.availability_zone, volume.platform, volume.architecture) == (
            "ap-northeast-1a",
            "linux",
            "arm64",
        )

    def test_an_availability_zone_needs_no_instance(self):
        (volume,) = select(World(), TO_ZONE)
        assert (volume.instance_id, volume.device, volume.agent_available) == (None, None, False)

    def test_refuses_a_device_in_use_and_names_the_free_ones(self):
        world = World()
        world.instances.add(instance(devices={"/dev/sdf": "vol-0123456789abcdef0"}))
        target = {"instanceId": INSTANCE_ID, "device": "/dev/sdf"}
        with pytest.raises(DeviceInUseError) as refused:
            select(world, target=target)
        assert str(refused.value).startswith(
            f"target.device: /dev/sdf already holds vol-0123456789abcdef0 on {INSTANCE_ID}; "
            "free names are /dev/sdg, /dev/sdh"
        )

    def test_refuses_a_name_that_is_no_device(self):
        target = {"instanceId": INSTANCE_ID, "device": "/dev/nvme1n1"}
        with pytest.raises(InvalidRequestError, match=r'target.device: found "/dev/nvme1n1"; allowed'):
            select(World(), target=target)

    def test_refuses_one_device_name_for_several_volumes(self):
        world = World()
        world.snapshots.images["ami-0123456789abcdef0"] = {"/dev/sdg": SNAPSHOT_ID, "/dev/sdh": SNAPSHOT_ID}
        target = {"instanceId": INSTANCE_ID, "device": "/dev/sdf"}
        with pytest.raises(InvalidRequestError, match=r"target.device: found /dev/sdf for 2 volumes"):
            select(world, source={"imageId": "ami-0123456789abcdef0"}, target=target)

    def test_refuses_an_instance_that_does_not_exist(self):
        with pytest.raises(TargetNotFoundError, match=r"^target.instanceId: there is no instance"):
            select(World(), target={"instanceId": "i-0ffffffffffffffff"})

    def test_refuses_an_instance_that_is_stopped(self):
        world = World()
        world.instances.add(instance(state="stopped"))
        with pytest.raises(TargetNotUsableError, match=rf"^target.instanceId: {INSTANCE_ID} is stopped"):
            select(world)

    def test_refuses_an_instance_without_systems_manager(self):
        world = World()
        world.instances.add(instance(ssm_online=False))
        with pytest.raises(
            TargetNotUsableError, match=r"^target.instanceId: .*not online in Systems Manager"
        ):
            select(world)

    def test_refuses_a_zone_of_another_region_and_names_those_allowed(self):
        with pytest.raises(
            TargetNotFoundError, match=r"^target.availabilityZone: us-east-1a .*ap-northeast-1c"
        ):
            select(World(), target={"availabilityZone": "us-east-1a"})

    def test_says_where_there_is_no_agent_for_the_instance(self):
        world = World()
        world.instances.add(instance(platform="windows", architecture="arm64"))
        (volume,) = select(world)
        assert (volume.agent_available, volume.device) == (False, "xvdf")


class TestVolume:
    def test_takes_type_and_performance_from_the_source_volume(self):
        world = World()
        source = VolumeSettings("gp3", 200, 6_000, 500)
        world.volumes.volumes[SOURCE_VOLUME_ID] = Volume(
            SOURCE_VOLUME_ID, "in-use", "ap-northeast-1c", source, None, None, (), NOW
        )
        (volume,) = select(world)
        assert volume.volume.settings() == VolumeSettings("gp3", 100, 6_000, 500)

    def test_is_gp3_where_the_source_volume_is_gone(self):
        (volume,) = select(World())
        assert volume.volume.settings() == VolumeSettings("gp3", 100, 3_000, 125)

    def test_refuses_a_volume_smaller_than_the_snapshot(self):
        with pytest.raises(InvalidRequestError, match=r"^volume.sizeGib: found 50; .* 100 to 65536 GiB"):
            select(World(), volume={"sizeGib": 50})


class TestBlockMap:
    def test_writes_the_map_of_written_blocks(self):
        world = World()
        world.snapshots.add(snapshot(), [Extent(0, 10), Extent(100, 6)])
        (volume,) = select(world)
        assert world.artifacts.maps[volume.map_key] == [Extent(0, 10), Extent(100, 6)]
        assert volume.written_blocks == 16

    def test_counts_the_data_from_the_blocks_where_the_snapshot_does_not_say(self):
        world = World()
        world.snapshots.add(snapshot(full_size_bytes=None), [Extent(0, 10)])
        (volume,) = select(world)
        assert (volume.data_bytes, volume.data_bytes_from) == (10 * BLOCK_BYTES, "writtenBlocks")

    def test_writes_nothing_where_the_target_is_refused(self):
        world = World()
        with pytest.raises(TargetNotFoundError):
            select(world, {**TO_INSTANCE, "target": {"instanceId": "i-0ffffffffffffffff"}})
        assert world.artifacts.maps == {}


class TestLivingSource:
    """What a clone could be made of."""

    def living(self, zone=ZONE, state="available"):
        world = World()
        settings = VolumeSettings("gp3", 120, 4_000, 250)
        source = world.volumes.create(SNAPSHOT_ID, zone, settings, rate_mib_s=None, client_token="source")
        world.volumes.change(source, state=state)
        world.snapshots.add(snapshot(volume_id=source))
        return source, select(world)[0].living_source

    def test_is_named_with_its_settings(self):
        source, living = self.living()
        assert living == LivingSource(
            volume_id=source, volume_type="gp3", size_gib=120, iops=4_000, throughput_mib_s=250
        )

    @pytest.mark.parametrize(
        "changes", [{"zone": "ap-northeast-1c"}, {"state": "deleting"}, {"state": "error"}]
    )
    def test_is_none_where_no_copy_could_be_made_of_it(self, changes):
        assert self.living(**changes)[1] is None

    def test_is_none_where_the_source_is_gone(self):
        assert select(World())[0].living_source is None


class TestListedVolumes:
    """`source.volumes`: several volumes for one target."""

    def world(self):
        world = World()
        world.snapshots.add(snapshot(OTHER, size_gib=8, full_size_bytes=GIB))
        return world

    def listed(self, world, *volumes, **changes):
        return select(world, {**TO_INSTANCE, "source": {"volumes": list(volumes)}, **changes})

    def test_each_gets_its_own_device_and_settings(self):
        first = {
            "snapshotId": SNAPSHOT_ID,
            "device": "/dev/sdh",
            "volume": {"volumeType": "io2", "iops": 900},
        }
        one, other = self.listed(self.world(), first, {"snapshotId": OTHER}, volume={"tags": {"app": "shop"}})
        assert (one.snapshot_id, one.device) == (SNAPSHOT_ID, "/dev/sdh")
        assert (one.volume.volume_type, one.volume.iops) == ("io2", 900)
        assert (other.snapshot_id, other.device, other.volume.volume_type) == (OTHER, "/dev/sdf", "gp3")
        assert [volume.volume.tags for volume in (one, other)] == [{"app": "shop"}] * 2

    def test_who_names_no_priority_comes_after_those_who_do(self):
        one, other = self.listed(
            self.world(), {"snapshotId": SNAPSHOT_ID}, {"snapshotId": OTHER, "priority": 2}
        )
        assert one.priority > other.priority == 2

    def test_the_newest_snapshot_of_a_volume_is_found(self):
        (found,) = self.listed(self.world(), {"volumeId": SOURCE_VOLUME_ID})
        assert found.snapshot_id in {SNAPSHOT_ID, OTHER}

    def test_an_error_names_the_place_in_the_list(self):
        with pytest.raises(SnapshotNotFoundError, match=r"^source.volumes.1.snapshotId: there is no"):
            self.listed(self.world(), {"snapshotId": OTHER}, {"snapshotId": "snap-0ccccccccccccccc0"})

    def test_one_device_for_two_volumes_is_refused(self):
        both = [
            {"snapshotId": SNAPSHOT_ID, "device": "/dev/sdh"},
            {"snapshotId": OTHER, "device": "/dev/xvdh"},
        ]
        with pytest.raises(DeviceInUseError):
            self.listed(self.world(), *both)

    def test_a_key_that_cannot_be_used_is_named_once(self):
        world = self.world()
        world.snapshots.key_problems["alias/gone"] = "it is disabled"
        volume = {"snapshotId": OTHER, "volume": {"kmsKeyId": "alias/gone"}}
        with pytest.raises(InvalidRequestError, match=r"^source.volumes.0.volume.kmsKeyId: .*disabled"):
            self.listed(world, volume, volume)


class TestStart:
    """With target.start: a stopped instance gets every volume in its own place."""

    ROOT, DATA = "vol-0aaaaaaaaaaaaaaaa", "vol-0bbbbbbbbbbbbbbbb"
    IMAGE = "ami-0123456789abcdef0"
    SOURCE = "i-0eeeeeeeeeeeeeeee"

    def world(self, image, **changes):
        world = World()
        world.snapshots.images[self.IMAGE] = dict.fromkeys(image, SNAPSHOT_ID)
        devices = {"/dev/xvda": self.ROOT, "/dev/sdf": self.DATA}
        values = {"state": "stopped", "ssm_online": False, "devices": devices, "root_device": "/dev/xvda"}
        world.instances.add(instance(**{**values, **changes}))
        for device, volume_id in devices.items():
            place = Attachment(INSTANCE_ID, device, "attached", delete_on_termination=volume_id == self.ROOT)
            settings = VolumeSettings("gp3", 100)
            world.volumes.volumes[volume_id] = Volume(
                volume_id, "in-use", ZONE, settings, None, None, (place,), NOW
            )
        return world

    def select(self, world, **changes):
        target = {"instanceId": INSTANCE_ID, "mode": "replace", "start": True}
        return select(world, source={"imageId": self.IMAGE}, target=target, **changes)

    def test_the_root_volume_goes_to_the_root_device_whatever_it_was_called(self):
        found = self.select(self.world(["/dev/sda1", "/dev/sdf"]))
        places = {volume.device: volume.replaces for volume in found}
        assert places["/dev/xvda"].volume_id == self.ROOT
        assert places["/dev/xvda"].delete_on_termination
        assert (places["/dev/sdf"].volume_id, places["/dev/sdf"].delete_on_termination) == (self.DATA, False)
        assert all(volume.starts_instance for volume in found)

    def test_where_nothing_is_the_new_volume_is_attached(self):
        by_device = {volume.device: volume for volume in self.select(self.world(["/dev/xvda", "/dev/sdg"]))}
        assert by_device["/dev/sdg"].replaces is None
        assert not by_device["/dev/sdg"].delete_on_termination

    def test_where_nothing_is_the_end_of_the_instance_means_what_it_means_at_the_source(self):
        world = self.world(["/dev/xvda", "/dev/sdg"])
        world.snapshots.image_volumes[SNAPSHOT_ID] = ImageVolume(SNAPSHOT_ID, delete_on_termination=True)
        assert all(volume.delete_on_termination for volume in self.select(world))
        devices = {"/dev/xvda": "vol-0aaaaaaaaaaaaaaaa", "/dev/sdg": "vol-0bbbbbbbbbbbbbbbb"}
        world.instances.add(instance(self.SOURCE, devices=devices, ending=frozenset({"/dev/sdg"})))
        for volume_id in devices.values():
            world.snapshots.add(snapshot(volume_id.replace("vol", "snap"), volume_id=volume_id))
        target = {"instanceId": INSTANCE_ID, "mode": "replace", "start": True}
        found = select(world, source={"instanceId": self.SOURCE}, target=target)
        assert {volume.device: volume.delete_on_termination for volume in found} == {
            "/dev/xvda": False,
            "/dev/sdg": True,
        }

    @pytest.mark.parametrize("state", ["running", "stopping", "pending"])
    def test_an_instance_that_is_not_stopped_is_refused(self, state):
        with pytest.raises(TargetNotUsableError, match=rf"is {state}; allowed with target\.start"):
            self.select(self.world(["/dev/xvda"], state=state))

    def test_more_volumes_than_are_restored_side_by_side_are_refused(self):
        """They would wait for each other before the instance starts, and some would never begin."""
        states = repository.MACHINES["RestoreStateMachine"]["States"]
        assert states["Restore Volumes"]["MaxConcurrency"] == MOST_STARTED
        devices = [f"/dev/xvdb{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
        devices += [f"/dev/sd{letter}" for letter in "bcdefghijklmnop"]
        with pytest.raises(
            InvalidRequestError, match=r"source: found 41 volumes; allowed with target\.start"
        ):
            self.select(self.world(devices))

    def test_two_volumes_for_one_place_are_refused(self):
        with pytest.raises(DeviceInUseError, match="two volumes would be /dev/xvda"):
            self.select(self.world(["/dev/sda1", "/dev/xvda"]))

    def test_an_instance_that_would_have_no_root_volume_is_refused(self):
        world = self.world(["/dev/sdf"], devices={"/dev/sdf": self.DATA})
        with pytest.raises(TargetNotUsableError, match="has no volume at its root device /dev/xvda"):
            self.select(world)

    def test_an_hdd_volume_is_refused_for_the_root_device(self):
        with pytest.raises(InvalidRequestError, match=r"found st1 for the root device /dev/xvda"):
            self.select(self.world(["/dev/xvda"]), volume={"volumeType": "st1", "sizeGib": 125})

    def test_a_volume_whose_device_nobody_knows_is_refused(self):
        target = {"instanceId": INSTANCE_ID, "mode": "replace", "start": True}
        with pytest.raises(InvalidRequestError, match=r"target\.device: is missing: target\.start needs"):
            select(self.world([]), target=target)


class TestTheRootVolumeOfARunningInstance:
    ROOT = "vol-0eeeeeeeeeeeeeeee"

    def select(self, *, encrypted=False, platform="linux", device="/dev/sda1", **changes):
        world = World()
        values = {"platform": platform, "devices": {"/dev/xvda": self.ROOT}, "root_device": "/dev/xvda"}
        world.instances.add(instance(**values))
        settings = VolumeSettings("gp3", 100, encrypted=encrypted)
        place = Attachment(INSTANCE_ID, "/dev/xvda", "attached")
        root = Volume(self.ROOT, "in-use", ZONE, settings, None, None, (place,), NOW)
        world.volumes.volumes[self.ROOT] = root
        target = {"instanceId": INSTANCE_ID, "mode": "replace", "device": device, "reboot": True}
        return select(world, target=target, **changes)

    def test_the_new_volume_is_beside_it_until_it_is_swapped_in(self):
        (found,) = self.select()
        assert (found.device, found.place, found.swaps_root) == ("/dev/sdf", "/dev/xvda", True)
        assert (found.replaces.volume_id, found.replaces.root_device) == (self.ROOT, "/dev/xvda")

    def test_an_encrypted_one_is_not_replaced_by_one_that_is_not(self):
        with pytest.raises(InvalidRequestError, match=r"volume\.kmsKeyId: is missing: .* is encrypted"):
            self.select(encrypted=True)
        assert self.select(encrypted=True, volume={"kmsKeyId": "alias/one"})[0].swaps_root

    def test_windows_may_spoil_a_second_copy_of_its_boot_disk(self):
        with pytest.raises(TargetNotUsableError, match=r"target\.reboot: .* runs Windows"):
            self.select(platform="windows", device="/dev/sda1")

    def test_an_hdd_volume_cannot_be_booted(self):
        with pytest.raises(InvalidRequestError, match="found st1 for the root device"):
            self.select(volume={"volumeType": "st1", "sizeGib": 125})

    def test_only_the_root_volume_takes_a_reboot(self):
        with pytest.raises(InvalidRequestError, match=r"target\.device: nothing is attached at /dev/sdf"):
            self.select(device="/dev/sdf")

    DATA = "vol-0ddddddddddddddd1"
    HOLDER = "i-0dddddddddddddddd"

    def with_source(self, *, device="/dev/sdf", forced=None, **holder):
        """The snapshot's source volume is attached to another instance, whose root device is /dev/xvda."""
        world = World()
        world.instances.add(instance(devices={"/dev/xvda": self.ROOT}, root_device="/dev/xvda"))
        world.instances.add(instance(self.HOLDER, root_device="/dev/xvda", **holder))
        for name, holder_id, place in (
            (self.ROOT, INSTANCE_ID, "/dev/xvda"),
            (SOURCE_VOLUME_ID, self.HOLDER, device),
        ):
            attached = (Attachment(holder_id, place, "attached"),)
            settings = VolumeSettings("gp3", 100)
            world.volumes.volumes[name] = Volume(name, "in-use", ZONE, settings, None, None, attached, NOW)
        target = {"instanceId": INSTANCE_ID, "mode": "replace", "reboot": True, "forceRoot": forced}
        return select(world, target=target)[0]

    def test_a_snapshot_of_a_data_volume_is_refused_unless_it_is_named(self):
        said = f"would not boot from {SNAPSHOT_ID}, because {SOURCE_VOLUME_ID} is /dev/sdf on {self.HOLDER}"
        with pytest.raises(
            InvalidRequestError, match=rf"target\.forceRoot: is missing: {INSTANCE_ID} {said}"
        ):
            self.with_source()
        with pytest.raises(InvalidRequestError, match="would not boot"):
            self.with_source(forced="snap-0eeeeeeeeeeeeeeee")
        assert self.with_source(forced=SNAPSHOT_ID).swaps_root

    def test_a_snapshot_of_another_root_volume_is_taken(self):
        assert not self.with_source(device="xvda").root_unproven

    @pytest.mark.parametrize("other", [{"platform": "windows"}, {"architecture": "x86_64"}])
    def test_one_of_another_operating_system_or_architecture_is_refused(self, other):
        with pytest.raises(InvalidRequestError, match=f"which is {next(iter(other.values()))}, and not"):
            self.with_source(device="/dev/xvda", **other)

    def test_one_of_which_nothing_is_known_is_taken_and_said_to_be_unproven(self):
        assert self.select()[0].root_unproven
