"""What the data plane asks of the Linux host: tools, mounts, and processes to be sure of."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from local.aws.machines.dataplane import DataPlaneError

TOOL_TIMEOUT_SECONDS = 120.0


def run_tool(*command: str | os.PathLike[str], timeout_seconds: float = TOOL_TIMEOUT_SECONDS) -> str:
    """Run a program of the host and return its standard output; its complaint becomes a DataPlaneError."""
    arguments = [os.fspath(part) for part in command]
    try:
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
    except FileNotFoundError as error:
        raise DataPlaneError(f"{arguments[0]} is not installed on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise DataPlaneError(f"{arguments[0]} did not end within {timeout_seconds:.0f} s") from error
    if done.returncode != 0:
        raise DataPlaneError(f"{' '.join(arguments[:4])} failed ({done.returncode}): {done.stderr.strip()}")
    return done.stdout


def mounts_under(folder: Path) -> list[Path]:
    """Mount points at or below `folder`, deepest first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        # Blanks and backslashes are written as octal escapes (proc(5)).
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split(" ")[4]))
        if point == folder or folder in point.parents:
            found.append(point)
    return found[::-1]


def unmount(point: Path) -> None:
    """Take a mount away at once; whoever still uses it keeps it until they close it. None is no error."""
    try:
        run_tool("umount", "--lazy", point)
    except DataPlaneError:
        if point in mounts_under(point):
            raise


def share_mounts(folder: Path) -> None:
    """Make mounts below `folder` appear in mount namespaces that were made before them."""
    run_tool("mount", "--bind", folder, folder)
    run_tool("mount", "--make-private", folder)
    run_tool("mount", "--make-shared", folder)


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Identifies a process, also against a later one with the same id."""

    pid: int
    start_ticks: int
    boot_id: str

    @staticmethod
    def of(pid: int) -> ProcessIdentity:
        """The identity of a process that is there; raises OSError when there is none."""
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return ProcessIdentity(pid, int(_stat_fields(pid)[19]), boot_id)

    def write(self, path: Path) -> None:
        """Keep the identity for a later run."""
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(path: Path) -> ProcessIdentity | None:
        """The identity kept by an earlier run; None when the file was not written to its end."""
        try:
            kept = json.loads(path.read_text())
            return ProcessIdentity(int(kept["pid"]), int(kept["start_ticks"]), str(kept["boot_id"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_alive(self) -> bool:
        """True while the process meant is there and not merely waits to be buried by its parent."""
        try:
            return ProcessIdentity.of(self.pid) == self and _stat_fields(self.pid)[0] != "Z"
        except OSError:
            return False

    def kill(self, wait_seconds: float = 5.0) -> None:
        """Kill the process if it still is the one meant, and wait for its end."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return
        try:
            if self.is_alive():
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        except ProcessLookupError:  # ended meanwhile
            pass
        finally:
            os.close(descriptor)
        deadline = time.monotonic() + wait_seconds
        while self.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)


def _stat_fields(pid: int) -> list[str]:
    """/proc/PID/stat from the third field, the state, on; the name before it may hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
