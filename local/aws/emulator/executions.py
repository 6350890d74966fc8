"""The executions that run in the emulator, so that they can be stopped and waited for."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class RunningExecution:
    """Two facts about an execution, each set once."""

    stop: threading.Event = field(default_factory=threading.Event)
    """It was aborted or timed out: nothing of it may go on."""
    done: threading.Event = field(default_factory=threading.Event)
    """Its last state has ended."""


class Executions:
    """Running executions by ARN."""

    def __init__(self) -> None:
        self._by_arn: dict[str, RunningExecution] = {}
        self._lock = threading.Lock()

    def get(self, arn: str) -> RunningExecution:
        """The execution's facts; made on first sight, by whoever asks first."""
        with self._lock:
            return self._by_arn.setdefault(arn, RunningExecution())

    def forget(self, arn: str) -> None:
        """The execution has ended and nobody waits for it."""
        with self._lock:
            self._by_arn.pop(arn, None)

    def stop_all(self) -> None:
        """Make every execution end at its next wait or state."""
        with self._lock:
            running = list(self._by_arn.values())
        for execution in running:
            execution.stop.set()
