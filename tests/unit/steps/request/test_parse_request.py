"""State Parse Request."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.domain.errors import InvalidRequestError, RunbookNotFoundError, TooManyRestoresError
from rewarm.domain.units import iso
from rewarm.steps.record.restore import asked_through_api
from rewarm.steps.request.parse_request import ParseRequestEvent, ParseRequestPorts, parse_request
from tests.support.builders import (
    ALICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    TO_INSTANCE,
    TO_ZONE,
    VOLUME_ID,
    World,
    at,
)
from tests.support.holds import FakeHolds, FakePace, keeper

ALARM_EVENT = {
    "version": "0",
    "id": "c4c1c1c9-6542-e61b-6ef0-8c4d36933a92",
    "detail-type": "CloudWatch Alarm State Change",
    "source": "aws.cloudwatch",
    "account": "123456789012",
    "region": "us-east-1",
    "time": "2026-11-21T03:00:00Z",
    "detail": {"alarmName": "database volume is gone", "state": {"value": "ALARM"}},
}


def event(execution_input, restore_id=RESTORE_ID):
    return ParseRequestEvent(restore_id=restore_id, now=at(0.1), started_at=NOW, input=execution_input)


def parse(event, table, holds=None, *, pace=None, cooldown_minutes=60, **limits):
    return parse_request(
        event,
        ParseRequestPorts(
            keeper=keeper(table, holds, **limits),
            pace=pace or FakePace(),
            cooldown=timedelta(minutes=cooldown_minutes),
            alarm_accounts=frozenset({"123456789012", "210987654321"}),
            region="us-east-1",
        ),
    )


@pytest.mark.parametrize(
    ("name", "found", "words"),
    [
        pytest.param(
            "account", "999999999999", 'names "999999999999"; allowed is 123456789012 or', id="account"
        ),
        pytest.param("account", None, "names null; allowed is 123456789012 or 210987654321", id="no-account"),
        pytest.param("region", "eu-west-1", 'names "eu-west-1"; allowed is us-east-1', id="region"),
    ],
)
def test_an_alarm_of_another_account_or_region_starts_nothing(name, found, words):
    world = World()
    world.table.store("runbook", "database volume is gone", TO_INSTANCE)
    with pytest.raises(InvalidRequestError, match=words) as refused:
        parse(event({**ALARM_EVENT, name: found}), world.table)
    assert refused.value.field == name


def test_an_alarm_of_an_account_that_may_starts_a_restore():
    world = World()
    world.table.store("runbook", "database volume is gone", TO_INSTANCE)
    assert parse(event({**ALARM_EVENT, "account": "210987654321"}), world.table).outcome == "accepted"


class TestParseRequest:
    def test_fills_in_every_default(self):
        result = parse(event({"request": TO_INSTANCE, "trigger": {"kind": "api"}}), World().table)
        assert result.outcome == "accepted"
        assert result.request is not None
        assert result.request.to_json()["objective"] == {
            "readyWithinMinutes": None,
            "hotWithinMinutes": None,
            "maxCostUsd": None,
            "approveAboveUsd": None,
            "approveReplace": False,
            "strategy": "auto",
            "strict": False,
        }
        assert result.request.target.mode == "attach"
        assert result.trigger.kind == "api"

    def test_a_look_of_rules_waits_until_it_is_due_and_leaves_no_record(self):
        table = World().table
        look = event({})
        look = look.model_copy(update={"input": {"lookAt": iso(look.now + timedelta(seconds=75))}})
        result = parse(look, table)
        assert (result.outcome, result.wait_seconds) == ("look", 75)
        assert table.get(look.restore_id) is None

    def test_counts_the_deadline_from_the_start_of_the_execution(self):
        body = {**TO_INSTANCE, "objective": {"readyWithinMinutes": 30}}
        result = parse(event({"request": body}), World().table)
        assert result.deadline_at == at(30)
        assert result.to_json()["deadlineAt"] == "2026-11-21T03:30:00Z"

    def test_has_no_deadline_where_none_is_asked_for(self):
        assert parse(event({"request": TO_ZONE}), World().table).deadline_at is None

    def test_writes_the_record(self):
        table = World().table
        parse(event({"request": TO_INSTANCE}), table)
        record = table.records[RESTORE_ID]
        assert record["status"] == "planning"
        assert record["startedAt"] == "2026-11-21T03:00:00Z"
        assert record["request"]["target"]["instanceId"] == TO_INSTANCE["target"]["instanceId"]

    def test_volumes_that_it_names_lead_to_the_restore_even_if_it_fails_at_once(self):
        table = World().table
        parse(event({"request": {"source": {"existing": {"volumeIds": [VOLUME_ID]}}}}), table)
        assert [entry.name for entry in table.restores_of(VOLUME_ID)] == [RESTORE_ID]

    def test_keeps_what_the_api_has_written_already(self):
        table = World().table
        table.put_new(RESTORE_ID, {"status": "accepted", "note": "from the API"})
        parse(event({"request": TO_INSTANCE}), table)
        assert table.records[RESTORE_ID]["status"] == "planning"
        assert table.records[RESTORE_ID]["note"] == "from the API"

    def test_reads_the_runbook_of_an_alarm(self):
        table = World().table
        table.store("runbook", "database volume is gone", TO_INSTANCE)
        result = parse(event(ALARM_EVENT), table)
        assert result.outcome == "accepted"
        assert (result.trigger.kind, result.trigger.alarm_name) == ("alarm", "database volume is gone")
        assert result.request is not None
        assert result.request.source.snapshot_id == TO_INSTANCE["source"]["snapshotId"]

    def test_ignores_the_second_delivery_of_an_event(self):
        table = World().table
        table.store("runbook", "database volume is gone", TO_INSTANCE)
        parse(event(ALARM_EVENT), table)
        second = parse(event(ALARM_EVENT, "another-execution"), table)
        assert second.outcome == "duplicate"
        assert second.duplicate_of == RESTORE_ID
        assert second.request is None
        assert table.records["another-execution"]["duplicateOf"] == RESTORE_ID
        assert table.records["another-execution"]["status"] == "duplicate"

    def test_an_alarm_about_rewarm_itself_starts_no_restore(self):
        table, name = World().table, "operations-of-rewarm-restore-failed"
        table.store("runbook", name, TO_INSTANCE)
        result = parse(
            event({**ALARM_EVENT, "detail": {"alarmName": name, "state": {"value": "ALARM"}}}), table
        )
        assert (result.outcome, result.duplicate_of, result.request) == ("suppressed", None, None)
        record = table.records[RESTORE_ID]
        assert (record["status"], record["duplicateOf"]) == ("suppressed", None)
        assert "an alarm about Rewarm itself" in record["reason"]

    def test_a_retried_state_is_not_its_own_duplicate(self):
        table = World().table
        table.store("runbook", "database volume is gone", TO_INSTANCE)
        holds = FakeHolds()
        first = parse(event(ALARM_EVENT), table, holds)
        assert first.outcome == "accepted"
        assert parse(event(ALARM_EVENT), table, holds) == first

    @pytest.mark.parametrize(
        ("went_off", "starts"),
        [("2026-11-21T02:00:00Z", True), ("2026-11-21T01:59:59Z", False), ("2026-11-18T03:00:00Z", False)],
    )
    def test_an_alarm_of_more_than_an_hour_ago_starts_nothing(self, went_off, starts):
        """Its volume may be in use again."""
        table, holds = World().table, FakeHolds()
        table.store("runbook", "database volume is gone", TO_INSTANCE)
        if starts:
            assert parse(event(ALARM_EVENT | {"time": went_off}), table, holds).outcome == "accepted"
            return
        with pytest.raises(InvalidRequestError, match=r"^time: the alarm went off .* POST /restores"):
            parse(event(ALARM_EVENT | {"time": went_off}), table, holds)
        assert table.records[RESTORE_ID]["trigger"]["alarmName"] == "database volume is gone"
        fresh = ALARM_EVENT | {"id": "another"}
        assert parse(event(fresh, "another-execution"), table, holds).outcome == "accepted", (
            "not in a cooldown"
        )

    def test_a_replayed_alarm_starts_nothing_and_claims_nothing(self):
        """EventBridge user guide, "Replaying archived events": a replayed event has the field replay-name."""
        table, holds = World().table, FakeHolds()
        table.store("runbook", "database volume is gone", TO_INSTANCE)
        told = parse(event(ALARM_EVENT | {"replay-name": "orders"}), table, holds)
        assert (told.outcome, told.request, told.duplicate_of) == ("suppressed", None, None)
        assert table.records[RESTORE_ID]["reason"] == "EventBridge replayed it from an archive"
        assert parse(event(ALARM_EVENT, "another-execution"), table, holds).outcome == "accepted"

    def test_refuses_an_alarm_without_a_runbook(self):
        table = World().table
        told = r"has no runbook .*; rewarm runbook put 'database volume is gone' makes one"
        with pytest.raises(RunbookNotFoundError, match=told):
            parse(event(ALARM_EVENT), table)
        record = table.records[RESTORE_ID]
        assert (record["trigger"]["kind"], record["alarmHeldUntil"]) == ("alarm", "2026-11-21T04:00:06Z")

    def test_an_alarm_without_runbook_is_named_as_a_shell_takes_it(self):
        alarm = {**ALARM_EVENT, "detail": {"alarmName": "a/b c", "state": {"value": "ALARM"}}}
        with pytest.raises(RunbookNotFoundError, match="rewarm runbook put 'a/b c' makes one"):
            parse(event(alarm), World().table)

    def test_refuses_an_alarm_that_is_not_in_alarm(self):
        calm = {**ALARM_EVENT, "detail": {"alarmName": "x", "state": {"value": "OK"}}}
        with pytest.raises(InvalidRequestError, match=r'detail.state.value: found "OK"; allowed is ALARM'):
            parse(event(calm), World().table)

    def test_refuses_an_alarm_event_without_a_name(self):
        with pytest.raises(InvalidRequestError, match=r"detail.alarmName: found null"):
            parse(event({**ALARM_EVENT, "detail": {}}), World().table)

    def test_refuses_input_that_is_neither_a_request_nor_an_event(self):
        with pytest.raises(InvalidRequestError, match=r"^input: found \[\"hello\"\]"):
            parse(event({"hello": 1}), World().table)

    def test_refuses_an_unknown_trigger(self):
        with pytest.raises(InvalidRequestError, match=r"^trigger.kind"):
            parse(event({"request": TO_ZONE, "trigger": {"kind": "cosmic ray"}}), World().table)

    def test_a_request_may_take_an_alarms_runbook_and_change_it(self):
        table = World().table
        table.store("runbook", "a", {**TO_INSTANCE, "objective": {"readyWithinMinutes": 60, "maxCostUsd": 1}})
        body = {
            "source": {"alarm": "a"},
            "objective": {"readyWithinMinutes": 10},
            "target": TO_ZONE["target"],
        }
        result = parse(event({"request": body, "trigger": {"kind": "schedule"}}), table)
        assert result.request is not None
        assert result.request.objective.ready_within_minutes == 10
        assert str(result.request.objective.max_cost_usd) == "1"
        assert result.request.target.availability_zone == "ap-northeast-1a"
        assert result.request.target.instance_id is None

    def test_refuses_a_runbook_that_names_another_alarm(self):
        table = World().table
        table.store("runbook", "a", {**TO_INSTANCE, "source": {"alarm": "b"}})
        with pytest.raises(
            InvalidRequestError, match=r"source.alarm: the runbook of \"a\" names another alarm"
        ):
            parse(event({"request": {"source": {"alarm": "a"}}}), table)


SCHEDULED = {
    "request": TO_ZONE,
    "trigger": {"kind": "schedule", "scheduleName": "drill", "scheduledAt": "2026-11-21T03:00:00Z"},
}


class TestWhoAsked:
    ARN = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:database volume is gone"

    def test_an_alarm_is_named_by_its_arn(self):
        table = World().table
        table.store("runbook", "database volume is gone", TO_INSTANCE)
        parse(event({**ALARM_EVENT, "resources": [self.ARN]}), table)
        asked = table.records[RESTORE_ID]["trigger"]["askedBy"]
        assert asked == {"kind": "alarm", "name": f"alarm {self.ARN}"}

    @pytest.mark.parametrize("given", [None, {"kind": "iam", "name": "arn:aws:iam::123456789012:root"}])
    def test_a_schedule_is_named_by_its_own_name_and_by_none_that_it_gives(self, given):
        trigger = {**SCHEDULED["trigger"], "askedBy": given}
        result = parse(event({**SCHEDULED, "trigger": trigger}), World().table)
        assert (result.trigger.asked_by.kind, result.trigger.asked_by.name) == ("schedule", "schedule drill")

    def test_a_caller_of_the_api_stays_in_the_record_and_goes_on_to_the_end(self):
        table, trigger = World().table, asked_through_api(ALICE)
        result = parse(event({"request": TO_ZONE, "trigger": trigger}), table)
        assert result.to_json()["trigger"]["askedBy"] == trigger["askedBy"]
        assert table.records[RESTORE_ID]["trigger"]["askedBy"] == trigger["askedBy"]


class TestScheduleRunsOnce:
    def test_a_run_that_is_started_twice_restores_once(self):
        table, holds = World().table, FakeHolds()
        assert parse(event(SCHEDULED), table, holds).outcome == "accepted"
        second = parse(event(SCHEDULED, "another-execution"), table, holds)
        assert (second.outcome, second.duplicate_of) == ("duplicate", RESTORE_ID)
        assert parse(event(SCHEDULED), table, holds).outcome == "accepted", "a retried state"

    def test_the_next_run_and_another_schedule_restore(self):
        table = World().table
        parse(event(SCHEDULED), table)
        later = {**SCHEDULED, "trigger": {**SCHEDULED["trigger"], "scheduledAt": "2026-12-21T03:00:00Z"}}
        other = {**SCHEDULED, "trigger": {**SCHEDULED["trigger"], "scheduleName": "other"}}
        assert parse(event(later, "b"), table).outcome == "accepted"
        assert parse(event(other, "c"), table).outcome == "accepted"

    def test_a_time_that_nobody_filled_in_is_no_time(self):
        table = World().table
        trigger = {"kind": "schedule", "scheduledAt": "<aws.scheduler.scheduled-time>"}
        for name in ("a", "b"):
            told = {"request": TO_ZONE, "trigger": trigger}
            assert parse(event(told, name), table).outcome == "accepted"


def ringing(event_id, restore_id, minutes=0.0):
    return ParseRequestEvent(
        restore_id=restore_id, now=at(minutes), started_at=NOW, input={**ALARM_EVENT, "id": event_id}
    )


class TestAlarmsThatFlap:
    @pytest.fixture
    def table(self):
        made = World().table
        made.store("runbook", "database volume is gone", TO_INSTANCE)
        return made

    def test_within_the_cooldown_it_starts_nothing(self, table):
        holds = FakeHolds()
        assert parse(ringing("1", "first"), table, holds).outcome == "accepted"
        table.update("first", {"status": "ready"})
        second = parse(ringing("2", "second", 59.9), table, holds)
        assert (second.outcome, second.duplicate_of) == ("suppressed", "first")
        record = table.records["second"]
        assert (record["status"], record["duplicateOf"]) == ("suppressed", "first")
        assert "cooldown ends at 04:00:00 UTC" in record["reason"]
        assert "second" not in holds.entries

    def test_after_it_another_disaster_restores(self, table):
        holds = FakeHolds()
        parse(ringing("1", "first"), table, holds)
        table.update("first", {"status": "ready"})
        assert parse(ringing("2", "second", 60), table, holds).outcome == "accepted"
        assert holds.alarms["database volume is gone"].restore_id == "second"

    def test_while_the_first_runs_it_starts_nothing_however_long(self, table):
        holds = FakeHolds()
        parse(ringing("1", "first"), table, holds, cooldown_minutes=0)
        second = parse(ringing("2", "second", 600), table, holds, cooldown_minutes=0)
        assert (second.outcome, second.duplicate_of) == ("suppressed", "first")
        assert table.records["second"]["reason"] == "it still runs"

    def test_one_that_was_stopped_and_swept_runs_no_more(self, table):
        holds = FakeHolds()
        parse(ringing("1", "first"), table, holds)
        holds.leave("first")
        assert parse(ringing("2", "second", 61), table, holds).outcome == "accepted"

    def test_the_runbooks_own_cooldown_wins(self, table):
        holds = FakeHolds()
        table.store("runbook", "database volume is gone", {**TO_INSTANCE, "alarmCooldownMinutes": 5})
        parse(ringing("1", "first"), table, holds)
        table.update("first", {"status": "failed"})
        assert table.records["first"]["alarmHeldUntil"] == "2026-11-21T03:05:00Z"
        assert parse(ringing("2", "second", 4), table, holds).outcome == "suppressed"
        assert parse(ringing("3", "third", 5), table, holds).outcome == "accepted"

    def test_a_runbook_that_was_mended_needs_no_patience(self, table):
        holds = FakeHolds()
        table.discard("runbook", "database volume is gone")
        with pytest.raises(RunbookNotFoundError):
            parse(ringing("1", "first"), table, holds)
        table.update("first", {"status": "failed"})
        assert parse(ringing("2", "second", 1), table, holds).outcome == "suppressed"
        table.store("runbook", "database volume is gone", TO_INSTANCE)
        assert parse(ringing("3", "third", 2), table, holds).outcome == "accepted"

    def test_of_two_events_at_once_one_restores(self, table):
        holds = FakeHolds()
        real = holds.keep_alarm
        rivals = [ringing("2", "rival")]

        def keep_alarm(*args):
            if rivals:
                assert parse(rivals.pop(), table, holds).outcome == "accepted"
            return real(*args)

        holds.keep_alarm = keep_alarm
        first = parse(ringing("1", "first"), table, holds)
        assert (first.outcome, first.duplicate_of) == ("suppressed", "rival")


class TestLimitOfTheStack:
    def test_counts_what_runs(self):
        holds = FakeHolds()
        parse(event({"request": TO_INSTANCE}), World().table, holds)
        assert holds.entries[RESTORE_ID].instance_id == INSTANCE_ID

    def test_refuses_for_now_and_says_what_runs(self):
        table, holds = World().table, FakeHolds()
        for name in ("a", "b"):
            parse(event({"request": TO_ZONE}, name), table, holds, in_stack=2)
        with pytest.raises(
            TooManyRestoresError, match=r"^a, b run; .*MaxRestoresInFlight allows 2"
        ) as caught:
            parse(event({"request": TO_ZONE}, "c"), table, holds, in_stack=2)
        assert caught.value.running == ("a", "b")
        assert table.records["c"]["waiting"] == str(caught.value)
        assert sorted(holds.entries) == ["a", "b"]
        holds.leave("a")
        assert parse(event({"request": TO_ZONE}, "c"), table, holds, in_stack=2).outcome == "accepted"
        assert table.records["c"]["waiting"] is None

    def test_a_retried_state_counts_once(self):
        table, holds = World().table, FakeHolds()
        for _ in range(2):
            parse(event({"request": TO_ZONE}), table, holds, in_stack=1)
        assert list(holds.entries) == [RESTORE_ID]

    def test_a_plan_takes_no_place(self):
        holds = FakeHolds()
        parse(event({"request": {**TO_ZONE, "dryRun": True}}), World().table, holds, in_stack=1)
        assert holds.entries == {}


class TestTurns:
    def test_each_restore_begins_when_ec2_can_answer_it(self):
        pace, table, holds = FakePace(seconds_a_call=0.1), World().table, FakeHolds()
        waits = [
            parse(event({"request": TO_ZONE}, name), table, holds, pace=pace).wait_seconds for name in "abc"
        ]
        assert waits == [0, 1, 1]

    def test_a_restore_of_a_fleet_has_the_turn_that_the_fleet_took_for_it(self):
        pace = FakePace(seconds_a_call=100)
        trigger = {"kind": "fleet", "fleetId": "fleet-1", "turnAt": at(2).isoformat()}
        told = event({"request": TO_ZONE, "trigger": trigger})
        assert parse(told, World().table, pace=pace).wait_seconds == 114
        assert pace.given == 0

    def test_a_plan_waits_for_nobody(self):
        pace = FakePace(seconds_a_call=100)
        pace.due(1, now=NOW)
        told = event({"request": {**TO_ZONE, "dryRun": True}})
        assert parse(told, World().table, pace=pace).wait_seconds == 0
