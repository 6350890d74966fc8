"""A world in memory with a volume in its place, for replacing it and putting it back."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from rewarm.contracts.values import ReplacedVolume, VolumeAssignment
from rewarm.domain.model import Attachment, Instance, Volume
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.replace.put_back import PutBackPorts
from rewarm.steps.replace.replace import ReplacePorts
from tests.support.builders import DEVICE, INSTANCE_ID, NOW, RESTORE_ID, ZONE, World, assignment, instance
from tests.support.fakes import FakeInstances, FakeTable, FakeVolumes

OLD = "vol-00000000000000000"
STACK = "rewarm"


def note_out(table: FakeTable, *, delete_on_termination: bool = True) -> None:
    """What the restore's record says of OLD before it leaves its place."""
    noted = {
        "volumeId": OLD,
        "instanceId": INSTANCE_ID,
        "device": DEVICE,
        "deleteOnTermination": delete_on_termination,
        "detachedAt": "2026-11-21T03:05:00Z",
        "state": "out",
    }
    table.update_volume(RESTORE_ID, 0, {"replaced": noted})


@dataclass
class LiveInstances(FakeInstances):
    """Instances whose devices are what the volumes say."""

    volumes: FakeVolumes | None = None

    def get(self, instance_id: str) -> Instance:
        found = super().get(instance_id)
        assert self.volumes is not None
        attached = {
            one.device: volume.volume_id
            for volume in self.volumes.volumes.values()
            for one in volume.attachments
            if one.instance_id == instance_id
        }
        return replace(found, devices={**found.devices, **attached})


@dataclass
class ReplacingWorld(World):
    """World with the volume OLD at DEVICE, and the time that the handlers' clock shows."""

    time: datetime = NOW
    delete_on_termination: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.instances = LiveInstances(volumes=self.volumes)
        self.instances.add(instance(devices={"/dev/xvda": "vol-0aaaaaaaaaaaaaaaa"}, root_device="/dev/xvda"))
        place = Attachment(INSTANCE_ID, DEVICE, "attached", delete_on_termination=self.delete_on_termination)
        settings = assignment().volume.settings()
        self.volumes.volumes[OLD] = Volume(OLD, "in-use", ZONE, settings, None, None, (place,), NOW)

    @property
    def assignment(self) -> VolumeAssignment:
        """The plan of one volume that replaces OLD."""
        old = ReplacedVolume(volume_id=OLD, size_gib=100, delete_on_termination=self.delete_on_termination)
        return assignment().model_copy(update={"replaces": old})

    @property
    def replace_ports(self) -> ReplacePorts:
        return ReplacePorts(
            volumes=self.volumes,
            roots=self.instances,
            table=self.table,
            stack_name=STACK,
            look=self.look_ports,
        )

    @property
    def look_ports(self) -> LookPorts:
        return LookPorts(self.instances, self.commands, self.artifacts)

    @property
    def put_back_ports(self) -> PutBackPorts:
        return PutBackPorts(self.volumes, self.look_ports, self.table)

    def say(self, *mounts: str, others: Collection[str] = (), boots: bool | None = None) -> None:
        """What the instance answers to the last question."""
        command_id, _, asked = self.commands.sent[-1]
        told = {
            "event": "use", "volumeId": asked["volumeId"], "mounts": list(mounts), "others": list(others),
        }  # fmt: skip
        if boots is not None:
            told["boots"] = boots
        self.commands.finish(command_id, stdout=json.dumps(told))

    def place_of(self, volume_id: str) -> tuple[str, str] | None:
        """Instance and device."""
        attachments = self.volumes.volumes[volume_id].attachments
        return (attachments[0].instance_id, attachments[0].device) if attachments else None
