"""A restore's record in the table: an item of its own for each volume, on moto's DynamoDB."""

from __future__ import annotations

import json
import threading
from typing import Any

import boto3
import pytest

from rewarm.adapters.table.restores import INDEX, DynamoRestoreTable
from rewarm.adapters.table.table_items import MOST_ATTEMPTS, MOST_KEYS, to_item
from rewarm.contracts.answers import STATUS_NAMES
from rewarm.domain import errors
from rewarm.ports.restores import LISTED, OVER, RUNBOOK, VOLUME_COUNT, Listed
from rewarm.steps.record.restore import Status, stop_if_cancelled
from tests.contract import repository
from tests.contract.answers import ApiError, Aws

TABLE = "restores"
NOW = 1_800_000_000.0
Json = dict[str, Any]


@pytest.fixture
def table(dynamodb: Any) -> DynamoRestoreTable:
    return DynamoRestoreTable(dynamodb, TABLE, clock=lambda: NOW)


def rows() -> dict[str, Json]:
    found = boto3.Session().client("dynamodb").scan(TableName=TABLE)["Items"]
    return {row["pk"]["S"]: row for row in found}


def recorded(dynamodb: Any) -> list[tuple[str, Json]]:
    """Every call from now on."""
    calls: list[tuple[str, Json]] = []
    dynamodb.meta.events.register(
        "provide-client-params.dynamodb.*",
        lambda params, model, **_: calls.append((model.name, dict(params))),
    )
    return calls


class TestSeveralRestores:
    def test_of_each_that_is_known_only_what_was_asked_for(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {"status": "ready", "settled0": True, "events": []})
        table.put_new("r3", {"status": "planned"})
        found = table.get_each(["r1", "r2", "r3"], ("status", "settled0"))
        assert found == {"r1": {"status": "ready", "settled0": True}, "r3": {"status": "planned"}}

    def test_a_hundred_are_read_by_one_call(self, dynamodb: Any, table: DynamoRestoreTable) -> None:
        calls = recorded(dynamodb)
        assert table.get_each([f"r{number}" for number in range(250)], ("status",)) == {}
        asked = [params["RequestItems"][TABLE]["Keys"] for name, params in calls if name == "BatchGetItem"]
        assert [len(keys) for keys in asked] == [100, 100, 50]


class TestReplace:
    """A runbook is replaced only where nobody has written another one since it was read."""

    WRITTEN = {"request": {"share": 0.1, "first": [], "at": None}, "trigger": {"kind": "api"}}

    def test_is_one_write_on_condition(self, dynamodb: Any, table: DynamoRestoreTable) -> None:
        key, first, trigger = (RUNBOOK, "rewarm-a"), self.WRITTEN["request"], self.WRITTEN["trigger"]
        calls = recorded(dynamodb)
        assert table.replace(*key, first, trigger=trigger, was=None)
        assert not table.replace(*key, {}, trigger=trigger, was=None)
        assert not table.replace(*key, {}, trigger=trigger, was={**first, "share": 0.2})
        assert [name for name, _ in calls] == ["PutItem"] * 3
        read = table.stored(*key)
        assert read is not None
        assert {name: read[name] for name in self.WRITTEN} == self.WRITTEN
        assert table.replace(*key, {}, trigger=trigger, was=read["request"])
        assert table.runbook("rewarm-a") == {}


class TestAdvance:
    def test_sets_the_status_of_a_restore_that_goes_on(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {"status": "accepted", "waiting": None})
        table.advance("r1", "planned")
        assert table.get("r1") == {"status": "planned", "waiting": None}
        table.advance("r2", "planning")
        assert table.get("r2") == {"status": "planning"}

    @pytest.mark.parametrize("mark", OVER)
    def test_a_restore_that_is_over_stays_so(self, table: DynamoRestoreTable, mark: str) -> None:
        table.put_new("r1", {"status": "cancelled", mark: "2026-11-21T03:00:00Z"})
        table.advance("r1", "planned")
        assert table.standing("r1").status == "cancelled"


