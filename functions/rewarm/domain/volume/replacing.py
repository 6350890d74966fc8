"""Whether a volume can be replaced, and where a replaced one belongs, as its tags say it.

It can while nothing on its instance uses its device: not mounted, and not otherwise in use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from rewarm.domain.errors import InvalidRequestError, TargetNotUsableError
from rewarm.domain.model import Attachment, Instance, Volume
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import REPLACED_TAG
from rewarm.domain.volume.targets import ROOT_SLOTS, device_slot

REPLACED_STACK_TAG = "rewarm:replaced-by-stack"
"""Name of the stack; only volumes with this tag may be detached and attached by its functions."""
REPLACED_FROM_TAG = "rewarm:replaced-from"
STARTED_TAG = "rewarm:started-by-stack"
"""Name of the stack, on an instance that is being started with new volumes. The stack's functions may start
or stop only an instance with this tag."""
__all__ = [
    "LEAVING",
    "MOUNT_PATH",
    "REPLACED_FROM_TAG",
    "REPLACED_STACK_TAG",
    "REPLACED_TAG",
    "STARTED_TAG",
    "TAGS",
    "Place",
    "check_replaceable",
    "check_root",
    "device_to_replace",
    "holder_of",
    "living",
    "place_of",
    "place_on_stopped",
]
TAGS = (REPLACED_TAG, REPLACED_STACK_TAG, REPLACED_FROM_TAG)
LEAVING = frozenset({"detaching", "busy"})

MOUNT_PATH = r"^[A-Za-z]:(\\[A-Za-z0-9 ._-]+)*\\?$"
"""A drive letter of Windows, or a folder on one; the SSM document takes no other characters."""
MOST_SHOWN = 5
_OCTAL = re.compile(r"\\([0-7]{3})")


class Place(Value):
    """Where a volume was, and is to be again if the restore fails."""

    instance_id: str
    device: str
    index: int
    """Index of the restore's volume that takes the place."""
    delete_on_termination: bool
    card: int | None = None
    """Its EBS card; None where the instance has one."""

    def tags(self, restore_id: str, stack_name: str) -> dict[str, str]:
        """Everything that putting back needs to know."""
        on_termination = "delete" if self.delete_on_termination else "keep"
        parts = [self.instance_id, self.device, self.index, on_termination]
        return {
            REPLACED_TAG: restore_id,
            REPLACED_STACK_TAG: stack_name,
            REPLACED_FROM_TAG: " ".join(map(str, parts if self.card is None else [*parts, self.card])),
        }

    @property
    def in_words(self) -> str:
        """For a sentence."""
        return f"{self.device} on {self.instance_id}"


def place_of(tags: Mapping[str, str]) -> Place | None:
    """From the tag; None where it is missing or not ours."""
    parts = tags.get(REPLACED_FROM_TAG, "").split()
    card = parts.pop() if len(parts) == 5 else None
    if len(parts) != 4 or not parts[2].isdecimal() or not (card or "0").isdecimal():
        return None
    return Place(
        parts[0],
        parts[1],
        int(parts[2]),
        delete_on_termination=parts[3] == "delete",
        card=None if card is None else int(card),
    )


def living(volume: Volume) -> list[Attachment]:
    """Attachments that are there still."""
    return [attachment for attachment in volume.attachments if attachment.state != "detached"]


def holder_of(device: str, devices: Mapping[str, str]) -> str | None:
    """The volume at this place of the instance; /dev/sdf and xvdf are one place."""
    slot = device_slot(device)
    return next((volume_id for name, volume_id in devices.items() if device_slot(name) == slot), None)


