"""The document that writes the blocks of a manifest, in virtual time: warmer/warmer.1.md says what it does.

No byte exists, but each block is known: a volume is equal to a snapshot once it has the snapshot's blocks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES
from local.soak.lab.instances.undoing import Writing, unwritten_since
from local.soak.lab.scheduler import Future
from rewarm.domain.ready.agent_output import AgentExit

if TYPE_CHECKING:
    from local.soak.lab.instances.agent import Trouble
    from local.soak.lab.instances.data_plane import MemoryDataPlane, Volume

Steps = Generator[Future, Any, Any]
End = Callable[[int, str, str], None]
APPLY = "apply"
"""The action, which a trouble of this document names."""
COMPARE = "--compare"
KILLED = "warmer: the agent was ended by signal 9 and is not started again"
EXITS = {
    "killed": AgentExit.ENDED,
    "killed-and-held": AgentExit.HELD,
    "killed-and-mounted": AgentExit.MOUNTED,
    "killed-and-taken-before": AgentExit.TAKEN_BEFORE,
    "interrupted": AgentExit.INTERRUPTED,
    "no-store": AgentExit.NO_TRANSFER,
    "disturbed": AgentExit.DISTURBED,
    "bad-manifest": AgentExit.BAD_MANIFEST,
    "bad-pack": AgentExit.BAD_PACK,
    "differs": AgentExit.DIFFERS,
    "no-undo": AgentExit.NO_UNDO,
}
"""How each trouble ends the agent that writes; `hangs` does not end it."""
SILENT = frozenset({AgentExit.ENDED, AgentExit.HELD, AgentExit.MOUNTED, AgentExit.TAKEN_BEFORE})
"""With these the run that wrote has left no result."""
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
        restore_id = restore_of(given["manifest_url"])
        volume.befores.setdefault(restore_id, volume.image_now())
        writes = volume.writes
        try:
            yield from _write(data_plane, volume, given, end, trouble)
        finally:
            volume.reader = None
            volume.writes_of[restore_id] += volume.writes - writes
            volume.left.pop(restore_id, None)
            volume.left[restore_id] = volume.image_now()


def _write(
    data_plane: MemoryDataPlane, volume: Volume, given: dict[str, str], end: End, trouble: Trouble | None
) -> Steps:
    """Takes parts as they come, and writes what they name."""
    armed = {"event": "armed", "volumeId": volume.volume_id}
    _publish(data_plane, given, armed | unwritten_since(volume, given["arguments"]))
    run: Writing | None = None
    done = samples = 0
    address: str | None = given["manifest_url"]
    while address is not None:
        text = yield from _part(data_plane, address)
        if text is None:
            end(AgentExit.NO_MANIFEST, "", f"warmer: no manifest within {WAIT_SECONDS:,} s")
            return
        head, *lines, last = (json.loads(line) for line in text.decode().splitlines())
        if run is None:
            compares = COMPARE in given["arguments"]
            run = Writing(data_plane, volume, head["snapshotId"], compares=compares)
        yield data_plane.scheduler.sleep(
            2 * last["blocks"] * BLOCK_BYTES / MIB / volume.limits.throughput_mib_s
        )
        if any("pack" in line and data_plane.store.get(line["pack"]) is None for line in lines):
            _fail(data_plane, given, run, AgentExit.NO_TRANSFER, end)
            return
        if trouble is not None and _strikes(trouble, last["blocks"]):
            yield from _meet(data_plane, given, run, trouble, end)
            return
        refusal = run.part(lines)
        if refusal is not None:
            _fail(data_plane, given, run, refusal, end)
            return
        done, address = done + last["blocks"], last["next"]
        samples += sum("unchanged" in line for line in lines)
        account = {"event": "progress", "bytesDone": done * BLOCK_BYTES, "blocksWritten": run.blocks}
        _publish(data_plane, given, account)
        if done and trouble is not None:
            yield from _meet(data_plane, given, run, trouble, end)
            return
    counts = {"blocksDone": done, "bytesDone": done * BLOCK_BYTES, "samples": samples}
    _finish(data_plane, given, run, end, counts)


def _part(data_plane: MemoryDataPlane, address: str) -> Generator[Future, Any, bytes | None]:
    """Waits for a part; None where it does not come."""
    patience = data_plane.scheduler.now + WAIT_SECONDS
    while data_plane.scheduler.now <= patience:
        text = data_plane.store.get(address)
        if text is not None:
            return text
        yield data_plane.scheduler.sleep(2)
    return None


def _strikes(trouble: Trouble, blocks: int) -> bool:
    """Before the first block, where the trouble is early; else after the first part with blocks."""
    return bool(blocks) and trouble.at_share < 0.5


def _meet(
    data_plane: MemoryDataPlane, given: dict[str, str], run: Writing, trouble: Trouble, end: End
) -> Steps:
    """What ends the agent. One that was killed says nothing, nor does one that begins after it."""
    if trouble.kind == "hangs":
        yield Future()
    code = EXITS[trouble.kind]
    if code in SILENT:
        words = KILLED if code is AgentExit.ENDED else "warmer: an earlier run was killed"
        end(code, "", words)
        return
    _fail(data_plane, given, run, code, end)


def _finish(
    data_plane: MemoryDataPlane, given: dict[str, str], run: Writing | None, end: End, counts: Json
) -> None:
    """All parts are written and read back."""
    if run is not None:
        run.settle()
    result = {
        "event": "result", "command": "apply", "verdict": "applied", "volumeId": given["volume"],
        "blocksResumed": 0,
        "samplesDiffering": 0, **counts, **(run.account if run else {}),
    }  # fmt: skip
    _publish(data_plane, given, result)
    end(AgentExit.OK, json.dumps(result) + "\n", "")


def _fail(
    data_plane: MemoryDataPlane, given: dict[str, str], run: Writing, code: AgentExit, end: End
) -> None:
    """It ends in order, and says what it wrote."""
    verdict = "refused" if code is AgentExit.TAKEN_BEFORE else "failed"
    told = {"verdict": verdict, "volumeId": given["volume"]}
    result = {"event": "result", "command": "apply", **told, **run.account}
    _publish(data_plane, given, result)
    end(code, json.dumps(result) + "\n", f"warmer: {code.name}")


def restore_of(manifest_url: str) -> str:
    """`deltas/<restore>/<index>/part-…` is the address of the manifest."""
    return manifest_url.partition("/deltas/")[2].partition("/")[0]


def _publish(data_plane: MemoryDataPlane, given: dict[str, str], account: Json) -> None:
    data_plane.store.put(given["progress_url"], json.dumps(account).encode())
