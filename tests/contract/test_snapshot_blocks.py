"""Listing the written blocks: pages, ranges, pace."""

from __future__ import annotations

import itertools
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarm.adapters import snapshot_blocks
from rewarm.adapters.snapshot_blocks import BlockLister, Pacer, merged, ranges
from rewarm.domain.errors import (
    AccessDeniedError,
    RequestRefusedError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
    ThrottledError,
)
from rewarm.domain.model import Extent
from tests.contract.answers import ApiError, Aws

SNAPSHOT = "snap-0123456789abcdef0"
EXPIRY = datetime(2026, 11, 28, tzinfo=UTC)


class Snapshot:
    """ListSnapshotBlocks of a snapshot with these blocks; `page` blocks a page, each third page empty."""

    def __init__(self, blocks: set[int], size_gib: int, page: int) -> None:
        self.blocks, self.size_gib, self.page = sorted(blocks), size_gib, page
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.requests.append(params)
        start, empty = params.get("StartingBlockIndex", 0), False
        if "NextToken" in params:
            text, _, mark = params["NextToken"].partition(" ")
            start, empty = int(text), mark == "empty"
        rest = [index for index in self.blocks if index >= start]
        found = [] if empty else rest[: self.page]
        more = rest[len(found) :]
        answer: dict[str, Any] = {
            "Blocks": [{"BlockIndex": index, "BlockToken": "token"} for index in found],
            "ExpiryTime": EXPIRY, "VolumeSize": self.size_gib, "BlockSize": 524_288,
        }  # fmt: skip
        if more:
            answer["NextToken"] = f"{more[0]}{'' if empty or len(more) % 3 else ' empty'}"
        return answer


class Client:
    """As much of boto3's client as BlockLister uses, for threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.list_snapshot_blocks = lambda **params: snapshot(params)


def lister(snapshot: Snapshot) -> BlockLister:
    return BlockLister(Client(snapshot), Pacer(1e9), threads=4)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.integers(min_value=0, max_value=8 * 2_048 - 1), max_size=400),
    st.integers(min_value=1, max_value=50),
)
def test_finds_exactly_the_written_blocks(blocks: set[int], page: int) -> None:
    extents = lister(Snapshot(blocks, 8, page)).extents(SNAPSHOT)
    covered = [
        block for one in extents for block in range(one.start_block, one.start_block + one.block_count)
    ]
    assert covered == sorted(blocks)
    assert all(a.start_block + a.block_count < b.start_block for a, b in itertools.pairwise(extents))


def test_botocore_accepts_each_request() -> None:
    ebs = Aws("ebs").on("ListSnapshotBlocks", Snapshot(set(range(300)), 1, 1_000))
    assert BlockLister(ebs.client, Pacer(1e9)).extents(SNAPSHOT) == [Extent(0, 300)]
    assert ebs.params("ListSnapshotBlocks") == [{"SnapshotId": SNAPSHOT, "MaxResults": 10_000}]


def test_a_range_goes_on_by_token_and_stops_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_blocks, "SMALLEST_RANGE_BLOCKS", 64)
    snapshot = Snapshot(set(range(2_048)), 1, 16)
    assert lister(snapshot).extents(SNAPSHOT) == [Extent(0, 2_048)]
    starts = [
        request["StartingBlockIndex"] for request in snapshot.requests if "StartingBlockIndex" in request
    ]
    assert len(starts) > 8
    assert all(
        ("StartingBlockIndex" in request) + ("NextToken" in request) <= 1 for request in snapshot.requests
    )
    # Not one chain runs far into the next range: one page beyond its end at most.
    assert len(snapshot.requests) < 2_048 / 16 * 2 + len(starts) * 2


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ResourceNotFoundException", SnapshotNotFoundError),
        ("ValidationException", SnapshotNotUsableError),
        ("AccessDeniedException", AccessDeniedError),
        ("RequestThrottledException", ThrottledError),
    ],
)
def test_names_the_errors(code: str, error: type[Exception]) -> None:
    ebs = Aws("ebs").on("ListSnapshotBlocks", ApiError(code))
    with pytest.raises(error):
        BlockLister(ebs.client, Pacer(1e9)).extents(SNAPSHOT)


def test_refuses_a_block_size_that_the_agent_does_not_know() -> None:
    answer = {"Blocks": [], "VolumeSize": 1, "BlockSize": 1_048_576, "ExpiryTime": EXPIRY}
    ebs = Aws("ebs").on("ListSnapshotBlocks", answer)
    with pytest.raises(RequestRefusedError, match="1048576"):
        BlockLister(ebs.client, Pacer(1e9)).extents(SNAPSHOT)


def test_keeps_the_pace() -> None:
    slept: list[float] = []
    pacer = Pacer(40, clock=lambda: 100.0, sleep=slept.append)
    for _ in range(5):
        pacer.wait()
    assert slept == pytest.approx([0.025, 0.05, 0.075, 0.1])


def test_ranges_cover_everything_once() -> None:
    parts = list(ranges(7, 2_000_000))
    assert parts[0][0] == 7
    assert parts[-1][1] == 2_000_000
    assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))
    assert len(parts) <= snapshot_blocks.RANGES
    assert list(ranges(5, 5)) == []


def test_merges_runs() -> None:
    assert merged([]) == []
    assert merged([0, 1, 2, 5, 7, 8]) == [Extent(0, 3), Extent(5, 1), Extent(7, 2)]
