"""States Announce Plan and Announce Fallback."""

from __future__ import annotations

import json

import pytest

from rewarm.contracts.values import Schedule
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.domain.model import Strategy
from rewarm.steps.plan import schedule
from rewarm.steps.record.restore import asked_through_api
from tests.support.builders import (
    ALICE,
    RESTORE_ID,
    SNAPSHOT_ID,
    World,
    assignment,
    plan,
    request,
    volume_plan,
    zone_assignment,
)
from tests.support.worlds.announcing import plan_details, say


class TestPlan:
    def test_tells_who_asked_what_is_done_what_it_costs_and_until_when(self):
        world = World()
        result = say(world, "plan", plan_details())
        (message,) = world.messages.sent
        assert result.channels == ["slack", "email"]
        assert message["title"] == f"Restoring: {SNAPSHOT_ID} to /dev/sdf on i-0123456789abcdef0"
        assert 'The alarm "db down" went off.' in message["text"]
        fields = {field["name"]: field["value"] for field in message["fields"]}
        assert fields["Extra cost"] == "$0.90"
        assert fields["Full speed expected by"] == "2026-11-21 03:14 UTC (P90)"
        assert fields["Deadline"] == "2026-11-21 03:30 UTC"
        assert message["severity"] == "info"

    def test_names_who_called_the_api_once(self):
        world, trigger = World(), asked_through_api(ALICE)
        world.table.put_new(RESTORE_ID, {"trigger": trigger})
        say(world, "plan", plan_details(trigger=trigger))
        (message,) = world.messages.sent
        assert f"Requested by {ALICE.name}. Restore started" in message["text"]
        assert "Asked for by" not in [field["name"] for field in message["fields"]]

    @pytest.mark.parametrize(
        ("strategy", "speed"),
        [
            (Strategy.FAST_SNAPSHOT_RESTORE, "at full speed"),
            (Strategy.WARM_UP_AGENT, "slowly at first"),
            (Strategy.VOLUME_CLONE, "at a baseline of 3,000 IOPS and 125 MiB/s until everything is copied"),
        ],
    )
    def test_says_how_fast_the_volume_will_be_when_it_can_be_used(self, strategy, speed):
        world = World()
        say(
            world, "plan", plan_details(plans=[{**volume_plan().to_json(), "plan": plan(strategy).to_json()}])
        )
        next_step, cancelling = world.messages.sent[0]["nextSteps"]
        assert cancelling == f"To cancel: rewarm cancel {RESTORE_ID} (or DELETE /restores/{RESTORE_ID})."
        assert next_step.startswith("The volume can be used in about ")
        assert next_step.endswith(f", {speed}.")

    def test_warns_where_the_deadline_will_be_missed(self):
        world = World()
        details = plan_details()
        details["summary"]["deadlineMissed"] = True
        say(world, "plan", details)
        assert world.messages.sent[0]["severity"] == "warning"
        assert {"name": "Deadline", "value": "2026-11-21 03:30 UTC (will be missed)"} in world.messages.sent[
            0
        ]["fields"]

    def test_says_by_how_much_the_deadline_will_be_missed(self):
        world = World()
        details = plan_details()
        details["summary"] |= {"deadlineMissed": True, "lateSeconds": 2_460}
        say(world, "plan", details)
        fields = {field["name"]: field["value"] for field in world.messages.sent[0]["fields"]}
        assert fields["Deadline"] == "2026-11-21 03:30 UTC (will be missed by 41 min)"

    def test_has_the_times_of_doing_it_by_hand(self):
        world = World()
        details = plan_details()
        way = {"command": "dd", "costUsd": "0", "effort": "a person"}
        details["summary"]["byHand"] = [
            {**way, "program": "dd", "readySeconds": 3_247}, {**way, "program": "fio", "readySeconds": 1_089},
        ]  # fmt: skip
        say(world, "plan", details)
        fields = {field["name"]: field["value"] for field in world.messages.sent[0]["fields"]}
        assert fields["By hand instead"] == (
            "about 55 min with dd, 19 min with fio; no extra cost, but a person does it"
        )

    def test_of_several_volumes_it_has_a_line_for_each_group_and_then_all_together(self):
        """Per volume and together are told apart."""
        world = World()
        plans = [volume_plan(volume=zone_assignment(index=index)) for index in range(2)]
        plans.append(
            volume_plan(
                volume=zone_assignment(index=2), plan=plan(Strategy.PROVISIONED_RATE, usable_seconds=700)
            )
        )
        details = plan_details(plans=[one.to_json() for one in plans])
        lines = schedule.lines(plans, None)
        details["summary"] |= {
            "schedule": Schedule(lines=lines).to_json()["lines"],
            "why": "3 volumes: a mix.",
        }
        say(world, "plan", details)
        (message,) = world.messages.sent
        _, legend, bar, agent, _, rate, together = message["text"].splitlines()
        assert legend.startswith("Schedule: ░ waits for others, ")
        assert bar == "██████████████▓▓▓▓▓▓▓▓▓▓"
        assert agent == (
            f"2 volumes of {SNAPSHOT_ID} (40 GiB of data each) to ap-northeast-1a: "
            "warm-up-agent, full speed in 8 min (P50) to 14 min (P90), $0.00 each, $0.00 together."
        )
        assert rate.endswith(
            "provisioned-rate at 100 MiB/s, full speed in 8 min (P50) to 14 min (P90), $0.058."
        )
        assert together == "Together, 3 volumes: a mix."
        assert message["nextSteps"][0] == (
            "The first volume can be used in about 15 s and all in about 12 min, slowly at first."
        )
        assert "Extra cost, together" in {field["name"] for field in message["fields"]}

    def test_says_that_a_dry_run_creates_nothing(self):
        world = World()
        say(world, "plan", plan_details(), request(dryRun=True))
        assert "nothing is created" in world.messages.sent[0]["text"]

    def test_keeps_the_plan_in_the_record(self):
        world = World()
        say(world, "plan", plan_details())
        record = world.table.records[RESTORE_ID]
        assert record["status"] == "planned"
        assert record["plan0"]["plan"]["strategy"] == "warm-up-agent"
        assert [event["event"] for event in record["events"]] == ["plan"]

    def test_passes_on_who_is_to_be_told(self):
        world = World()
        say(world, "plan", plan_details(), request(notify={"slack": False}))
        assert world.messages.sent[0]["notify"] == {"slack": False, "email": True, "hot": True}

    def test_a_retried_state_writes_the_news_once(self):
        world = World()
        say(world, "plan", plan_details())
        say(world, "plan", plan_details())
        assert len(world.table.records[RESTORE_ID]["events"]) == 1


