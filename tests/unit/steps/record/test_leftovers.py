"""What a restore leaves behind where clean-up gave no account, because somebody stopped its execution."""

from __future__ import annotations

import pytest

from rewarm.steps.record.leftovers import removed_and_kept
from rewarm.steps.record.restore import KnownRestore

FAILED = [{"index": 0, "verdict": "failed"}]


def kept_of(rewind):
    record = KnownRestore.model_validate({"volumes": {0: {"rewind": {"volumeId": "vol-1", **rewind}}}})
    return removed_and_kept("restore-1", FAILED, record)[1][0]


@pytest.mark.parametrize(
    ("rewind", "text"),
    [
        pytest.param(
            {"evidence": "snap-2", "evidenceState": "pending"},
            "snapshot snap-2 (vol-1 as it was, in the state pending; vol-1 is unchanged)",
            id="snapshot-made",
        ),
        pytest.param(
            {"evidence": "snap-2", "state": "writing"},
            "snapshot snap-2 (it has vol-1 as it was before the rewind; vol-1 may be mixed: its rewind ended "
            "while blocks were being written; it is tagged rewarm:rewinding)",
            id="writing",
        ),
        pytest.param(
            {"undoLog": {"restoreId": "restore-1"}},
            "undo log of restore-1 (it has what vol-1 had before the rewind, where that has overwritten it; "
            "vol-1 is unchanged)",
            id="undo-log",
        ),
    ],
)
def test_what_a_stopped_rewind_leaves_is_named(rewind, text):
    assert kept_of(rewind) == text
