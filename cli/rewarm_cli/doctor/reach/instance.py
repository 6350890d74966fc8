"""The instance that a volume is attached to: does it run, has it room, can Systems Manager reach it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rewarm_cli import words
from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown, warning

Json = dict[str, Any]

LETTERS = "fghijklmnop"
"""EC2 user guide, "Device names for volumes": /dev/sd[f-p] are recommended for EBS volumes."""
CORE_POLICY = "attach a profile whose role has AmazonSSMManagedInstanceCore"
REAL_ATTACHMENTS = {"m8gn.48xlarge": 64, "c8gn.48xlarge": 64}
"""What EC2 takes where DescribeInstanceTypes says 128 (release notes of aws-ebs-csi-driver v1.57)."""
NITRO = "choose an instance type of the Nitro system"


def described(account: Account) -> Json | None:
    """EC2's description; None if there is no such instance. Raises NoAnswerError."""

    def look() -> list[Json]:
        try:
            answer = account.ask("ec2", "DescribeInstances", InstanceIds=[account.wanted.instance])
        except NoAnswerError as error:
            if error.is_missing:
                return []
            raise
        return [found for group in answer["Reservations"] for found in group.get("Instances", [])]

    listed: list[Json] = account.once("instance", look)
    return listed[0] if listed else None


def is_windows(instance: Json) -> bool:
    """EC2 sets Platform for Windows only (botocore Instance.Platform)."""
    return str(instance.get("Platform", "")).lower() == "windows"


def managed(account: Account) -> Json | None:
    """What Systems Manager says of the instance; None if it does not know it. Raises NoAnswerError."""

    def look() -> list[Json]:
        wanted: Json = {"Key": "InstanceIds", "Values": [account.wanted.instance]}
        answer = account.ask("ssm", "DescribeInstanceInformation", Filters=[wanted])
        listed: list[Json] = answer["InstanceInformationList"]
        return listed

    listed: list[Json] = account.once("managed instance", look)
    return listed[0] if listed else None


def is_online(account: Account) -> bool:
    """Whether the SSM agent is online. Raises NoAnswerError."""
    return (managed(account) or {}).get("PingStatus") == "Online"


def state(account: Account) -> Iterator[Finding]:
    """Whether it exists and runs, and there is an agent for it."""
    instance_id = account.wanted.instance
    instance = described(account)
    if instance is None:
        yield problem(
            "instance", f"there is no {instance_id} in {account.region}", "check the id and the Region"
        )
        return
    kind = f"{instance['InstanceType']} in {instance['Placement']['AvailabilityZone']}"
    found = f"{instance_id}, {kind}, is {instance['State']['Name']}"
    if instance["State"]["Name"] == "running":
        yield ok("instance", found)
    else:
        yield problem(
            "instance", found, words.aws("ec2", "start-instances", "--instance-ids", str(instance_id))
        )
    architecture = instance.get("Architecture", "x86_64")
    if architecture not in ({"x86_64"} if is_windows(instance) else {"x86_64", "arm64"}):
        found = f"Rewarm has none for {architecture}"
        yield warning("agent", found, "restore with a strategy that needs no agent; nothing is measured then")


def devices(account: Account) -> Iterator[Finding]:
    """Free names, NVMe, and free places."""
    instance = described(account)
    if instance is None:
        return
    used = [mapping["DeviceName"] for mapping in instance.get("BlockDeviceMappings", [])]
    taken = {re.sub(r"^(/dev/)?(sd|xvd)", "", name) for name in used}
    free = [letter for letter in LETTERS if letter not in taken]
    if free:
        yield ok("device names", f"{len(free)} of {len(LETTERS)} are free")
    else:
        yield problem("device names", "/dev/sdf to /dev/sdp are all in use", "detach a volume")
    kind = instance["InstanceType"]
    kinds = account.ask("ec2", "DescribeInstanceTypes", InstanceTypes=[kind])["InstanceTypes"]
    ebs: Json = kinds[0].get("EbsInfo", {}) if kinds else {}
    yield _nvme(kind, ebs.get("NvmeSupport"))
    disks = (kinds[0].get("InstanceStorageInfo") or {}).get("Disks", []) if kinds else []
    yield _places(instance, ebs, len(used), sum(disk.get("Count", 0) for disk in disks))


def _nvme(kind: str, support: str | None) -> Finding:
    if support is None:
        return unknown("NVMe", f"EC2 does not tell whether {kind} has it", NITRO)
    if support == "unsupported":
        found = f"{kind} has none, so no program on it can tell which volume a device is"
        return warning("NVMe", found, f"{NITRO}: the agent needs NVMe, and so does replacing a volume")
    return ok("NVMe", f"{kind} has it ({support})")


def _places(instance: Json, ebs: Json, volumes: int, disks: int) -> Finding:
    """EC2 user guide, "Amazon EBS volume limits": interfaces and instance store use the same places."""
    said = ebs.get("MaximumEbsAttachments")
    kind = instance["InstanceType"]
    most = said if said is None else min(said, REAL_ATTACHMENTS.get(kind, said))
    if most is None:
        found = f"{words.count(volumes, 'volume')}; EC2 does not tell how many fit"
        return unknown("attachments", found, "nothing, while device names are free")
    is_shared = ebs.get("AttachmentLimitType", "shared") == "shared"
    others = len(instance.get("NetworkInterfaces", [])) + disks if is_shared else 0
    taken = words.count(volumes, "volume")
    taken += f" and {others} network interfaces and disks of its own" if others else ""
    found = f"{taken}, of {most} attachments {'shared by all' if is_shared else 'for volumes alone'}"
    if most != said:
        found += f" (DescribeInstanceTypes says {said}, which is known to be wrong for {kind})"
    if volumes + others >= most:
        return problem("attachments", found, "detach a volume, or take a larger instance")
    return ok("attachments", found)


def systems_manager(account: Account) -> Iterator[Finding]:
    """The agent of Systems Manager is online, and the instance has a profile."""
    instance = described(account)
    if instance is None:
        return
    known = managed(account)
    if known is None:
        todo = f"{CORE_POLICY}, and see that the SSM agent runs and reaches Systems Manager"
        yield problem("Systems Manager", "it does not know the instance", todo)
    else:
        version = known.get("AgentVersion", "unknown")
        platform = known.get("PlatformName", "")
        found = f"{known.get('PingStatus')}, agent {version}" + (f", {platform}" if platform else "")
        seen = known.get("LastPingDateTime")
        if is_online(account):
            yield ok("Systems Manager", found)
        else:
            found += f", last heard of at {words.clock(seen.isoformat())}" if seen else ""
            yield problem("Systems Manager", found, "see that the SSM agent runs, and see its network below")
    profile = (instance.get("IamInstanceProfile") or {}).get("Arn")
    if profile:
        yield ok("instance profile", profile)
    elif is_online(account):
        yield ok("instance profile", "none; Systems Manager manages the instance without it")
    else:
        yield problem("instance profile", "none", CORE_POLICY)
