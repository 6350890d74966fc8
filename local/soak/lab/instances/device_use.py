"""The document that says what uses a volume, as steps in virtual time (`warmer device-use`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from local import Json
from local.soak.lab.scheduler import Future
from rewarm.domain.ready.agent_output import AgentExit

if TYPE_CHECKING:
    from local.soak.lab.instances.data_plane import MemoryDataPlane

LOOK_SECONDS = 2
COMMAND = "device-use"
"""The agent's command that the document starts."""


def look(
    data_plane: MemoryDataPlane, instance_id: str, given: dict[str, str], end: Callable[[int, str, str], None]
) -> Generator[Future, Any, Any]:
    """To the end of the script."""
    yield data_plane.scheduler.sleep(LOOK_SECONDS)
    volume = data_plane.volumes.get(given["volume"])
    is_named = instance_id not in data_plane.without_nvme
    if not is_named or volume is None or instance_id not in volume.attached_to:
        serial = given["volume"].replace("-", "")
        end(AgentExit.NO_DEVICE, "", f"warmer: no disk with the serial number {serial}")
        return
    if given["action"] == "unmount":
        data_plane.mounted.pop(volume.volume_id, None)
    told: Json = {
        "event": "use",
        "volumeId": volume.volume_id,
        "mounts": data_plane.mounted.get(volume.volume_id, []),
        "others": ["process 7 (warmer)"] if volume.reader is not None else [],
    }
    if given["action"] == "boot":
        told["boots"] = volume.boots
    end(AgentExit.OK, json.dumps(told), "")
