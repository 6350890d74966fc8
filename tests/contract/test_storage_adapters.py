"""The bucket and the table, on moto's S3 and DynamoDB."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from moto import mock_aws

from rewarm.adapters import clients
from rewarm.adapters.artifacts import AgentStore, S3Artifacts
from rewarm.adapters.table.restores import DynamoRestoreTable
from rewarm.adapters.table.table_items import from_item, to_item
from rewarm.domain import errors
from rewarm.domain.model import Extent
from rewarm.domain.volume.extents import Runs
from rewarm.domain.volume.leftovers import FastRestoreClaim
from tests.contract.answers import ApiError, Aws

BUCKET = "artifacts"
TABLE = "restores"
PLACE = ("snap-1", "us-east-1a")
ASKED_AT = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


class TestArtifacts:
    @pytest.fixture
    def artifacts(self) -> Iterator[S3Artifacts]:
        with mock_aws():
            boto3.Session().client("s3").create_bucket(Bucket=BUCKET)
            yield S3Artifacts(clients.s3_client(), BUCKET)

    def test_json_comes_back(self, artifacts: S3Artifacts) -> None:
        artifacts.put_json("a.json", {"usd": Decimal("0.1"), "n": [1, None]})
        assert artifacts.get_json("a.json") == {"usd": "0.1", "n": [1, None]}
        assert artifacts.get_json("missing.json") is None

    def test_a_page_is_html_for_a_browser_and_its_link_says_how_long_it_lasts(
        self, artifacts: S3Artifacts
    ) -> None:
        artifacts.put_page("restores/restore-1/report.html", "<!doctype html><p>1,5 s … ✓")
        found = boto3.client("s3").get_object(Bucket=BUCKET, Key="restores/restore-1/report.html")
        assert found["ContentType"] == "text/html; charset=utf-8"
        assert found["Body"].read().decode() == "<!doctype html><p>1,5 s … ✓"
        link = urlsplit(artifacts.download_url("restores/restore-1/report.html", expires_seconds=43_200))
        assert link.path.endswith("/restores/restore-1/report.html")
        assert parse_qs(link.query)["X-Amz-Expires"] == ["43200"]

    @pytest.mark.parametrize(
        ("region", "host"),
        [
            ("us-east-1", "artifacts.s3.us-east-1.amazonaws.com"),
            ("eu-west-1", "artifacts.s3.eu-west-1.amazonaws.com"),
            ("ap-northeast-1", "artifacts.s3.ap-northeast-1.amazonaws.com"),
            ("me-south-1", "artifacts.s3.me-south-1.amazonaws.com"),
            ("cn-north-1", "artifacts.s3.cn-north-1.amazonaws.com.cn"),
            ("us-gov-west-1", "artifacts.s3.us-gov-west-1.amazonaws.com"),
        ],
    )
    def test_urls_name_the_bucket_s_host_in_its_region(
        self, region: str, host: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The global host is refused in newer Regions, and redirects for a bucket's first day elsewhere."""
        monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        artifacts = S3Artifacts(clients.s3_client(), BUCKET)
        assert urlsplit(artifacts.download_url("a.json", expires_seconds=60)).hostname == host
        assert urlsplit(artifacts.upload_url("a.json", expires_seconds=60)).hostname == host

    def test_text_comes_back_up_to_a_size(self, artifacts: S3Artifacts) -> None:
        boto3.client("s3").put_object(Bucket=BUCKET, Key="output.txt", Body=b"12345\xff")
        assert artifacts.get_text("output.txt", most_bytes=6) == "12345\ufffd"
        assert artifacts.get_text("output.txt", most_bytes=5) is None
        assert artifacts.get_text("missing.txt", most_bytes=5) is None

    @pytest.mark.parametrize(
        "body",
        [b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":1e999}', b"[" * 16_000, b'{"a":"%s"}' % (b"x" * 16_384)],
    )
    def test_what_no_agent_writes_is_none(self, artifacts: S3Artifacts, body: bytes) -> None:
        boto3.client("s3").put_object(Bucket=BUCKET, Key="progress.json", Body=body)
        assert artifacts.get_json("progress.json") is None

    @pytest.mark.parametrize("body", [b'{"event":"progr', b"", b"[1]", b"\xff\xfe"])
    def test_what_is_cut_short_is_none(self, artifacts: S3Artifacts, body: bytes) -> None:
        boto3.client("s3").put_object(Bucket=BUCKET, Key="progress.json", Body=body)
        assert artifacts.get_json("progress.json") is None

    def test_it_says_when_objects_were_written(self, artifacts: S3Artifacts) -> None:
        client = boto3.client("s3")
        for name in ("a/part-1", "a/part-2", "a/other", "b/part-1"):
            client.put_object(Bucket=BUCKET, Key=name, Body=b"")
        found = artifacts.written("a/part-", most=1_000)
        written = client.head_object(Bucket=BUCKET, Key="a/part-2")["LastModified"]
        assert (list(found), found["a/part-2"]) == (["a/part-1", "a/part-2"], written)

    def test_a_map_has_one_extent_a_line(self, artifacts: S3Artifacts) -> None:
        assert artifacts.put_map("blocks.map", [Runs([Extent(0, 3)]), Runs([Extent(7, 1)])]) == 4
        assert boto3.client("s3").get_object(Bucket=BUCKET, Key="blocks.map")["Body"].read() == b"0 3\n7 1\n"

    def test_a_large_map_is_written_in_parts_as_it_comes(self, artifacts: S3Artifacts) -> None:
        runs = 900_000
        parts = (
            Runs(Extent(block * 2, 1) for block in range(at, at + 100_000)) for at in range(0, runs, 100_000)
        )
        assert artifacts.put_map("blocks.map", parts) == runs
        written = boto3.client("s3").get_object(Bucket=BUCKET, Key="blocks.map")
        lines = written["Body"].read().decode().splitlines()
        assert written["ContentType"] == "text/plain"
        assert written["ETag"].endswith('-2"'), "not a multipart upload"
        assert lines == [f"{block * 2} 1" for block in range(runs)]

    def test_a_map_whose_listing_fails_is_not_written(self, artifacts: S3Artifacts) -> None:
        def parts() -> Iterator[Runs]:
            yield Runs([Extent(0, 3)])
            raise errors.ThrottledError("slow down")

        with pytest.raises(errors.ThrottledError, match="slow down"):
            artifacts.put_map("blocks.map", parts())
        assert boto3.client("s3").list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0

    def test_addresses_are_signed_with_version_4_and_for_a_week_at_most(self, artifacts: S3Artifacts) -> None:
        query = parse_qs(urlsplit(artifacts.download_url("blocks.map", expires_seconds=10**9)).query)
        assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
        assert query["X-Amz-Expires"] == ["604800"]
        assert "progress.json" in artifacts.upload_url("progress.json", expires_seconds=60)

    def test_the_agent_reaches_the_bucket_and_leaves_it(self, artifacts: S3Artifacts, tmp_path: Path) -> None:
        (tmp_path / "warmer-linux-arm64").write_bytes(b"arm")
        (tmp_path / "warmer-windows-x86_64.exe").write_bytes(b"exe")
        (tmp_path / "README").write_bytes(b"no agent")
        store = AgentStore(boto3.client("s3"), BUCKET)
        wanted = {"linux-arm64": sha256_of(b"arm"), "windows-x86_64": sha256_of(b"exe")}
        assert store.publish(tmp_path, wanted) == wanted
        artifacts = S3Artifacts(boto3.client("s3"), BUCKET, wanted)
        key, sha256 = artifacts.agent("linux", "arm64")
        assert key == f"agents/{sha256}/warmer"
        assert boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"arm"
        with pytest.raises(errors.TargetNotUsableError, match="linux-arm64, windows-x86_64"):
            artifacts.agent("linux", "x86_64")
        assert store.remove() == 2

    def test_what_the_bucket_says_of_agents_is_not_read(self, artifacts: S3Artifacts) -> None:
        """Whoever can write there would else choose what runs as root."""
        forged = {"linux-x86_64": {"key": "restores/x/evil", "sha256": "e" * 64}}
        boto3.client("s3").put_object(
            Bucket=BUCKET, Key="agents/index.json", Body=json.dumps(forged).encode()
        )
        with pytest.raises(errors.TargetNotUsableError, match="there is: none"):
            artifacts.agent("linux", "x86_64")
        own = S3Artifacts(boto3.client("s3"), BUCKET, {"linux-x86_64": "a" * 64})
        assert own.agent("linux", "x86_64") == (f"agents/{'a' * 64}/warmer", "a" * 64)

    @pytest.mark.parametrize("held", [{}, {"warmer-linux-arm64": b"another"}])
    def test_agents_of_another_build_are_not_published(
        self, artifacts: S3Artifacts, tmp_path: Path, held: dict[str, bytes]
    ) -> None:
        for name, content in held.items():
            (tmp_path / name).write_bytes(content)
        with pytest.raises(errors.RequestRefusedError):
            AgentStore(boto3.client("s3"), BUCKET).publish(tmp_path, {"linux-arm64": sha256_of(b"arm")})
        assert boto3.client("s3").list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0

    def test_names_the_errors(self) -> None:
        s3 = (
            Aws("s3")
            .on("GetObject", ApiError("AccessDenied", status=403))
            .on("PutObject", ApiError("SlowDown"))
        )
        with pytest.raises(errors.AccessDeniedError):
            S3Artifacts(s3.client, BUCKET).get_json("a.json")
        with pytest.raises(errors.ThrottledError):
            S3Artifacts(s3.client, BUCKET).put_json("a.json", {})


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(clock: Clock, dynamodb: Any) -> DynamoRestoreTable:
    return DynamoRestoreTable(dynamodb, TABLE, clock)


def raw(key: str) -> dict[str, Any]:
    item = boto3.client("dynamodb").get_item(TableName=TABLE, Key={"pk": {"S": key}}).get("Item", {})
    return from_item(item)


class TestRestores:
    def test_the_first_record_wins(self, table: DynamoRestoreTable) -> None:
        assert table.put_new("r1", {"status": "accepted"})
        assert not table.put_new("r1", {"status": "other"})
        assert table.get("r1") == {"status": "accepted"}
        assert table.get("r2") is None

    def test_every_kind_of_value_comes_back(self, table: DynamoRestoreTable) -> None:
        told = {
            "status": "ready",
            "p99": 1.5,
            "bytes": 2**40,
            "none": None,
            "list": [{"a": 0.1}],
            "empty": "",
            "no": {},
        }
        table.update("r1", told)
        assert table.get("r1") == told

    def test_records_expire(self, table: DynamoRestoreTable, clock: Clock) -> None:
        table.update("r1", {"a": 1})
        assert raw("restore#r1")["expiresAt"] == clock.now + 400 * 86_400

    def test_events_are_added(self, table: DynamoRestoreTable) -> None:
        table.append_event("r1", {"event": "plan"})
        table.append_event("r1", {"event": "ready"})
        assert (table.get("r1") or {})["events"] == [{"event": "plan"}, {"event": "ready"}]

    def test_only_a_known_restore_is_cancelled(self, table: DynamoRestoreTable) -> None:
        with pytest.raises(errors.RestoreNotFoundError):
            table.request_cancel("r1")
        assert table.get("r1") is None
        table.put_new("r1", {})
        assert not table.standing("r1").is_cancelled
        table.request_cancel("r1")
        assert table.standing("r1").is_cancelled

    def test_a_restore_whose_volumes_are_all_settled_is_not_cancelled(
        self, table: DynamoRestoreTable
    ) -> None:
        table.put_new("r1", {})
        both = ["settled0", "settled1"]
        assert table.set_unless_cancelled("r1", "settled0", True)
        assert table.set_unless_cancelled("r1", "settled1", True)
        assert not table.request_cancel("r1", unless=both)
        assert not table.standing("r1").is_cancelled
        assert table.request_cancel("r1", unless=[*both, "settled2"])

    def test_what_comes_after_a_cancel_does_not_count(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {})
        assert table.set_unless_cancelled("r1", "attached0", {"volumeId": "vol-1"})
        assert table.request_cancel("r1")
        assert table.set_unless_cancelled("r1", "attached0", {"volumeId": "vol-1"}), "a retried state"
        assert not table.set_unless_cancelled("r1", "settled0", True)
        assert (table.get("r1") or {}).get("settled0") is None

    def test_nothing_has_a_name_longer_than_a_key(self) -> None:
        table = DynamoRestoreTable(Aws("dynamodb").client, "restores")  # it refuses every call
        assert table.get("x" * 3_000) is None
        assert table.runbook("x" * 3_000) is None
        assert not table.discard("runbook", "x" * 3_000)

    def test_an_event_has_one_owner(self, table: DynamoRestoreTable) -> None:
        assert table.claim_event("e1", "r1") == "r1"
        assert table.claim_event("e1", "r1") == "r1"
        assert table.claim_event("e1", "r2") == "r1"

    def test_a_message_has_one_sender_until_it_gives_it_back_or_its_time_is_over(
        self, table: DynamoRestoreTable, clock: Clock
    ) -> None:
        assert table.claim_message("failed#r1", "one", seconds=60)
        assert table.claim_message("failed#r1", "one", seconds=60), "a retry of the same sender"
        assert not table.claim_message("failed#r1", "two", seconds=60)
        assert not table.claim_message("failed#r1", "two", seconds=0), "what another has cannot be given back"
        assert table.claim_message("ready#r1#0", "two", seconds=60), "another message"
        assert table.claim_message("failed#r1", "one", seconds=0)
        assert table.claim_message("failed#r1", "two", seconds=60)
        clock.now += 59
        assert not table.claim_message("failed#r1", "one", seconds=60)
        clock.now += 1
        assert table.claim_message("failed#r1", "one", seconds=60)
        assert table.get("r1") is None
        assert raw("message#failed#r1").keys() == {"pk", "claimedBy", "claimedUntil", "expiresAt"}

    def test_runbooks(self, table: DynamoRestoreTable) -> None:
        assert table.runbook("alarm/1") is None
        table.store("runbook", "alarm/1", {"source": {"snapshotId": "snap-1"}})
        assert table.runbook("alarm/1") == {"source": {"snapshotId": "snap-1"}}
        assert "expiresAt" not in raw("runbook#alarm/1")
        assert table.discard("runbook", "alarm/1")
        assert not table.discard("runbook", "alarm/1")

    def test_names_the_errors(self) -> None:
        dynamodb = Aws("dynamodb").on("UpdateItem", ApiError("ProvisionedThroughputExceededException"))
        dynamodb.on("PutItem", ApiError("AccessDeniedException"))
        table = DynamoRestoreTable(dynamodb.client, TABLE)
        with pytest.raises(errors.ThrottledError):
            table.update("r1", {"a": 1})
        with pytest.raises(errors.AccessDeniedError):
            table.put_new("r1", {})


def test_volumes_are_read_where_the_restores_own_item_is_lost(table: DynamoRestoreTable) -> None:
    for index in range(2):
        table.update_volume("r1", index, {"volume": {"volumeId": f"vol-{index}"}})
    assert table.get("r1") is None
    volumes = {index: {"volume": {"volumeId": f"vol-{index}"}} for index in range(2)}
    assert table.get_whole("r1") == ({"volumeCount": 2}, volumes)
    table.advance("r1", "restoring")
    assert table.get_whole("r1") == ({"volumeCount": 2, "status": "restoring"}, volumes)
    assert table.get_whole("r2") == (None, {})


class TestFastSnapshotRestoreClaims:
    def test_a_claim_that_was_lost_is_written_again(self, table: DynamoRestoreTable) -> None:
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", enabling_time=ASKED_AT)
        assert table.claim(*PLACE) == FastRestoreClaim(
            users=frozenset({"r1/0"}), enabling_times=frozenset({ASKED_AT})
        )

    def test_the_last_user_disables_what_we_enabled(self, table: DynamoRestoreTable) -> None:
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=ASKED_AT)
        table.claim_fast_snapshot_restore(*PLACE, "r2/0", asked_at=None)
        assert not table.release_fast_snapshot_restore(*PLACE, "r1/0")
        assert table.release_fast_snapshot_restore(*PLACE, "r2/0")

    def test_what_somebody_else_enabled_stays(self, table: DynamoRestoreTable) -> None:
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=None)
        assert not table.release_fast_snapshot_restore(*PLACE, "r1/0")

    def test_a_release_that_is_repeated_hears_the_same(self, table: DynamoRestoreTable) -> None:
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=ASKED_AT)
        assert table.release_fast_snapshot_restore(*PLACE, "r1/0")
        assert table.release_fast_snapshot_restore(*PLACE, "r1/0")

    def test_what_was_disabled_is_forgotten_and_only_by_its_last_user(
        self, table: DynamoRestoreTable
    ) -> None:
        assert table.claim(*PLACE) is None
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=ASKED_AT)
        assert table.claim(*PLACE) == FastRestoreClaim(
            users=frozenset({"r1/0"}), asked_at=frozenset({ASKED_AT})
        )
        table.release_fast_snapshot_restore(*PLACE, "r1/0")
        assert table.claim(*PLACE) == FastRestoreClaim(last_user="r1/0", asked_at=frozenset({ASKED_AT}))
        table.forget_fast_snapshot_restore(*PLACE, "r2/0")
        assert table.claim(*PLACE) is not None
        table.forget_fast_snapshot_restore(*PLACE, "r1/0")
        assert table.claim(*PLACE) is None
        assert not table.release_fast_snapshot_restore(*PLACE, "r1/0")

    def test_what_another_has_claimed_meanwhile_is_not_forgotten(self, table: DynamoRestoreTable) -> None:
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=ASKED_AT)
        table.release_fast_snapshot_restore(*PLACE, "r1/0")
        table.claim_fast_snapshot_restore(*PLACE, "r2/0", asked_at=None)
        table.forget_fast_snapshot_restore(*PLACE, "r1/0")
        assert table.release_fast_snapshot_restore(*PLACE, "r2/0")

    def test_a_credit_is_taken_once_and_forgotten_after_the_window(self, table: DynamoRestoreTable) -> None:
        def take(user: str, minute: int, credit_count: int = 1) -> bool:
            now = datetime(2026, 11, 21, 12, minute, tzinfo=UTC)
            return table.take_fast_snapshot_restore_credit(
                *PLACE, user, credit_count=credit_count, now=now, window=timedelta(minutes=5)
            )

        assert take("r1/0", 0)
        assert not take("r1/1", 1)
        assert take("r1/0", 1), "asking again takes no second one"
        assert take("r1/1", 2, credit_count=2)
        assert not take("r2/0", 4, credit_count=2)
        assert take("r2/0", 6, credit_count=2)
        assert not take("r2/1", 6, credit_count=2)
        assert take("r2/1", 8, credit_count=2)

    def test_who_never_claimed_releases_nothing(self, table: DynamoRestoreTable) -> None:
        assert not table.release_fast_snapshot_restore(*PLACE, "r9/0")
        assert raw("fsr#snap-1#us-east-1a") == {}
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=ASKED_AT)
        assert not table.release_fast_snapshot_restore(*PLACE, "r9/0")
        assert table.release_fast_snapshot_restore(*PLACE, "r1/0")
        assert not table.release_fast_snapshot_restore(*PLACE, "r9/0")

    def test_a_claim_is_idempotent_and_lasts_as_long_as_records(self, table: DynamoRestoreTable) -> None:
        """What nothing releases, because the table was put back to an earlier moment, goes some day."""
        for _ in range(2):
            table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=ASKED_AT)
        lasting = raw("fsr#snap-1#us-east-1a")["expiresAt"]
        assert table.release_fast_snapshot_restore(*PLACE, "r1/0")
        assert raw("fsr#snap-1#us-east-1a")["expiresAt"] < lasting
        table.claim_fast_snapshot_restore(*PLACE, "r2/0", asked_at=None)
        assert raw("fsr#snap-1#us-east-1a")["expiresAt"] >= lasting
        # r1 enabled it and may not have got to disabling it: r2 inherits the duty.
        assert table.release_fast_snapshot_restore(*PLACE, "r2/0")

    def test_what_came_of_enabling_it_is_noted(self, table: DynamoRestoreTable) -> None:
        enabled_at, other = ASKED_AT + timedelta(seconds=1), ASKED_AT + timedelta(seconds=9)
        for user, asked_at in (("r1/0", ASKED_AT), ("r1/1", other)):
            table.claim_fast_snapshot_restore(*PLACE, user, asked_at=asked_at)
        table.note_fast_snapshot_restore(*PLACE, asked_at=ASKED_AT, enabling_time=enabled_at)
        table.note_fast_snapshot_restore(*PLACE, asked_at=other, enabling_time=None)
        assert table.claim(*PLACE) == FastRestoreClaim(
            users=frozenset({"r1/0", "r1/1"}), enabling_times=frozenset({enabled_at})
        )

    def test_what_was_refused_is_not_to_be_disabled(self, table: DynamoRestoreTable) -> None:
        table.claim_fast_snapshot_restore(*PLACE, "r1/0", asked_at=ASKED_AT)
        table.note_fast_snapshot_restore(*PLACE, asked_at=ASKED_AT, enabling_time=None)
        assert not table.release_fast_snapshot_restore(*PLACE, "r1/0")
        table.forget_fast_snapshot_restore(*PLACE, "r1/0")
        table.note_fast_snapshot_restore(*PLACE, asked_at=ASKED_AT, enabling_time=ASKED_AT)
        assert raw("fsr#snap-1#us-east-1a") == {}, "what is forgotten does not come back"


def test_items_hold_what_dynamodb_cannot() -> None:
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    item = to_item({"a": math.inf, "b": moment, "c": (1, 2), "d": Decimal(1) / Decimal(3), "e": 10**37})
    back = from_item(item)
    assert (back["a"], back["b"], back["c"]) == ("inf", moment.isoformat(), [1, 2])
    assert back["d"] == pytest.approx(1 / 3)
    assert back["e"] == 10**37
    assert json.dumps(back)