def device_to_replace(
    asked: str | None,
    own: str | None,
    instance: Instance,
    *,
    reboots: bool = False,
    field: str = "target.device",
) -> tuple[str, str]:
    """(Device name as EC2 has it, volume id); `own` is the device of the source's volume.

    With `reboots` it is the root device, and no other one. Raises InvalidRequestError, TargetNotUsableError.
    """
    device = asked or own
    if reboots and (device is None or device_slot(device) in ROOT_SLOTS):
        device = instance.root_device or device
    attached = ", ".join(f"{name} ({volume_id})" for name, volume_id in sorted(instance.devices.items()))
    if device is None:
        raise InvalidRequestError(
            f"is missing: target.mode replace needs the device whose volume is to be replaced; "
            f"{instance.instance_id} has {attached or 'none'}",
            field=field,
        )
    slot = device_slot(device)
    found = next((item for item in instance.devices.items() if device_slot(item[0]) == slot), None)
    if found is None:
        raise InvalidRequestError(
            f"nothing is attached at {device} of {instance.instance_id}, so there is nothing to replace; "
            f"it has {attached or 'none'}; target.mode attach puts a volume beside them",
            field=field,
        )
    is_root = instance.root_device is not None and slot == device_slot(instance.root_device)
    if is_root and not reboots:
        raise _root(found, instance, field)
    if reboots and not is_root:
        raise InvalidRequestError(
            f"{found[0]} is not the root device of {instance.instance_id}, which is {instance.root_device}; "
            "other volumes are replaced without a reboot",
            field="target.reboot",
        )
    return found


def place_on_stopped(
    asked: str | None, own: str | None, instance: Instance, *, field: str = "target.device"
) -> tuple[str, str | None]:
    """(Device name, id of the volume that is there); on a stopped instance the root volume may leave, too.

    A root volume goes to the root device, whatever that is called where it comes from. Raises
    InvalidRequestError.
    """
    device = asked or own
    if device is None:
        raise InvalidRequestError(
            "is missing: target.start needs the device of each volume; name it, or restore from "
            "source.instanceId or source.imageId, which know it",
            field=field,
        )
    if device_slot(device) in ROOT_SLOTS and instance.root_device is not None:
        device = instance.root_device
    slot = device_slot(device)
    return next((item for item in instance.devices.items() if device_slot(item[0]) == slot), (device, None))


def _root(found: tuple[str, str], instance: Instance, field: str) -> TargetNotUsableError:
    """EC2 user guide, "Replace the root volume for an EC2 instance without stopping it"."""
    return TargetNotUsableError(
        f"{found[0]} is the root device of {instance.instance_id} ({found[1]}), and EC2 detaches a root "
        "volume from a stopped instance only; what works is target.reboot true, with which EC2 swaps the new "
        "volume in once it is at full speed and reboots the instance, or target.start once the instance is "
        "stopped. To restore an instance's other volumes, name their devices in source.devices",
        field=field,
    )


def check_replaceable(volume: Volume, instance_id: str, device: str, *, field: str = "target.device") -> None:
    """Raises TargetNotUsableError where the volume is not simply attached to this one instance."""
    name = volume.volume_id
    attachments = living(volume)
    if volume.managed_by is not None:
        raise TargetNotUsableError(
            f"{name} at {device} belongs to {volume.managed_by}, which alone may detach it", field=field
        )
    others = sorted({attachment.instance_id for attachment in attachments} - {instance_id})
    if others:
        raise TargetNotUsableError(
            f"{name} at {device} is attached to {', '.join(others)} too (Multi-Attach): replaced on one "
            "instance, the machines would work on different data; detach it there first",
            field=field,
        )
    state = attachments[0].state if attachments else "detached"
    if state != "attached":
        raise TargetNotUsableError(
            f"{name} is {state} at {device} of {instance_id}; allowed is a volume that is attached",
            field=field,
        )


def check_root(instance: Instance, old: Volume, *, is_encrypted: bool) -> None:
    """Raises an error where EC2 would not take the new volume as the root volume of a running instance.

    botocore: ec2 CreateReplaceRootVolumeTask VolumeId. Windows may write a new signature to a second disk
    with the same one (docs/windows.md), and boots from no disk with another signature.
    """
    if instance.platform != "linux":
        raise TargetNotUsableError(
            f"{instance.instance_id} runs Windows, which may spoil a second copy of its boot disk; what "
            "works is target.start once the instance is stopped",
            field="target.reboot",
        )
    if old.settings.encrypted and not is_encrypted:
        raise InvalidRequestError(
            f"is missing: {old.volume_id} is encrypted, so EC2 takes an encrypted volume only in its place, "
            "and the snapshot is not encrypted; name a key",
            field="volume.kmsKeyId",
        )


