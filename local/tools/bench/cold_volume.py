"""A volume that nobody has read yet, made for one run and gone after it."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.aws.machines.dataplane import VolumeLimits
from local.aws.machines.first_touch_process import FirstTouch, limit_arguments
from local.aws.machines.loop_devices import attach_loop, detach_loop
from local.tools.bench.specs import VolumeSpec

BLKFLSBUF = 0x1261
"""Throw away a block device's cached pages (linux/fs.h)."""
CHECK_SECONDS = 0.01
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class ColdVolume:
    """A running volume: what to read, and what became of it."""

    def __init__(self, first_touch: FirstTouch, target: str, map_path: Path) -> None:
        self.target = target
        self.map_path = map_path
        self.folder = map_path.parent
        self._first_touch = first_touch

    def stats(self) -> dict[str, Any]:
        """First-touch's own count."""
        return self._first_touch.ask("stats")

    def initialize(self, fraction: float) -> None:
        """Make this share of the written blocks local."""
        self._first_touch.ask(f"initialize {fraction:.9f}")

    def cpu_seconds(self) -> float:
        """Of the volume's own process, so far: one that is short of CPU measures itself, not its reader."""
        stat = Path(f"/proc/{self._first_touch.pid}/stat").read_text(encoding="utf-8")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS

    @contextmanager
    def changing(self, limits: VolumeLimits | None, after_seconds: float | None) -> Iterator[None]:
        """Change the limits this long after the first read; nothing where there is nothing to change."""
        if limits is None or after_seconds is None:
            yield
            return
        over = threading.Event()
        changer = threading.Thread(target=self._change, args=(limits, after_seconds, over))
        changer.start()
        try:
            yield
        finally:
            over.set()
            changer.join()

    def _change(self, limits: VolumeLimits, after_seconds: float, over: threading.Event) -> None:
        while not (first_read_ns := self.stats()["first_read_ns"]):
            if over.wait(CHECK_SECONDS):
                return
        if not over.wait(max(0.0, first_read_ns / 1e9 + after_seconds - time.monotonic())):
            self._first_touch.ask(f"limits {limits.iops} {limits.throughput_mib_s}")


class Backing:
    """The bytes of every volume: nothing but zeros, in memory.

    Holes of a memory file are read without a page of their own, so that the volume's process spends a tenth
    of the CPU that a file on a disk would take, and no volume needs memory. The file vanishes with us.
    """

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("bench-backing")
        self.path = Path(f"/proc/{os.getpid()}/fd/{self._descriptor}")

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def cold_volume(parent: Path, spec: VolumeSpec, volume_id: str, backing: Path) -> Iterator[ColdVolume]:
    """A cold volume with the bytes of a file; equal ids draw equal latencies. Nothing of it is left."""
    folder = parent / volume_id
    folder.mkdir()
    try:
        map_path = folder / "map"
        map_path.write_text("".join(f"{first} {count}\n" for first, count in spec.extents), encoding="utf-8")
        first_touch = FirstTouch(folder, volume_id, _arguments(spec, volume_id, backing, map_path))
        try:
            with _device(first_touch.path, on_file=spec.on_file) as target:
                yield ColdVolume(first_touch, target, map_path)
        finally:
            first_touch.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _arguments(spec: VolumeSpec, volume_id: str, backing: Path, map_path: Path) -> list[str]:
    arguments = ["--backing", os.fspath(backing), "--extents", os.fspath(map_path)]
    arguments += ["--size-bytes", str(spec.size_bytes), *limit_arguments(spec.limits)]
    return arguments + spec.settings.arguments(volume_id)


@contextmanager
def _device(path: Path, *, on_file: bool) -> Iterator[str]:
    """What the tools read: a block device over the file, or the file itself."""
    if on_file:
        yield str(path)
        return
    device = attach_loop(path)
    try:
        descriptor = os.open(device, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, BLKFLSBUF)
        finally:
            os.close(descriptor)
        yield device
    finally:
        detach_loop(device)
