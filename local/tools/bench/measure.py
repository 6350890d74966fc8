"""Runs the processes of one tool to their end, and says what they took."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GNU_TIME = "/usr/bin/time"
"""Starts the tool: a process inherits the peak of the one that starts it, and ours is large."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the processes took, together."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    """The sum of their largest resident sets."""
    status: int
    """Of the first that failed; a signal counts as 128 and its number, as in the shell."""


class Running:
    """Processes that run at the same time, each the leader of its own session."""

    def __init__(self, commands: Sequence[Sequence[str]], folder: Path) -> None:
        self._began = time.monotonic()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._peaks: list[Path] = []
        try:
            for number, command in enumerate(commands):
                peak = folder / f"peak-{number}"
                self._processes.append(_start(command, folder / f"output-{number}", peak))
                self._peaks.append(peak)
        except OSError:
            self.kill()
            raise

    def send(self, signal_number: signal.Signals) -> None:
        """Signal those that still run."""
        for process in self._processes:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal_number)

    def wait(self, timeout_seconds: float) -> Usage:
        """Wait for all of them; after the time limit they are killed, which their status shows."""
        watchdog = threading.Timer(timeout_seconds, self.send, [signal.SIGKILL])
        watchdog.daemon = True
        watchdog.start()
        try:
            ended = [_reap(process) for process in self._processes]
        finally:
            watchdog.cancel()
        return Usage(
            seconds=time.monotonic() - self._began,
            cpu_seconds=sum(used.ru_utime + used.ru_stime for _, used in ended),
            peak_mib=sum(_peak_kib(peak) for peak in self._peaks) / 1024,
            status=next((status for status, _ in ended if status), 0),
        )

    def kill(self) -> None:
        """End what still runs, with its children; reads under way may take a while."""
        groups = [process.pid for process in self._processes if process.returncode is None]
        self.send(signal.SIGKILL)
        give_up = time.monotonic() + 10
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.0, give_up - time.monotonic()))
        while any(map(_is_alive, groups)) and time.monotonic() < give_up:
            time.sleep(0.01)


def run(commands: Sequence[Sequence[str]], folder: Path, timeout_seconds: float) -> Usage:
    """Start the commands at once and wait for all; what they print goes to `output-N` in the folder."""
    running = Running(commands, folder)
    try:
        return running.wait(timeout_seconds)
    finally:
        running.kill()


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _start(command: Sequence[str], output: Path, peak: Path) -> subprocess.Popen[bytes]:
    with output.open("wb") as stream:
        return subprocess.Popen(
            [GNU_TIME, "--quiet", "--format=%M", f"--output={peak}", *command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _peak_kib(peak: Path) -> int:
    """What GNU time wrote; 0 when it was killed before it could."""
    text = peak.read_text(encoding="utf-8").strip() if peak.exists() else ""
    return int(text) if text.isdecimal() else 0


def _reap(process: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    """The exit status, and the usage of the process with the children that it has waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    return (128 - code if code < 0 else code), usage
