"""CopySnapshot through boto3 to two Regions of the embedded AWS."""

from __future__ import annotations

import pytest

from local.aws.wire.inprocess import client
from rewarm.adapters.snapshots import Ec2SnapshotCatalog, Ec2SnapshotCopies
from rewarm.domain.errors import RestoreError, SnapshotNotFoundError
from rewarm.domain.model import CopyOrder
from tests.local.aws.region.region_lab import Lab

TAGS = {
    "rewarm:copy-of": "snap-0123456789abcdef0",
    "rewarm:stack": "rewarm",
    "rewarm:restore-id": "r-1",
    "rewarm:volume-index": "0",
}
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"


def copies_of(lab: Lab) -> Ec2SnapshotCopies:
    ec2 = client(lab.region, "ec2")
    return Ec2SnapshotCopies(ec2, ec2)


def foreign(lab: Lab, **fields: object) -> str:
    return lab.region.neighbour("eu-west-1").add_snapshot(size_gib=8, extents=((0, 16),), **fields)


def order(snapshot_id: str, minutes: int = 30, key: str | None = None) -> CopyOrder:
    return CopyOrder(snapshot_id, "eu-west-1", minutes, key, TAGS, "A copy")


def test_a_copy_takes_its_duration_and_has_the_data() -> None:
    lab = Lab()
    copies, snapshot_id = copies_of(lab), foreign(lab)
    made = copies.start(order(snapshot_id))
    (pending,) = copies.of_restore("r-1", 0)
    assert (pending.snapshot_id, pending.state, pending.tags) == (made, "pending", TAGS)
    assert copies.of_restore("r-1", 1) == []
    lab.wait(1_799)
    assert copies.of_restore("r-1", 0)[0].state == "pending"
    lab.wait(2)
    (copy,) = copies.of_restore("r-1", 0)
    assert (copy.state, copy.full_size_bytes, copy.encrypted) == ("completed", 16 * 512 * 1024, False)
    copies.delete(made)
    copies.delete(made)
    assert copies.of_restore("r-1", 0) == []


def test_a_backup_of_the_restored_volume_is_no_copy() -> None:
    """Backups take the tags of the volume, and no volume has the tag of a copy."""
    lab = Lab()
    lab.snapshot(tags={name: value for name, value in TAGS.items() if name != "rewarm:copy-of"})
    assert copies_of(lab).of_restore("r-1", 0) == []


def test_a_key_is_that_of_the_copy_and_fails_late() -> None:
    lab = Lab()
    copies = copies_of(lab)
    copies.start(order(foreign(lab, encrypted=True, kms_key_id=KEY.replace("us-east-1", "eu-west-1"))))
    (default,) = copies.of_restore("r-1", 0)
    assert default.kms_key_id == "arn:aws:kms:us-east-1:123456789012:alias/aws/ebs"
    copies.delete(default.snapshot_id)
    lab.region.put_key(KEY, state="Disabled")
    copies.start(order(foreign(lab), key=KEY))
    (copy,) = copies.of_restore("r-1", 0)
    assert (copy.encrypted, copy.kms_key_id) == (True, KEY)
    lab.wait(1_801)
    (copy,) = copies.of_restore("r-1", 0)
    assert (copy.state, copy.state_message) == ("error", "The KMS key cannot be used")


@pytest.mark.parametrize("minutes", [0, 14, 20, 2_895])
def test_durations_are_steps_of_15_minutes(minutes: int) -> None:
    lab = Lab()
    with pytest.raises(RestoreError, match="CompletionDurationMinutes"):
        copies_of(lab).start(order(foreign(lab), minutes))


def test_what_is_not_shared_cannot_be_copied() -> None:
    lab = Lab()
    theirs = foreign(lab, owner_id="999999999999")
    with pytest.raises(SnapshotNotFoundError):
        copies_of(lab).start(order(theirs))
    shared = foreign(lab, owner_id="999999999999", shared_with_me=True)
    assert copies_of(lab).start(order(shared))


def test_a_catalog_of_another_region_asks_that_region() -> None:
    lab = Lab()
    snapshot_id = foreign(lab)
    neighbour = lab.region.neighbour("eu-west-1")

    def catalog(region: object) -> Ec2SnapshotCatalog:
        services = (client(region, name) for name in ("ec2", "ebs", "kms"))  # type: ignore[arg-type]
        return Ec2SnapshotCatalog(*services, lambda _name: catalog(neighbour))

    here = catalog(lab.region)
    assert here.in_region(None) is here.in_region("us-east-1") is here
    with pytest.raises(SnapshotNotFoundError):
        here.get(snapshot_id)
    there = here.in_region("eu-west-1")
    assert there.get(snapshot_id).snapshot_id == snapshot_id
    (runs,) = there.written_extents(snapshot_id, size_gib=8, full_size_bytes=None)
    assert sum(extent.block_count for extent in runs) == 16
