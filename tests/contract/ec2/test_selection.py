"""Which snapshot is taken and why the others are not, by what the Region shows over AWS's own protocols."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.resources import ImageDevice
from local.aws.wire.inprocess import client
from rewarm.adapters.instances import Ec2Instances
from rewarm.adapters.snapshots import Ec2SnapshotCatalog
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import InvalidRequestError, SnapshotNotFoundError, SnapshotNotUsableError
from rewarm.steps.select.selection import SelectionPorts, assign_volumes
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab
from tests.support.fakes import FakeArtifacts

KEY = "11111111-2222-3333-4444-555555555555"
VOLUME = "vol-0123456789abcdef0"
OTHER = "999999999999"


def assign(lab: Lab, source: dict[str, Any], **changes: Any) -> list[VolumeAssignment]:
    ec2 = client(lab.region, "ec2")
    body = {"source": source, "target": {"availabilityZone": ZONE}, **changes}
    return assign_volumes(
        parse_restore_request(body),
        restore_id="restore-1",
        ports=SelectionPorts(
            snapshots=Ec2SnapshotCatalog(ec2, client(lab.region, "ebs"), client(lab.region, "kms")),
            instances=Ec2Instances(ec2, client(lab.region, "ssm")),
            volumes=Ec2VolumeStore(ec2),
            artifacts=FakeArtifacts(),
        ),
    ).volumes


class TestById:
    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"state": "pending", "progress": 37}, r"it is pending \(37 % done\)"),
            ({"state": "error", "state_message": "no KMS grant"}, r"it is in error \(no KMS grant\)"),
            (
                {"storage_tier": "archive"},
                r"up to 72 hours, 5 at a time.*aws ec2 restore-snapshot-tier --snapshot-id snap-",
            ),
            ({"owner_id": "999999999999"}, "it belongs to another account, which does not share it"),
        ],
    )
    def test_refuses_with_the_reason(self, fields: dict[str, Any], reason: str) -> None:
        lab = Lab()
        snapshot = lab.snapshot(**fields)
        with pytest.raises(SnapshotNotUsableError, match=rf"^source.snapshotId: {snapshot} .*{reason}"):
            assign(lab, {"snapshotId": snapshot})

    def test_refuses_what_is_in_the_recycle_bin(self) -> None:
        lab = Lab()
        snapshot = lab.snapshot()
        lab.region.delete_snapshot(snapshot)
        reason = rf"Recycle Bin until .*aws ec2 restore-snapshot-from-recycle-bin --snapshot-id {snapshot}"
        with pytest.raises(SnapshotNotUsableError, match=reason):
            assign(lab, {"snapshotId": snapshot})
        lab.ec2("RestoreSnapshotFromRecycleBin", SnapshotId=snapshot)
        assert assign(lab, {"snapshotId": snapshot})[0].chosen_because == "the request names it"

    def test_refuses_what_does_not_exist(self) -> None:
        with pytest.raises(SnapshotNotFoundError, match=r"^source.snapshotId: "):
            assign(Lab(), {"snapshotId": "snap-0123456789abcdef0"})

    def test_says_how_far_an_archived_one_is_on_its_way_back(self) -> None:
        lab = Lab()
        snapshot = lab.snapshot(storage_tier="archive")
        lab.ec2("RestoreSnapshotTier", SnapshotId=snapshot, PermanentRestore=True)
        lab.wait(lab.settings.snapshot.archive_restore_seconds / 2)
        with pytest.raises(SnapshotNotUsableError, match=r"is being restored .* \(50 % done\)"):
            assign(lab, {"snapshotId": snapshot})
        lab.wait(lab.settings.snapshot.archive_restore_seconds)
        assert assign(lab, {"snapshotId": snapshot})[0].snapshot_id == snapshot

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"state": "Disabled"}, "is disabled; enable it first"),
            ({"state": "PendingDeletion"}, "is to be deleted; keep it"),
            ({"allowed": False}, "may not be used from here"),
        ],
    )
    def test_refuses_a_snapshot_whose_key_cannot_be_used(self, fields: dict[str, Any], reason: str) -> None:
        lab = Lab()
        snapshot = lab.snapshot(encrypted=True, kms_key_id=KEY)
        assert assign(lab, {"snapshotId": snapshot})
        lab.region.put_key(KEY, **fields)
        with pytest.raises(SnapshotNotUsableError, match=rf"^source.snapshotId: .*its KMS key .*{reason}"):
            assign(lab, {"snapshotId": snapshot})

    def test_refuses_a_key_for_the_new_volume_that_does_not_exist(self) -> None:
        lab = Lab()
        with pytest.raises(
            InvalidRequestError, match=rf'^volume.kmsKeyId: found "{KEY}": there is no KMS key'
        ):
            assign(lab, {"snapshotId": lab.snapshot()}, volume={"kmsKeyId": KEY})


class TestOfAVolume:
    def test_takes_the_newest_usable_one_and_names_all_others(self) -> None:
        lab = Lab()
        now = lab.region.now()
        old = lab.snapshot(volume_id=VOLUME, start_time=now - 500)
        usable = lab.snapshot(volume_id=VOLUME, start_time=now - 400)
        locked = lab.snapshot(volume_id=VOLUME, start_time=now - 300, encrypted=True, kms_key_id=KEY)
        lab.region.put_key(KEY, state="Disabled")
        cold = lab.snapshot(volume_id=VOLUME, start_time=now - 200, storage_tier="archive")
        young = lab.snapshot(volume_id=VOLUME, start_time=now - 100, state="pending", progress=5)
        gone = lab.snapshot(volume_id=VOLUME, start_time=now - 50)
        lab.region.delete_snapshot(gone)
        lab.snapshot(volume_id="vol-0fedcba9876543210", start_time=now)
        (found,) = assign(lab, {"volumeId": VOLUME})
        assert found.snapshot_id == usable
        assert found.chosen_because == f"the newest usable snapshot of {VOLUME}"
        reasons = {one.snapshot_id: one.reason for one in found.passed_over}
        assert list(reasons) == [gone, young, cold, locked, old]
        assert "in the Recycle Bin until" in reasons[gone]
        assert reasons[young] == "it is pending (5 % done)"
        assert "archived" in reasons[cold]
        assert "is disabled" in reasons[locked]
        assert reasons[old] == f"older than {usable}"

    def test_takes_the_newest_that_another_account_shares(self) -> None:
        lab = Lab()
        now = lab.region.now()
        theirs = {"volume_id": VOLUME, "owner_id": OTHER}
        lab.snapshot(**theirs, start_time=now - 300)
        shared = lab.snapshot(**theirs, start_time=now - 200, shared_with_me=True)
        locked = lab.snapshot(
            **theirs, start_time=now - 100, shared_with_me=True, encrypted=True, kms_key_id=KEY
        )
        lab.region.put_key(KEY, allowed=False)
        mine = lab.snapshot(volume_id=VOLUME, start_time=now)
        (found,) = assign(lab, {"volumeId": VOLUME, "ownerId": OTHER})
        assert found.snapshot_id == shared
        assert found.chosen_because == f"the newest usable snapshot of {VOLUME} that account {OTHER} shares"
        (passed,) = found.passed_over
        assert passed.snapshot_id == locked
        assert "its policy must allow this account kms:DescribeKey, kms:Decrypt" in passed.reason
        (own,) = assign(lab, {"volumeId": VOLUME})
        assert own.snapshot_id == mine

    def test_says_where_an_account_shares_none(self) -> None:
        lab = Lab()
        lab.snapshot(volume_id=VOLUME, owner_id=OTHER)
        with pytest.raises(SnapshotNotFoundError, match=r"^source.ownerId: account 9{12} shares no snapshot"):
            assign(lab, {"volumeId": VOLUME, "ownerId": OTHER})

    def test_a_named_snapshot_must_be_the_accounts(self) -> None:
        lab = Lab()
        mine, shared = lab.snapshot(), lab.snapshot(owner_id=OTHER, shared_with_me=True)
        assert assign(lab, {"snapshotId": shared, "ownerId": OTHER})[0].snapshot_id == shared
        with pytest.raises(
            InvalidRequestError,
            match=rf"^source.ownerId: found {OTHER}; {mine} belongs to account 123456789012",
        ):
            assign(lab, {"snapshotId": mine, "ownerId": OTHER})

    def test_says_where_only_the_recycle_bin_has_any(self) -> None:
        lab = Lab()
        gone = lab.snapshot(volume_id=VOLUME)
        lab.region.delete_snapshot(gone)
        with pytest.raises(SnapshotNotUsableError, match=rf"^source.volumeId: none .*{gone}: it was deleted"):
            assign(lab, {"volumeId": VOLUME})


class TestOfAnInstance:
    def instance(self, lab: Lab) -> list[str]:
        """Volumes at /dev/sdf and /dev/sdg, beside the root."""
        lab.instance()
        return [
            lab.attached(lab.volume(Size=8, VolumeType="gp3"), device) for device in ("/dev/sdf", "/dev/sdg")
        ]

    def take(self, lab: Lab, volumes: list[str], ago: float, **fields: Any) -> list[str]:
        """What CreateSnapshots does: one time and one description for all."""
        at = lab.region.now() - ago
        return [
            lab.snapshot(volume_id=volume, start_time=at, description=f"run {ago:g}", **fields)
            for volume in volumes
        ]

    def devices(self, lab: Lab) -> list[VolumeAssignment]:
        return assign(lab, {"instanceId": INSTANCE, "devices": ["/dev/sdf", "/dev/sdg"]})

    def test_takes_the_newest_set_that_is_whole(self) -> None:
        lab = Lab()
        volumes = self.instance(lab)
        self.take(lab, volumes, 900)
        whole = self.take(lab, volumes, 600)
        broken = self.take(lab, volumes[:1], 300) + self.take(lab, volumes[1:], 300, state="error")
        alone = lab.snapshot(volume_id=volumes[0], start_time=lab.region.now() - 10)
        found = self.devices(lab)
        assert [one.snapshot_id for one in found] == whole
        assert all(one.consistent_set for one in found)
        assert found[0].chosen_because.startswith("the newest usable set: 2 snapshots of one CreateSnapshots")
        reasons = {one.snapshot_id: one.reason for volume in found for one in volume.passed_over}
        newer = "newer, but its CreateSnapshots call left no usable snapshot of every volume"
        assert (reasons[broken[0]], reasons[alone]) == (newer, newer)
        assert reasons[broken[1]] == "it is in error"

    def test_without_a_set_takes_the_newest_of_each_and_says_so(self) -> None:
        lab = Lab()
        volumes = self.instance(lab)
        at = lab.region.now()
        first = lab.snapshot(volume_id=volumes[0], start_time=at - 500)
        second = lab.snapshot(volume_id=volumes[1], start_time=at - 100)
        found = self.devices(lab)
        assert [one.snapshot_id for one in found] == [first, second]
        assert [one.consistent_set for one in found] == [False, False]
        assert "not a consistent set: no CreateSnapshots call left a usable" in found[0].chosen_because

    def test_the_same_second_is_not_the_same_call(self) -> None:
        lab = Lab()
        volumes = self.instance(lab)
        at = lab.region.now() - 100
        for volume, description in zip(volumes, ("nightly", "by hand"), strict=True):
            lab.snapshot(volume_id=volume, start_time=at, description=description)
        assert not any(one.consistent_set for one in self.devices(lab))

    def test_one_volume_needs_no_set(self) -> None:
        lab = Lab()
        volumes = self.instance(lab)
        snapshot = lab.snapshot(volume_id=volumes[0])
        (found,) = assign(lab, {"instanceId": INSTANCE, "devices": ["/dev/sdf"]})
        assert (found.snapshot_id, found.consistent_set) == (snapshot, None)
        assert found.chosen_because == f"the newest usable snapshot of {volumes[0]}"

    def test_a_volume_without_snapshots_is_named(self) -> None:
        lab = Lab()
        volumes = self.instance(lab)
        lab.snapshot(volume_id=volumes[0])
        with pytest.raises(SnapshotNotFoundError, match=rf"^source.instanceId: no snapshot of {volumes[1]}"):
            self.devices(lab)


class TestByTagsAndOfAnImage:
    def test_the_newest_with_the_tags(self) -> None:
        lab = Lab()
        now = lab.region.now()
        old = lab.snapshot(tags={"app": "shop", "tier": "db"}, start_time=now - 100)
        lab.snapshot(tags={"app": "shop"}, start_time=now - 10)
        (found,) = assign(lab, {"tags": {"app": "shop", "tier": "db"}})
        assert found.snapshot_id == old
        assert found.chosen_because == "the newest usable snapshot with the tags app=shop, tier=db"

    def test_the_snapshots_of_an_image_belong_together(self) -> None:
        lab = Lab()
        snapshots = [lab.snapshot(), lab.snapshot()]
        devices = [ImageDevice(f"/dev/sd{at}", one, 8) for at, one in zip("fg", snapshots, strict=True)]
        image = lab.region.add_image(name="golden", devices=devices)
        found = assign(lab, {"imageId": image})
        assert [one.snapshot_id for one in found] == snapshots
        assert all(one.consistent_set for one in found)
        assert found[1].chosen_because == f"{image} has it for /dev/sdg"
        lab.region.change_snapshot(snapshots[1], storage_tier="archive")
        with pytest.raises(SnapshotNotUsableError, match=rf"^source.imageId: {snapshots[1]} .*archived"):
            assign(lab, {"imageId": image})
