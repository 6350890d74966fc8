"""Take away what arrangements left on this machine: swap, partitions and loop devices below their folder."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

from tests.local.agent.arrangements import kernel

SECONDS = 60


def sweep(folder: Path) -> None:
    """End what stands on files of this folder, from above, until nothing is left."""
    end = time.monotonic() + SECONDS
    while (found := _ours(folder)) and time.monotonic() < end:
        for line in Path("/proc/swaps").read_text("utf-8").splitlines()[1:]:
            name = line.split()[0]
            if name.startswith(str(folder)) or _disk(name) in found:
                with contextlib.suppress(OSError):
                    kernel.swap_off(name)
        for device in reversed(found):
            with contextlib.suppress(OSError, TimeoutError):
                kernel.detach_loop(device, wait_seconds=0.5)
    with contextlib.suppress(OSError):
        kernel.unmount(folder, kernel.MNT_DETACH)
    shutil.rmtree(folder, ignore_errors=True)


def _disk(device: str) -> str:
    """The loop device that a partition belongs to."""
    head, mark, number = device.rpartition("p")
    return head if mark and number.isdigit() and head[-1:].isdigit() else device


def _ours(folder: Path) -> list[str]:
    """Loop devices on what is in the folder, and those on such loop devices; what is below comes first."""
    backings = {
        f"/dev/{disk.name}": kernel.backing_of(disk.name) for disk in Path("/sys/block").glob("loop*")
    }
    found: list[str] = []
    while True:
        more = [
            device
            for device, backing in backings.items()
            if device not in found and (backing.startswith(f"{folder}/") or _disk(backing) in found)
        ]
        if not more:
            return found
        found += more
