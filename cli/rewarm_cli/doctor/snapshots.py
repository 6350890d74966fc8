"""A snapshot, or the snapshots of a volume: can one be restored now?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rewarm_cli import words
from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown, warning

Json = dict[str, Any]

ANY_VOLUME = "vol-ffffffff"
"""The volume id of copies (botocore, ec2 Snapshot.VolumeId: arbitrary, not to be used for any purpose)."""
OLD_DAYS = 7
RESTORING = {"temporary-restore-in-progress", "permanent-restore-in-progress"}
OF_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+-[0-9]+[a-z]")
"""The name of an Availability Zone; that of a Local Zone is longer, such as us-west-2-lax-1a."""


def from_archive(snapshot_id: str) -> str:
    """What makes an archived snapshot usable."""
    tier = words.aws(
        "ec2", "restore-snapshot-tier", "--snapshot-id", snapshot_id, "--temporary-restore-days", "7"
    )
    return f"{tier}; it takes up to 72 hours"


def from_bin(snapshot_id: str) -> str:
    """What takes a snapshot out of the Recycle Bin."""
    return words.aws("ec2", "restore-snapshot-from-recycle-bin", "--snapshot-id", snapshot_id)


def take_one(volume_id: str) -> str:
    """What makes the first snapshot of a volume, and the next ones."""
    first = words.aws("ec2", "create-snapshot", "--volume-id", volume_id)
    return f"{first}, and a schedule for it (Data Lifecycle Manager, AWS Backup)"


def snapshot(account: Account) -> Iterator[Finding]:
    """The snapshot is completed, in the standard tier, and this account's or shared with it."""
    snapshot_id = account.wanted.snapshot
    if snapshot_id is None:
        return
    try:
        found = described(account, snapshot_id)
    except NoAnswerError as error:
        if not error.is_missing:
            raise
        yield _gone(account, snapshot_id)
        return
    if found is None:
        yield problem(
            "snapshot",
            f"{snapshot_id} belongs to another account, which does not share it with this one",
            "its owner shares it: aws ec2 modify-snapshot-attribute --attribute createVolumePermission",
        )
        return
    yield _usable(account, found)
    owner = found.get("OwnerId", account.account_id)
    if owner != account.account_id:
        yield warning(
            "owner",
            f"account {owner} shares {snapshot_id}, and can end that at any time",
            "copy it into this account: aws ec2 copy-snapshot",
        )
    yield from _newer(account, found)


def lineage(account: Account) -> Iterator[Finding]:
    """The volume, its snapshots, the newest that can be restored, and those in the Recycle Bin."""
    volume_id = account.wanted.volume
    if volume_id is None:
        return
    yield from _volume(account, volume_id)
    listed = of_volume(account, volume_id)
    usable = [found for found in listed if _refusal(found) is None]
    if usable:
        yield _newest(usable, listed)
    else:
        reasons = "; ".join(f"{found['SnapshotId']}: {_refusal(found)}" for found in listed[:3])
        yield problem(
            "snapshots",
            f"none of {words.count(len(listed), 'snapshot')} of {volume_id} can be restored"
            + (f": {reasons}" if reasons else ""),
            take_one(volume_id),
        )
    binned = [
        found
        for found in account.pages("ec2", "ListSnapshotsInRecycleBin", "Snapshots", MaxResults=1_000)
        if found.get("VolumeId") == volume_id
    ]
    if binned:
        first = binned[0]
        until = _when(first["RecycleBinExitTime"])
        yield warning(
            "Recycle Bin",
            f"{words.count(len(binned), 'snapshot')} of {volume_id}, until {until}",
            from_bin(first["SnapshotId"]),
        )
    else:
        yield ok("Recycle Bin", f"no snapshot of {volume_id}")


def described(account: Account, snapshot_id: str) -> Json | None:
    """EC2's description; None for a snapshot that is not shared. Raises NoAnswerError."""

    def look() -> list[Json]:
        listed: list[Json] = account.ask("ec2", "DescribeSnapshots", SnapshotIds=[snapshot_id])["Snapshots"]
        return listed

    listed: list[Json] = account.once(snapshot_id, look)
    return listed[0] if listed else None


def described_volume(account: Account, volume_id: str) -> Json | None:
    """EC2's description; None if there is no such volume. Raises NoAnswerError."""

    def look() -> list[Json]:
        try:
            listed: list[Json] = account.ask("ec2", "DescribeVolumes", VolumeIds=[volume_id])["Volumes"]
        except NoAnswerError as error:
            if error.is_missing:
                return []
            raise
        return listed

    listed: list[Json] = account.once(volume_id, look)
    return listed[0] if listed else None


def of_volume(account: Account, volume_id: str) -> list[Json]:
    """This account's own snapshots of a volume, the newest first."""

    def look() -> list[Json]:
        wanted: Json = {"Name": "volume-id", "Values": [volume_id]}
        listed = account.pages("ec2", "DescribeSnapshots", "Snapshots", OwnerIds=["self"], Filters=[wanted])
        return sorted(listed, key=lambda found: found["StartTime"], reverse=True)

    found: list[Json] = account.once(f"snapshots of {volume_id}", look)
    return found