class TestOneItemAVolume:
    def test_an_update_of_a_volume_touches_no_other_item(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {VOLUME_COUNT: 2})
        table.update_volume("r1", 0, {"volume": {"volumeId": "vol-0"}})
        before = rows()
        table.update_volume("r1", 1, {"volume": {"volumeId": "vol-1"}})
        after = rows()
        assert sorted(after) == ["restore#r1", "restore-volume#r1#0", "restore-volume#r1#1"]
        assert all(after[key] == row for key, row in before.items())
        assert table.get_volume("r1", 1) == {"volume": {"volumeId": "vol-1"}}
        assert table.get("r1") == {VOLUME_COUNT: 2}

    def test_a_volume_leads_to_each_of_its_restores_once(self, table: DynamoRestoreTable) -> None:
        for restore_id in ("r1", "r2", "r1"):
            table.note_volume("vol-1", restore_id)
        for number, restore_id in enumerate(("r2", "r1")):
            table.put_new(restore_id, {"status": "ready", "startedAt": f"2026-11-21T03:00:0{number}Z"})
        assert [entry.name for entry in table.restores_of("vol-1")] == ["r1", "r2"]
        assert table.restores_of("vol-2") == []
        assert "expiresAt" in rows()["restores-of#vol-1"]

    def test_a_later_update_keeps_what_is_there(self, table: DynamoRestoreTable) -> None:
        table.update_volume("r1", 3, {"volume": {"a": 1}})
        table.update_volume("r1", 3, {"boost": {"state": "boosted"}, "volume": {"b": 2}})
        assert table.get_volume("r1", 3) == {"volume": {"b": 2}, "boost": {"state": "boosted"}}
        assert table.get_volume("r1", 4) == {}

    def test_the_whole_has_the_restore_and_all_its_volumes(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {"status": "planned", VOLUME_COUNT: 3})
        table.append_event("r1", {"event": "plan"})
        table.append_volume_event("r1", 2, {"event": "attached"})
        table.append_volume_event("r1", 2, {"event": "ready"})
        assert table.set_unless_cancelled("r1", "settled2", True)
        assert table.get_whole("r1") == (
            {"status": "planned", VOLUME_COUNT: 3, "events": [{"event": "plan"}], "settled2": True},
            {2: {"events": [{"event": "attached"}, {"event": "ready"}]}},
        )
        assert table.get_whole("r2") == (None, {})

    def test_of_no_volumes_nothing_more_is_read(self, table: DynamoRestoreTable, dynamodb: Any) -> None:
        table.put_new("r1", {"status": "accepted", VOLUME_COUNT: 0})
        calls = recorded(dynamodb)
        assert table.get_whole("r1") == ({"status": "accepted", VOLUME_COUNT: 0}, {})
        assert [name for name, _ in calls] == ["GetItem"]

    def test_of_two_who_replace_the_same_value_one_is_refused(self, table: DynamoRestoreTable) -> None:
        asked = {"askedAt": "2026-11-21T03:00:00Z", "usd": "3.20"}
        assert table.replace_value("r1", "approval", asked, was=None)
        assert not table.replace_value("r1", "approval", asked, was=None)
        assert table.replace_value("r1", "approval", {**asked, "by": "alice"}, was=asked)
        assert not table.replace_value("r1", "approval", {**asked, "by": "bob"}, was=asked)
        assert table.get("r1") == {"approval": {**asked, "by": "alice"}}

    def test_after_a_cancellation_no_value_is_replaced(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {"status": "planned"})
        assert table.request_cancel("r1", by={"kind": "iam", "name": "arn"})
        assert (table.get("r1") or {})["cancelledBy"] == {"kind": "iam", "name": "arn"}
        assert not table.replace_value("r1", "approval", {"usd": "3.20"}, was=None)

    def test_every_item_expires(self, table: DynamoRestoreTable) -> None:
        table.update("r1", {"a": 1})
        table.update_volume("r1", 0, {"volume": {}})
        table.append_volume_event("r1", 1, {"event": "ready"})
        table.set_unless_cancelled("r2", "settled0", True)
        table.put_new("r3", {})
        table.replace_value("r4", "approval", {"usd": "3.20"}, was=None)
        assert {row["expiresAt"]["N"] for row in rows().values()} == {str(int(NOW) + 400 * 86_400)}
        assert len(rows()) == 6

    def test_no_id_of_a_restore_leads_to_an_item_of_a_volume(self, table: DynamoRestoreTable) -> None:
        table.update_volume("r1", 0, {"volume": {}})
        for restore_id in ("r1", "r1#0", "-volume#r1#0", "restore-volume#r1#0"):
            assert table.get(restore_id) is None


