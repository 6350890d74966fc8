"""The document that says what uses a volume, as steps in virtual time (documents/device_use.sh)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from local.soak.lab.scheduler import Future

if TYPE_CHECKING:
    from local.soak.lab.data_plane import MemoryDataPlane

LOOK_SECONDS = 2
_ASSIGNMENT = re.compile(r"^\s*(action|volume_id)='([^']*)'$", re.MULTILINE)


def is_look(script: str) -> bool:
    """It is that document's, and not the agent's."""
    return '{"event":"use"' in script


def look(
    data_plane: MemoryDataPlane, instance_id: str, script: str, end: Callable[[int, str, str], None]
) -> Generator[Future, Any, Any]:
    """To the end of the script."""
    given = dict(_ASSIGNMENT.findall(script))
    yield data_plane.scheduler.sleep(LOOK_SECONDS)
    volume = data_plane.volumes.get(given["volume_id"])
    is_named = instance_id not in data_plane.without_nvme
    if not is_named or volume is None or instance_id not in volume.attached_to:
        end(66, "", f"rewarm: no /dev/disk/by-id/… of {given['volume_id']}")
        return
    if given["action"] == "unmount":
        data_plane.mounted.pop(volume.volume_id, None)
    told = {
        "event": "use",
        "volumeId": volume.volume_id,
        "mounts": data_plane.mounted.get(volume.volume_id, []),
        "others": ["process 7 (warmer)"] if volume.reader is not None else [],
    }
    end(0, json.dumps(told), "")
