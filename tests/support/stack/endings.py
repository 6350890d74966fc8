"""What tests of the workflow expect of a restore that has ended: ready, or failed and tidy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.pages import is_of, link_of, opened
from tests.support.stack.restores import Restore, RestoreUser, texts

Json = dict[str, Any]
SentEvents = Callable[[str], list[Json]]
MAIN_STATES = [
    "Take Input",
    "Parse Request",
    "Wait For Turn",
    "Is Duplicate?",
    "Select Snapshot",
    "Are Volumes Attached?",
    "Choose Strategy",
    "Announce Plan",
]
CHANNELS = {"eventbridge", "slack", "email", "chat"}


def assert_ready(user: RestoreUser, done: Restore, strategy: str, sent_events: SentEvents) -> str:
    """What every strategy must have done; the volume's id."""
    volume = done.volumes[0]
    assert (done.main.status, volume.status) == ("SUCCEEDED", "SUCCEEDED"), done.why
    assert done.main.states[: len(MAIN_STATES)] == MAIN_STATES
    assert_released_and_confirmed(done)
    assert volume.states[-7:] == [
        "Release",
        "Is Released?",
        "Report Volume",
        "Announce Ready",
        "Is Application Due?",
        "Is It A Drill?",
        "Volume Ready",
    ]
    assert set(volume.states).isdisjoint(
        {"Clean Up", "Clean Up Attempt", "Choose Fallback", "Announce Fallback"}
    )
    assert not [visit for visit in volume.visits if visit.failures]
    assert done.main.output["verdict"] == "ready"
    volume_id = str(volume.output["volumeId"])
    assert_delivered(user, done, volume_id, strategy)
    assert_announced(user, done, volume_id, sent_events)
    assert_linked(user, done, sent_events)
    return volume_id


def assert_released_and_confirmed(done: Restore) -> None:
    """The devices are free before VolumeReadOps is asked."""
    ready = done.main.states.index("Are All Volumes Ready?")
    assert done.main.states[ready + 1 : ready + 3] == ["Release Target", "Confirm Readiness"]
    assert done.main.states[-1] == "Restore Completed"
    confirmation = {"Report Confirmation", "Announce Confirmation"} & set(done.main.states)
    assert len(confirmation) in (0, 2)


def assert_delivered(user: RestoreUser, done: Restore, volume_id: str, strategy: str) -> None:
    clone = strategy == "volume-clone"
    volume, instance_id = user.volume(volume_id), done.record["request"]["target"]["instanceId"]
    assert [(one["InstanceId"], one["State"]) for one in volume["Attachments"]] == [(instance_id, "attached")]
    assert len(volume["Tags"].pop("rewarm:creation")) >= 16
    assert volume["Tags"] == {
        "team": "orders",
        "rewarm:restore-id": done.restore_id,
        "rewarm:volume-index": "0",
        "rewarm:stack": "rewarm",
        "rewarm:attempt": "0",
        "rewarm:strategy": strategy,
        **(
            {"rewarm:source-volume-id": volume["SourceVolumeId"]}
            if clone
            else {"rewarm:snapshot-id": volume["SnapshotId"]}
        ),
    }
    assert user.volumes_of(done.restore_id) == [volume_id]
    assert user.left() == {"volumes": [volume_id], "attachments": [f"{volume_id}:{instance_id}"]}
    after = done.volumes[0].answer("Verify Volume After")
    assert after["verdict"] == "fast"
    assert after["result"]["samples"] == 256
    assert after["result"]["latencyMs"]["p50"] > 0


