"""How far a volume was at which second: few enough points for a state's payload, however long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewarm.domain.model import MIB

MOST_POINTS = 24

Point = tuple[float, int]
"""Seconds since loading was first looked at, and bytes that were there."""


def with_point(points: Sequence[Point], seconds: float, bytes_done: int) -> list[Point]:
    """The points and a new one; where they become too many, every second one is left out.

    A point that brings nothing new moves the last one on, so that a standstill costs no room.
    """
    kept = list(points)
    if kept and seconds <= kept[-1][0]:
        return kept
    if len(kept) > 1 and kept[-1][1] == kept[-2][1] == bytes_done:
        kept.pop()
    kept.append((seconds, bytes_done))
    if len(kept) > MOST_POINTS:
        kept = [kept[0], *kept[2:-1:2], kept[-1]]
    return kept


def rates_mib_s(points: Sequence[Point]) -> list[float]:
    """The mean rate from each point to the next."""
    return [(after[1] - before[1]) / MIB / (after[0] - before[0]) for before, after in pairwise(points)]