def newest_usable(account: Account, volume_id: str) -> Json | None:
    """The snapshot that a restore of the volume would take."""
    return next((found for found in of_volume(account, volume_id) if _refusal(found) is None), None)


def _gone(account: Account, snapshot_id: str) -> Finding:
    try:
        listed = account.ask("ec2", "ListSnapshotsInRecycleBin", SnapshotIds=[snapshot_id])["Snapshots"]
    except NoAnswerError as error:
        if not error.is_missing:
            return problem(
                "snapshot", f"there is no {snapshot_id}, and the Recycle Bin is closed: {error}", error.todo
            )
        listed = []
    if not listed:
        return problem(
            "snapshot", f"there is no {snapshot_id} in {account.region}", "check the id and the Region"
        )
    leaves = _when(listed[0]["RecycleBinExitTime"])
    return problem("snapshot", f"{snapshot_id} is in the Recycle Bin until {leaves}", from_bin(snapshot_id))


def _usable(account: Account, found: Json) -> Finding:
    snapshot_id = found["SnapshotId"]
    reason = _refusal(found)
    if reason is None:
        size = f"{found['VolumeSize']} GiB, {found.get('StorageTier', 'standard')} tier"
        return ok("snapshot", f"{snapshot_id} is completed, of {_when(found['StartTime'])}, {size}")
    if found.get("StorageTier") == "archive":
        wanted: Json = {"Name": "snapshot-id", "Values": [snapshot_id]}
        tiers = account.ask("ec2", "DescribeSnapshotTierStatus", Filters=[wanted])["SnapshotTierStatuses"]
        if tiers and tiers[0].get("LastTieringOperationStatus") in RESTORING:
            percent = tiers[0].get("LastTieringProgress", 0)
            return problem(
                "snapshot", f"{snapshot_id} comes back from the archive, {percent} % done", "wait for it"
            )
        return problem("snapshot", f"{snapshot_id} {reason}", from_archive(snapshot_id))
    if _local_zone(found):
        source = ("--source-region", str(account.region), "--source-snapshot-id", snapshot_id)
        return problem("snapshot", f"{snapshot_id} {reason}", words.aws("ec2", "copy-snapshot", *source))
    todo = "wait for it" if found["State"] == "pending" else "take another snapshot"
    return problem("snapshot", f"{snapshot_id} {reason}", todo)


def _refusal(found: Json) -> str | None:
    """Why no volume can be made of it now (EBS user guide, "Snapshot states", "Local snapshots …")."""
    if found.get("OutpostArn"):
        return "is stored on an Outpost, and makes volumes on that Outpost only"
    if zone := _local_zone(found):
        return f"is stored in {zone}, and makes volumes in that Local Zone only"
    if found["State"] != "completed":
        said = found.get("StateMessage") or (found.get("Progress") if found["State"] == "pending" else "")
        return f"is {found['State']}" + (f" ({said})" if said else "")
    return "is archived" if found.get("StorageTier") == "archive" else None


def _local_zone(found: Json) -> str | None:
    """The Local Zone in which it is stored; None in the Region."""
    zone: str = found.get("AvailabilityZone") or ""
    return zone if zone and not found.get("OutpostArn") and not OF_REGION.fullmatch(zone) else None


def _newer(account: Account, found: Json) -> Iterator[Finding]:
    volume_id = found.get("VolumeId", ANY_VOLUME)
    if volume_id == ANY_VOLUME:
        return
    newest = newest_usable(account, volume_id)
    if newest is not None and newest["StartTime"] > found["StartTime"]:
        when = _when(newest["StartTime"])
        yield warning(
            "newer snapshot",
            f"{newest['SnapshotId']} of {when} is of the same volume, and newer",
            f"take it, or leave the choice to Rewarm with --volume {volume_id}",
        )


def _newest(usable: list[Json], listed: list[Json]) -> Finding:
    newest = usable[0]
    age = datetime.now(UTC) - newest["StartTime"]
    found = (
        f"{words.count(len(listed), 'snapshot')}, {len(usable)} of them usable; the newest usable is "
        f"{newest['SnapshotId']}, {words.duration(max(0.0, age.total_seconds()))} old"
    )
    if newest is not listed[0]:
        return warning(
            "snapshots", f"{found}; {listed[0]['SnapshotId']} is newer, and {_refusal(listed[0])}", "see why"
        )
    if age.days >= OLD_DAYS:
        return warning("snapshots", found, take_one(newest["VolumeId"]))
    return ok("snapshots", found)


def _volume(account: Account, volume_id: str) -> Iterator[Finding]:
    volume = described_volume(account, volume_id)
    if volume is None:
        yield unknown(
            "volume", f"there is no {volume_id} any more", "nothing, if it was lost: its snapshots count"
        )
        return
    at = ", ".join(attachment["InstanceId"] for attachment in volume.get("Attachments", []))
    place = f"{volume['Size']} GiB {volume['VolumeType']} in {volume['AvailabilityZone']}"
    yield ok("volume", f"{volume_id} is {volume['State']}" + (f" at {at}" if at else "") + f", {place}")


def _when(at: datetime) -> str:
    return words.clock(at.isoformat())
