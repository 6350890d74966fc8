"""A volume at full speed of which nobody was told, because `Announce Ready` could not run."""

from __future__ import annotations

import pytest

from rewarm.steps.record.bucket import result_key
from rewarm.steps.record.payloads import write_plans
from tests.support import accounts
from tests.support.builders import INSTANCE_ID, RESTORE_ID, VOLUME_ID, at
from tests.support.sweeping import SweepWorld

READY = f"{VOLUME_ID} is at full speed"


@pytest.fixture
def world():
    """Its report is written and its execution has succeeded; only the message is missing."""
    made = SweepWorld()
    one = accounts.planned()
    write_plans(RESTORE_ID, [one], made.artifacts)
    made.artifacts.put_json(result_key(RESTORE_ID, 0), accounts.ready(one=one))
    made.begun(
        status="ready",
        finishedAt="2026-11-21T03:20:00Z",
        reportKey="report.json",
        report0={"pageKey": "page.html"},
        settled0=True,
    )
    made.made(attached=INSTANCE_ID)
    made.ended("SUCCEEDED")
    return made


def titles(world):
    return [message["title"] for message in world.messages.sent]


def running(world):
    return [one.restore_id for one in world.holds.running()]


def test_the_sweeper_sends_it_once_and_with_its_figures(world):
    for minute in (30, 45):
        world.sweep(now=at(minute), owner=f"at {minute}")
    assert titles(world) == [READY]
    (message,) = world.messages.sent
    assert "4 KiB random reads take" in message["text"]
    assert "7 min 30 s after the request arrived" in message["text"]
    assert message["reportUrl"] is not None
    assert running(world) == []
    assert world.table.records[RESTORE_ID]["told0"] == {"at": "2026-11-21T03:30:00Z"}


def test_it_is_sent_although_another_sweep_finds_the_restore_again(world):
    world.sweep()
    world.holds.enter(RESTORE_ID, instance_id=INSTANCE_ID, now=at(30))
    assert world.sweep(now=at(60), owner="two") == []
    assert titles(world) == [READY]


def test_what_no_channel_took_is_tried_again(world):
    world.messages.channels = []
    assert [(one.state, "no channel" in one.reason) for one in world.sweep(owner="one")] == [("ending", True)]
    assert running(world) == [RESTORE_ID]
    world.messages.channels = ["eventbridge"]
    world.sweep(now=at(45), owner="two")
    assert titles(world)[-1] == READY
    assert running(world) == []


def test_of_two_sweepers_at_once_one_sends_it(world):
    world.table.claim_event(f"sweep {RESTORE_ID}/0 {int(at(30).timestamp()) // 600}", "the other")
    assert [one.reason for one in world.sweep()] == ["another sweep sends the message"]
    assert (titles(world), running(world)) == ([], [RESTORE_ID])


def test_without_the_result_it_says_less(world):
    """`Keep Result` could not run either."""
    world.artifacts.objects.pop(result_key(RESTORE_ID, 0))
    world.sweep()
    (message,) = world.messages.sent
    assert message["title"] == READY
    assert "Known because: its execution had verified it." in message["text"]
    assert "20 min 00 s after the request arrived" in message["text"]
    assert "Read latency was not measured: the figures were lost." in message["text"]


def test_without_the_volumes_item_it_is_named_by_its_mark(world):
    """Somebody has deleted the item; the mark that the volume can be used is on the restore's."""
    world.artifacts.objects.pop(result_key(RESTORE_ID, 0))
    world.table.records[RESTORE_ID] |= {"volume0": None, "attached0": {"volumeId": VOLUME_ID}}
    world.sweep()
    assert (titles(world), running(world)) == ([READY], [])


@pytest.mark.parametrize(
    "changes", [{"told0": {"at": "2026-11-21T03:20:00Z"}}, {"request": {"dryRun": True}}]
)
def test_nothing_is_sent_where_nothing_is_owed(world, changes):
    world.table.records[RESTORE_ID] |= changes
    assert world.sweep() == []
    assert (titles(world), running(world)) == ([], [])


@pytest.mark.parametrize("settled", [True, False])
def test_of_a_restore_that_was_stopped_the_volumes_at_full_speed_are_told(world, settled):
    record = world.table.records[RESTORE_ID]
    record["status"] = "initializing"
    for name in ("reportKey", *([] if settled else ["settled0"])):
        del record[name]
    world.ended("ABORTED")
    world.sweep()
    assert (READY in titles(world)) is settled
    assert [title for title in titles(world) if title.startswith("Restore failed")]
    assert running(world) == []
