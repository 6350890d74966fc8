"""EBS direct APIs with botocore's own client: what differs between snapshots, and what their blocks hold."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local.aws.machines.dataplane import BLOCK_BYTES
from local.aws.region import FaultRule, RegionSettings, SnapshotSettings
from local.aws.wire import client, serve
from tests.local.aws.region.region_lab import Lab

VOLUME = "vol-0123456789abcdef0"
FIRST, SECOND = "snap-0000000000000aaaa", "snap-0000000000000bbbb"
LAYER = ((0, 1_000),)


def settled(lab: Lab) -> Any:
    """Two snapshots of one volume: 300 blocks written anew, 10 more written."""
    lab.region.add_snapshot(
        snapshot_id=FIRST, size_gib=1, volume_id=VOLUME, extents=LAYER, layers=((LAYER, "old"),)
    )
    new = ((100, 300), (1_000, 10))
    lab.region.add_snapshot(
        snapshot_id=SECOND, size_gib=1, volume_id=VOLUME, extents=((0, 1_010),),
        layers=((LAYER, "old"), (new, "new")),
    )  # fmt: skip
    return client(lab.region, "ebs")


def changed(ebs: Any, **params: Any) -> list[list[dict[str, Any]]]:
    """The pages of ListChangedBlocks."""
    asked = {"FirstSnapshotId": FIRST, "SecondSnapshotId": SECOND, **params}
    pages: list[list[dict[str, Any]]] = []
    while True:
        answer = ebs.list_changed_blocks(**asked)
        pages.append(answer["ChangedBlocks"])
        if "NextToken" not in answer:
            return pages
        asked["NextToken"] = answer["NextToken"]


def block(ebs: Any, snapshot: str, index: int, token: str) -> bytes:
    """The block's bytes, checked by what the answer says of them."""
    answer = ebs.get_snapshot_block(SnapshotId=snapshot, BlockIndex=index, BlockToken=token)
    data: bytes = answer["BlockData"].read()
    assert len(data) == answer["DataLength"] == BLOCK_BYTES
    assert answer["ChecksumAlgorithm"] == "SHA256"
    assert base64.b64decode(answer["Checksum"]) == hashlib.sha256(data).digest()
    return data


def refused(call: Any, **params: Any) -> tuple[str, str | None]:
    """(code, reason)"""
    with pytest.raises(ClientError) as error:
        call(**params)
    return error.value.response["Error"]["Code"], error.value.response.get("Reason")


def test_changed_blocks_are_those_that_differ() -> None:
    ebs = settled(Lab())
    pages = changed(ebs, MaxResults=200)
    assert [len(page) for page in pages] == [200, 110]
    found = {one["BlockIndex"]: one for page in pages for one in page}
    assert list(found) == [*range(100, 400), *range(1_000, 1_010)]
    assert "FirstBlockToken" not in found[1_000]
    for snapshot, name in ((FIRST, "FirstBlockToken"), (SECOND, "SecondBlockToken")):
        assert len(block(ebs, snapshot, 100, found[100][name])) == BLOCK_BYTES
    old = block(ebs, FIRST, 100, found[100]["FirstBlockToken"])
    assert old != block(ebs, SECOND, 100, found[100]["SecondBlockToken"])
    (listed,) = ebs.list_snapshot_blocks(SnapshotId=FIRST, StartingBlockIndex=999)["Blocks"]
    block(ebs, FIRST, 999, listed["BlockToken"])
    assert changed(ebs, StartingBlockIndex=1_005)[0][0]["BlockIndex"] == 1_005
    back = changed(ebs, FirstSnapshotId=SECOND, SecondSnapshotId=FIRST)[0]
    assert "SecondBlockToken" not in back[-1]
    assert changed(ebs, SecondSnapshotId=FIRST) == [[]]
    answer = ebs.list_changed_blocks(FirstSnapshotId=FIRST, SecondSnapshotId=SECOND)
    assert (answer["BlockSize"], answer["VolumeSize"]) == (BLOCK_BYTES, 1)


