"""Listing the written blocks: pages, ranges, pace."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from local.aws.region import RegionSettings
from local.aws.region.settings import SnapshotSettings
from local.aws.wire.inprocess import client
from rewarm.adapters.blocks import snapshot_blocks
from rewarm.adapters.blocks.snapshot_blocks import (
    REQUESTS_PER_SECOND,
    BlockLister,
    Pacer,
    keep_indices,
    ranges,
)
from rewarm.domain.errors import (
    AccessDeniedError,
    RequestRefusedError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
    ThrottledError,
)
from rewarm.domain.model import BLOCK_BYTES, GIB, Extent
from tests.contract.answers import ApiError, Aws
from tests.local.aws.region.region_lab import Lab
from tests.support.amount import cases

SNAPSHOT = "snap-0123456789abcdef0"
EXPIRY = datetime(2026, 11, 28, tzinfo=UTC)


class Snapshot:
    """ListSnapshotBlocks of a snapshot with these blocks; `page` blocks a page, each third page empty."""

    def __init__(self, blocks: set[int], size_gib: int, page: int) -> None:
        self.blocks, self.size_gib, self.page = sorted(blocks), size_gib, page
        self.empty_pages = True
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
            answer["NextToken"] = (
                f"{more[0]}{'' if empty or len(more) % 3 or not self.empty_pages else ' empty'}"
            )
        return answer


class Client:
    """As much of boto3's client as BlockLister uses, for threads."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.list_snapshot_blocks = lambda **params: answer(params)


def lister(answer: Callable[[dict[str, Any]], dict[str, Any]], pacer: Pacer | None = None) -> BlockLister:
    return BlockLister(Client(answer), pacer or Pacer(1e9), threads=4)  # type: ignore[arg-type]


def listed(found: BlockLister, size_gib: int, full_size_bytes: int | None = None) -> list[Extent]:
    parts = found.extents(SNAPSHOT, size_gib=size_gib, full_size_bytes=full_size_bytes)
    return [extent for part in parts for extent in part]


@cases(40, 400)
@given(
    st.sets(st.integers(min_value=0, max_value=8 * 2_048 - 1), max_size=400),
    st.integers(min_value=1, max_value=50),
    st.sampled_from([None, 0, 1, 400 * BLOCK_BYTES]),
)
def test_finds_exactly_the_written_blocks(blocks: set[int], page: int, full_size_bytes: int | None) -> None:
    # Whatever the snapshot says of its size: it only decides how many ranges there are.
    extents = listed(lister(Snapshot(blocks, 8, page)), 8, full_size_bytes)
    covered = [
        block for one in extents for block in range(one.start_block, one.start_block + one.block_count)
    ]
    assert covered == sorted(blocks)
    assert all(a.start_block + a.block_count < b.start_block for a, b in itertools.pairwise(extents))


def test_botocore_accepts_each_request() -> None:
    ebs = Aws("ebs").on("ListSnapshotBlocks", Snapshot(set(range(300)), 1, 1_000))
    assert listed(BlockLister(ebs.client, Pacer(1e9)), 1) == [Extent(0, 300)]
    assert ebs.params("ListSnapshotBlocks") == [{"SnapshotId": SNAPSHOT, "MaxResults": 10_000}]


class TestFullyWritten:
    def test_one_request_is_enough_where_every_block_is_written(self) -> None:
        ebs = Aws("ebs").on("ListSnapshotBlocks", Snapshot(set(range(2_048)), 1, 100))
        assert listed(BlockLister(ebs.client, Pacer(1e9)), 1, GIB) == [Extent(0, 2_048)]
        assert ebs.params("ListSnapshotBlocks") == [{"SnapshotId": SNAPSHOT, "MaxResults": 100}]

    def test_one_block_less_and_all_are_listed(self) -> None:
        snapshot = Snapshot(set(range(2_047)), 1, 100)
        assert listed(lister(snapshot), 1, GIB - BLOCK_BYTES) == [Extent(0, 2_047)]
        assert len(snapshot.requests) > 20

    def test_the_one_request_shows_that_the_snapshot_may_not_be_read(self) -> None:
        ebs = Aws("ebs").on("ListSnapshotBlocks", ApiError("AccessDeniedException"))
        with pytest.raises(AccessDeniedError):
            listed(BlockLister(ebs.client, Pacer(1e9)), 1, GIB)


def test_a_range_goes_on_by_token_and_stops_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_blocks, "PAGE_BLOCKS", 16)
    snapshot = Snapshot(set(range(2_048)), 1, 16)
    assert listed(lister(snapshot), 1) == [Extent(0, 2_048)]
    starts = [
        request["StartingBlockIndex"] for request in snapshot.requests if "StartingBlockIndex" in request
    ]
    assert len(starts) >= 8
    assert all(
        ("StartingBlockIndex" in request) + ("NextToken" in request) <= 1 for request in snapshot.requests
    )
    # Not one chain runs far into the next range: one page beyond its end at most.
    assert len(snapshot.requests) < 2_048 / 16 * 2 + len(starts) * 2


