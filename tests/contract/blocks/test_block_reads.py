"""GetSnapshotBlock: checked, filled up, asked for again; and packs in S3."""

from __future__ import annotations

import base64
import hashlib
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import zstandard
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.blocks.block_reads import DAMAGED_TRIES, DynamoBlockPaces, EbsBlockReader, is_of_snapshot
from rewarm.adapters.blocks.changed_blocks import EbsBlockLists
from rewarm.adapters.blocks.packs import S3Packs
from rewarm.adapters.blocks.snapshot_blocks import Pacer
from rewarm.domain import errors
from rewarm.domain.blocks.packs import PackedBlock, PackFacts, packed
from rewarm.domain.blocks.shards import ChangedBlock, ReadRates
from tests.contract.answers import ApiError, Aws

GOOD, BLOCK = "snap-0123456789abcdef0", 524_288
NOW = datetime(2026, 11, 23, 3, 0, tzinfo=UTC)
Json = dict[str, Any]


def answer(data: bytes, checksum_of: bytes | None = None) -> Json:
    digest = hashlib.sha256(data if checksum_of is None else checksum_of).digest()
    return {
        "DataLength": len(data), "BlockData": StreamingBody(io.BytesIO(data), len(data)),
        "Checksum": base64.b64encode(digest).decode(), "ChecksumAlgorithm": "SHA256",
    }  # fmt: skip


def read(dynamodb: Any, ebs: Aws, *indices: int, volume_bytes: int = 64 * BLOCK) -> list[PackedBlock]:
    paces = DynamoBlockPaces(dynamodb, "restores", NOW.timestamp, lambda _seconds: None)
    reader = EbsBlockReader(lambda _region: ebs.client, paces, lambda _seconds: None)
    blocks = [ChangedBlock(index, f"t{index}", None) for index in indices]
    options: Json = {"volume_bytes": volume_bytes, "region": "us-east-1", "rates": ReadRates()}
    return list(reader.read(GOOD, blocks, **options))


def test_a_short_block_is_filled_up_with_zeros(dynamodb: Any) -> None:
    (block,) = read(dynamodb, Aws("ebs").on("GetSnapshotBlock", answer(b"abc")), 7)
    whole = b"abc".ljust(BLOCK, b"\0")
    assert (block.index, block.length, block.sha256) == (7, BLOCK, hashlib.sha256(whole).hexdigest())
    assert zstandard.get_frame_parameters(block.frame).content_size == BLOCK
    assert zstandard.ZstdDecompressor().decompress(block.frame) == whole


def test_a_damaged_block_is_fetched_again_and_then_named(dynamodb: Any) -> None:
    damaged = answer(b"abc", checksum_of=b"abd")
    (block,) = read(dynamodb, Aws("ebs").on("GetSnapshotBlock", damaged, answer(b"abd")), 7)
    assert block.sha256 == hashlib.sha256(b"abd".ljust(BLOCK, b"\0")).hexdigest()
    ebs = Aws("ebs").on("GetSnapshotBlock", *(answer(b"abc", b"abd") for _ in range(DAMAGED_TRIES)))
    with pytest.raises(errors.BlockDamagedError, match=f"block 7 of {GOOD}"):
        read(dynamodb, ebs, 7)


@pytest.mark.parametrize(
    "code", ["RequestThrottledException", "ThrottlingException", "InternalServerException"]
)
def test_a_refused_request_is_made_again(dynamodb: Any, code: str) -> None:
    ebs = Aws("ebs").on("GetSnapshotBlock", ApiError(code), ApiError(code), answer(b"abc"))
    assert len(read(dynamodb, ebs, 7)) == 1
    assert len(ebs.params("GetSnapshotBlock")) == 3


@pytest.mark.parametrize(
    ("code", "message", "error"),
    [
        ("ValidationException", "INVALID_BLOCK_TOKEN", errors.BlockTokenError),
        ("ValidationException", "INVALID_SNAPSHOT_ID", errors.SnapshotNotUsableError),
        ("ResourceNotFoundException", "gone", errors.SnapshotNotFoundError),
        ("AccessDeniedException", "kms:Decrypt", errors.AccessDeniedError),
    ],
)
def test_refusals_have_names(dynamodb: Any, code: str, message: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=message):
        read(dynamodb, Aws("ebs").on("GetSnapshotBlock", ApiError(code, message)), 7)


