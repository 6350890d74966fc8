"""The document that writes the blocks of a manifest, in virtual time: warmer/warmer.1.md says what it does.

The packs are not decoded: a volume is equal to the snapshot once all parts of the manifest are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES
from local.soak.lab.scheduler import Future
from local.soak.lab.undoing import Comparing, unwritten_since
from rewarm.domain.ready.agent_exit import AgentExit

if TYPE_CHECKING:
    from local.soak.lab.agent import Trouble
    from local.soak.lab.data_plane import MemoryDataPlane, Volume

Steps = Generator[Future, Any, Any]
End = Callable[[int, str, str], None]
APPLY = "apply"
"""The action, which a trouble of this document names."""
COMPARE = "--compare"
MIB = 1_048_576
WAIT_SECONDS = 86_400
"""For each part, as the functions ask for."""


def is_apply(script: str) -> bool:
    """Whether the script starts the agent that writes."""
    return "--action=apply" in script


def apply(
    data_plane: MemoryDataPlane, instance_id: str, given: dict[str, str], end: End, trouble: Trouble | None
) -> Steps:
    """To the end of the script."""
    yield data_plane.scheduler.sleep(1)
    volume = data_plane.volumes.get(given["volume"])
    if volume is None or instance_id not in volume.attached_to:
        end(AgentExit.NO_DEVICE, "", "warmer: there is no such device after 60 s")
    elif volume.volume_id in data_plane.mounted:
        end(AgentExit.MOUNTED, "", f"warmer: it is mounted at {data_plane.mounted[volume.volume_id][0]}")
    elif volume.reader is not None:
        end(AgentExit.HELD, "", "warmer: another program has it open")
    else:
        volume.reader = given
        restore_id = _restore_of(given["manifest_url"])
        volume.befores.setdefault(restore_id, volume.image_now())
        try:
            yield from _write(data_plane, volume, given, end, trouble)
        finally:
            volume.reader = None
            volume.left.pop(restore_id, None)
            volume.left[restore_id] = volume.image_now()


def _write(
    data_plane: MemoryDataPlane, volume: Volume, given: dict[str, str], end: End, trouble: Trouble | None
) -> Steps:
    """Takes parts as they come, and notes what they count."""
    armed = {"event": "armed", "volumeId": volume.volume_id}
    _publish(data_plane, given, armed | unwritten_since(volume, given["arguments"]))
    address: str | None = given["manifest_url"]
    patience = data_plane.scheduler.now + WAIT_SECONDS
    head: Json = {}
    done = samples = 0
    comparing: Comparing | None = None
    while address is not None:
        text = data_plane.store.get(address)
        if text is None:
            if data_plane.scheduler.now > patience:
                end(
                    AgentExit.NO_MANIFEST,
                    "",
                    f"warmer: the manifest did not appear within {WAIT_SECONDS:,} s",
                )
                return
            yield data_plane.scheduler.sleep(2)
            continue
        head, *lines, last = (json.loads(line) for line in text.decode().splitlines())
        if COMPARE in given["arguments"] and comparing is None:
            comparing = Comparing(data_plane, volume, head["snapshotId"])
        yield data_plane.scheduler.sleep(
            2 * last["blocks"] * BLOCK_BYTES / MIB / volume.limits.throughput_mib_s
        )
        if any("pack" in line and data_plane.store.get(line["pack"]) is None for line in lines):
            end(AgentExit.NO_TRANSFER, "", "warmer: a pack could not be downloaded")
            return
        refusal = comparing.part(lines) if comparing is not None else None
        if comparing is not None and refusal is not None:
            _fail(data_plane, given, comparing, refusal, end)
            return
        patience = data_plane.scheduler.now + WAIT_SECONDS
        done, address = done + last["blocks"], last["next"]
        samples += sum("unchanged" in line for line in lines)
        if done and trouble is not None and trouble.kind == "killed":
            end(AgentExit.ENDED, "", "warmer: the agent was ended by signal 9 and is not started again")
            return
        if done and trouble is not None and trouble.kind == "hangs":
            yield Future()
        _publish(data_plane, given, {"event": "progress", "bytesDone": done * BLOCK_BYTES})
    if comparing is None or not comparing.has_log:
        volume.equals = head["snapshotId"]
        volume.image, volume.blocks_written = data_plane.images.get(head["snapshotId"], volume.image), 0
    volume.fetched = volume.background = volume.written
    result = {
        "event": "result", "command": "apply", "verdict": "applied", "blocksDone": done, "blocksResumed": 0,
        "bytesDone": done * BLOCK_BYTES, "samples": samples, "samplesDiffering": 0,
        **(comparing.account if comparing else {}),
    }  # fmt: skip
    _publish(data_plane, given, result)
    end(AgentExit.OK, json.dumps(result) + "\n", "")


def _fail(
    data_plane: MemoryDataPlane, given: dict[str, str], comparing: Comparing, code: AgentExit, end: End
) -> None:
    """What undoes a write could not be kept, so the block was not written."""
    verdict = "refused" if code is AgentExit.TAKEN_BEFORE else "failed"
    result = {"event": "result", "command": "apply", "verdict": verdict, **comparing.account}
    _publish(data_plane, given, result)
    end(code, json.dumps(result) + "\n", f"warmer: {code.name}")


def _restore_of(manifest_url: str) -> str:
    """`deltas/<restore>/<index>/part-…` is the address of the manifest."""
    return manifest_url.partition("/deltas/")[2].partition("/")[0]


def _publish(data_plane: MemoryDataPlane, given: dict[str, str], account: Json) -> None:
    data_plane.store.put(given["progress_url"], json.dumps(account).encode())