def test_a_page_that_ends_with_its_range_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_blocks, "PAGE_BLOCKS", 16)
    answer = Snapshot(set(range(2_048)), 1, 16)
    monkeypatch.setattr(answer, "empty_pages", False)
    assert listed(lister(answer), 1) == [Extent(0, 2_048)]
    assert len(answer.requests) == 2_048 / 16


def test_nothing_is_listed_far_ahead_of_what_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_blocks, "PAGE_BLOCKS", 16)
    monkeypatch.setattr(snapshot_blocks, "PAGES_PER_RANGE", 1)
    monkeypatch.setattr(snapshot_blocks, "_LOOK_AHEAD", 4)
    snapshot = Snapshot(set(range(0, 4_096, 2)), 2, 16)
    parts = lister(snapshot).extents(SNAPSHOT, size_gib=2, full_size_bytes=None)
    taken = list(itertools.islice(parts, 3))
    parts.close()  # type: ignore[attr-defined]
    assert taken[0][0] == Extent(0, 1)
    assert len(snapshot.requests) < 40, "a listing that nobody reads on goes on"


class Throttled:
    """The first so many requests are refused, as the account's other users have used the quota up."""

    def __init__(self, snapshot: Snapshot, refused: int, code: str = "RequestThrottledException") -> None:
        self.snapshot, self.left, self.code = snapshot, refused, code
        self.lock = threading.Lock()

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.left -= 1
            refuse = self.left >= 0
        if refuse:
            error = {"Error": {"Code": self.code, "Message": "because"}}
            raise ClientError(error, "ListSnapshotBlocks")  # type: ignore[arg-type]
        return self.snapshot(params)


class TestWhereAwsIsBusy:
    @pytest.mark.parametrize(
        "code", ["RequestThrottledException", "ThrottlingException", "InternalServerException"]
    )
    def test_slows_down_and_goes_on(self, code: str) -> None:
        clock = Clock()
        answer = Throttled(Snapshot(set(range(300)), 1, 1_000), 5, code)
        found = listed(lister(answer, Pacer(50, clock, clock.sleep)), 1)
        assert found == [Extent(0, 300)]
        # Half a second's rest each time, and less than the whole minute that a retry of the step would cost.
        assert 2.5 <= clock.now - Clock.start < 10

    def test_gives_up_when_nothing_passes_any_more(self) -> None:
        clock = Clock()
        answer = Throttled(Snapshot({1}, 1, 1_000), 1_000)
        with pytest.raises(ThrottledError):
            listed(lister(answer, Pacer(50, clock, clock.sleep)), 1)
        assert clock.now - Clock.start < 30


class Expiring:
    """Each token is refused once, as if an hour had passed since the page before."""

    def __init__(self, snapshot: Snapshot, *, always: bool = False) -> None:
        self.snapshot, self.always = snapshot, always
        self.seen: set[str] = set()
        self.lock = threading.Lock()

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        token = params.get("NextToken")
        with self.lock:
            known = token is None or token in self.seen
            self.seen.add(token or "")
        if not known or (token is not None and self.always):
            error = {"Error": {"Code": "ValidationException"}, "Reason": "INVALID_PAGE_TOKEN"}
            raise ClientError(error, "ListSnapshotBlocks")  # type: ignore[arg-type]
        return self.snapshot(params)


class TestExpiredToken:
    def test_goes_on_where_it_stood(self) -> None:
        blocks = set(range(0, 2_048, 3))
        answer = Expiring(Snapshot(blocks, 1, 50))
        found = listed(lister(answer), 1)
        assert [one.start_block for one in found] == sorted(blocks)

    def test_a_token_that_is_never_taken_costs_a_page_each_but_no_block(self) -> None:
        blocks = set(range(0, 2_048, 3))
        found = listed(lister(Expiring(Snapshot(blocks, 1, 50), always=True)), 1)
        assert [one.start_block for one in found] == sorted(blocks)

    def test_a_refusal_that_is_not_about_a_token_stays_one(self) -> None:
        def answer(params: dict[str, Any]) -> dict[str, Any]:
            error = {"Error": {"Code": "ValidationException", "Message": "because"}}
            raise ClientError(error, "ListSnapshotBlocks")  # type: ignore[arg-type]

        with pytest.raises(SnapshotNotUsableError):
            listed(lister(answer), 1)


