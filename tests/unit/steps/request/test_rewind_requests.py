"""POST /restores with target.mode rewind: what cannot be is refused, and nothing is started or held."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.domain.errors import TargetNotUsableError
from rewarm.domain.model import Attachment, InstanceEbsLimits, Volume, VolumeSettings
from rewarm.steps.request.routes import StartRestorePorts, start_restore
from tests.support.builders import (
    ALICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    ZONE,
    World,
    instance,
    snapshot,
)
from tests.support.wired import wired

HERE = Attachment(INSTANCE_ID, "/dev/sdf", "attached")
THERE = Attachment("i-0bbbbbbbbbbbbbbbb", "/dev/sdf", "attached")
TARGET = {"instanceId": INSTANCE_ID, "mode": "rewind"}
OTHER_ID = "vol-0c10c10c10c10c100"
REFUSED = {
    "Multi-Attach": ({"volume": {"attachments": (HERE, THERE)}}, "target.mode", "attached to 2 instances"),
    "size": ({"volume": {"settings": VolumeSettings("gp3", 200)}}, "target.mode", "has 200 GiB now"),
    "root": ({"instance": {"root_device": "/dev/sdf"}}, "target.mode", "is the root volume"),
    "windows": ({"instance": {"platform": "windows"}}, "target.mode", "runs Windows"),
    "nvme": ({"limits": InstanceEbsLimits(None, None, None, None, nvme=False)}, "target.mode", "no NVMe"),
    "no agent": ({"instance": {"architecture": "riscv64"}}, "target.mode", "there is no agent"),
    "copy": ({"good": {"is_copy": True}}, "target.mode", "name the volume in target.volumeId"),
    "lists of a copy": (
        {"good": {"is_copy": True}, "target": {"compare": "snapshots"}},
        "target.compare",
        "is a copy",
    ),
    "elsewhere": ({"volume": {"attachments": (THERE,)}}, "target.instanceId", "is attached to i-0bbb"),
    "gone": ({"target": {"volumeId": OTHER_ID}}, "target.volumeId", "there is no such volume"),
}


def start(world, **target):
    body = {"source": {"snapshotId": SNAPSHOT_ID}, "target": {**TARGET, **target}}
    ports = wired(StartRestorePorts, world, keeper=world.keeper())
    return start_restore(body, restore_id=RESTORE_ID, by=ALICE, now=NOW, ports=ports)


@pytest.fixture
def world():
    made = World()
    settings = VolumeSettings("gp3", 100, 3_000, 125)
    made.volumes.volumes[SOURCE_VOLUME_ID] = Volume(
        SOURCE_VOLUME_ID, "in-use", ZONE, settings, None, None, (HERE,), NOW
    )
    return made


@pytest.mark.parametrize(("changes", "field", "words"), REFUSED.values(), ids=REFUSED)
def test_what_stands_against_a_rewind_is_said_before_it_is_accepted(world, changes, field, words):
    world.volumes.change(SOURCE_VOLUME_ID, **changes.get("volume", {}))
    world.snapshots.add(snapshot(**changes.get("good", {})))
    world.instances.add(instance(**changes.get("instance", {})))
    world.instances.limits = changes.get("limits", world.instances.limits)
    with pytest.raises(TargetNotUsableError, match=words) as refused:
        start(world, **changes.get("target", {}))
    assert refused.value.field == field
    assert world.executions.started == {}
    assert world.keeper().holds.on_target(INSTANCE_ID).of(RESTORE_ID) == {}


def test_a_volume_of_another_lineage_is_accepted_by_its_name(world):
    volume = world.volumes.get(SOURCE_VOLUME_ID)
    world.volumes.volumes[OTHER_ID] = replace(volume, volume_id=OTHER_ID)
    assert start(world, volumeId=OTHER_ID)["status"] == "accepted"
    assert RESTORE_ID in world.executions.started
