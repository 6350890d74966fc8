"""Slack with a bot: one message from the plan to the end, its thread and its page, and Cancel by a button."""

from __future__ import annotations

import copy
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from local import ROOT
from local.aws.emulator.deploy import Source, deploy
from local.aws.host import Host
from local.aws.machines.dataplane import SnapshotImage
from local.aws.slack_workspace import SlackWorkspace
from tests.support.pages import opened
from tests.support.stack.restores import RestoreUser, request_for, start_slow_agent

Json = dict[str, Any]
STACK = "rewarm-chat"


@pytest.fixture(scope="module")
def chat(lab: Host, image: SnapshotImage) -> Iterator[RestoreUser]:
    """Somebody with a stack of their own, which has a Slack app."""
    slack = lab.slack.workspace
    parameters = {
        "AlarmNamePrefix": "chat-",
        "SlackBotToken": slack.token,
        "SlackChannel": slack.channel,
        "SlackSigningSecret": slack.signing_secret,
        "SlackTeamId": slack.team,
        "SlackApprovers": "U0BOB,U0ANN",
    }
    own = copy.copy(lab)
    source = Source(ROOT, ROOT / "warmer" / "build" / "warmer")
    own.outputs = deploy(lab.client, source, STACK, parameters)
    somebody = RestoreUser(own, image)
    try:
        yield somebody
    finally:
        somebody.leave()


def message_of(slack: SlackWorkspace, restore_id: str) -> Json:
    """The one message of the restore."""
    (message,) = [one for one in slack.shown() if restore_id in json.dumps(one)]
    return message


def buttons(message: Json) -> dict[str, Json]:
    found = [block["elements"] for block in message["blocks"] if block["type"] == "actions"]
    return {button["action_id"]: button for elements in found for button in elements}


def posted(url: str, headers: dict[str, str], body: str) -> int:
    try:
        request = urllib.request.Request(url, body.encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def test_one_message_accompanies_a_restore(chat: RestoreUser) -> None:
    slack = chat.lab.slack.workspace
    done = chat.restore(request_for(chat, "provisioned-rate") | chat.to_zone)
    assert done.main.status == "SUCCEEDED", done.why
    assert "slack-bot" in done.main.answer("Announce Plan")["channels"]
    message = message_of(slack, done.restore_id)
    assert "is at full speed" in message["text"]
    assert set(buttons(message)) == {"rewarm-report"}
    told = [one["event"] for one in done.record["events"]]
    assert len(slack.thread(message["ts"])) == len(told) - 1, told
    assert done.record["slack"]["ts"] == message["ts"]
    assert not slack.refused
    page = opened(buttons(message)["rewarm-report"]["url"])
    assert "Ready: the volume at full speed" in page.text
    assert "refresh" not in page.text


def test_approve_is_pressed_in_slack(chat: RestoreUser) -> None:
    slack = chat.lab.slack.workspace
    objective = {"strategy": "provisioned-rate", "approveAboveUsd": 0}
    restore_id = chat.start({**request_for(chat, "provisioned-rate"), **chat.to_zone, "objective": objective})
    chat.wait_until(
        lambda: (
            "rewarm-approve" in json.dumps([one for one in slack.shown() if restore_id in json.dumps(one)])
        ),
        lambda: f"{restore_id} asked nobody",
    )
    message = message_of(slack, restore_id)
    assert set(buttons(message)) == {"rewarm-approve", "rewarm-cancel", "rewarm-report"}
    click = slack.click(message["ts"], "rewarm-approve", at=chat.lab.clock.now())
    for _ in range(2):
        assert posted(chat.lab.outputs["SlackInteractionsUrl"], *click) == 200
    done = chat.finished(restore_id)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.record["approval"]["by"] == "Slack user U0ANN (ann)"
    assert [one["event"] for one in done.record["events"]].count("approved") == 1
    assert not slack.refused


def test_cancel_is_pressed_in_slack(chat: RestoreUser) -> None:
    slack, url = chat.lab.slack.workspace, chat.lab.outputs["SlackInteractionsUrl"]
    restore_id = start_slow_agent(chat)
    message = message_of(slack, restore_id)
    link = buttons(message)["rewarm-report"]["url"]
    page = opened(link)
    assert (page.status, page.content_type) == (200, "text/html; charset=utf-8")
    assert '<meta http-equiv="refresh" content="30">' in page.text
    assert (
        chat.call("GET", f"/restores/{restore_id}").body["reportUrl"].startswith(link.partition("/pages")[0])
    )
    now = chat.lab.clock.now()
    headers, body = slack.click(message["ts"], "rewarm-cancel", at=now)
    assert posted(url, {**headers, "X-Slack-Signature": f"v0={'0' * 64}"}, body) == 401
    stranger = {"id": "U0EVE", "username": "eve", "team_id": slack.team}
    assert posted(url, *slack.click(message["ts"], "rewarm-cancel", at=now, user=stranger)) == 200
    assert "You may not do this" in slack.ephemeral[-1]["text"]
    assert posted(url, headers, body) == 200
    assert set(buttons(message_of(slack, restore_id))) == {"rewarm-report"}
    assert "Cancelled by Slack user U0ANN (ann)" in json.dumps(message_of(slack, restore_id))
    done = chat.finished(restore_id)
    assert done.record["status"] == "cancelled"
    said = json.dumps(message_of(slack, restore_id))
    assert "cancelled" in said
    assert "Cancelled by Slack user U0ANN (ann)" in said
    assert "Cancelled on request" in opened(link).text
    assert "Cancelled by Slack user U0ANN (ann)" in opened(link).text
    assert not slack.refused
