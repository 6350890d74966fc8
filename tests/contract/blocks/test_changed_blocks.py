"""ListChangedBlocks: pages, tokens, throttles and refusals."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rewarm.adapters.blocks.changed_blocks import EbsSnapshotBlocks
from rewarm.adapters.blocks.snapshot_blocks import Pacer
from rewarm.domain.blocks.shards import ChangedBlock, ChangedPage
from rewarm.domain.errors import AccessDeniedError, SnapshotNotFoundError, SnapshotNotUsableError
from tests.contract.answers import ApiError, Aws

GOOD, NEWEST = "snap-0123456789abcdef0", "snap-0123456789abcdef1"


def answer(*indices: int, token: str | None = None) -> dict[str, Any]:
    blocks = [{"BlockIndex": index, "FirstBlockToken": "a", "SecondBlockToken": "b"} for index in indices]
    more = {} if token is None else {"NextToken": token}
    expiry = datetime(2026, 11, 28, tzinfo=UTC)
    return {
        "ChangedBlocks": blocks, "ExpiryTime": expiry, "VolumeSize": 1, "BlockSize": 524_288, **more,
    }  # fmt: skip


def changed(ebs: Aws, start_block: int = 0) -> list[ChangedPage]:
    pacer = Pacer(1e9, sleep=lambda _seconds: None)
    return list(EbsSnapshotBlocks(ebs.client, pacer).changed(GOOD, NEWEST, start_block=start_block))


def test_pages_follow_each_other_until_no_token_is_left() -> None:
    ebs = Aws("ebs").on("ListChangedBlocks", answer(3, 4, token="t"), answer(token="u"), answer(9))
    pages = changed(ebs, start_block=3)
    assert [([block.index for block in page.blocks], page.is_last) for page in pages] == [
        ([3, 4], False), ([], False), ([9], True),
    ]  # fmt: skip
    first, second, _ = ebs.params("ListChangedBlocks")
    asked = {"FirstSnapshotId": GOOD, "SecondSnapshotId": NEWEST, "MaxResults": 10_000}
    assert first == {**asked, "StartingBlockIndex": 3}
    assert second == {**asked, "NextToken": "t"}


def test_a_token_may_be_absent_on_either_side() -> None:
    found = answer(1, 2)
    del found["ChangedBlocks"][0]["FirstBlockToken"], found["ChangedBlocks"][1]["SecondBlockToken"]
    (page,) = changed(Aws("ebs").on("ListChangedBlocks", found))
    assert page.blocks == [ChangedBlock(1, None, "b"), ChangedBlock(2, "a", None)]


def test_an_expired_token_is_passed_by_beginning_at_the_next_block() -> None:
    expired = ApiError("ValidationException", "the token has expired")
    ebs = Aws("ebs").on("ListChangedBlocks", answer(3, token="t"), expired, answer(7))
    assert [block.index for page in changed(ebs) for block in page.blocks] == [3, 7]
    assert ebs.params("ListChangedBlocks")[2]["StartingBlockIndex"] == 4


def test_throttled_requests_are_made_again() -> None:
    throttled = ApiError("ThrottlingException", "slow down")
    ebs = Aws("ebs").on("ListChangedBlocks", throttled, answer(1))
    assert len(changed(ebs)) == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ValidationException", SnapshotNotUsableError),
        ("ResourceNotFoundException", SnapshotNotFoundError),
        ("AccessDeniedException", AccessDeniedError),
    ],
)
def test_refusals_have_names(code: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="unrelated"):
        changed(Aws("ebs").on("ListChangedBlocks", ApiError(code, "the snapshots are unrelated")))