class TestParsing:
    """`keep_indices` against what EBS answers on the wire."""

    def parse(self, body: bytes, status: int = 200) -> tuple[bytes, dict[str, Any]]:
        response = {"status_code": status, "body": body, "headers": {}}
        customized: dict[str, Any] = {}
        keep_indices(response_dict=response, customized_response_dict=customized, operation_model=None)
        return response["body"], customized  # type: ignore[return-value]

    def test_keeps_the_indices_and_leaves_the_rest_to_botocore(self) -> None:
        body, found = self.parse(b'{"Blocks":[{"BlockIndex":3,"BlockToken":"a"}],"VolumeSize":1}')
        assert list(found["BlockIndices"]) == [3]
        assert body == b'{"VolumeSize": 1}'

    @pytest.mark.parametrize(
        "body", [b"", b"[]", b'{"Blocks":[1]}', b'{"Blocks":{}}x', b'{"Blocks":[{"BlockIndex":-1}]}']
    )
    def test_leaves_everything_else_alone(self, body: bytes) -> None:
        assert self.parse(body) == (body, {})

    def test_leaves_errors_alone(self) -> None:
        assert self.parse(b'{"Blocks":[]}', 400) == (b'{"Blocks":[]}', {})

    def test_the_functions_client_parses_so(self) -> None:
        lab = Lab()
        snapshot_id = lab.region.add_snapshot(size_gib=1, extents=((0, 2), (9, 1)))
        ebs = client(lab.region, "ebs")
        ebs.meta.events.register("before-parse.ebs.ListSnapshotBlocks", keep_indices)
        page = ebs.list_snapshot_blocks(SnapshotId=snapshot_id)
        assert list(page["BlockIndices"]) == [0, 1, 9]
        assert "Blocks" not in page
        assert page["BlockSize"] == BLOCK_BYTES


@pytest.mark.parametrize("snapshots", [SnapshotSettings(), SnapshotSettings(short_pages=True)])
def test_lists_a_snapshot_of_the_region(snapshots: SnapshotSettings) -> None:
    lab = Lab(RegionSettings(snapshot=snapshots))
    extents = ((0, 30_000), (40_001, 1), (45_000, 21_000), (2_048 * 64 - 1, 1))
    snapshot_id = lab.region.add_snapshot(size_gib=64, extents=extents)
    found = BlockLister(client(lab.region, "ebs"), Pacer(1e9))
    parts = found.extents(snapshot_id, size_gib=64, full_size_bytes=None)
    assert [(one.start_block, one.block_count) for part in parts for one in part] == list(extents)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ResourceNotFoundException", SnapshotNotFoundError),
        ("ValidationException", SnapshotNotUsableError),
        ("AccessDeniedException", AccessDeniedError),
    ],
)
def test_names_the_errors(code: str, error: type[Exception]) -> None:
    ebs = Aws("ebs").on("ListSnapshotBlocks", ApiError(code))
    with pytest.raises(error):
        listed(BlockLister(ebs.client, Pacer(1e9)), 1)


def test_refuses_a_block_size_that_the_agent_does_not_know() -> None:
    answer = {"Blocks": [], "VolumeSize": 1, "BlockSize": 1_048_576, "ExpiryTime": EXPIRY}
    ebs = Aws("ebs").on("ListSnapshotBlocks", answer)
    with pytest.raises(RequestRefusedError, match="1048576"):
        listed(BlockLister(ebs.client, Pacer(1e9)), 1)


class Clock:
    """Time passes only while somebody sleeps."""

    start = 100.0

    def __init__(self) -> None:
        self.now = self.start

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class TestPace:
    def test_is_even_and_below_the_quota(self) -> None:
        assert 40 < REQUESTS_PER_SECOND < 50
        slept: list[float] = []
        pacer = Pacer(40, clock=lambda: 100.0, sleep=slept.append)
        for _ in range(5):
            pacer.wait()
        assert slept == pytest.approx([0.025, 0.05, 0.075, 0.1])

    def test_halves_once_a_second_when_throttled_and_comes_back(self) -> None:
        clock = Clock()
        pacer = Pacer(40, clock, clock.sleep)
        for _ in range(16):  # as many threads hear of it at once
            pacer.slow_down(Clock.start)
        pacer.wait()
        begun = clock.now
        assert begun - Clock.start == pytest.approx(0.5)
        pacer.wait()
        assert clock.now - begun == pytest.approx(0.05)
        for _ in range(100):
            pacer.wait()
        begun = clock.now
        pacer.wait()
        assert clock.now - begun == pytest.approx(0.025)

    def test_never_becomes_slower_than_five_a_second(self) -> None:
        clock = Clock()
        pacer = Pacer(40, clock, clock.sleep)
        for _ in range(20):
            clock.now += 2
            pacer.slow_down(clock.now)
        pacer.wait()
        begun = clock.now
        pacer.wait()
        assert clock.now - begun == pytest.approx(0.2, rel=0.05)


def test_ranges_cover_everything_once() -> None:
    for expected in (1, 50_000, 2_000_000, 33_554_432):
        parts = list(ranges(7, 2_000_000, expected))
        assert parts[0][0] == 7
        assert parts[-1][1] == 2_000_000
        assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))
    assert list(ranges(5, 5, 100)) == []
    assert len(list(ranges(10_000, 33_554_432, 33_554_432))) == 198
    assert len(list(ranges(10_000, 33_554_432, 30_000))) == 1, "three pages in all are one chain"
