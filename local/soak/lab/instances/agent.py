"""The warm-up document and the agent, as steps in virtual time: same checks, same JSON, same exit statuses.

documents/start.sh is the script; warmer/warmer.1.md says what the agent does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, Any

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES
from local.soak.lab.scheduler import Future
from rewarm.domain.ready.agent_output import WRONG_CHECKSUM, AgentExit

if TYPE_CHECKING:
    from local.soak.lab.instances.data_plane import MemoryDataPlane, Volume

Steps = Generator[Future, Any, Any]
MIB = 1_048_576
DEVICE_SECONDS = 60
KILLED = "warmer: the agent was ended by signal 9 and is not started again"
STEPS = 12
"""In so many steps a warm-up goes forward."""
WARM_MS, COLD_MS = 0.7, 95.0
"""One random read of 4 KiB (published: 1,630 IOPS when warm, 11 when cold)."""
TROUBLES = (
    "killed",
    "unreadable",
    "disk-full",
    "no-download",
    "no-progress",
    "wrong-sha256",
    "hangs",
    "unheard",
    "call",
)
_ADDRESS = re.compile(r"^export REWARM_(\w+)='([^']*)'$", re.MULTILINE)
_OPTION = re.compile(r"'--([a-z-]+)=([^']*)'")
_START = re.compile(r"^set -- '([^']*)' '([^']*)' ([a-z-]+) .*$", re.MULTILINE)
_FLAG = re.compile(r"--(\S+) (\S+)")


def starts_agent(script: str) -> bool:
    """Whether it is the script of a document that starts the agent."""
    return _START.search(script) is not None


def given(script: str) -> dict[str, str]:
    """What a document's script starts: the agent's command, its options and addresses, by plain names."""
    found = _START.search(script)
    if found is None:
        raise ValueError("the script starts no agent")
    agent = {"agent_url": found[1], "agent_sha256": found[2], "command": found[3]}
    options = {name.replace("-", "_"): value for name, value in _OPTION.findall(found[0])}
    return agent | options | {name.lower(): value for name, value in _ADDRESS.findall(script)}


@dataclass
class Trouble:
    """What befalls one command: one of TROUBLES, at a share of its way; `call` does something outside."""

    kind: str
    action: str = "warm"
    at_share: float = 0.5
    skip: int = 0
    call: Callable[[str, str], None] | None = None
    met: bool = False


class AgentRun:
    """One command on one instance."""

    def __init__(
        self,
        data_plane: MemoryDataPlane,
        instance_id: str,
        started: dict[str, str],
        end: Callable[[int, str, str], None],
    ) -> None:
        self._data_plane = data_plane
        self._instance_id = instance_id
        self._given = started
        self._flags = dict(_FLAG.findall(self._given["arguments"]))
        self._cold_flags = dict(_FLAG.findall(self._given["cold_arguments"]))
        self._said = ""
        """The lines before the final one."""
        self._first = 0
        self._first_seconds: float | None = None
        self._end = end
        self._trouble = data_plane.trouble_of(self._given["action"])

    def steps(self) -> Steps:
        """To the end of the script."""
        volume: Volume | None = None
        try:
            volume = yield from self._device()
            blocks = self._prepare()
            if self._given["action"] == "verify":
                yield from self._verify(volume)
            elif self._given["action"] == "observe":
                yield from self._observe(volume)
            else:
                yield from self._measure_cold(volume)
                yield from self._lock(volume)
                yield from self._warm(volume, blocks)
        except _Exit as exit_:
            self._end(exit_.code, self._said + exit_.stdout, exit_.stderr)
        except _Hang:
            yield Future()
        finally:
            if volume is not None and volume.reader is self:
                volume.reader = None
            if volume is not None and volume.observer is self:
                volume.observer = None

    def _is(self, kind: str) -> bool:
        return self._trouble is not None and self._trouble.kind == kind

    def _device(self) -> Steps:
        volume_id = self._given["volume"]
        for _ in range(DEVICE_SECONDS):
            volume = self._data_plane.volumes.get(volume_id)
            is_named = self._instance_id not in self._data_plane.without_nvme
            if is_named and volume is not None and self._instance_id in volume.attached_to:
                return volume
            yield self._data_plane.scheduler.sleep(1)
        name = f"disk with the serial number {volume_id.replace('-', '')}"
        raise _Exit(AgentExit.NO_DEVICE, "", f"warmer: no {name} after {DEVICE_SECONDS} s")

    def _prepare(self) -> int | None:
        """Checks the agent and reads the map; how many blocks it names."""
        if self._is("disk-full"):
            raise _Exit(AgentExit.NO_TRANSFER, "", "warmer: could not make a folder: No space left on device")
        binary = None if self._is("no-download") else self._data_plane.store.get(self._given["agent_url"])
        if binary is None:
            raise _Exit(AgentExit.NO_TRANSFER, "", "rewarm: could not download the warm-up agent")
        wanted = self._given["agent_sha256"]
        if self._is("wrong-sha256") or hashlib.sha256(binary).hexdigest() != wanted:
            raise _Exit(WRONG_CHECKSUM, "", f"rewarm: the agent's checksum is not {wanted}")
        if self._given["map_url"] == "none":
            return None
        text = self._data_plane.store.get(self._given["map_url"])
        if text is None:
            raise _Exit(AgentExit.NO_TRANSFER, "", "warmer: could not download the file of REWARM_MAP_URL")
        return sum(int(line.split()[1]) for line in text.decode().splitlines())

    def _first_blocks(self, total: int) -> int:
        """How many blocks are read before the others; without their list the agent reads all in its order."""
        url = self._given["first_url"]
        text = None if url == "none" else self._data_plane.store.get(url)
        runs = [map(int, line.split()) for line in (text or b"").decode().splitlines()]
        return min(total, len({block for start, count in runs for block in range(start, start + count)}))

    def _observe(self, volume: Volume) -> Steps:
        """Publishes what is read while it is read: here the volume's first blocks, one a minute and more.

        Whether one was cold, it judges by what a warm-up had read before the step.
        """
        if volume.observer is not None:
            raise _Exit(AgentExit.BUSY, "", "warmer: another warmer is observing")
        volume.observer = self
        wanted, began = float(self._flags["seconds"]), self._data_plane.scheduler.now
        blocks, cold, has_warm_up = range(0), 0, False
        for step in range(1, STEPS + 1):
            fetched, has_warm_up = volume.fetched, has_warm_up or volume.reader is not None
            yield self._data_plane.scheduler.sleep(wanted / STEPS)
            self._check_device(volume)
            known, blocks = len(blocks), range(min(volume.written, 4 * step))
            cold += sum(block >= fetched for block in blocks[known:])
            seconds = round(self._data_plane.scheduler.now - began)
            self._meet({"bytesDone": 0}, step / STEPS)
            if not self._is("no-progress"):
                beside = {"coldBlocks": cold} if has_warm_up else {}
                self._record(volume, blocks, seconds, {**beside, "complete": step == STEPS})
        result = {"event": "result", "command": "observe", "verdict": "recorded", "blocks": len(blocks)}
        raise _Exit(AgentExit.OK, json.dumps(result) + "\n", "")

    def _record(self, volume: Volume, blocks: range, seconds: int, more: Json) -> None:
        head = {
            "recording": 1,
            "volumeId": volume.volume_id,
            "bytes": volume.size_gib * 1_024 * MIB,
            "blockBytes": BLOCK_BYTES,
            "seconds": seconds,
            "source": "histogram",
            "dropped": 0,
            **more,
        }
        lines = "".join(f"{block} 1 {block // 4}\n" for block in reversed(blocks))
        self._data_plane.store.put(self._given["progress_url"], f"{json.dumps(head)}\n{lines}".encode())

    def _lock(self, volume: Volume) -> Steps:
        """A second agent goes after the first (another warmer is reading it)."""
        while volume.reader is not None:
            yield self._data_plane.scheduler.sleep(5)
        volume.reader = self

    def _warm(self, volume: Volume, blocks: int | None) -> Steps:
        total = volume.size_gib * 1_024 * MIB // BLOCK_BYTES if blocks is None else blocks
        done, began = 0, self._data_plane.scheduler.now
        self._first, self._first_seconds = self._first_blocks(total), None
        for step in range(1, STEPS + 1):
            reached = total * step // STEPS
            count, done = reached - done, reached
            seconds = count * BLOCK_BYTES / MIB / self._rate(volume)
            yield from self._spend(seconds)
            self._check_device(volume)
            covered = min(done, volume.written) if done < total or blocks is None else done
            volume.read(covered, count, max(seconds, count * WARM_MS / 1_000))
            account = self._account(done, total, self._data_plane.scheduler.now - began)
            self._meet(account, step / STEPS)
            if not self._is("no-progress"):
                self._publish({"event": "progress", **account})
        self._finish(account)

    def _finish(self, account: Json) -> None:
        errors = 1 if self._is("unreadable") else 0
        verdict = "incomplete" if errors else "complete"
        done = account["bytesDone"] - errors * BLOCK_BYTES
        result = {"event": "result", "command": "warm", "verdict": verdict, **account, "errors": errors}
        result |= {"bytesDone": done, "etaSeconds": 0}
        if not self._is("no-progress"):
            self._publish(result)
        if self._is("unheard"):
            raise _Hang
        raise _Exit(AgentExit.UNREADABLE if errors else AgentExit.OK, json.dumps(result) + "\n", "")

    def _spend(self, seconds: float) -> Steps:
        """The metrics of the time in which something was read are published minute by minute."""
        scheduler = self._data_plane.scheduler
        self._data_plane.active = max(self._data_plane.active, scheduler.now + seconds + 600)
        yield scheduler.sleep(seconds)

    def _meet(self, account: Json, share: float) -> None:
        trouble = self._trouble
        if trouble is None or share < trouble.at_share:
            return
        if trouble.kind == "killed":
            raise _Exit(AgentExit.ENDED, "", KILLED)
        if trouble.kind == "hangs":
            account["bytesDone"] = account["bytesDone"] // 2
            raise _Hang
        if trouble.call is not None:
            act, names = trouble.call, (self._instance_id, self._given["volume"])
            self._trouble = None
            self._data_plane.scheduler.after(0, lambda: act(*names))

    def _rate(self, volume: Volume) -> float:
        own = min(volume.limits.throughput_mib_s, volume.limits.iops / 4) * 0.95
        return max(0.5, min(own, float(self._flags.get("max-mib-s", own))))

    def _check_device(self, volume: Volume) -> None:
        if self._instance_id in volume.attached_to and volume.volume_id in self._data_plane.volumes:
            return
        result = {"event": "result", "command": "warm", "verdict": "incomplete", "errors": 0}
        raise _Exit(AgentExit.UNREADABLE, json.dumps(result) + "\n", "warmer: the device disappeared")

    def _account(self, done: int, total: int, seconds: float) -> Json:
        rate = done * BLOCK_BYTES / MIB / seconds if seconds else 0.0
        left = (total - done) * BLOCK_BYTES / MIB
        return {
            "volumeId": self._given["volume"],
            "bytesDone": done * BLOCK_BYTES,
            "bytesTotal": total * BLOCK_BYTES,
            "blocksDone": done,
            "blocksTotal": total,
            "mibPerSecond": round(rate, 3),
            "elapsedSeconds": round(seconds, 3),
            "etaSeconds": round(left / rate) if rate else 0,
            "errors": 0,
            **self._firsts(done, seconds),
        }

    def _firsts(self, done: int, seconds: float) -> Json:
        """What the account says of the blocks that are read first."""
        if not self._first:
            return {}
        if self._first_seconds is None and done >= self._first:
            self._first_seconds = round(seconds * self._first / done, 3)
        at = {} if self._first_seconds is None else {"firstSeconds": self._first_seconds}
        return {"firstBlocksTotal": self._first, "firstBlocksDone": min(done, self._first), **at}

    def _publish(self, account: Json) -> None:
        if self._given["progress_url"] != "none":
            self._data_plane.store.put(self._given["progress_url"], json.dumps(account).encode())

    def _measure_cold(self, volume: Volume) -> Steps:
        """Before the first block; a resumed warm-up has read some already."""
        if self._cold_flags and volume.before is None and not volume.counters.read_blocks:
            result = yield from self._sample(volume, self._cold_flags)
            volume.before = json.dumps({**result, "event": "before"}) + "\n"
        if self._cold_flags:
            self._said = volume.before or ""

    def _verify(self, volume: Volume) -> Steps:
        result = yield from self._sample(volume, self._flags)
        if self._is("killed"):
            raise _Exit(AgentExit.ENDED, "", KILLED)
        if self._is("hangs"):
            raise _Hang
        if self._is("unreadable"):
            result["verdict"] = "unreadable"
        raise _Exit(
            AgentExit.OK if result["verdict"] == "fast" else AgentExit.UNREADABLE,
            json.dumps(result) + "\n",
            "",
        )

    def _sample(self, volume: Volume, flags: dict[str, str]) -> Generator[Future, Any, Json]:
        samples, limit_ms = int(flags["samples"]), float(flags["max-p99-ms"])
        chance, cold = self._data_plane.chance, volume.cold_share
        latencies = sorted(
            (COLD_MS if chance.random() < cold else WARM_MS) * chance.uniform(0.8, 1.2)
            for _ in range(samples)
        )
        seconds = sum(latencies) / 1_000
        yield from self._spend(seconds)
        self._check_device(volume)
        volume.sample(samples, seconds)
        edges = Counter(2.0 ** ceil(log2(latency)) for latency in latencies)
        p50, p90, p99 = (latencies[min(samples - 1, int(samples * share))] for share in (0.5, 0.9, 0.99))
        return {
            "event": "result",
            "command": "verify",
            "volumeId": volume.volume_id,
            "verdict": "fast" if p99 <= limit_ms else "slow",
            "samples": samples,
            "iops": samples / seconds,
            "latencyMs": {"p50": p50, "p90": p90, "p99": p99, "max": latencies[-1]},
            "histogram": [{"upToMs": edge, "count": count} for edge, count in sorted(edges.items())],
        }


class _Exit(Exception):  # noqa: N818 - an end, not an error
    """The script ends."""

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        super().__init__(code)
        self.code, self.stdout, self.stderr = code, stdout, stderr


class _Hang(Exception):  # noqa: N818 - no end, and no error
    """The agent stands still: only its time limit ends it."""
