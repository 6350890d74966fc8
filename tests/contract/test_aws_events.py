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
from tests.support.holds import FakePace, keeper

EVENTS = sorted((ROOT / "events/aws").glob("*.json"))
NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
RUNBOOK = {"source": {"snapshotId": "snap-0123456789abcdef0"}, "target": {"availabilityZone": "us-east-1a"}}


def alarm() -> dict[str, Any]:
    path = ROOT / "events/aws/cloudwatch-alarm-state-change.json"
    event: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return event


def parse(event: dict[str, Any], table: FakeTable, restore_id: str = "event-1") -> Any:
    ports = ParseRequestPorts(
        keeper=keeper(table),
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
