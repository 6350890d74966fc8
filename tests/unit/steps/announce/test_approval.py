"""State Announce Approval."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import ServiceUnavailableError
from tests.support.announcing import plan_details, say
from tests.support.builders import RESTORE_ID, SNAPSHOT_ID, World

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