class TestFallback:
    def test_says_what_failed_and_what_takes_over(self):
        world = World()
        cause = json.dumps({"errorMessage": "at 300 MiB/s: no capacity", "errorType": "X"})
        details = {
            "volume": assignment().to_json(),
            "plan": plan(Strategy.PROVISIONED_RATE).to_json(),
            "failure": {"state": "Create Volume", "error": "X", "cause": cause},
        }
        say(world, "fallback", details)
        message = world.messages.sent[0]
        assert "at 300 MiB/s: no capacity" in message["text"]
        assert message["title"] == f"{SNAPSHOT_ID}: continuing with provisioned-rate at 100 MiB/s"


QUESTION = {
    "askedAt": "2026-11-21T03:09:00Z",
    "until": "2026-11-21T03:22:00Z",
    "usd": "3.2",
    "reason": "The plan costs $3.20; above $1.00 it needs approval (objective.approveAboveUsd).",
}


def details():
    planned = plan_details(question=QUESTION)
    del planned["trigger"]
    return planned


def test_says_what_waits_for_how_much_until_when_and_how_to_approve_it():
    world = World()
    say(world, "approval", details())
    (message,) = world.messages.sent
    assert message["title"] == f"Approval needed, $3.20: {SNAPSHOT_ID} to /dev/sdf on i-0123456789abcdef0"
    assert message["text"].startswith(QUESTION["reason"])
    fields = {field["name"]: field["value"] for field in message["fields"]}
    assert fields["Price"] == "$3.20"
    assert fields["Approve by"] == "2026-11-21 03:22 UTC"
    assert fields["Deadline"] == "2026-11-21 03:30 UTC"
    approving, cancelling, _ = message["nextSteps"]
    assert f"rewarm approve {RESTORE_ID} (or POST /restores/{RESTORE_ID}/approve)" in approving
    assert f"rewarm cancel {RESTORE_ID}" in cancelling
    assert message["links"]["approve"] == f"/restores/{RESTORE_ID}/approve?askedAt=2026-11-21T03:09:00Z"
    assert message["approval"] == QUESTION


def test_the_question_is_in_the_record_before_the_message_is_sent(monkeypatch):
    world = World()
    send, seen = world.messages.send, []

    def noted(message):
        seen.append(dict(world.table.records[RESTORE_ID]))
        return send(message)

    monkeypatch.setattr(world.messages, "send", noted)
    say(world, "approval", details())
    assert seen[0]["approval"] == QUESTION
    assert seen[0]["status"] == "awaiting-approval"


def test_a_second_try_forgets_no_approval():
    world = World()
    say(world, "approval", details())
    approved = {**QUESTION, "approvedAt": "2026-11-21T03:09:30Z", "by": "alice"}
    world.table.update(RESTORE_ID, {"approval": approved})
    say(world, "approval", details())
    assert world.table.records[RESTORE_ID]["approval"] == approved


def test_it_is_tried_again_where_no_channel_takes_it():
    world = World()
    world.messages.channels = []
    with pytest.raises(ServiceUnavailableError, match="no channel took the message approval"):
        say(world, "approval", details())
    assert world.table.records[RESTORE_ID]["status"] == "awaiting-approval"


def test_the_plans_own_message_says_that_it_waits():
    world = World()
    planned = plan_details()
    planned["summary"] |= {"needsApproval": QUESTION["reason"], "notes": [QUESTION["reason"]]}
    say(world, "plan", planned)
    (message,) = world.messages.sent
    assert message["title"].startswith("Plan: ")
    assert "Restore planned, it waits for approval" in message["text"]
    assert QUESTION["reason"] in message["text"]
