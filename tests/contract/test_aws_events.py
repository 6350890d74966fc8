"""The events that AWS documents, as our code reads them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rewarm.domain.errors import InvalidRequestError, RunbookNotFoundError
from rewarm.steps.request.parse_request import ParseRequestEvent, ParseRequestPorts, parse_request
from tests.contract.repository import ROOT
from tests.support.fakes import FakeTable
from tests.support.holds import FakeHolds, FakePace, keeper

EVENTS = sorted((ROOT / "events/aws").glob("*.json"))
NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
RUNBOOK = {"source": {"snapshotId": "snap-0123456789abcdef0"}, "target": {"availabilityZone": "us-east-1a"}}


SUPPRESSED = {
    "cloudwatch-composite-alarm-suppressed": "its actions wait up to 120 s for the alarm orders-maintenance",
    "cloudwatch-alarm-muted": "the mute rule orders-maintenance mutes it until 2026-11-21T04:00:00.000+0000",
}


def alarm(name: str = "cloudwatch-alarm-state-change") -> dict[str, Any]:
    path = ROOT / f"events/aws/{name}.json"
    event: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return event


def parse(
    event: dict[str, Any], table: FakeTable, restore_id: str = "event-1", holds: FakeHolds | None = None
) -> Any:
    ports = ParseRequestPorts(
        keeper=keeper(table, holds),
        pace=FakePace(),
        cooldown=timedelta(hours=1),
        alarm_accounts=["123456789012"],
        region="us-east-1",
    )
    asked = ParseRequestEvent(restore_id=restore_id, now=NOW, started_at=NOW, input=event)
    return parse_request(asked, ports)


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_every_event_has_eventbridges_envelope(path: Path) -> None:
    event = json.loads(path.read_text(encoding="utf-8"))
    envelope = {"version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"}
    assert set(event) == envelope
    assert event["source"].startswith("aws.")


def test_an_alarm_event_becomes_its_runbooks_request() -> None:
    table = FakeTable()
    table.store("runbook", "rewarm-orders-database-lost", RUNBOOK)
    result = parse(alarm(), table)
    assert result.outcome == "accepted"
    assert result.trigger.alarm_name == "rewarm-orders-database-lost"
    assert result.request.source.snapshot_id == "snap-0123456789abcdef0"


def test_the_same_event_again_is_a_duplicate() -> None:
    table = FakeTable()
    table.store("runbook", "rewarm-orders-database-lost", RUNBOOK)
    parse(alarm(), table, "event-1")
    again = parse(alarm(), table, "event-2")
    assert (again.outcome, again.duplicate_of) == ("duplicate", "event-1")


def test_an_alarm_without_a_runbook_says_so() -> None:
    with pytest.raises(RunbookNotFoundError):
        parse(alarm(), FakeTable())


def test_an_alarm_that_ends_restores_nothing() -> None:
    event = alarm()
    event["detail"]["state"]["value"] = "OK"
    with pytest.raises(InvalidRequestError):
        parse(event, FakeTable())


@pytest.mark.parametrize(("name", "reason"), SUPPRESSED.items(), ids=SUPPRESSED)
def test_an_alarm_whose_actions_are_suppressed_restores_nothing_and_begins_no_cooldown(
    name: str, reason: str
) -> None:
    table, holds = FakeTable(), FakeHolds()
    table.store("runbook", "rewarm-orders-database-lost", RUNBOOK)
    ignored = parse(alarm(name), table, holds=holds)
    assert (ignored.outcome, ignored.request, ignored.duplicate_of) == ("suppressed", None, None)
    record = table.records["event-1"]
    assert record["status"] == "suppressed"
    assert record["reason"].startswith(reason)
    assert "rewarm restore --alarm rewarm-orders-database-lost" in record["reason"]
    assert "alarmHeldUntil" not in record
    assert parse(alarm(), table, "event-2", holds).outcome == "accepted"


def test_a_suppression_that_is_not_known_is_told_to_people_and_begins_no_cooldown() -> None:
    table, holds = FakeTable(), FakeHolds()
    table.store("runbook", "rewarm-orders-database-lost", RUNBOOK)
    event = alarm("cloudwatch-composite-alarm-suppressed")
    event["detail"]["state"]["actionsSuppressedBy"] = "Schedule"
    with pytest.raises(InvalidRequestError, match='found "Schedule", so whether'):
        parse(event, table, holds=holds)
    assert table.records["event-1"]["trigger"]["alarmName"] == "rewarm-orders-database-lost"
    assert parse(alarm(), table, "event-2", holds).outcome == "accepted"