def boots_from(source: Volume, holders: Mapping[str, Instance]) -> Instance | None:
    """The instance whose root volume it is; `holders` are those that it is attached to, by their ids."""
    for attachment in living(source):
        holder = holders.get(attachment.instance_id)
        root = holder.root_device if holder is not None else None
        if root is not None and device_slot(attachment.device) == device_slot(root):
            return holder
    return None


def why_no_root(source: Volume, holders: Mapping[str, Instance], target: Instance) -> str | None:
    """Why `target` would not boot from a snapshot of this volume; None where nothing shows that."""
    holder = boots_from(source, holders)
    if holder is None:
        known = [attachment for attachment in living(source) if attachment.instance_id in holders]
        where = ", ".join(f"{attachment.device} on {attachment.instance_id}" for attachment in known)
        return f"{source.volume_id} is {where}, and no root volume" if known else None
    for name in ("platform", "architecture"):
        own = getattr(holder, name)
        other = getattr(target, name)
        if own != other:
            return f"{source.volume_id} boots {holder.instance_id}, which is {own}, and not {other}"
    return None


class DeviceUse(Value):
    """Where its file systems are mounted, and what else uses it and cannot simply be unmounted."""

    mounts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    problem: str = ""
    """What the agent could not do about it."""
    boots: bool | None = None
    """Whether a machine could start from it; None if nobody asked, or nobody can tell."""
    volume_id: str | None = None
    """The volume that the answer is about."""

    @property
    def is_free(self) -> bool:
        """Nothing would lose data, and a detachment would not hang."""
        return not self.mounts and not self.others

    @property
    def mount_paths(self) -> tuple[str, ...]:
        """Drive letters and folders of Windows."""
        return tuple(point for point in self.mounts if re.match(MOUNT_PATH, point))

    def is_mounted_at(self, path: str) -> bool:
        """Case and a backslash at the end do not count."""
        return path.rstrip("\\").lower() in {point.rstrip("\\").lower() for point in self.mounts}

    @property
    def is_open_only(self) -> bool:
        """Processes that have the device open, and nothing else: they may be about to end.

        The kernel holds a device for a moment after such a process has ended (warmer/src/device).
        """
        return not self.mounts and all(
            other.startswith(("process ", "the kernel, which holds ")) for other in self.others
        )

    @property
    def in_words(self) -> str:
        """For the end of a sentence that begins with the volume."""
        mounted = [f"mounted at {_listed(self.mounts)}"] if self.mounts else []
        other = [f"used by {_listed(self.others)}"] if self.others else []
        return " and ".join([*mounted, *other]) or "not in use"


def device_use(stdout: str) -> DeviceUse | None:
    """From the JSON line of the document; None where there is none."""
    for line in reversed(stdout.splitlines()):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and answer.get("event") == "use":
            return DeviceUse(
                _texts(answer.get("mounts"), decode=True),
                _texts(answer.get("others"), decode=False),
                boots=answer.get("boots") if isinstance(answer.get("boots"), bool) else None,
                volume_id=answer.get("volumeId"),
            )
    return None


def _texts(value: object, *, decode: bool) -> tuple[str, ...]:
    """PowerShell may write a list of one as its item; Linux writes a blank in a mount point in octal."""
    items = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return tuple(_plain(str(item)) if decode else str(item) for item in items)


def _plain(point: str) -> str:
    """Only blank, tab, line feed and backslash are written in octal (proc(5))."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), point)


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:MOST_SHOWN])
    return shown if len(names) <= MOST_SHOWN else f"{shown} and {len(names) - MOST_SHOWN} more"