class TestReads:
    def test_more_volumes_than_a_call_takes_are_asked_for_in_parts(
        self, table: DynamoRestoreTable, dynamodb: Any
    ) -> None:
        count = MOST_KEYS + 20
        table.put_new("r1", {VOLUME_COUNT: count})
        for index in range(count):
            table.update_volume("r1", index, {"volume": {"volumeId": f"vol-{index}"}})
        calls = recorded(dynamodb)
        _, volumes = table.get_whole("r1")
        assert [volumes[index]["volume"]["volumeId"] for index in range(count)] == [
            f"vol-{index}" for index in range(count)
        ]
        asked = [params["RequestItems"][TABLE] for name, params in calls if name == "BatchGetItem"]
        assert [len(one["Keys"]) for one in asked] == [MOST_KEYS, 20]
        assert all(one["ConsistentRead"] for one in asked), "as of the restore's own item"
        assert [params["ConsistentRead"] for name, params in calls if name == "GetItem"] == [True]

    def test_a_step_reads_three_attributes_to_see_whether_it_may_go_on(
        self, table: DynamoRestoreTable, dynamodb: Any
    ) -> None:
        table.put_new("r1", {"status": "restoring", "request": {"big": "x" * 1_000}})
        calls = recorded(dynamodb)
        assert table.standing("r1") == (False, "restoring", False)
        assert table.standing("unknown") == (False, None, False)
        (_, params), _ = calls
        names = params["ExpressionAttributeNames"]
        asked = [names[one] for one in params["ProjectionExpression"].split(", ")]
        assert (asked, params["ConsistentRead"]) == (["cancelRequested", "status", "cancelAsked"], True)
        table.request_cancel("r1")
        assert table.standing("r1").is_cancelled

    def test_a_restore_that_the_sweeper_ended_was_not_cancelled_by_anybody(
        self, table: DynamoRestoreTable
    ) -> None:
        for asked, said in ((False, "its execution was stopped"), (True, "cancelled, as asked for")):
            table.put_new(f"r-{asked}", {"status": "failed", "cancelAsked": asked})
            table.request_cancel(f"r-{asked}")
            with pytest.raises(errors.RestoreCancelledError, match=said):
                stop_if_cancelled(table, f"r-{asked}")

    def test_what_dynamodb_leaves_out_is_asked_for_again_and_later_each_time(self) -> None:
        item = to_item({"pk": "restore#r1", VOLUME_COUNT: 3})
        keys = [f"restore-volume#r1#{n}" for n in range(3)]
        one, two, three = (to_item({"pk": key, "volume": {"n": n}}) for n, key in enumerate(keys))
        rest = {TABLE: {"Keys": [{"pk": {"S": key}} for key in keys[1:]], "ConsistentRead": True}}
        last = {TABLE: {"Keys": [{"pk": {"S": keys[2]}}], "ConsistentRead": True}}
        aws = Aws("dynamodb").on("GetItem", {"Item": item})
        aws.on(
            "BatchGetItem",
            {"Responses": {TABLE: [one]}, "UnprocessedKeys": rest},
            {"Responses": {TABLE: [two]}, "UnprocessedKeys": last},
            {"Responses": {TABLE: [three]}, "UnprocessedKeys": {}},
        )
        pauses: list[float] = []
        table = DynamoRestoreTable(aws.client, TABLE, sleep=pauses.append)
        assert table.get_whole("r1")[1] == {n: {"volume": {"n": n}} for n in range(3)}
        assert [params["RequestItems"] for params in aws.params("BatchGetItem")][1:] == [rest, last]
        assert pauses == [0.05, 0.1]

    def test_what_stays_unanswered_is_throttling_and_not_a_record_with_holes(self) -> None:
        rest = {TABLE: {"Keys": [{"pk": {"S": "restore-volume#r1#0"}}], "ConsistentRead": True}}
        aws = Aws("dynamodb").on("GetItem", {"Item": to_item({"pk": "restore#r1", VOLUME_COUNT: 1})})
        aws.on("BatchGetItem", {"Responses": {}, "UnprocessedKeys": rest})
        table = DynamoRestoreTable(aws.client, TABLE, sleep=lambda _: None)
        with pytest.raises(errors.ThrottledError):
            table.get_whole("r1")
        assert len(aws.params("BatchGetItem")) == MOST_ATTEMPTS


