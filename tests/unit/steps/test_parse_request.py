"""State Parse Request."""

from __future__ import annotations

import pytest

from rewarm.contracts import ParseRequestEvent
from rewarm.domain.errors import InvalidRequestError, RunbookNotFoundError
from rewarm.steps.parse_request import parse_request
from tests.support.builders import NOW, RESTORE_ID, TO_INSTANCE, TO_ZONE, World, at

ALARM_EVENT = {
    "version": "0",
    "id": "c4c1c1c9-6542-e61b-6ef0-8c4d36933a92",
    "detail-type": "CloudWatch Alarm State Change",
    "source": "aws.cloudwatch",
    "time": "2026-11-21T03:00:00Z",
    "detail": {"alarmName": "database volume is gone", "state": {"value": "ALARM"}},
}


def event(execution_input, restore_id=RESTORE_ID):
    return ParseRequestEvent(restore_id=restore_id, now=at(0.1), started_at=NOW, input=execution_input)


class TestParseRequest:
    def test_fills_in_every_default(self):
        result = parse_request(
            event({"request": TO_INSTANCE, "trigger": {"kind": "api"}}), table=World().table
        )
        assert result.outcome == "accepted"
        assert result.request is not None
        assert result.request.to_json()["objective"] == {
            "readyWithinMinutes": None,
            "maxCostUsd": None,
            "strategy": "auto",
            "strict": False,
        }
        assert result.request.target.mode == "attach"
        assert result.trigger.kind == "api"

    def test_counts_the_deadline_from_the_start_of_the_execution(self):
        body = {**TO_INSTANCE, "objective": {"readyWithinMinutes": 30}}
        result = parse_request(event({"request": body}), table=World().table)
        assert result.deadline_at == at(30)
        assert result.to_json()["deadlineAt"] == "2026-11-21T03:30:00Z"

    def test_has_no_deadline_where_none_is_asked_for(self):
        assert parse_request(event({"request": TO_ZONE}), table=World().table).deadline_at is None

    def test_writes_the_record(self):
        table = World().table
        parse_request(event({"request": TO_INSTANCE}), table=table)
        record = table.records[RESTORE_ID]
        assert record["status"] == "planning"
        assert record["startedAt"] == "2026-11-21T03:00:00Z"
        assert record["request"]["target"]["instanceId"] == TO_INSTANCE["target"]["instanceId"]

    def test_keeps_what_the_api_has_written_already(self):
        table = World().table
        table.put_new(RESTORE_ID, {"status": "accepted", "note": "from the API"})
        parse_request(event({"request": TO_INSTANCE}), table=table)
        assert table.records[RESTORE_ID]["status"] == "planning"
        assert table.records[RESTORE_ID]["note"] == "from the API"

    def test_reads_the_runbook_of_an_alarm(self):
        table = World().table
        table.put_runbook("database volume is gone", TO_INSTANCE)
        result = parse_request(event(ALARM_EVENT), table=table)
        assert result.outcome == "accepted"
        assert (result.trigger.kind, result.trigger.alarm_name) == ("alarm", "database volume is gone")
        assert result.request is not None
        assert result.request.source.snapshot_id == TO_INSTANCE["source"]["snapshotId"]

    def test_ignores_the_second_delivery_of_an_event(self):
        table = World().table
        table.put_runbook("database volume is gone", TO_INSTANCE)
        parse_request(event(ALARM_EVENT), table=table)
        second = parse_request(event(ALARM_EVENT, "another-execution"), table=table)
        assert second.outcome == "duplicate"
        assert second.duplicate_of == RESTORE_ID
        assert second.request is None
        assert "another-execution" not in table.records

    def test_a_retried_state_is_not_its_own_duplicate(self):
        table = World().table
        table.put_runbook("database volume is gone", TO_INSTANCE)
        first = parse_request(event(ALARM_EVENT), table=table)
        assert parse_request(event(ALARM_EVENT), table=table) == first

    def test_refuses_an_alarm_without_a_runbook(self):
        with pytest.raises(RunbookNotFoundError, match=r"database volume is gone.* has no runbook"):
            parse_request(event(ALARM_EVENT), table=World().table)

    def test_refuses_an_alarm_that_is_not_in_alarm(self):
        calm = {**ALARM_EVENT, "detail": {"alarmName": "x", "state": {"value": "OK"}}}
        with pytest.raises(InvalidRequestError, match=r'detail.state.value: found "OK"; allowed is ALARM'):
            parse_request(event(calm), table=World().table)

    def test_refuses_an_alarm_event_without_a_name(self):
        with pytest.raises(InvalidRequestError, match=r"detail.alarmName: found null"):
            parse_request(event({**ALARM_EVENT, "detail": {}}), table=World().table)

    def test_refuses_input_that_is_neither_a_request_nor_an_event(self):
        with pytest.raises(InvalidRequestError, match=r"^input: found \[\"hello\"\]"):
            parse_request(event({"hello": 1}), table=World().table)

    def test_refuses_an_unknown_trigger(self):
        with pytest.raises(InvalidRequestError, match=r"^trigger.kind"):
            parse_request(event({"request": TO_ZONE, "trigger": {"kind": "cosmic ray"}}), table=World().table)

    def test_a_request_may_take_an_alarms_runbook_and_change_it(self):
        table = World().table
        table.put_runbook("a", {**TO_INSTANCE, "objective": {"readyWithinMinutes": 60, "maxCostUsd": 1}})
        body = {
            "source": {"alarm": "a"},
            "objective": {"readyWithinMinutes": 10},
            "target": TO_ZONE["target"],
        }
        result = parse_request(event({"request": body, "trigger": {"kind": "schedule"}}), table=table)
        assert result.request is not None
        assert result.request.objective.ready_within_minutes == 10
        assert str(result.request.objective.max_cost_usd) == "1"
        assert result.request.target.availability_zone == "ap-northeast-1a"
        assert result.request.target.instance_id is None

    def test_refuses_a_runbook_that_names_another_alarm(self):
        table = World().table
        table.put_runbook("a", {**TO_INSTANCE, "source": {"alarm": "b"}})
        with pytest.raises(
            InvalidRequestError, match=r"source.alarm: the runbook of \"a\" names another alarm"
        ):
            parse_request(event({"request": {"source": {"alarm": "a"}}}), table=table)