def test_files_are_compared_by_their_bytes(tmp_path: Path) -> None:
    lab = Lab()
    blocks = {FIRST: {0: b"a", 5: b"b", 7: b"c"}, SECOND: {0: b"a", 5: b"B", 9: b"d"}}
    for snapshot, held in blocks.items():
        with (tmp_path / snapshot).open("wb") as file:
            for index, letter in held.items():
                os.pwrite(file.fileno(), letter * BLOCK_BYTES, index * BLOCK_BYTES)
        lab.region.add_snapshot(
            snapshot_id=snapshot, size_gib=1, volume_id=VOLUME, path=tmp_path / snapshot,
            extents=[(index, 1) for index in held],
        )  # fmt: skip
    server = serve(lab.region)
    ebs: Any = boto3.Session().client(
        "ebs", region_name="us-east-1", endpoint_url=server.url, aws_access_key_id="local",
        aws_secret_access_key="local", config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip
    try:
        (found,) = changed(ebs)
        held = [(one["BlockIndex"], "FirstBlockToken" in one, "SecondBlockToken" in one) for one in found]
        assert held == [(5, True, True), (7, True, False), (9, False, True)]
        assert block(ebs, SECOND, 5, found[0]["SecondBlockToken"]) == b"B" * BLOCK_BYTES
        (tmp_path / SECOND).unlink()
        token = {"SnapshotId": SECOND, "BlockIndex": 9, "BlockToken": found[2]["SecondBlockToken"]}
        assert refused(ebs.get_snapshot_block, **token) == ("ResourceNotFoundException", "SNAPSHOT_NOT_FOUND")
    finally:
        server.close()


def test_pages_may_be_short_or_empty_and_tokens_absent() -> None:
    settings = SnapshotSettings(short_pages=True, changed_scan_blocks=50, second_token_absent=0.3)
    ebs = settled(Lab(RegionSettings(snapshot=settings)))
    pages = changed(ebs, MaxResults=100)
    assert [one["BlockIndex"] for page in pages for one in page] == [*range(100, 400), *range(1_000, 1_010)]
    assert 0 in [len(page) for page in pages]
    absent = sum("SecondBlockToken" not in one for page in pages for one in page)
    assert 30 < absent < 160
    assert changed(ebs, MaxResults=100) == pages


def test_what_cannot_be_compared_or_read() -> None:
    lab = Lab()
    ebs = settled(lab)
    free = client(lab.region, "ebs", config=Config(parameter_validation=False))
    other, pending = lab.snapshot(), lab.snapshot(state="pending", volume_id=VOLUME)
    archived = lab.snapshot(storage_tier="archive", volume_id=VOLUME)
    call = ebs.list_changed_blocks
    wrong = "ValidationException"
    assert refused(call, FirstSnapshotId=FIRST, SecondSnapshotId=other) == (wrong, "UNRELATED_SNAPSHOTS")
    assert refused(call, FirstSnapshotId=FIRST, SecondSnapshotId=pending) == (wrong, "INVALID_SNAPSHOT_ID")
    assert refused(call, FirstSnapshotId=archived, SecondSnapshotId=SECOND) == (wrong, "INVALID_SNAPSHOT_ID")
    assert refused(free.list_changed_blocks, SecondSnapshotId=SECOND) == (wrong, "INVALID_PARAMETER_VALUE")
    (first, *_) = changed(ebs)[0]
    asked = {"SnapshotId": FIRST, "BlockIndex": 100, "BlockToken": first["FirstBlockToken"]}
    get = ebs.get_snapshot_block
    for change in ({"BlockIndex": 101}, {"SnapshotId": SECOND}, {"BlockToken": "AAAA"}):
        assert refused(get, **{**asked, **change}) == (wrong, "INVALID_BLOCK_TOKEN")
    assert refused(get, **{**asked, "BlockIndex": 2_048}) == (wrong, "INVALID_BLOCK")


def test_tokens_expire() -> None:
    lab = Lab()
    ebs = settled(lab)
    asked = {"FirstSnapshotId": FIRST, "SecondSnapshotId": SECOND, "MaxResults": 100}
    answer = ebs.list_changed_blocks(**asked)
    page = {**asked, "NextToken": answer["NextToken"]}
    token = {"SnapshotId": SECOND, "BlockIndex": 100}
    token["BlockToken"] = answer["ChangedBlocks"][0]["SecondBlockToken"]
    lab.wait(3_600)
    ebs.list_changed_blocks(**page)
    lab.wait(1)
    wrong = "ValidationException"
    assert refused(ebs.list_changed_blocks, **page) == (wrong, "INVALID_PAGE_TOKEN")
    lab.wait(7 * 86_400 - 3_601)
    ebs.get_snapshot_block(**token)
    lab.wait(1)
    assert refused(ebs.get_snapshot_block, **token) == (wrong, "INVALID_BLOCK_TOKEN")


def test_a_block_may_arrive_damaged() -> None:
    lab = Lab()
    ebs = settled(lab)
    (first, *_) = changed(ebs)[0]
    lab.region.faults.add(FaultRule("block:data", effect="corrupt", when={"BlockIndex": 100}))
    asked = {"SnapshotId": FIRST, "BlockIndex": 100, "BlockToken": first["FirstBlockToken"]}
    answer = ebs.get_snapshot_block(**asked)
    assert base64.b64decode(answer["Checksum"]) != hashlib.sha256(answer["BlockData"].read()).digest()
    block(ebs, FIRST, 100, first["FirstBlockToken"])


def test_blocks_are_paid_by_request_and_take_their_time() -> None:
    slept: list[float] = []
    lab = Lab(RegionSettings(snapshot=SnapshotSettings(get_block_seconds=(0.02, 0.06))))
    lab.region.pause = slept.append
    ebs = settled(lab)
    for one in changed(ebs)[0][:20]:
        block(ebs, SECOND, one["BlockIndex"], one["SecondBlockToken"])
    assert all(0.02 <= seconds <= 0.06 for seconds in slept)
    assert len(set(slept)) == 20
    paid = {row["resource"]: row["usd"] for row in lab.region.money()["items"]}
    assert paid["GetSnapshotBlock"] == pytest.approx(20 * 0.003 / 1_000)
    assert paid["ListChangedBlocks"] == pytest.approx(0.0006 / 1_000)


def test_a_snapshot_and_the_account_have_limits_of_their_own() -> None:
    settings = RegionSettings(
        throttling=True, get_block_snapshot_per_second=10, get_block_per_second=15, list_changed_per_second=2
    )
    lab = Lab(settings)
    ebs = settled(lab)
    (first, *_) = changed(ebs)[0]
    tokens = {FIRST: first["FirstBlockToken"], SECOND: first["SecondBlockToken"]}

    def many(snapshot: str) -> list[tuple[str, str | None] | None]:
        asked = {"SnapshotId": snapshot, "BlockIndex": 100, "BlockToken": tokens[snapshot]}
        answers: list[tuple[str, str | None] | None] = []
        for _ in range(12):
            try:
                ebs.get_snapshot_block(**asked)
                answers.append(None)
            except ClientError as error:
                answers.append((error.response["Error"]["Code"], error.response.get("Reason")))
        return answers

    assert many(FIRST) == [None] * 10 + [("RequestThrottledException", "RESOURCE_LEVEL_THROTTLE")] * 2
    assert many(SECOND) == [None] * 5 + [("ThrottlingException", None)] * 7
    lab.clock.advance(0.5)
    assert [many(FIRST).count(None), many(SECOND).count(None)] == [5, 2]
    asked = {"FirstSnapshotId": FIRST, "SecondSnapshotId": SECOND}
    ebs.list_changed_blocks(**asked)
    ebs.list_changed_blocks(**asked)
    assert refused(ebs.list_changed_blocks, **asked) == ("ThrottlingException", None)
    quotas = client(lab.region, "service-quotas").list_service_quotas(ServiceCode="ebs")["Quotas"]
    values = {one["QuotaCode"]: (one["Value"], one["Adjustable"]) for one in quotas}
    assert (values["L-C125AE42"], values["L-028ACFB9"]) == ((15, True), (10, False))