class TestConditions:
    """They hold on the restore's own item, however many volumes write beside it."""

    def test_of_a_cancel_and_the_last_volume_one_comes_first(
        self, table: DynamoRestoreTable, dynamodb: Any
    ) -> None:
        for number in range(20):
            name = f"r{number}"
            table.put_new(name, {VOLUME_COUNT: 1})
            told: dict[str, bool] = {}

            def settle(name: str = name, told: dict[str, bool] = told) -> None:
                told["settled"] = table.set_unless_cancelled(name, "settled0", True)

            def cancel(name: str = name, told: dict[str, bool] = told) -> None:
                told["cancelled"] = table.request_cancel(name, unless=["settled0"])

            threads = [threading.Thread(target=one) for one in (settle, cancel)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(told.values()) == [False, True]
            assert table.standing(name).is_cancelled is told["cancelled"]

    def test_volumes_that_write_at_once_lose_nothing(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {VOLUME_COUNT: 8})

        def write(index: int) -> None:
            for number in range(5):
                table.append_volume_event("r1", index, {"number": number})
                table.update_volume("r1", index, {"initialization": {"number": number}})
            assert table.set_unless_cancelled("r1", f"settled{index}", True)

        threads = [threading.Thread(target=write, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        own, volumes = table.get_whole("r1")
        for index in range(8):
            assert volumes[index]["events"] == [{"number": number} for number in range(5)]
            assert volumes[index]["initialization"] == {"number": 4}
            assert (own or {})[f"settled{index}"] is True
        assert len(json.dumps(table.get("r1"))) < 300

    def test_what_a_volume_has_is_no_mark(self, table: DynamoRestoreTable) -> None:
        """What is in its item lets no cancelled restore settle, and keeps none from being cancelled."""
        table.put_new("r1", {VOLUME_COUNT: 1})
        table.update_volume("r1", 0, {"volume": {}})
        assert table.request_cancel("r1", unless=["settled0"])
        table.update_volume("r1", 0, {"story": {}})
        assert not table.set_unless_cancelled("r1", "settled0", True)


class TestLists:
    """The template's index, as moto has it."""

    def test_the_newest_of_a_status_page_by_page(self, table: DynamoRestoreTable) -> None:
        for number in range(7):
            at = f"2026-11-21T03:0{number}:00Z"
            table.put_new(f"r{number}", {"status": "ready" if number % 2 else "failed", "startedAt": at})
        found, after, more = [], None, True
        while more:
            entries, more = table.listed("failed", since="0", until="9", after=after, limit=2)
            found += [entry.name for entry in entries]
            after = entries[-1].place if entries else after
        assert found == ["r6", "r4", "r2", "r0"]
        entries, _ = table.listed(
            "failed", since="2026-11-21T03:02:00Z", until="2026-11-21T03:04:00Z", after=None, limit=9
        )
        assert [entry.name for entry in entries] == ["r4", "r2"]

    def test_a_status_moves_a_restore_to_another_list(self, table: DynamoRestoreTable) -> None:
        table.put_new("r1", {"status": "planning", "startedAt": "2026-11-21T03:00:00Z"})
        table.advance("r1", "planned")
        lists = {name: table.listed(name, since="0", until="9", after=None, limit=9) for name in STATUS_NAMES}
        assert {name: len(entries) for name, (entries, _) in lists.items() if entries} == {"planned": 1}

    def test_an_entry_has_what_a_summary_needs_and_no_more(self, table: DynamoRestoreTable) -> None:
        record = dict.fromkeys(LISTED, "x") | {"status": "ready", "startedAt": "2026-11-21T03:00:00Z"}
        table.put_new("r1", {**record, "events": ["many"]})
        ((entry,), _) = table.listed("ready", since="0", until="9", after=None, limit=1)
        assert entry == Listed("2026-11-21T03:00:00Z", "r1", record)

    def test_volumes_and_records_without_a_start_are_no_entries(self, table: DynamoRestoreTable) -> None:
        table.update("r1", {"status": "ready"})
        table.update_volume("r1", 0, {"volume": {"volumeId": "vol-0"}})
        assert table.listed("ready", since="0", until="9", after=None, limit=9) == ([], False)

    def test_runbooks_are_a_list_of_their_own(self, table: DynamoRestoreTable) -> None:
        table.store("runbook", "rewarm-a/b", {"source": {}})
        ((entry,), _) = table.listed(RUNBOOK, since="0", until="9", after=None, limit=9)
        assert (entry.name, entry.at) == ("rewarm-a/b", "2027-01-15T08:00:00Z")
        assert entry.record["request"] == {"source": {}}
        assert table.runbook("rewarm-a/b") == {"source": {}}

    def test_an_index_that_is_being_built_is_there_later(self) -> None:
        aws = Aws("dynamodb").on("Query", ApiError("ResourceNotFoundException"))
        table = DynamoRestoreTable(aws.client, TABLE)
        with pytest.raises(errors.ServiceUnavailableError, match="still building the index"):
            table.listed("ready", since="0", until="9", after=None, limit=9)

    def test_every_status_has_its_list(self) -> None:
        assert set(STATUS_NAMES) == {status.value for status in Status}
        (index,) = repository.resources("AWS::DynamoDB::Table")["RestoresTable"]["GlobalSecondaryIndexes"]
        assert index["IndexName"] == INDEX
        assert sorted(index["Projection"]["NonKeyAttributes"]) == sorted(LISTED)
