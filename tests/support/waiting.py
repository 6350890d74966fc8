"""Waiting for what a test awaits, on a machine of any speed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from local import ROOT

STILL_SECONDS = 300.0
"""Real time in which nothing at all moved: only what hangs is as slow as that."""

_PAUSE_SECONDS = 0.02
_LOOKS = 50
"""So many pauses lie between two looks at what moved, which read every execution's history."""


def wait_until(
    holds: Callable[[], object],
    what: Callable[[], object] = lambda: "it did not come",
    moved: Callable[[], object] = lambda: None,
) -> None:
    """Wait until it holds; fail with `what` once `moved` has answered the same for STILL_SECONDS."""
    seen, since, looks = moved(), time.monotonic(), 0
    while not holds():
        looks += 1
        if looks % _LOOKS == 0 and (now := moved()) != seen:
            seen, since = now, time.monotonic()
        assert time.monotonic() - since < STILL_SECONDS, what()
        time.sleep(_PAUSE_SECONDS)


def output_within(seconds: float, command: list[str]) -> str:
    """What a program prints, errors too; one that has not ended by then is killed."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            output, _ = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            run.kill()
            output, _ = run.communicate()
    return output