def assert_announced(user: RestoreUser, done: Restore, volume_id: str, sent_events: SentEvents) -> None:
    messages = [texts(message) for message in user.messages(done.restore_id)]
    used_only = done.record["request"]["warmUp"]["scope"] == "used"
    where = " where its file systems have data" if used_only else ""
    is_confirmed = "Announce Confirmation" in done.main.states
    if is_confirmed:
        assert messages.pop().startswith("VolumeReadOps ")
    assert [message.split("\n", 1)[0].split(" ", 1)[-1] for message in messages][1:] == [
        f"is attached to {done.record['request']['target']['instanceId']} and can be used",
        f"{volume_id} is at full speed{where}",
    ]
    assert messages[0].startswith("Restoring: snap-")
    assert not user.lab.slack.refused
    assert [(one["source"], one["detail-type"]) for one in sent_events(done.restore_id)] == [
        ("rewarm", "Rewarm Restore Plan"),
        ("rewarm", "Rewarm Restore Attached"),
        ("rewarm", "Rewarm Restore Ready"),
        *([("rewarm", "Rewarm Restore Confirmed")] if is_confirmed else []),
    ]
    announced = [done.main.answer("Announce Plan"), done.volumes[0].answer("Announce Ready")]
    assert [set(one["channels"]) for one in announced] == [CHANNELS, CHANNELS]
    record, report = done.record, user.report(done.restore_id)
    assert (record["status"], record["failure"]) == ("ready", None)
    confirmed = ["confirmed"] if is_confirmed else []
    assert [one["event"] for one in record["events"]] == ["plan", "attached", "ready", *confirmed]
    assert record["reportKey"] == f"restores/{done.restore_id}/report.json"
    assert (report["verdict"], report["volumes"][0]["volumeId"]) == ("ready", volume_id)
    assert report["volumes"][0]["verified"] == "fast"
    assert report["costUsd"] == record["costUsd"] == report["plans"][0]["plan"]["costUsd"]


def assert_linked(user: RestoreUser, done: Restore, sent_events: SentEvents) -> None:
    """Every message has a link, and each opens the page of this restore, now that it has ended."""
    slack = [link_of(message) for message in user.messages(done.restore_id)]
    events = [one["detail"]["reportUrl"] for one in sent_events(done.restore_id)]
    assert None not in [*slack, *events]
    account = user.report(done.restore_id)
    for url in [slack[0], slack[-1], events[-1], done.record["reportUrl"]]:
        page = opened(str(url))
        assert (page.status, page.content_type) == (200, "text/html; charset=utf-8")
        assert is_of(page, account)
        assert "Ready: the volume at full speed" in page.text
        assert "<svg" in page.text


def assert_failed(user: RestoreUser, done: Restore, error: str, *words: str) -> str:
    """Failed everywhere for this reason, and said so; what people read."""
    assert (done.main.status, done.main.states[-1]) == ("FAILED", "Restore Failed"), done.why
    assert (done.main.error, done.record["failure"]["error"]) == (error, error)
    assert done.record["status"] == "failed"
    assert [volume.states[-1] for volume in done.volumes] == ["Volume Failed"] * len(done.volumes)
    said = texts(user.messages(done.restore_id)[-1])
    assert said.startswith("❌ Restore failed")
    assert [word for word in words if word not in said] == [], said
    assert not user.lab.slack.refused
    for url in (link_of(user.messages(done.restore_id)[-1]), done.record["reportUrl"]):
        page = opened(str(url))
        assert page.content_type == "text/html; charset=utf-8"
        assert error in page.text
        assert is_of(page, user.report(done.restore_id))
    return said


def assert_nothing_left(user: RestoreUser, done: Restore) -> None:
    assert user.left() == {}
    assert user.volumes_of(done.restore_id) == []
    assert "Nothing was left behind." in texts(user.messages(done.restore_id)[-1])


def assert_kept(user: RestoreUser, done: Restore) -> str:
    """The volume was announced, so it stays: tagged, and named in the message."""
    volume, instance_id = done.volumes[0], done.record["request"]["target"].get("instanceId")
    assert ("Announce Attached" if instance_id else "Announce Available") in volume.states
    (volume_id,) = user.volumes_of(done.restore_id)
    assert user.volume(volume_id)["Tags"]["rewarm:failed"] == done.restore_id
    attached = ["attached"] if instance_id else []
    assert [one["State"] for one in user.volume(volume_id)["Attachments"]] == attached
    left = {"attachments": [f"{volume_id}:{instance_id}"]} if instance_id else {}
    assert user.left() == {"volumes": [volume_id], **left}
    assert f"Left behind: volume {volume_id}" in texts(user.messages(done.restore_id)[-1])
    return volume_id


def break_blocks(user: RestoreUser, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Every volume made from now on has this fault, from before its first read."""
    create = user.lab.machine.create_volume

    def create_broken(volume_id: str, *args: Any, **kwargs: Any) -> None:
        create(volume_id, *args, **kwargs)
        user.lab.machine.inject_fault(volume_id, fault)

    monkeypatch.setattr(user.lab.machine, "create_volume", create_broken)
