"""Recordings as `warmer observe` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rewarm.domain.model import GIB
from rewarm.steps.record.bucket import recording_key
from tests.support.builders import NOW, RESTORE_ID, SOURCE_VOLUME_ID, VOLUME_ID


def recording(blocks: Iterable[int], **changes: Any) -> str:
    """A recording of these blocks, in the order of their first reads."""
    head = {
        "recording": 1,
        "volumeId": VOLUME_ID,
        "bytes": 100 * GIB,
        "blockBytes": 524_288,
        "seconds": 1_800,
        "source": "histogram",
        "dropped": 0,
        "complete": True,
    }
    lines = "".join(f"{block} {1 + at % 7} {at // 100}\n" for at, block in enumerate(blocks))
    return json.dumps({**head, **changes}) + "\n" + lines


def keep(
    artifacts: Any,
    blocks: Iterable[int],
    *,
    lineage: str = SOURCE_VOLUME_ID,
    at: datetime = NOW,
    restore_id: str = RESTORE_ID,
    **changes: Any,
) -> str:
    """Puts a recording into the fake bucket; returns its key."""
    key = recording_key(lineage, at, restore_id, 0, VOLUME_ID)
    artifacts.texts[key] = recording(blocks, **changes)
    artifacts.written_at[key] = at
    return key
