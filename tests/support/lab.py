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

    from local.host import Host

IDLE_SPEED = 3_600.0
"""An hour of waiting for AWS takes a second."""


@pytest.fixture(scope="session")
def host(worker_id: str) -> Iterator[Host]:
    """The embedded AWS, with nothing deployed."""
    # Imported here: unit tests must not need the embedded AWS.
    from local.host import ROOT, Host  # noqa: PLC0415

    before = signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    try:
        with Host(ROOT / ".local" / f"test-{worker_id}", idle_speed=IDLE_SPEED) as started:
            yield started
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def lab(host: Host) -> Host:
    """The embedded AWS with the stack; `lab.outputs` has its outputs, `lab.slack` the messages."""
    host.deploy()
    return host
