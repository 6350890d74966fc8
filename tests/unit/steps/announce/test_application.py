"""State Announce Application."""

from __future__ import annotations

from rewarm.contracts.after import Application, HookPart
from rewarm.steps.record.application import end
from rewarm.steps.record.restore import RestoreNotes
from tests.support.builders import INSTANCE_ID, NOW, RESTORE_ID, TO_INSTANCE, VOLUME_ID, World, at, request
from tests.support.worlds.announcing import say

CHECK = {"healthCheck": {"url": "http://127.0.0.1/"}}
DETAILS = {"startedAt": "2026-11-21T03:00:00Z", "volumeId": VOLUME_ID, "index": 0}


def part(title="health check", **changes):
    values = {"title": title, "limit_seconds": 60, "state": "done", "since": at(5), "ended_at": at(6)}
    return HookPart(**{**values, **changes})


def announced(*parts, state="back", reason="", volumes=1, **more):
    world = World()
    world.table.records[RESTORE_ID] = {"status": "initializing", "volumeCount": volumes}
    application = Application(
        state=state,
        index=0,
        instance_id=INSTANCE_ID,
        started_at=at(5),
        finished_at=None if state == "running" else at(6),
        parts=list(parts),
        reason=reason,
    )
    end(application, RestoreNotes(world.table, RESTORE_ID))
    after = {**CHECK, **more.pop("after", {})}
    say(world, "application", {**DETAILS, **more}, request(TO_INSTANCE, after=after))
    return world, world.messages.sent[0]


def test_the_application_is_back_after_so_long():
    _, message = announced(part("mount /srv/data"), part())
    assert message["title"] == f"The application on {INSTANCE_ID} is back after 6 min 00 s"
    assert message["severity"] == "good"
    assert message["text"].splitlines() == [
        f"{VOLUME_ID} is at full speed, and the application on {INSTANCE_ID} is back.",
        "Mount /srv/data: done after 60 s.",
        "Health check: done after 60 s.",
    ]


def test_once_attached_the_volume_is_still_to_be_warmed_up():
    _, message = announced(part(), after={"when": "attached"}, volumes=2)
    assert "2 volumes are attached, and the application" in message["text"]
    assert "and its volume is warmed up now" in message["text"]


def test_a_volume_at_full_speed_without_its_application_is_an_error():
    why = "http://127.0.0.1/ answered 503, for 5 min"
    _, message = announced(part(state="failed", reason=why), state="failed", reason=why)
    assert message["title"] == (
        f"{VOLUME_ID} is at full speed, but the application is not back: health check: {why}"
    )
    assert message["severity"] == "error"
    assert "The volumes stay as they are." in message["text"]


def test_what_nobody_can_know_is_said_so():
    _, message = announced(part(state="unknown", reason="nobody"), state="unknown", reason="nobody")
    assert "but the application may not be back" in message["title"]


def test_where_the_state_failed_itself_the_record_says_that_nobody_knows():
    failure = {"state": "Run Hook", "error": "AccessDeniedError", "cause": "{}"}
    world, message = announced(part(state="running", ended_at=None), state="running", failure=failure)
    assert "may not be back" in message["title"]
    found = RestoreNotes(world.table, RESTORE_ID).read().application
    assert (found.state, found.finished_at) == ("unknown", at(9))


def test_what_another_volume_runs_is_not_ended():
    failure = {"state": "Run Hook", "error": "AccessDeniedError", "cause": "{}"}
    world, _ = announced(part(state="running"), state="running", failure=failure, index=1)
    assert RestoreNotes(world.table, RESTORE_ID).read().application.state == "running"


def test_a_record_that_is_lost_still_gets_its_message():
    world = World()
    say(world, "application", {**DETAILS, "failure": None}, request(TO_INSTANCE, after=CHECK))
    assert "may not be back: its record is gone" in world.messages.sent[0]["title"]
    assert at(9) > NOW
