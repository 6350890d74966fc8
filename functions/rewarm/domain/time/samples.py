"""How an initialization went on, for pictures: a series that stays small, however long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rewarm.domain.model import MIB

MOST_SAMPLES = 240
"""More than a picture has room for; 48 hours are a sample every 12 to 24 minutes then."""


class Sample(NamedTuple):
    """One look at the initialization; None where a source said nothing."""

    seconds: float
    """Since the restore began."""
    percent: float
    bytes_done: int
    mib_per_second: float | None = None
    """As the agent reported it."""
    read_ops: float | None = None
    """VolumeReadOps of the last whole minute."""
    read_ms: float | None = None
    """VolumeTotalReadTime / VolumeReadOps."""


def with_sample(series: Sequence[Sample], new: Sample) -> list[Sample]:
    """Returns the series and a new sample. A sample that is not later than the last is left out.

    Beyond MOST_SAMPLES every second one is left out, but never the first and the last.
    """
    kept = list(series)
    if kept and new.seconds <= kept[-1].seconds:
        return kept
    kept.append(new)
    return kept if len(kept) <= MOST_SAMPLES else [kept[0], *kept[2:-1:2], kept[-1]]


def rates_mib_s(series: Sequence[Sample]) -> list[float | None]:
    """Returns the agent's rate, else the mean since the sample before; None where neither is known.

    An agent that has finished still reports its last rate. So without progress the rate is 0.
    """
    found = [series[0].mib_per_second] if series else []
    for before, after in pairwise(series):
        gained = after.bytes_done - before.bytes_done
        mean = gained / MIB / (after.seconds - before.seconds)
        found.append(mean if gained == 0 else after.mib_per_second or (mean if gained > 0 else None))
    return found
