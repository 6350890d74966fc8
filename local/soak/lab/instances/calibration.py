"""The document of `rewarm calibrate`, as steps in virtual time: the same lines, from hidden parameters.

A volume's blocks are fetched in units, so many at a time, each in a time of its own. What EBS has loaded
begins with the first block.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Any

from local.aws.machines.dataplane import BLOCK_BYTES
from local.soak.lab.scheduler import Future

if TYPE_CHECKING:
    from local.soak.lab.instances.data_plane import MemoryDataPlane, Volume

Steps = Generator[Future, Any, Any]
PAGE_BYTES, MIB = 4_096, 1_048_576
READ_AHEAD_BYTES = MIB
"""After so much in a row what follows is fetched, too."""
_VALUES = re.compile(r"^volume='(vol-[0-9a-f]+)' bytes='(\d+)' action='(\w+)' plan='([^']*)'$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FirstTouchModel:
    """What the user of an account cannot look up."""

    mean_ms: float = 91.0
    sigma: float = 0.5
    warm_ms: float = 0.55
    concurrency: int = 64
    unit_kib: int = 512
    read_ahead_kib: int = 0
    start_ms: float = 4.0
    """One program of the shell after the other."""


def is_calibration(script: str) -> bool:
    """Whether a script is that document's."""
    return _VALUES.search(script) is not None


def calibrate(
    data_plane: MemoryDataPlane, instance_id: str, script: str, end: Callable[[int, str, str], None]
) -> Steps:
    """To the end of the script."""
    found = _VALUES.search(script)
    assert found is not None
    volume_id, size, action, plan = found.groups()
    volume = data_plane.volumes.get(volume_id)
    if volume is None or instance_id not in volume.attached_to:
        yield data_plane.scheduler.sleep(60)
        end(66, "", f"rewarm: no device of {volume_id} after 60 s")
        return
    if int(size) != volume.size_gib << 30:
        end(75, "", "rewarm: the device has another size")
        return
    if action == "write":
        yield from _write(data_plane, volume, int(plan), end)
        return
    reads, lines = _Reads(data_plane, volume), []
    for phase in plan.split():
        name, *numbers = phase.split(":")
        lines.append(f"phase {name} {_stamp(data_plane)}")
        depth, *places = (int(number) for number in numbers)
        lines += yield from (reads.in_turn(*places) if depth == 1 else reads.side_by_side(depth, *places))
        lines.append(_stamp(data_plane))
    end(0, "\n".join(lines) + "\n", "")


def _write(
    data_plane: MemoryDataPlane, volume: Volume, mib: int, end: Callable[[int, str, str], None]
) -> Steps:
    if volume.written or volume.blocks_written:
        end(75, "", "rewarm: the device is not empty")
        return
    began = _stamp(data_plane)
    yield data_plane.scheduler.sleep(mib / volume.limits.throughput_mib_s)
    volume.blocks_written = mib * MIB // BLOCK_BYTES
    end(0, f"{began}\n{_stamp(data_plane)}\n", "")


def _stamp(data_plane: MemoryDataPlane) -> str:
    return str(int(data_plane.scheduler.now * 1_000))


class _Reads:
    """Reads of one volume, by one command."""

    def __init__(self, data_plane: MemoryDataPlane, volume: Volume) -> None:
        self._data_plane, self._volume = data_plane, volume
        self._model, self._chance = data_plane.first_touch, data_plane.chance
        self._unit = self._model.unit_kib * 1_024
        self._row, self._row_end = 0, -1

    def in_turn(self, first: int, step: int, count: int, modulus: int, pages: int) -> Steps:
        """One after the other; each is noted with its time."""
        lines = []
        for place in _places(first, step, count, modulus):
            at = _stamp(self._data_plane)
            seconds = self._read(place * PAGE_BYTES, pages * PAGE_BYTES)
            yield self._data_plane.scheduler.sleep(seconds + self._model.start_ms / 1_000)
            self._note(1, seconds)
            lines.append(f"{at} {seconds:.7f}")
        return lines

    def side_by_side(self, depth: int, first: int, step: int, count: int, modulus: int, pages: int) -> Steps:
        """So many programs at a time; so many fetches at a time, first come, first served."""
        programs, servers = [0.0] * min(depth, count), [0.0] * self._model.concurrency
        total = 0.0
        for place in _places(first, step, count, modulus):
            begun = heapq.heappop(programs)
            seconds = self._read(place * PAGE_BYTES, pages * PAGE_BYTES)
            ended = begun + seconds
            if seconds > self._model.warm_ms / 1_000:
                ended = max(begun, heapq.heappop(servers)) + seconds
                heapq.heappush(servers, ended)
            heapq.heappush(programs, ended)
            total += ended - begun
        yield self._data_plane.scheduler.sleep(max(programs))
        self._note(count, total)
        return []

    def _note(self, reads: int, seconds: float) -> None:
        """The Region hears of it, and the volume of what the Region has loaded meanwhile."""
        self._volume.sample(reads, seconds)
        now = self._data_plane.scheduler.now
        self._data_plane.active = max(self._data_plane.active, now + 600)
        self._data_plane.region_may_look()

    def _read(self, offset: int, length: int) -> float:
        """Seconds, and the units that are local then."""
        units = range(offset // self._unit, (offset + length - 1) // self._unit + 1)
        cold = [unit for unit in units if not self._is_local(unit)]
        for unit in cold:
            self._touch(unit)
        self._row = self._row + length if offset == self._row_end else length
        self._row_end = offset + length
        if cold and self._row >= READ_AHEAD_BYTES:
            ahead = self._model.read_ahead_kib * 1_024 // self._unit
            for unit in range(units[-1] + 1, units[-1] + 1 + ahead):
                self._touch(unit)
        model = self._model
        sigma = model.sigma
        latency = sum(
            exp(self._chance.gauss(log(model.mean_ms) - sigma * sigma / 2, sigma)) for _ in cold[:1]
        )
        return (latency + model.warm_ms * self._chance.uniform(0.8, 1.2) * (not cold)) / 1_000

    def _is_local(self, unit: int) -> bool:
        """Nothing but what the snapshot holds is ever fetched."""
        block = unit * self._unit // BLOCK_BYTES
        volume = self._volume
        return block >= volume.written or block < volume.background or unit in volume.touched

    def _touch(self, unit: int) -> None:
        volume = self._volume
        if self._is_local(unit):
            return
        volume.touched.add(unit)
        volume.fetched = max(
            volume.fetched, min(volume.written, len(volume.touched) * self._unit // BLOCK_BYTES)
        )


def _places(first: int, step: int, count: int, modulus: int) -> Iterator[int]:
    return ((first + index * step) % modulus for index in range(count))
