"""The EBS volumes behind a device of this machine, and those of an instance.

On Nitro the serial number of an NVMe device is the volume's id without its dash (EC2 user guide, "EBS and
NVMe"). Linux shows it in /sys, which containers can read as well.
"""

from __future__ import annotations

import os
import re
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewarm_cli.problems import FAILED, USAGE, CommandFailedError

if TYPE_CHECKING:
    from rewarm_cli.settings import Settings

SYS = Path("/sys")
SERIAL = re.compile(r"vol-?([0-9a-f]{8}|[0-9a-f]{17})")
INSTANCE_STORE = "Instance Storage"
"""In the model of an instance store's device (EC2 user guide, "SSD instance store volumes")."""
BY_ID = "name the volume by its id instead: rewarm wait vol-…"
METADATA = "http://169.254.169.254"
METADATA_SECONDS = 2.0
TTL = "X-aws-ec2-metadata-token-ttl-seconds"


def behind(device: str) -> list[str]:
    """The ids of the volumes behind a device, a partition, a mapped device or a folder's file system.

    Raises CommandFailedError.
    """
    if not SYS.is_dir():
        raise _wrong(device, f"only Linux shows which volume is behind it; {BY_ID}")
    place = SYS / "dev" / "block" / _numbers(device)
    if not place.exists():
        raise _wrong(device, f"it is on no disk of its own, as an overlay or a network share is; {BY_ID}")
    return sorted({_volume(disk, device) for disk in _disks(place.resolve())})


def _numbers(device: str) -> str:
    """The device's numbers, as /sys names it. A container may lack its node in /dev."""
    try:
        found = Path(device).stat()
    except FileNotFoundError:
        known = SYS / "class" / "block" / Path(device).name / "dev"
        if Path(device).parent == Path("/dev") and known.exists():
            return known.read_text(encoding="ascii").strip()
        raise _wrong(
            device, "there is no such device or folder; lsblk -o NAME,SERIAL,MOUNTPOINT lists them"
        ) from None
    except OSError as error:
        raise _wrong(device, f"it cannot be looked at: {error.strerror}") from error
    if stat.S_ISBLK(found.st_mode):
        number = found.st_rdev
    elif stat.S_ISDIR(found.st_mode):
        number = found.st_dev
    else:
        raise _wrong(device, "it is neither a block device nor a folder")
    return f"{os.major(number)}:{os.minor(number)}"


def _disks(place: Path) -> Iterator[Path]:
    """The whole disks that it is on; LVM, RAID and dm-crypt have their parts in `slaves`."""
    if (place / "partition").exists():
        place = place.parent
    parts = sorted((place / "slaves").iterdir()) if (place / "slaves").is_dir() else []
    for part in parts:
        yield from _disks(part.resolve())
    if not parts:
        yield place


def _volume(disk: Path, device: str) -> str:
    serial, model = (_text(disk / "device" / name) for name in ("serial", "model"))
    if found := SERIAL.fullmatch(serial):
        return f"vol-{found[1]}"
    if INSTANCE_STORE in model:
        raise _wrong(device, f"{disk.name} is an instance store, which is at full speed from the start")
    known = f"its serial number is {serial!r}" if serial else "it has no serial number"
    raise _wrong(device, f"{disk.name} is no EBS volume on NVMe, because {known}; {BY_ID}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _wrong(device: str, why: str) -> CommandFailedError:
    return CommandFailedError(f"--device: found {device}; {why}", USAGE)


def on_instance(settings: Settings, instance_id: str | None) -> list[str]:
    """The ids of all volumes that are attached to the instance; None is this one.

    Raises CommandFailedError.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    from rewarm_cli.account import StackUnreachableError, session_of

    try:
        session, region, _ = session_of(settings.profile, settings.region)
        instance_id = instance_id or _this_instance(session)
        ec2: Any = session.create_client("ec2", region_name=region)
        attached = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
        pages = ec2.get_paginator("describe_volumes").paginate(Filters=attached)
        found = [volume["VolumeId"] for page in pages for volume in page["Volumes"]]
    except (StackUnreachableError, BotoCoreError, ClientError) as error:
        raise CommandFailedError(f"--instance: {error}") from error
    if not found:
        raise CommandFailedError(f"--instance: no volume is attached to {instance_id} in {region}", USAGE)
    return found


def _this_instance(session: Any) -> str:
    """By version 2 of the instance metadata service, past any proxy."""
    address = session.get_config_variable("ec2_metadata_service_endpoint") or METADATA
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def asked(method: str, path: str, headers: dict[str, str]) -> str:
        request = urllib.request.Request(f"{address.rstrip('/')}/latest/{path}", None, headers, method=method)
        with opener.open(request, timeout=METADATA_SECONDS) as answer:
            return str(answer.read().decode())

    try:
        token = asked("PUT", "api/token", {TTL: "60"})
        return asked("GET", "meta-data/instance-id", {"X-aws-ec2-metadata-token": token})
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise CommandFailedError(
            f"--instance: this machine's instance metadata does not answer ({reason}). Name the instance: "
            "rewarm wait --instance i-…. A container reaches it with a hop limit of 2 "
            "(HttpPutResponseHopLimit) or in the host's network.",
            FAILED,
        ) from error
