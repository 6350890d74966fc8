"""What restores hold, on moto's DynamoDB: conditional writes, all or nothing."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rewarm.adapters.table.holds import EXPIRY_SECONDS, SHARDS, DynamoHolds
from rewarm.domain import errors
from rewarm.domain.volume.holds import AlarmStart, TargetHolds
from tests.contract.answers import ApiError, Aws

TABLE = "restores"
INSTANCE = "i-0123456789abcdef0"
NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
CLOCK = 1_000_000.0


@pytest.fixture
def holds(dynamodb: Any) -> DynamoHolds:
    return DynamoHolds(dynamodb, TABLE, lambda: CLOCK)


def rows(dynamodb: Any) -> dict[str, Any]:
    return {item["pk"]["S"]: item for item in dynamodb.scan(TableName=TABLE)["Items"]}


class TestTargets:
    def test_what_is_held_comes_back(self, holds: DynamoHolds, dynamodb: Any) -> None:
        before = holds.on_target(INSTANCE)
        assert before == TargetHolds(INSTANCE)
        after = before.with_devices("first", {0: "/dev/sdf", 1: "/dev/sdg"}, NOW)
        assert holds.keep(before, after)
        found = holds.on_target(INSTANCE)
        assert found.holds == after.holds
        assert found.version is not None
        row = rows(dynamodb)[f"target#{INSTANCE}"]
        assert row["expiresAt"]["N"] == str(int(CLOCK) + EXPIRY_SECONDS)

    def test_of_two_that_read_the_same_one_writes(self, holds: DynamoHolds) -> None:
        seen = holds.on_target(INSTANCE)
        assert holds.keep(seen, seen.with_devices("first", {0: "/dev/sdf"}, NOW))
        assert not holds.keep(seen, seen.with_devices("second", {0: "/dev/sdg"}, NOW))
        now = holds.on_target(INSTANCE)
        assert holds.keep(now, now.with_devices("second", {0: "/dev/sdg"}, NOW))
        assert not holds.keep(now, now.without({"first"})), "changed since it was read"
        assert holds.on_target(INSTANCE).restore_ids == ["first", "second"]

    def test_an_item_that_went_and_came_again_has_changed(self, holds: DynamoHolds) -> None:
        empty = holds.on_target(INSTANCE)
        holds.keep(empty, empty.with_devices("first", {0: "/dev/sdf"}, NOW))
        seen = holds.on_target(INSTANCE)
        assert holds.keep(seen, seen.without({"first"}))
        holds.keep(holds.on_target(INSTANCE), empty.with_devices("second", {0: "/dev/sdf"}, NOW))
        assert not holds.keep(seen, seen.without({"first"}))
        assert holds.on_target(INSTANCE).restore_ids == ["second"]

    def test_where_nothing_is_held_there_is_no_item(self, holds: DynamoHolds, dynamodb: Any) -> None:
        empty = holds.on_target(INSTANCE)
        assert holds.keep(empty, empty)
        holds.keep(empty, empty.with_devices("first", {0: "/dev/sdf"}, NOW))
        held = holds.on_target(INSTANCE)
        assert holds.keep(held, held.without({"first"}))
        assert rows(dynamodb) == {}

    def test_of_many_at_once_every_device_has_one_restore(self, holds: DynamoHolds) -> None:
        won: list[str] = []

        def take(name: str) -> None:
            while True:
                seen = holds.on_target(INSTANCE)
                try:
                    after = seen.with_devices(name, {0: "/dev/sdf"}, NOW)
                except errors.TargetBusyError:
                    return
                if holds.keep(seen, after):
                    won.append(name)
                    return

        threads = [threading.Thread(target=take, args=(f"restore-{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert holds.on_target(INSTANCE).restore_ids == won


class TestRunning:
    def test_who_enters_is_there_until_it_leaves(self, holds: DynamoHolds) -> None:
        names = [f"restore-{number}" for number in range(100)]
        for number, name in enumerate(names):
            at = NOW + timedelta(seconds=number)
            assert holds.enter(name, instance_id=INSTANCE if number % 2 else None, now=at)
        assert [one.restore_id for one in holds.running()] == names
        assert [one.instance_id for one in holds.running()][:2] == [None, INSTANCE]
        for name in names[10:]:
            holds.leave(name)
        assert [one.restore_id for one in holds.running()] == names[:10]

    def test_entering_twice_changes_nothing(self, holds: DynamoHolds) -> None:
        assert holds.enter("first", instance_id=INSTANCE, now=NOW)
        assert not holds.enter("first", instance_id=None, now=NOW + timedelta(hours=1))
        entry = holds.entry("first")
        assert entry is not None
        assert (entry.since, entry.instance_id) == (NOW, INSTANCE)

    def test_leaving_twice_makes_no_item(self, holds: DynamoHolds, dynamodb: Any) -> None:
        holds.leave("nobody")
        assert holds.entry("nobody") is None
        assert rows(dynamodb) == {}

    def test_they_are_spread_over_several_items(self, holds: DynamoHolds, dynamodb: Any) -> None:
        for number in range(200):
            holds.enter(f"restore-{number}", instance_id=None, now=NOW)
        assert len(rows(dynamodb)) == SHARDS

    def test_a_part_that_stays_unanswered_is_not_taken_for_nobody(self) -> None:
        asked = {TABLE: {"Keys": [{"pk": {"S": "running#00"}}]}}
        aws = Aws("dynamodb")
        for _ in range(5):
            aws.on("BatchGetItem", {"Responses": {TABLE: []}, "UnprocessedKeys": asked})
        with pytest.raises(errors.ThrottledError, match="unanswered"):
            DynamoHolds(aws.client, TABLE).running()

    def test_an_error_of_dynamodb_is_one_of_ours(self) -> None:
        aws = Aws("dynamodb").on("UpdateItem", ApiError("ProvisionedThroughputExceededException"))
        with pytest.raises(errors.ThrottledError):
            DynamoHolds(aws.client, TABLE).enter("first", instance_id=None, now=NOW)


class TestAlarms:
    def test_the_last_start_comes_back_and_one_of_two_writes(self, holds: DynamoHolds) -> None:
        assert holds.alarm("lost: データ") is None
        assert holds.keep_alarm("lost: データ", None, AlarmStart("first", NOW, "abc"))
        assert not holds.keep_alarm("lost: データ", None, AlarmStart("second", NOW, "abc"))
        last = holds.alarm("lost: データ")
        assert last is not None
        assert (last.restore_id, last.at, last.runbook) == ("first", NOW, "abc")
        assert holds.keep_alarm("lost: データ", last, AlarmStart("second", NOW, "abc"))
        assert not holds.keep_alarm("lost: データ", last, AlarmStart("third", NOW, "abc"))
