"""The embedded AWS for tests: `host` without the stack, `lab` with the real template.yaml deployed.

One per test process, since the emulator keeps its state in its modules; each xdist worker has its own.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local.aws.host import Host

IDLE_SPEED = 3_600.0
"""An hour of waiting for AWS takes a second."""

MAX_RUNS_AT_ONCE = 10


@pytest.fixture(scope="session")
def host(worker_id: str) -> Iterator[Host]:
    """The embedded AWS, with nothing deployed."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    started = _start(worker_id)
    try:
        yield started
    finally:
        started.close()
        signal.signal(signal.SIGTERM, before)


def _start(worker_id: str) -> Host:
    # Imported here: unit tests must not need the embedded AWS.
    from local import ROOT  # noqa: PLC0415
    from local.aws.host import Host  # noqa: PLC0415
    from local.aws.state_dir import StateDirInUseError  # noqa: PLC0415

    # Names that return, so that a run cleans up after a killed one; several, for two runs at once.
    for number in range(1, MAX_RUNS_AT_ONCE + 1):
        host = Host(ROOT / ".local" / f"test-{worker_id}-{number}", idle_speed=IDLE_SPEED)
        try:
            host.start()
        except StateDirInUseError:
            continue
        return host
    pytest.fail(f"{MAX_RUNS_AT_ONCE} runs of the tests go on in {ROOT} already")


@pytest.fixture(scope="session")
def lab(host: Host) -> Host:
    """The embedded AWS with the stack; `lab.outputs` has its outputs, `lab.slack` the messages."""
    host.deploy()
    return host
