"""Where parts of a manifest are missing, somebody reads why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from rewarm.domain.errors import PartMissingError, ShardFailedError
from rewarm.steps.blocks.join_parts import JoinPartsEvent, JoinPartsPorts, join_parts
from tests.support.values.step_events import DELTA, LISTED, NOW, STARTED

FOLDER = "deltas/restore-1/0"
TOO_MANY = {"error": "States.ExceedToleratedFailureThreshold", "cause": "the threshold was exceeded"}
DENIED = {"error": "AccessDeniedError", "reason": "GetSnapshotBlock: not authorized to perform kms:Decrypt"}
THROTTLED = {"error": "ThrottledError", "reason": "GetSnapshotBlock: too fast"}


class FakePacks:
    """Port PackStore: the parts that are there, and why others are not."""

    def __init__(self, parts: Sequence[int], failures: dict[int, Any]) -> None:
        end = json.dumps({"end": True, "packs": 1})
        self._texts = {f"{FOLDER}/part-{part:06d}": f'{{"pack": "…", "bytes": 7}}\n{end}\n' for part in parts}
        for part, why in failures.items():
            self._texts[f"{FOLDER}/failed-{part:06d}.json"] = json.dumps(why)

    def texts(self, keys: Sequence[str]) -> Iterator[str | None]:
        return (self._texts.get(key) for key in keys)


def joined(parts: Sequence[int], failures: dict[int, Any], *, redriven: bool = False) -> Any:
    event = JoinPartsEvent.model_validate(
        {
            "restore_id": "restore-1", "now": NOW, "delta": DELTA, "listed": {**LISTED, "shards": 4},
            "started_at": STARTED, "failure": TOO_MANY, "redriven": redriven,
        }
    )  # fmt: skip
    packs: Any = FakePacks(parts, failures)
    return join_parts(event, JoinPartsPorts(packs=packs))


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        ({1: THROTTLED, 3: DENIED}, f"shard 3: AccessDeniedError: {DENIED['reason']}"),
        ({1: THROTTLED}, "shard 1: ThrottledError: GetSnapshotBlock: too fast"),
        ({0: DENIED}, "shard 1: States.ExceedToleratedFailureThreshold: the threshold was exceeded"),
    ],
    ids=["what will not pass comes first", "throttled for ever", "a function that was stopped"],
)
def test_the_error_has_the_reason_of_a_shard(failures: dict[int, Any], told: str) -> None:
    with pytest.raises(ShardFailedError) as found:
        joined([0, 2], failures)
    assert str(found.value) == f"2 parts of 4 could not be made: {told}"


def test_a_whole_manifest_is_counted_whatever_failed_before() -> None:
    result = joined(range(4), {1: THROTTLED}, redriven=True)
    assert (result.packs, result.packed_bytes) == (4, 28)


def test_a_redrive_goes_back_to_the_shards() -> None:
    with pytest.raises(PartMissingError, match="2 parts of 4 are still to be made"):
        joined([0, 2], {1: DENIED}, redriven=True)
