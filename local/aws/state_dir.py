"""The folder that one embedded AWS owns while it runs, and what a killed predecessor left in it.

Everything that the host starts inherits MARKER with this folder's path, so a later start can tell, process by
process, what is left over. The lock makes sure that no living host uses the same folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

MARKER = "REWARM_STATE_DIR"
_GRACE_SECONDS = 3.0
ENDING = b"ending"
"""In the lock of an owner that is about to let go."""
ENDING_SECONDS = 30.0
_POLL_SECONDS = 0.05


class StateDirError(RuntimeError):
    """The folder cannot be used; the message says why."""


class StateDirInUseError(StateDirError):
    """Another embedded AWS runs in this folder."""


class StateDir:
    """The locked folder. Raises StateDirError where it cannot be made or another owner has it."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(self.path / "lock")
        except OSError as error:
            problem = f"{self.path} cannot be the state directory ({error.strerror})"
            raise StateDirError(f"{problem}: choose another --state-dir") from error
        self.clean_leftovers()
        (self.path / "tmp").mkdir(exist_ok=True)

    def clean_leftovers(self) -> None:
        """End what a predecessor started, unmount what it mounted, and empty the folder."""
        self._end_marked_processes()
        for mount in self._mounts():
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
        for device in _loop_devices_below(self.path):
            subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)
        for entry in self.path.iterdir():
            if entry.name != "lock":
                shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)

    def begin_end(self) -> None:
        """Whoever starts here from now on waits for the end, and is not refused. Safe to call twice."""
        if not self._lock.closed:
            self._lock.truncate(0)
            self._lock.write(ENDING)
            self._lock.flush()

    def close(self) -> None:
        """Give the folder free, and end what its owner started too late to know of. Safe to call twice."""
        if self._lock.closed:
            return
        self._end_marked_processes()
        shutil.rmtree(self.path / "tmp", ignore_errors=True)
        self._lock.close()

    def _end_marked_processes(self) -> None:
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            _signal_all(self._marked_processes(), signal_number)

    def _marked_processes(self) -> list[int]:
        wanted = f"{MARKER}={self.path}".encode()
        return [pid for pid in _processes() if pid != os.getpid() and wanted in _environment(pid)]

    def _mounts(self) -> list[str]:
        found = []
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            mount = line.split()[4].replace("\\040", " ")
            if Path(mount).is_relative_to(self.path):
                found.append(mount)
        return sorted(found, reverse=True)


def _lock(path: Path) -> IO[bytes]:
    lock = path.open("ab")
    give_up = time.monotonic() + ENDING_SECONDS
    while not _is_locked(lock):
        if path.read_bytes() != ENDING or time.monotonic() > give_up:
            lock.close()
            raise StateDirInUseError(
                f"another embedded AWS runs in {path.parent}: end it, or choose another --state-dir"
            )
        time.sleep(_POLL_SECONDS)
    lock.truncate(0)
    return lock


def _is_locked(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _signal_all(processes: list[int], signal_number: signal.Signals) -> None:
    for pid in processes:
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            continue
    give_up = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < give_up and any(_alive(pid) for pid in processes):
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _loop_devices_below(folder: Path) -> Iterator[str]:
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            file = Path(backing.read_text(encoding="utf-8").strip())
        except OSError:
            continue
        if file.is_relative_to(folder):
            yield f"/dev/{backing.parts[3]}"
