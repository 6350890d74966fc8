"""The progress of an initialization over time, in the bucket: one small object for each volume.

Only the pictures of the report need it, so no error here stops a restore.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from rewarm.contracts.events import PollInitializationEvent
from rewarm.contracts.results import PollInitializationResult
from rewarm.domain.errors import RestoreError
from rewarm.domain.time.measured import Sample, with_sample
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.bucket import samples_key

MOST_BYTES = 65_536
"""Several times the size of the longest series."""


def note(event: PollInitializationEvent, result: PollInitializationResult, artifacts: Artifacts) -> None:
    """Adds what this poll saw. Raises nothing where the bucket is out of reach."""
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
        artifacts.put_json(key, {"samples": [list(entry) for entry in with_sample(known, sample)]})


def read(restore_id: str, index: int, artifacts: Artifacts) -> list[Sample]:
    """What earlier polls have added; empty where the object is missing or damaged."""
    try:
        text = artifacts.get_text(samples_key(restore_id, index), most_bytes=MOST_BYTES)
        found: Any = json.loads(text or "{}")
        return [Sample(*entry) for entry in found["samples"]]
    except (RestoreError, ValueError, TypeError, KeyError):
        return []
