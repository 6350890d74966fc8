"""How a volume is measured: random 4 KiB reads of written blocks, one at a time."""

from __future__ import annotations

DEFAULT_SAMPLES = 64
MAX_SAMPLES = 10_000
SAMPLES_BEFORE = 24
"""Enough for a median of a cold volume; each read fetches a block, so few, and some seconds at the most."""
DEFAULT_MAX_P99_MS = 20.0
