"""The packs of undo logs, on moto's S3: put once, found, read by their indices."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

import boto3
import pytest
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from rewarm.adapters import clients
from rewarm.adapters.artifacts import S3Artifacts
from rewarm.adapters.blocks.packs import S3Packs, S3UndoLogs
from rewarm.domain.blocks.packs import PackedBlock, packed
from rewarm.domain.errors import BlockDamagedError, ServiceUnavailableError
from tests.contract.answers import Aws

BUCKET, PREFIX = "artifacts", "undo/restore-1/0/"


@pytest.fixture(autouse=True)
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        boto3.Session().client("s3").create_bucket(Bucket=BUCKET)
        yield


def put(name: str, data: bytes) -> str:
    boto3.client("s3").put_object(Bucket=BUCKET, Key=PREFIX + name, Body=data)
    return PREFIX + name


def pack(count: int) -> bytes:
    return packed([PackedBlock(index, 524_288, "ab" * 32, b"frame") for index in range(count)])[0]


def test_an_address_for_one_upload_has_the_condition_signed() -> None:
    artifacts = S3Artifacts(clients.s3_client(), BUCKET)
    once = artifacts.upload_url(f"{PREFIX}0/000000-000", expires_seconds=60, once=True)
    again = artifacts.upload_url("progress.json", expires_seconds=60)
    assert parse_qs(urlsplit(once).query)["X-Amz-SignedHeaders"] == ["host;if-none-match"]
    assert parse_qs(urlsplit(again).query)["X-Amz-SignedHeaders"] == ["host"]


def test_a_pack_is_sent_as_it_is_with_a_checksum_and_no_signature_of_its_bytes() -> None:
    """botocore's own checksum comes after the last of many pieces, and a signature needs a SHA-256."""
    sent: list[Any] = []
    s3, (data, facts) = clients.s3_client(), packed([PackedBlock(0, 524_288, "ab" * 32, b"frame")])
    s3.meta.events.register("before-send.s3.PutObject", lambda request, **_event: sent.append(request))
    S3Packs(s3, BUCKET).put_pack(f"{PREFIX}pack", data, facts, made_at=datetime(2026, 1, 2, tzinfo=UTC))
    headers = sent[0].headers
    assert b64decode(headers["x-amz-checksum-crc32"]) == crc32(data).to_bytes(4, "big")
    assert headers["x-amz-content-sha256"] == b"UNSIGNED-PAYLOAD"
    assert int(headers["Content-Length"]) == len(data)
    assert "Content-Encoding" not in headers


def test_of_each_pack_just_the_index_is_read() -> None:
    small, large = put("0/000000-000", pack(2)), put("0/000001-000", pack(1_024))
    packs = S3Packs(clients.s3_client(), BUCKET)
    assert list(packs.keys(PREFIX)) == [small, large]
    first, second = packs.indices([small, large])
    assert [block.index for block in first.blocks] == [0, 1]
    assert len(second.blocks) == 1_024
    assert second.facts.size_bytes == len(packs.bytes_of(large))


def test_what_is_no_pack_and_what_is_gone_is_named() -> None:
    packs = S3Packs(clients.s3_client(), BUCKET)
    for name, data in (("text", b"hello"), ("cut", pack(9)[:200]), ("other", b"\x50\x2a\x4d\x18\2\0\0\0{}")):
        with pytest.raises(BlockDamagedError, match=f"0/{name} in the bucket is not the pack that it was"):
            list(packs.indices([put(f"0/{name}", data)]))
    with pytest.raises(BlockDamagedError, match="0/gone is not in the bucket any more"):
        list(packs.indices([f"{PREFIX}0/gone"]))


def test_objects_of_a_log_are_found_and_deleted_a_thousand_at_a_time() -> None:
    logs = S3UndoLogs(clients.s3_client(), BUCKET)
    keys = [f"{PREFIX}0/{number:06d}-000" for number in range(1_003)]
    for key in keys:
        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(BUCKET, key, b"12345")
    found = list(logs.objects(PREFIX))
    assert [one.key for one in found] == keys
    assert {one.size_bytes for one in found} == {5}
    assert logs.delete(keys) == 1_003
    assert list(logs.objects(PREFIX)) == []


def test_what_s3_does_not_delete_is_an_error() -> None:
    answer = {"Errors": [{"Key": "undo/a", "Code": "InternalError", "Message": "We encountered an error"}]}
    s3 = Aws("s3").on("DeleteObjects", answer)
    with pytest.raises(ServiceUnavailableError, match="did not delete undo/a: We encountered an error"):
        S3UndoLogs(s3.client, BUCKET).delete(["undo/a"])
