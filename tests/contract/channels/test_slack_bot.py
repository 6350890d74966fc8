"""Slack's Web API with a bot: one message for each restore, its thread, its buttons, and every refusal."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.aws.slack_limits import problems
from local.aws.slack_sink import SlackSink
from local.aws.slack_workspace import SlackWorkspace
from rewarm.adapters.channels import slack_bot
from rewarm.adapters.channels.messages import MessageFanOut
from rewarm.adapters.channels.slack_bot import SlackBot, SlackPlace, card
from rewarm.domain import errors
from rewarm.steps.record.restore import FINISHED
from tests.contract.answers import Aws
from tests.contract.channels.test_channels import MESSAGE
from tests.support.builders import RESTORE_ID
from tests.support.fakes import FakeTable

Json = dict[str, Any]
PLAN = {"event": "plan", "at": "2026-11-21T03:00:00Z", "title": "Restoring", "text": "snap-1 by <agent>"}
LINK = {"reportUrl": "https://public.example/v1/pages/token", "reportUntil": "2026-11-28T03:00:00Z"}


def news(event: str, minute: int, **changes: Any) -> Json:
    at = f"2026-11-21T03:{minute:02d}:00Z"
    return {
        **MESSAGE,
        "restoreId": RESTORE_ID,
        "event": event,
        "at": at,
        "title": f"It is {event}",
        **changes,
    }


class Channel:
    """A workspace with one channel, and the bot that posts there."""

    def __init__(self, slack: SlackWorkspace) -> None:
        self.slack, self.table, self.slept = slack, FakeTable(), []  # type: ignore[var-annotated]
        self.table.put_new(RESTORE_ID, {"status": "planned", "events": [PLAN], "volumeCount": 1})
        secrets = Aws("secretsmanager")
        secrets.on("GetSecretValue", {"Name": "n", "SecretString": slack.token})
        self.bot = SlackBot(
            secrets.client, SlackPlace("arn:secret", slack.channel, has_buttons=True), self.table,
            sleep=self.slept.append,
        )  # fmt: skip

    @property
    def state(self) -> Json:
        return dict(self.table.records[RESTORE_ID].get("slack") or {})


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Channel]:
    sink = SlackSink(tmp_path)
    monkeypatch.setattr(slack_bot, "API", f"{sink.address}/api")
    yield Channel(sink.workspace)
    sink.close()


def test_one_message_is_changed_and_the_rest_is_in_its_thread(channel: Channel) -> None:
    for minute, event in enumerate(("plan", "attached", "ready")):
        channel.bot.send(news(event, minute))
    (root,) = channel.slack.shown()
    assert "It is ready" in root["text"]
    assert [reply["text"].rpartition("It is ")[2] for reply in channel.slack.thread(root["ts"])] == [
        "attached",
        "ready",
    ]
    assert "snap-1 by &lt;agent&gt;" in json.dumps(root), "the plan stays on the card"
    assert channel.state["ts"] == root["ts"]
    assert not channel.slack.refused


def test_the_same_message_twice_is_there_once(channel: Channel) -> None:
    for _ in range(3):
        channel.bot.send(news("plan", 0))
    channel.bot.send(news("attached", 1))
    channel.bot.send(news("attached", 1))
    (root,) = channel.slack.shown()
    assert len(channel.slack.thread(root["ts"])) == 1


def test_late_news_do_not_change_the_card(channel: Channel) -> None:
    for event, minute in (("plan", 0), ("ready", 5), ("attached", 3)):
        channel.bot.send(news(event, minute))
    (root,) = channel.slack.shown()
    assert "It is ready" in root["text"]
    assert "It is attached" in channel.slack.thread(root["ts"])[-1]["text"]


@pytest.mark.parametrize(("severity", "title"), [("info", "ready"), ("warning", "confirmed")])
def test_a_confirmation_does_not_hide_that_the_volume_is_ready(
    channel: Channel, severity: str, title: str
) -> None:
    for minute, event in enumerate(("plan", "ready", "confirmed")):
        channel.bot.send(news(event, minute, severity=severity))
    (root,) = channel.slack.shown()
    assert f"It is {title}" in root["text"]
    assert "It is confirmed" in channel.slack.thread(root["ts"])[-1]["text"]


@pytest.mark.parametrize("code", ["message_not_found", "cant_update_message", "edit_window_closed"])
def test_a_card_that_is_gone_is_posted_anew(channel: Channel, code: str) -> None:
    channel.bot.send(news("plan", 0))
    channel.slack.answer_next_call("chat.update", {"ok": False, "error": code})
    channel.bot.send(news("ready", 1))
    assert len(channel.slack.shown()) == 2
    assert channel.state["ts"] == channel.slack.shown()[-1]["ts"]
    channel.bot.send(news("confirmed", 2))
    assert len(channel.slack.shown()) == 2


def test_news_reach_the_thread_although_the_card_cannot_be_changed(channel: Channel) -> None:
    channel.bot.send(news("plan", 0))
    channel.slack.answer_next_call("chat.update", {"ok": False, "error": "internal_error"})
    channel.bot.send(news("ready", 1))
    (root,) = channel.slack.shown()
    assert "It is ready" in channel.slack.thread(root["ts"])[-1]["text"]
    assert "internal_error" in channel.state["problem"]
    channel.bot.send(news("confirmed", 2))
    assert "problem" not in channel.state


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ({"ok": False, "error": "channel_not_found"}, errors.RequestRefusedError, "check SlackChannel"),
        ({"ok": False, "error": "not_in_channel"}, errors.RequestRefusedError, "invite the app"),
        ({"ok": False, "error": "is_archived"}, errors.RequestRefusedError, "unarchive"),
        ({"ok": False, "error": "invalid_auth"}, errors.RequestRefusedError, "SlackBotToken is not valid"),
        ({"ok": False, "error": "something_new"}, errors.RequestRefusedError, "answered something_new"),
        (
            {"ok": False, "error": "service_unavailable"},
            errors.ServiceUnavailableError,
            "service_unavailable",
        ),
        ((503, "busy", {}), errors.ServiceUnavailableError, "HTTP 503"),
        ((200, "<html>", {}), errors.RequestRefusedError, "HTTP 200"),
    ],
)
def test_every_refusal_is_in_the_record_with_what_to_do(
    channel: Channel, answer: Any, error: type[Exception], words: str
) -> None:
    channel.slack.answer_next_call("chat.postMessage", answer)
    with pytest.raises(error, match=words):
        channel.bot.send(news("plan", 0))
    assert words in channel.state["problem"]
    assert channel.slack.token not in json.dumps(channel.table.records)
    channel.bot.send(news("ready", 1))
    assert "problem" not in channel.state


def test_waits_once_as_long_as_slack_says(channel: Channel) -> None:
    limited = (429, '{"ok": false, "error": "ratelimited"}', {"Retry-After": "3"})
    channel.slack.answer_next_call("chat.postMessage", limited)
    channel.bot.send(news("plan", 0))
    assert (channel.slept, len(channel.slack.shown())) == ([3.0], 1)
    for _ in range(2):
        channel.slack.answer_next_call("chat.postMessage", limited)
    with pytest.raises(errors.ThrottledError):
        channel.bot.send(news("other", 1, kind="Change"))


def test_a_lost_answer_leads_to_a_second_card_and_no_more(channel: Channel) -> None:
    channel.slack.lose_next_answer()
    with pytest.raises(errors.ServiceUnavailableError):
        channel.bot.send(news("plan", 0))
    channel.bot.send(news("attached", 1))
    channel.bot.send(news("ready", 2))
    assert len(channel.slack.shown()) == 2


def test_a_table_out_of_reach_stops_no_message(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise errors.ServiceUnavailableError("DynamoDB")

    monkeypatch.setattr(channel.table, "get", refuse)
    monkeypatch.setattr(channel.table, "update", refuse)
    channel.bot.send(news("failed", 0))
    assert len(channel.slack.shown()) == 1


def test_a_change_of_performance_is_a_message_of_its_own(channel: Channel) -> None:
    for minute in range(2):
        channel.bot.send(news("performance-changed", minute, kind="Change"))
    assert len(channel.slack.shown()) == 2


def test_neither_the_token_nor_a_link_is_logged(channel: Channel, caplog: pytest.LogCaptureFixture) -> None:
    channel.slack.answer_next_call("chat.postMessage", {"ok": False, "error": "invalid_auth"})
    with caplog.at_level(logging.DEBUG, logger="rewarm"):
        assert MessageFanOut([channel.bot]).send({**news("plan", 0), **LINK, "notify": None}) == []
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("rewarm")]
    assert any("SlackBotToken is not valid" in line for line in logged)
    for secret in (channel.slack.token, channel.slack.signing_secret, "pages/token"):
        assert not any(secret in line for line in logged)


def buttons(record: Json, **options: Any) -> list[str]:
    shown = card({**news("plan", 0), **LINK}, record, **options)
    assert problems(shown) == []
    found = [block["elements"] for block in shown["blocks"] if block["type"] == "actions"]
    return [button["action_id"].removeprefix("rewarm-") for elements in found for button in elements]


WAITING = {"status": "awaiting-approval", "approval": {"askedAt": "2026-11-21T03:00:00Z", "usd": "12.5"}}


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        ({"status": "planned", "volumeCount": 1}, ["cancel", "report"]),
        (WAITING, ["approve", "cancel", "report"]),
        ({"status": "planned", "request": {"dryRun": True}}, ["report"]),
        ({"status": "initializing", "volumeCount": 2, "settled0": True}, ["cancel", "report"]),
        ({"status": "initializing", "volumeCount": 1, "settled0": True}, ["report"]),
        ({"status": "restoring", "cancelRequested": True}, ["report"]),
        ({}, ["report"]),
        *(({"status": str(status)}, ["report"]) for status in sorted(FINISHED)),
    ],
)
def test_a_card_has_the_buttons_that_would_do_something(record: Json, shown: list[str]) -> None:
    assert buttons(record) == shown


def test_a_fleet_is_approved_in_slack_and_not_cancelled_there() -> None:
    record = {**WAITING, "status": "fleet-awaiting-approval"}
    shown = card({**news("approval", 0), "kind": "Fleet"}, record)
    (elements,) = (block["elements"] for block in shown["blocks"] if block["type"] == "actions")
    assert [button["action_id"] for button in elements] == ["rewarm-approve"]


def test_a_fleets_card_shows_who_did_something_to_its_latest_run() -> None:
    """Its record keeps the events of all runs."""
    done = [
        {"event": "cancel-requested", "at": f"2026-11-21T0{hour}:00:00Z", "title": f"Cancelled by {name}"}
        for hour, name in ((3, "bob"), (5, "alice"))
    ]
    shown = str(card(news("plan", 0), {"events": done, "runStartedAt": "2026-11-21T04:00:00Z"}))
    assert "Cancelled by alice" in shown
    assert "Cancelled by bob" not in shown


def test_without_a_signing_secret_there_is_only_the_link() -> None:
    assert buttons(WAITING, has_buttons=False) == ["report"]


def test_approve_says_the_price_and_cancel_asks_back() -> None:
    shown = card(news("plan", 0), WAITING)
    (elements,) = (block["elements"] for block in shown["blocks"] if block["type"] == "actions")
    assert elements[0]["text"]["text"] == "Approve $12.50"
    assert json.loads(elements[0]["value"]) == {
        "restoreId": RESTORE_ID,
        "askedAt": WAITING["approval"]["askedAt"],  # type: ignore[index]
    }
    assert elements[1]["confirm"]["confirm"]["text"] == "Cancel the restore"
