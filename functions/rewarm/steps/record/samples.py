"""Keeps how an initialization went on in the bucket, one small object for each volume.

Nothing depends on it but pictures, so whatever goes wrong with it stops nothing.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from rewarm.contracts import PollInitializationEvent, PollInitializationResult
from rewarm.domain.errors import RestoreError
from rewarm.domain.time.samples import Sample, with_sample
from rewarm.ports.artifacts import Artifacts

MOST_BYTES = 65_536
"""Several times what the longest series has."""


def samples_key(restore_id: str, index: int) -> str:
    """Where a volume's series is."""
    return f"restores/{restore_id}/{index}/samples.json"


def note(event: PollInitializationEvent, result: PollInitializationResult, artifacts: Artifacts) -> None:
    """Adds what this poll saw."""
    signals = result.signals
    sample = Sample(
        seconds=round((event.now - event.started_at).total_seconds(), 1),
        percent=result.progress_percent,
        bytes_done=result.bytes_done,
        mib_per_second=None if result.mib_per_second is None else round(result.mib_per_second, 1),
        read_ops=signals.read_ops_per_minute[-1] if signals.read_ops_per_minute else None,
        read_ms=None if signals.read_latency_ms is None else round(signals.read_latency_ms, 3),
    )
    key = samples_key(event.restore_id, event.volume.index)
    known = read(event.restore_id, event.volume.index, artifacts)
    with suppress(RestoreError):
        artifacts.put_json(key, {"samples": [list(one) for one in with_sample(known, sample)]})


def read(restore_id: str, index: int, artifacts: Artifacts) -> list[Sample]:
    """What earlier polls noted; nothing where it is missing or no series."""
    try:
        text = artifacts.get_text(samples_key(restore_id, index), most_bytes=MOST_BYTES)
        found: Any = json.loads(text or "{}")
        return [Sample(*one) for one in found["samples"]]
    except (RestoreError, ValueError, TypeError, KeyError):
        return []
