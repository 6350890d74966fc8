"""A benchmark's session with an agent that is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

from local import ROOT
from local.tools.bench.session import Session
from local.tools.bench.tools import AGENT


def session_below(folder: Path) -> Session:
    """To be closed by whoever asks for it."""
    if not AGENT.exists():
        subprocess.run(["make", "-s", "-C", ROOT / "warmer"], check=True)
    return Session(folder / "state", AGENT)
