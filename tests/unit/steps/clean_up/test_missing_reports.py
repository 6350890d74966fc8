"""A restore that was stopped has an account and a page, as one that failed by itself."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import AccessDeniedError
from rewarm.domain.volume.leftovers import ExecutionStart
from rewarm.page import render
from rewarm.steps.announce.claims import CLAIM_SECONDS, OTHER_SENDS
from rewarm.steps.record.bucket import result_key
from rewarm.steps.record.payloads import write_plans
from tests.support.builders import INSTANCE_ID, RESTORE_ID, VOLUME_ID, at, volume_plan
from tests.support.fakes import FakeArtifacts
from tests.support.values import accounts
from tests.support.worlds.sweeping import SweepWorld

PAGE_KEY = f"restores/{RESTORE_ID}/report.html"
REPORT_KEY = f"restores/{RESTORE_ID}/report.json"


@pytest.fixture
def world():
    made = SweepWorld()
    write_plans(RESTORE_ID, [volume_plan()], made.artifacts)
    return made


def report_of(world):
    return world.artifacts.objects[REPORT_KEY]


def test_its_message_links_the_page(world):
    world.begun()
    world.made()
    world.sweep()
    assert world.artifacts.pages == {PAGE_KEY: "<p>failed</p>"}
    (message,) = world.messages.sent
    assert world.links.behind(message["reportUrl"]) == (RESTORE_ID, None)
    record = world.table.records[RESTORE_ID]
    assert (record["pageKey"], record["reportKey"]) == (PAGE_KEY, REPORT_KEY)
    assert (record["status"], record["failure"]["error"]) == ("failed", "ExecutionAborted")


def test_the_account_says_why_it_ended_and_what_was_removed(world):
    world.begun()
    world.made()
    world.sweep()
    found = report_of(world)
    assert found["failure"]["error"] == "ExecutionAborted"
    assert "its execution was stopped" in found["failure"]["cause"]
    assert found["removed"] == [f"volume {VOLUME_ID}"]
    assert [one["verdict"] for one in found["volumes"]] == ["failed"]
    assert found["startedAt"].startswith("2026-11-21T03:00:00")
    assert VOLUME_ID in render(found)


def test_a_volume_that_was_ready_keeps_its_figures(world):
    """Its own report was written before its message, `Keep Result` after."""
    one = accounts.planned()
    write_plans(RESTORE_ID, [one], world.artifacts)
    world.artifacts.put_json(f"restores/{RESTORE_ID}/0/report.json", {"results": [accounts.ready(one=one)]})
    world.begun(settled0=True, report0={"reportKey": f"restores/{RESTORE_ID}/0/report.json"})
    world.made()
    world.sweep()
    found = report_of(world)
    assert (found["verdict"], found["failure"]) == ("ready", None)
    (volume,) = found["volumes"]
    assert volume["verdict"] == "ready"
    assert volume["actualSeconds"] < 1_800
    assert volume["phases"]


def test_what_failed_by_itself_before_keeps_its_reason(world):
    result = {"index": 0, "verdict": "failed", "error": "AgentFailedError", "cause": "12 blocks unreadable"}
    world.artifacts.put_json(f"restores/{RESTORE_ID}/0/result.json", result)
    world.begun()
    world.sweep()
    (volume,) = report_of(world)["volumes"]
    assert volume["failure"]["error"] == "AgentFailedError"


def test_who_had_asked_for_it_has_the_page_of_a_cancelled_restore(world):
    world.begun(cancelRequested=True)
    world.sweep()
    assert report_of(world)["failure"]["error"] == "RestoreCancelledError"
    assert world.table.records[RESTORE_ID]["status"] == "cancelled"
    assert world.messages.sent[0]["reportUrl"] is not None


def test_without_plans_there_is_an_account_all_the_same():
    world = SweepWorld()
    world.begun(volume0=None, plans=None)
    world.sweep()
    assert report_of(world)["volumes"] == []
    assert world.messages.sent[0]["reportUrl"] is not None


def test_one_that_was_reported_and_not_told_keeps_its_page(world):
    failure = {"state": "Create Volume", "error": "QuotaExceededError", "cause": "no volume is left"}
    world.begun(status="failed", failure=failure, volume0=None, pageKey=PAGE_KEY)
    world.sweep()
    assert world.messages.sent[0]["reportUrl"] is not None
    assert REPORT_KEY not in world.artifacts.objects


def test_a_bucket_out_of_reach_keeps_nothing_from_being_ended_and_told():
    class Closed(FakeArtifacts):
        def get_text(self, key, *, most_bytes):
            raise AccessDeniedError("GetObject")

        def put_json(self, key, value):
            raise AccessDeniedError("PutObject")

    world = SweepWorld(artifacts=Closed())
    world.begun()
    world.made()
    assert [one.state for one in world.sweep()] == ["ended"]
    assert world.volumes.deleted == [VOLUME_ID]
    (message,) = world.messages.sent
    assert world.links.behind(message["reportUrl"]) == (RESTORE_ID, None), "drawn from the record"
    assert world.sweep(now=at(60)) == []


def test_a_record_of_another_version_is_told_without_a_page(world):
    world.begun(request={"unknown": True})
    world.sweep()
    assert len(world.messages.sent) == 1
    assert world.artifacts.pages == {}


READY = f"{VOLUME_ID} is at full speed"


@pytest.fixture
def silent():
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


def titles(silent):
    return [message["title"] for message in silent.messages.sent]


def running(silent):
    return [one.restore_id for one in silent.holds.running()]


def test_the_sweeper_sends_it_once_and_with_its_figures(silent):
    for minute in (30, 45):
        silent.sweep(now=at(minute), owner=f"at {minute}")
    assert titles(silent) == [READY]
    (message,) = silent.messages.sent
    assert "4 KiB random reads take" in message["text"]
    assert "7 min 30 s after the request arrived" in message["text"]
    assert message["reportUrl"] is not None
    assert running(silent) == []
    assert silent.table.records[RESTORE_ID]["told0"] == {"at": "2026-11-21T03:30:00Z"}


@pytest.mark.parametrize("is_reported", [True, False])
def test_plans_that_somebody_has_deleted_are_known_by_the_volumes_execution(silent, is_reported):
    """Else the report would be tried for a day, the message for ever, and the device held as long."""
    silent.artifacts.objects.clear()
    if not is_reported:
        silent.table.update(RESTORE_ID, {"reportKey": None})
    plan = accounts.planned().to_json()
    begun = {name: plan[name] for name in ("volume", "plan", "fallbacks", "budgetUsd")}
    silent.executions.begins[f"{RESTORE_ID}-0"] = ExecutionStart(begun, at(0), "SUCCEEDED")
    silent.sweep()
    assert (titles(silent), running(silent)) == ([READY], [])
    assert is_reported or report_of(silent)["plans"][0]["plan"] == plan["plan"]


def test_it_is_sent_although_another_sweep_finds_the_restore_again(silent):
    silent.sweep()
    silent.holds.enter(RESTORE_ID, instance_id=INSTANCE_ID, now=at(30))
    assert silent.sweep(now=at(60), owner="two") == []
    assert titles(silent) == [READY]


def test_what_no_channel_took_is_tried_again(silent):
    silent.messages.channels = []
    assert [(one.state, "no channel" in one.reason) for one in silent.sweep(owner="one")] == [
        ("ending", True)
    ]
    assert running(silent) == [RESTORE_ID]
    silent.messages.channels = ["eventbridge"]
    silent.sweep(now=at(45), owner="two")
    assert titles(silent)[-1] == READY
    assert running(silent) == []


def test_of_two_sweepers_at_once_one_sends_it(silent):
    silent.table.now = at(30)
    silent.table.claim_message(f"ready#{RESTORE_ID}#0", "the other", seconds=CLAIM_SECONDS)
    assert [(one.state, one.reason) for one in silent.sweep()] == [("ending", OTHER_SENDS)]
    assert (titles(silent), running(silent)) == ([], [RESTORE_ID])


def test_without_the_result_it_says_less(silent):
    """`Keep Result` could not run either."""
    silent.artifacts.objects.pop(result_key(RESTORE_ID, 0))
    silent.sweep()
    (message,) = silent.messages.sent
    assert message["title"] == READY
    assert "Known because: its execution had verified it." in message["text"]
    assert "20 min 00 s after the request arrived" in message["text"]
    assert "Read latency was not measured: the figures were lost." in message["text"]


def test_without_the_volumes_item_it_is_named_by_its_mark(silent):
    """Somebody has deleted the item; the mark that the volume can be used is on the restore's."""
    silent.artifacts.objects.pop(result_key(RESTORE_ID, 0))
    silent.table.records[RESTORE_ID] |= {"volume0": None, "attached0": {"volumeId": VOLUME_ID}}
    silent.sweep()
    assert (titles(silent), running(silent)) == ([READY], [])


@pytest.mark.parametrize(
    "changes", [{"told0": {"at": "2026-11-21T03:20:00Z"}}, {"request": {"dryRun": True}}]
)
def test_nothing_is_sent_where_nothing_is_owed(silent, changes):
    silent.table.records[RESTORE_ID] |= changes
    assert silent.sweep() == []
    assert (titles(silent), running(silent)) == ([], [])


@pytest.mark.parametrize("settled", [True, False])
def test_a_restore_that_was_stopped_has_failed_unless_all_its_volumes_are_at_full_speed(silent, settled):
    record = silent.table.records[RESTORE_ID]
    record["status"] = "initializing"
    for name in ("reportKey", *([] if settled else ["settled0"])):
        del record[name]
    silent.ended("ABORTED")
    silent.sweep()
    assert (READY in titles(silent)) is settled
    assert any(title.startswith("Restore failed") for title in titles(silent)) is not settled
    assert silent.table.records[RESTORE_ID]["status"] == ("ready" if settled else "failed")
    assert running(silent) == []
