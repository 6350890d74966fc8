"""How a volume is measured: random 4 KiB reads of written blocks, one at a time."""

from __future__ import annotations

DEFAULT_SAMPLES = 256
"""So many that p99 is not the slowest read of all: one hiccup of a busy machine is no cold volume."""
MAX_SAMPLES = 10_000
SAMPLES_BEFORE = 24
"""Enough for a median of a cold volume; each read fetches a block, so few, and some seconds at the most."""
DEFAULT_MAX_P99_MS = 20.0
MOST_MEASUREMENTS = 2
"""A volume that looks slow is measured once more: what is cold stays slow, a moment's load does not."""
