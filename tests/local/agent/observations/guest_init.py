"""The first program of the machine in QEMU: plays the scenes with the histogram, then with events."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.local.agent.arrangements import guest_init, kernel
from tests.local.agent.observations import kills, play
from tests.local.agent.observations.observer import Place
from tests.local.agent.observations.scenes import SCENES, Scene, a_lockdown_for_good_is_refused


def main(arguments: list[str]) -> None:
    """Arguments are the agent's path and the sources of reads; this ends the machine."""
    agent, *sources = arguments
    guest_init.run(lambda: _play(agent, sources))


def _play(agent: str, sources: list[str]) -> None:
    kernel.mount("none", kills.TRACING.parent, "tracefs")
    for source in sources:
        _play_scenes(agent, source, (*SCENES, *kills.KILLS))
    _play_scenes(agent, sources[-1], (a_lockdown_for_good_is_refused,))


def _play_scenes(agent: str, source: str, scenes: tuple[Scene, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        play.play(Place(agent, "/dev/nvme0n1", Path(folder), source), scenes)
