"""A `warmer observe` that runs, reads of known blocks beside it, and the recording that it writes."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.base import volume_id

BLOCK = 524_288
VOLUME_ID = volume_id(0)
WAIT_SECONDS = 240
PR_SET_NAME = 15


@dataclass(frozen=True)
class Place:
    """Where the scenes are played: the agent, a disk, a folder, and how the kernel tells of reads."""

    agent: str
    disk: str
    folder: Path
    source: str
    """histogram or events."""


@dataclass(frozen=True)
class Recording:
    """What a recording says."""

    head: dict[str, Any]
    blocks: list[tuple[int, int, int]]
    """Block, reads, second."""

    @classmethod
    def read(cls, text: str) -> Recording:
        """Parse it; a line that is none raises ValueError."""
        first, *lines = text.splitlines()
        blocks = [tuple(int(word) for word in line.split(" ")) for line in lines]
        return cls(json.loads(first), [(block, reads, second) for block, reads, second in blocks])

    @property
    def order(self) -> list[int]:
        """The blocks, as they stand."""
        return [block for block, _reads, _second in self.blocks]


class Observer:
    """The agent at work on a device."""

    def __init__(self, place: Place, device: str, *more: str) -> None:
        self.output = place.folder / "recording"
        command = [place.agent, "observe", device, "--output", str(self.output), "--progress", "json"]
        command += ["--source", place.source, "--volume", VOLUME_ID, *more]
        self.errors = place.folder / "errors"
        with self.errors.open("w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self.process.stdout is not None
        self._lines = self.process.stdout
        self.last = self._line()

    def _line(self) -> dict[str, Any]:
        """The next line of its output; RuntimeError with its refusal if it has ended."""
        line = self._lines.readline()
        if not line:
            raise RuntimeError(self.errors.read_text("utf-8"))
        found: dict[str, Any] = json.loads(line)
        return found

    def wait_for(self, blocks: int) -> None:
        """Until it knows so many."""
        end = time.monotonic() + WAIT_SECONDS
        while self.last["blocks"] < blocks:
            if time.monotonic() > end:
                raise TimeoutError(self.last)
            self.last = self._line()

    def go_on_for(self, seconds: float) -> None:
        """Until it has recorded for so much longer."""
        end = self.last["elapsedSeconds"] + seconds
        while self.last["elapsedSeconds"] < end:
            self.last = self._line()

    def stop(self, number: int = signal.SIGTERM) -> tuple[Recording, dict[str, Any]]:
        """Interrupt it; what it has recorded, and its result."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> tuple[Recording, dict[str, Any]]:
        """Wait for its end; what it has recorded, and its result."""
        while self.last["event"] != "result":
            self.last = self._line()
        self.process.wait(WAIT_SECONDS)
        return Recording.read(self.output.read_text("ascii")), self.last


@contextlib.contextmanager
def observing(place: Place, device: str, *more: str) -> Iterator[Observer]:
    """One that runs, and is gone afterwards."""
    observer = Observer(place, device, *more)
    try:
        yield observer
    finally:
        observer.process.kill()
        with observer.process:
            pass  # its pipe is closed, and its end awaited


def read(device: str, *places: tuple[int, int]) -> None:
    """Read (offset, bytes) of the disk itself, and not of the page cache, one after the other."""
    size = max(size for _offset, size in places)
    with kernel.opened(device, os.O_RDONLY | os.O_DIRECT) as descriptor, mmap.mmap(-1, size) as buffer:
        for offset, count in places:
            with memoryview(buffer) as view, view[:count] as part:
                os.preadv(descriptor, [part], offset)


def read_as(name: str, device: str, *places: tuple[int, int]) -> None:
    """The same by a process that is called so."""
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(OSError):
            kernel.check(kernel.LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0))
            read(device, *places)
            status = 0
        os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(name)


def write(device: str, offset: int, count: int) -> None:
    """Write zeros to the disk itself."""
    with kernel.opened(device, os.O_WRONLY | os.O_DIRECT) as descriptor, mmap.mmap(-1, count) as buffer:
        os.pwrite(descriptor, buffer, offset)
