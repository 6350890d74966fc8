"""Somebody who believes what GET /restores says: attaches a volume that can be used, writes, and detaches it.

No error and no meter shows what is lost when such a volume is deleted; the data plane knows who wrote to it.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from local.aws.machines.dataplane import BLOCK_BYTES
from local.aws.region import ApiError
from local.soak.lab.lab import FastLab
from local.soak.lab.scheduler import Future
from rewarm.steps.record.restore import FINISHED

DEVICE = "/dev/sdu"
LOOK_SECONDS, PATIENCE_SECONDS = 5.0, 3_600.0
MOVE_SECONDS = 20.0
"""EC2 attaches and detaches within seconds."""


def use(lab: FastLab, restore_id: str, *, after_seconds: float = 0.0) -> Generator[Future, Any, None]:
    """A process: looks until the restore's volumes can be used, and then uses them one after the other."""
    yield lab.scheduler.sleep(after_seconds)
    until = lab.scheduler.now + PATIENCE_SECONDS
    usable: list[str] = []
    is_over = False
    while lab.scheduler.now < until and not usable and not is_over:
        yield lab.scheduler.sleep(LOOK_SECONDS)
        answer, failure = yield lab.begin_api("GET", f"/restores/{restore_id}").result
        restore = {} if failure is not None else json.loads(answer["body"] or "{}")
        usable, is_over = usable_volumes(restore), restore.get("status") in FINISHED
    if usable:
        instance_id = lab.region.add_instance()
        for volume_id in usable:
            yield from _write(lab, volume_id, instance_id)


def usable_volumes(restore: dict[str, Any]) -> list[str]:
    """What GET /restores/{id} shows as there to be used: announced, or being initialized, on no instance.

    A volume whose item was removed from the table has no id there.
    """
    return [
        str(one["volume"]["volumeId"])
        for one in restore.get("volumes") or []
        if "volume" in one
        and {"attached", "initialization"} & one.keys()
        and not one["volume"].get("instanceId")
    ]


def _write(lab: FastLab, volume_id: str, instance_id: str) -> Generator[Future, Any, None]:
    place = {"VolumeId": volume_id, "InstanceId": instance_id}
    try:
        lab.region.call("ec2", "AttachVolume", {**place, "Device": DEVICE})
        yield lab.scheduler.sleep(MOVE_SECONDS)
        volume = lab.data_plane.volumes.get(volume_id)
        if volume is not None and instance_id in volume.attached_to:
            before = volume.counters
            volume.counters = replace(
                before, write_ops=before.write_ops + 1, write_bytes=before.write_bytes + BLOCK_BYTES
            )
        lab.region.call("ec2", "DetachVolume", place)
        yield lab.scheduler.sleep(MOVE_SECONDS)
    except ApiError:
        return  # it was gone before it could be taken
