"""Which instance can take a volume, and under which device name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from rewarm.domain.errors import (
    DeviceInUseError,
    InvalidRequestError,
    TargetNotFoundError,
    TargetNotUsableError,
)
from rewarm.domain.model import Instance, InstanceEbsLimits
from rewarm.domain.units import shown

FREE_LETTERS = "fghijklmnop"
"""EC2 user guide, "Device names for volumes": /dev/sd[f-p] are recommended for EBS volumes."""
ROOT_SLOTS = frozenset({"a", "a1"})
"""The same page: /dev/sda1 and /dev/xvda are reserved for the root volume; the image says which it is."""
DRILLS_TAG = "rewarm:drills"
"""On an instance, with the value true: drills may use it. Their role may use no other instance."""
DEVICE_NAMES = {
    "linux": (
        re.compile(r"/dev/(sd[b-z]|xvd[b-z]|xvdb[b-z])"),
        "/dev/sd[b-z], /dev/xvd[b-z] or /dev/xvdb[b-z]",
    ),
    "windows": (re.compile(r"xvd[b-z]|xvdb[b-z]"), "xvd[b-z] or xvdb[b-z]"),
}


def check_instance(instance: Instance, *, field: str = "target.instanceId") -> None:
    """Raises TargetNotUsableError where the instance cannot take a volume and warm it up."""
    if instance.state != "running":
        raise TargetNotUsableError(
            f"{instance.instance_id} is {instance.state}; allowed is an instance that is running", field=field
        )
    if not instance.ssm_online:
        raise TargetNotUsableError(
            f"{instance.instance_id} is not online in Systems Manager, so the volume could be neither warmed "
            "up nor measured; allowed is an instance with a running SSM agent and the policy "
            "AmazonSSMManagedInstanceCore, or target.availabilityZone alone",
            field=field,
        )


def check_stopped(instance: Instance, *, field: str = "target.instanceId") -> None:
    """Raises TargetNotUsableError where target.start cannot be done."""
    if instance.state != "stopped":
        raise TargetNotUsableError(
            f"{instance.instance_id} is {instance.state}; allowed with target.start is an instance that is "
            f"stopped (aws ec2 stop-instances --instance-ids {instance.instance_id})",
            field=field,
        )


def check_takes_drills(instance: Instance) -> None:
    """Raises TargetNotUsableError where the instance's owner has not said that drills may use it."""
    if instance.tags.get(DRILLS_TAG) != "true":
        raise TargetNotUsableError(
            f"{instance.instance_id} does not have the tag {DRILLS_TAG} with the value true, without which "
            "no drill may use it; give it that tag if it is no instance of production",
            field="target.instanceId",
        )


def check_tells_volumes(instance: Instance, limits: InstanceEbsLimits, *, field: str = "target.mode") -> None:
    """Raises TargetNotUsableError where nobody on the instance can tell whether a volume is in use."""
    if not limits.nvme:
        raise TargetNotUsableError(
            f"{instance.instance_id} is a {instance.instance_type}, which has no NVMe: no program on it can "
            "tell which volume a device is, and whether the old one is in use; allowed is attach",
            field=field,
        )


def check_zone(name: str, zones: Collection[str]) -> None:
    """Raises TargetNotFoundError."""
    if name not in zones:
        raise TargetNotFoundError(
            f"{name} is not a zone of this Region; allowed are {', '.join(sorted(zones))}",
            field="target.availabilityZone",
        )


def free_devices(platform: str, used: Collection[str]) -> list[str]:
    """Names to give, in order. `sdf` and `xvdf` are one place to many kernels, so one excludes the other."""
    prefix = "xvd" if platform == "windows" else "/dev/sd"
    taken = {device_slot(name) for name in used}
    return [prefix + letter for letter in FREE_LETTERS if letter not in taken]


def choose_device(
    asked: str | None, instance: Instance, *, reserved: Collection[str] = (), preferred: str | None = None
) -> str:
    """`asked` if it is valid and free, else `preferred` if it is free, else the first free name.

    `reserved` names go to other volumes of the same restore.
    Raises InvalidRequestError, DeviceInUseError, TargetNotUsableError.
    """
    used = [*instance.devices, *reserved]
    free = free_devices(instance.platform, used)
    if asked is not None:
        _check_asked(asked, instance, reserved, free)
        return asked
    if (
        preferred is not None
        and _is_valid(preferred, instance.platform)
        and device_slot(preferred) not in map(device_slot, used)
    ):
        return preferred
    if not free:
        names = free_devices(instance.platform, ())
        raise TargetNotUsableError(
            f"{instance.instance_id} has no free device name; {names[0]} to {names[-1]} are all in use",
            field="target.instanceId",
        )
    return free[0]


def _check_asked(asked: str, instance: Instance, reserved: Collection[str], free: list[str]) -> None:
    if not _is_valid(asked, instance.platform):
        allowed = DEVICE_NAMES[_platform(instance.platform)][1]
        raise InvalidRequestError(
            f"found {shown(asked)}; allowed on a {_platform(instance.platform)} instance is {allowed}",
            field="target.device",
        )
    holder = _holder(asked, instance.devices)
    if holder is not None or device_slot(asked) in map(device_slot, reserved):
        raise DeviceInUseError(
            f"{asked} already holds {holder or 'another volume of this restore'} on {instance.instance_id}; "
            f"free names are {', '.join(free) or 'none'}",
            field="target.device",
        )


def _holder(asked: str, devices: Mapping[str, str]) -> str | None:
    return next(
        (volume_id for name, volume_id in devices.items() if device_slot(name) == device_slot(asked)), None
    )


def _platform(platform: str) -> str:
    return platform if platform in DEVICE_NAMES else "linux"


def _is_valid(name: str, platform: str) -> bool:
    return DEVICE_NAMES[_platform(platform)][0].fullmatch(name) is not None


def device_slot(name: str) -> str:
    """The place that a name means: `f` for /dev/sdf and xvdf, `bf` for xvdbf, `a1` for /dev/sda1."""
    return re.sub(r"^(/dev/)?(sd|xvd)", "", name)
