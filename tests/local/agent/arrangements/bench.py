"""One place at the bench: a base device that plays an EBS volume, and what is built and taken down on it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.local.agent.arrangements import kernel

MIB = 1 << 20
BASE_BYTES = 96 * MIB


def run(*command: str) -> str:
    """Run a program of the system, again while the kernel lets go of something; raises its errors."""
    end = time.monotonic() + kernel.WAIT_SECONDS
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        if "busy" not in done.stderr or time.monotonic() > end:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        time.sleep(0.1)


@dataclass
class Bench:
    """What an arrangement is built with; `close` takes it down in the opposite order."""

    base: str
    volume_id: str
    folder: Path
    random: Random = field(default_factory=Random)
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    made: int = 0

    @property
    def name(self) -> str:
        """A name that no other arrangement at work has."""
        self.made += 1
        return f"{self.folder.name}x{self.made}"

    def path(self) -> Path:
        """A path in the bench's folder where nothing is yet."""
        return self.folder / self.name

    def spare(self, size: int = BASE_BYTES) -> str:
        """Another device, which has nothing to do with the volume."""
        backing = self.path()
        backing.touch()
        os.truncate(backing, size)
        self.undo.callback(backing.unlink)
        return self.loop(str(backing))

    def loop(self, backing: str, offset: int = 0, *, is_read_only: bool = False) -> str:
        """A loop device on something."""
        device = kernel.attach_loop(backing, offset, is_read_only=is_read_only)
        self.undo.callback(kernel.detach_loop, device)
        return device

    def alias(self, device: str) -> Path:
        """Another node of a device."""
        node = self.path()
        os.mknod(node, 0o600 | 0o060000, Path(device).stat().st_rdev)
        self.undo.callback(node.unlink, missing_ok=True)
        return node

    def mount(self, device: str, kind: str, flags: int = 0, options: str = "") -> Path:
        """Mount a device here."""
        point = self.path()
        kernel.mount(device, point, kind, flags, options)
        self.undo.callback(kernel.unmount, point)
        return point

    def holder(self, hold: Callable[[], object], namespaces: int = 0, keeper: Path | None = None) -> None:
        """A process that does something and keeps what it has until the arrangement is taken down.

        With a `keeper` it ends at once, and a bind of its mount namespace on this file keeps what it has.
        """
        ready, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ready)
            _hold(hold, namespaces, told)
        os.close(told)
        end = contextlib.ExitStack()
        end.callback(_end, child)
        self.undo.callback(end.close)
        with os.fdopen(ready, "r") as stream:
            answer = stream.readline()
        if answer != "ready\n":
            raise RuntimeError(f"the holder failed: {answer}")
        if keeper is not None:
            kernel.mount(f"/proc/{child}/ns/mnt", keeper, "", kernel.MS_BIND)
            self.undo.callback(kernel.unmount, keeper)
            end.close()

    def close(self) -> None:
        """Take everything down."""
        self.undo.close()


def _hold(hold: Callable[[], object], namespaces: int, told: int) -> None:
    """What the holder does; it never returns."""
    try:
        kernel.die_with_parent()
        if namespaces:
            kernel.unshare(namespaces)
        if namespaces & kernel.CLONE_NEWPID:
            inner = os.fork()
            if inner != 0:
                os.close(told)
                os.waitpid(inner, 0)
                os._exit(0)
            kernel.die_with_parent()
        kept = hold()
        os.write(told, b"ready\n")
        os.close(told)
        while kept is not told:
            signal.pause()
    except BaseException as problem:  # a copy of the parent must not go on as the parent
        os.write(told, f"{problem!r}\n".encode())
    os._exit(1)


def _end(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
