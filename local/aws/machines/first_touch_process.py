"""Builds and runs the first-touch file system (local/first_touch), and talks to it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from local.aws.machines.dataplane import DataPlaneError, VolumeLimits
from local.aws.machines.linux import ProcessIdentity, mounts_under, run_tool, unmount

SOURCE_FOLDER = Path(__file__).parents[1] / "first_touch"
PROGRAM = SOURCE_FOLDER / "build" / "first-touch"
ANSWER_TIMEOUT_SECONDS = 30.0
EXIT_CANNOT_MOUNT = 4


class FuseUnavailableError(DataPlaneError):
    """This machine cannot build or mount the first-touch file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTouchSettings:
    """How a volume behaves at its first reads; the defaults meet the published measurements of gp3."""

    mean_latency_ms: float = 91.0
    """Mean of the log-normal latency of a fetch: 4 KiB random reads at depth 1 then run at 11 IOPS."""
    latency_sigma: float = 0.42
    """Standard deviation of the latency's logarithm; 0 makes every fetch take the mean."""
    tail_probability: float = 0.0
    tail_seconds: float = 0.0
    """This share of the fetches takes this long instead."""
    fetch_concurrency: int = 64
    neighbours: int = 10
    """Written blocks fetched ahead of a sequential reader: dd of the whole device then runs at 31.7 MiB/s."""
    read_latency_ms: float = 0.53
    """What a warm read takes; with the way through FUSE and loop device 4 KiB at depth 1 is 1,630 IOPS."""
    write_latency_ms: float = 0.2
    """Below a gp3's 3,000 IOPS at depth 1: writes meet the limit, as was measured (2,979)."""
    background_mib_s: float = 0.0
    """Blocks become local at this rate in real time by themselves, in block order."""
    fetch_charged: bool = False
    """Fetched bytes count against the volume's throughput limit."""
    touch_pages: bool = False
    """A first touch makes only the 4 KiB pages it reads local, not the whole 512 KiB block."""
    seed: int = 1
    use_loop_devices: bool = True

    def arguments(self, volume_id: str) -> list[str]:
        """The settings as first-touch's options; each volume draws its own latencies."""
        values: dict[str, float] = {
            "latency-mean-ms": self.mean_latency_ms,
            "latency-sigma": self.latency_sigma,
            "tail-probability": self.tail_probability,
            "tail-seconds": self.tail_seconds,
            "fetch-concurrency": self.fetch_concurrency,
            "neighbours": self.neighbours,
            "read-latency-ms": self.read_latency_ms,
            "write-latency-ms": self.write_latency_ms,
            "background-mib-s": self.background_mib_s,
            "seed": self.seed ^ crc32(volume_id.encode()),
        }
        options = [text for name, value in values.items() for text in (f"--{name}", str(value))]
        flags = {"--fetch-charged": self.fetch_charged, "--touch-pages": self.touch_pages}
        return options + [flag for flag, wanted in flags.items() if wanted]


@cache
def build_program() -> Path:
    """Build first-touch where it is missing or older than its source; the program's path."""
    for tool in ("make", "cc", "pkg-config"):
        if shutil.which(tool) is None and not PROGRAM.exists():
            raise FuseUnavailableError(f"{tool} is not installed, so first-touch cannot be built")
    if shutil.which("make") is None:
        return PROGRAM
    PROGRAM.parent.mkdir(exist_ok=True)
    with (PROGRAM.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test workers may come here at once
        try:
            run_tool("make", "--silent", "-C", SOURCE_FOLDER)
        except DataPlaneError as error:
            raise FuseUnavailableError(f"first-touch cannot be built: {error}") from error
    return PROGRAM


class FirstTouch:
    """One running first-touch file system.

    The control socket is a pair that only these two processes hold, so that its end tells first-touch that
    this process is gone, however it went. (A parent-death signal would come when the *thread* that started
    first-touch ends.)
    """

    def __init__(self, folder: Path, name: str, arguments: list[str], program: Path | None = None) -> None:
        self.path = folder / "mount" / name
        self._folder = folder
        self._asking = threading.Lock()
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(ANSWER_TIMEOUT_SECONDS)
        (folder / "mount").mkdir()
        command = [
            os.fspath(program or build_program()),
            "--mount",
            os.fspath(folder / "mount"),
            "--name",
            name,
        ]
        command += ["--control-fd", str(theirs.fileno()), *arguments]
        with theirs, (folder / "first-touch.log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[theirs.fileno()],
                start_new_session=True,
            )  # fmt: skip
        ProcessIdentity.of(self._process.pid).write(folder / "first-touch.pid")
        self._answers = self._socket.makefile("r")
        if not self._answers.readline():
            self._refuse()

    @property
    def pid(self) -> int:
        """The process id of first-touch."""
        return self._process.pid

    def _refuse(self) -> None:
        status = self._process.wait()
        log = (self._folder / "first-touch.log").read_text(errors="replace").strip()
        self.stop()
        kind = FuseUnavailableError if status == EXIT_CANNOT_MOUNT else DataPlaneError
        raise kind(f"first-touch did not start (exit status {status}): {log}")

    def ask(self, line: str) -> dict[str, Any]:
        """Send one line of the control protocol (first_touch/src/control.h) and return the answer."""
        try:
            with self._asking:
                self._socket.sendall(line.encode() + b"\n")
                text = self._answers.readline()
        except (OSError, ValueError) as error:
            raise DataPlaneError(f"first-touch of {self.path.name} does not answer: {error}") from error
        if not text:
            raise DataPlaneError(f"first-touch of {self.path.name} has ended")
        answer: dict[str, Any] = json.loads(text)
        if "error" in answer:
            raise DataPlaneError(f"first-touch refused '{line}': {answer['error']}")
        return answer

    @contextmanager
    def held(self) -> Iterator[None]:
        """Requests wait meanwhile, and the backing file does not change."""
        with self._asking:
            self._process.send_signal(signal.SIGSTOP)
            try:
                os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                yield
            finally:
                self._process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Unmount and end; requests that are under way fail with EIO. The exit status. Safe to call again."""
        self._answers.close()
        self._socket.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for point in mounts_under(self._folder / "mount"):
            unmount(point)
        (self._folder / "first-touch.pid").unlink(missing_ok=True)
        return self._process.returncode


def limit_arguments(limits: VolumeLimits) -> list[str]:
    """The limits as first-touch's options."""
    return ["--iops", str(limits.iops), "--throughput-mib-s", str(limits.throughput_mib_s)]
