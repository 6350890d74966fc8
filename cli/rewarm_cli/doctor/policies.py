"""Who makes the next snapshot of the volumes that a runbook restores, and when?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Any

from rewarm_cli import words
from rewarm_cli.doctor import snapshots
from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, problem, warning

Json = dict[str, Any]

MOST_VOLUMES = 10
LEAST_TO_SEE_A_RHYTHM, OVERDUE = 3, 2
"""Snapshots; and after so many of their usual intervals without another one, something is wrong."""
MAKE_ONE = "make a schedule for it with Data Lifecycle Manager or AWS Backup"


def schedule(account: Account) -> Iterator[Finding]:
    """Each volume has a usable snapshot, and something makes the next one."""
    for volume_id in _volumes(account)[:MOST_VOLUMES]:
        usable = snapshots.newest_usable(account, volume_id)
        if usable is None:
            todo = snapshots.take_one(volume_id)
            yield problem("snapshots", f"{volume_id} has no usable snapshot", todo)
            continue
        taken = sorted(found["StartTime"] for found in snapshots.of_volume(account, volume_id))
        yield _rhythm(volume_id, taken)
        yield from _policy(account, volume_id)


def _volumes(account: Account) -> list[str]:
    """The volumes that the runbook names, or those of the instance that it names."""
    source: Json = account.wanted.request.get("source") or {}
    listed = [source.get("volumeId"), *(entry.get("volumeId") for entry in source.get("volumes") or [])]
    if instance_id := source.get("instanceId"):
        wanted: Json = {"Name": "attachment.instance-id", "Values": [instance_id]}
        pages = account.pages("ec2", "DescribeVolumes", "Volumes", Filters=[wanted])
        listed += [found["VolumeId"] for found in pages]
    return [volume_id for volume_id in listed if volume_id]


def _rhythm(volume_id: str, taken: list[datetime]) -> Finding:
    """What the snapshots' own times say of the next one."""
    age = max(0.0, (datetime.now(UTC) - taken[-1]).total_seconds())
    found = f"the newest of {volume_id} is {words.duration(age)} old"
    if len(taken) < LEAST_TO_SEE_A_RHYTHM:
        return ok("snapshots", found)
    gaps = (later - earlier for earlier, later in pairwise(taken))
    usual = median(gap.total_seconds() for gap in gaps)
    if age > OVERDUE * usual:
        found += f", though one came every {words.duration(usual)}"
        return warning("snapshots", found, "see why the schedule has stopped")
    return ok("snapshots", f"{found}; the next one comes in about {words.duration(max(0.0, usual - age))}")


def _policy(account: Account, volume_id: str) -> Iterator[Finding]:
    """Which policy of Data Lifecycle Manager, or whose plan of AWS Backup, takes this volume."""
    names = [
        policy["PolicyId"] for policy in _of_lifecycle_manager(account) if _takes(account, policy, volume_id)
    ]
    if names:
        yield ok("snapshot policy", f"{', '.join(names)} of Data Lifecycle Manager takes {volume_id}")
    elif _is_backed_up(account, volume_id):
        yield ok("snapshot policy", f"AWS Backup protects {volume_id}")
    else:
        found = f"nothing that Rewarm knows of makes the next snapshot of {volume_id}"
        yield warning("snapshot policy", found, MAKE_ONE)


def _of_lifecycle_manager(account: Account) -> list[Json]:
    """The enabled policies, with what they take."""

    def look() -> list[Json]:
        listed = account.ask("dlm", "GetLifecyclePolicies", State="ENABLED")["Policies"]
        return [
            account.ask("dlm", "GetLifecyclePolicy", PolicyId=found["PolicyId"])["Policy"] for found in listed
        ]

    found: list[Json] = account.once("lifecycle policies", look)
    return found


def _takes(account: Account, policy: Json, volume_id: str) -> bool:
    """Whether the volume, or its instance, has one of the policy's tags (DLM API reference, TargetTags)."""
    details: Json = policy.get("PolicyDetails") or {}
    wanted = {(tag["Key"], tag["Value"]) for tag in details.get("TargetTags", [])}
    volume = snapshots.described_volume(account, volume_id) or {}
    tagged = volume.get("Tags", []) if "VOLUME" in details.get("ResourceTypes", []) else []
    if "INSTANCE" in details.get("ResourceTypes", []):
        ids = [attachment["InstanceId"] for attachment in volume.get("Attachments", [])]
        asked = account.ask("ec2", "DescribeInstances", InstanceIds=ids)["Reservations"] if ids else []
        tagged = [
            tag for group in asked for found in group.get("Instances", []) for tag in found.get("Tags", [])
        ]
    return bool(wanted & {(tag["Key"], tag["Value"]) for tag in tagged})


def _is_backed_up(account: Account, volume_id: str) -> bool:
    try:
        account.ask(
            "backup", "DescribeProtectedResource", ResourceArn=account.arn("ec2", f"volume/{volume_id}")
        )
    except NoAnswerError as error:
        if error.is_missing:
            return False
        raise
    return True