def test_a_volume_is_listed_in_ranges_and_no_block_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarm.adapters.blocks.changed_blocks.RANGE_BLOCKS", 10)

    def page(*indices: int) -> Json:
        blocks = [{"BlockIndex": index, "BlockToken": f"t{index}"} for index in indices]
        return {"Blocks": blocks, "ExpiryTime": NOW, "VolumeSize": 1, "BlockSize": BLOCK}

    monkeypatch.setattr("rewarm.adapters.blocks.changed_blocks.THREADS", 1)
    ebs = Aws("ebs").on("ListSnapshotBlocks", page(3, 9, 10, 12), page(10, 12, 25), page(25))
    lists = EbsBlockLists(
        lambda _region: ebs.client, lambda _region: None, Pacer(1e9, sleep=lambda _seconds: None)
    )  # type: ignore[arg-type, return-value]
    found = list(lists.listed(GOOD, against=None, volume_bytes=30 * BLOCK, region="us-east-1"))
    assert [[block.index for block in one.blocks] for one in found] == [[3, 9], [10, 12], [25]]
    assert [one["StartingBlockIndex"] for one in ebs.params("ListSnapshotBlocks")] == [0, 10, 20]


def test_each_place_of_a_sample_is_one_small_request() -> None:
    def page(params: Json) -> Json:
        start = params["StartingBlockIndex"]
        block = {"BlockIndex": start + 1, "BlockToken": "t"}
        return {"Blocks": [block], "NextToken": "n", "ExpiryTime": NOW, "VolumeSize": 1, "BlockSize": BLOCK}

    ebs = Aws("ebs").on("ListSnapshotBlocks", page)
    lists: Any = EbsBlockLists(lambda _region: ebs.client, lambda _region: None, Pacer(1e9))  # type: ignore[arg-type, return-value]
    found = list(lists.some(GOOD, [40, 10], region="us-east-1"))
    assert len(found) == 2
    asked = [(one["StartingBlockIndex"], one["MaxResults"]) for one in ebs.params("ListSnapshotBlocks")]
    assert sorted(asked) == [(10, 100), (40, 100)]


def test_rates_are_the_quotas_or_the_usual_ones() -> None:
    def rates(quotas: Aws) -> ReadRates:
        lists = EbsBlockLists(lambda _region: None, lambda _region: quotas.client)  # type: ignore[arg-type, return-value]
        return lists.rates("us-east-1")

    values = [{"Quota": {"Value": value}} for value in (1_000.0, 5_000.0)]
    asked = Aws("service-quotas").on("GetServiceQuota", *values)
    assert rates(asked) == ReadRates(1_000, 5_000)
    assert [one["QuotaCode"] for one in asked.params("GetServiceQuota")] == ["L-028ACFB9", "L-C125AE42"]
    refused = Aws("service-quotas").on("GetServiceQuota", *[ApiError("NoSuchResourceException")] * 2)
    assert rates(refused) == ReadRates()


def test_what_a_manifest_says_of_a_pack_is_found_with_it() -> None:
    facts = PackFacts(1_234, 3, "ab" * 32)
    put = Aws("s3").on("PutObject", {})
    S3Packs(put.client, "artifacts").put_pack("deltas/x", b"pack", facts, made_at=NOW)
    (sent,) = put.params("PutObject")
    head = {"ContentLength": 1_234, "Metadata": sent["Metadata"]}
    found = Aws("s3").on("HeadObject", head, head, ApiError("404"))
    packs = S3Packs(found.client, "artifacts")
    assert packs.pack("deltas/x", made_after=NOW - timedelta(hours=1)) == facts
    assert packs.pack("deltas/x", made_after=NOW) is None, "S3 deletes it too soon"
    assert packs.pack("deltas/x", made_after=NOW - timedelta(hours=1)) is None


@pytest.mark.parametrize("metadata", [{}, {"blocks": "3", "index": "ab" * 32}])
def test_an_object_that_is_no_pack_is_made_anew(metadata: Json) -> None:
    found = Aws("s3").on("HeadObject", {"ContentLength": 9, "Metadata": metadata})
    assert S3Packs(found.client, "artifacts").pack("deltas/x", made_after=NOW) is None


@pytest.mark.parametrize(
    ("code", "reason", "of_snapshot"),
    [
        ("RequestThrottledException", "RESOURCE_LEVEL_THROTTLE", True),
        ("RequestThrottledException", None, True),
        ("RequestThrottledException", "ACCOUNT_THROTTLED", False),
        ("ThrottlingException", None, False),
    ],
)
def test_which_limit_has_refused_a_request(code: str, reason: str | None, *, of_snapshot: bool) -> None:
    response: Any = {"Error": {"Code": code, "Message": "slow down"}, "Reason": reason}
    with pytest.raises(errors.ThrottledError) as caught, naming_errors():
        raise ClientError(response, "GetSnapshotBlock")
    assert is_of_snapshot(caught.value) is of_snapshot


def test_a_pack_is_a_stream_that_zstd_decompresses() -> None:
    """RFC 8878: a decoder skips the first frame, and frames follow each other."""
    datas = [b"a" * BLOCK, b"b" * BLOCK]
    blocks = [
        PackedBlock(index, BLOCK, hashlib.sha256(data).hexdigest(), zstandard.compress(data))
        for index, data in enumerate(datas)
    ]
    data, facts = packed(blocks)
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as stream:
        assert stream.read() == b"".join(datas)
    assert (facts.size_bytes, facts.blocks) == (len(data), 2)
