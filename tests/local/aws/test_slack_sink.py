"""Slack's end of the webhook (local/aws/slack_sink.py, local/aws/slack_limits.py)."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request

import pytest

from local.aws.slack_limits import problems
from local.aws.slack_sink import SlackSink


@pytest.fixture
def sink(tmp_path):
    made = SlackSink(tmp_path)
    yield made
    made.close()


def post(url, message, raw=None):
    """Status, text and headers of Slack's answer."""
    data = raw if raw is not None else json.dumps(message).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode(), refusal.headers


def text(value, kind="mrkdwn"):
    return {"type": kind, "text": value}


def test_a_good_message_is_kept_in_memory_and_in_the_file(sink, tmp_path):
    message = {"text": "Ready", "blocks": [{"type": "section", "text": text("*Ready*")}]}
    assert post(sink.url, message)[:2] == (200, "ok")
    assert sink.messages == [message]
    assert json.loads((tmp_path / "slack-messages.jsonl").read_text(encoding="utf-8")) == message


def test_another_path_is_no_webhook(sink):
    assert post(sink.url + "x", {"text": "hello"})[:2] == (404, "no_service")
    assert sink.messages == []


def test_what_is_not_json_is_refused(sink):
    assert post(sink.url, None, raw=b"{")[:2] == (400, "invalid_payload")


def test_an_empty_message_is_refused(sink):
    assert post(sink.url, {"text": ""})[:2] == (400, "no_text")


def test_blocks_over_a_limit_are_refused_and_remembered(sink):
    message = {"text": "x", "blocks": [{"type": "divider"}] * 51}
    assert post(sink.url, message)[:2] == (400, "invalid_blocks")
    assert sink.refused == [(message, ["blocks is not a list of up to 50"])]


def test_only_mark_up_is_verbatim(sink):
    def said(**more):
        return post(
            sink.url, {"blocks": [{"type": "section", "text": text("*Ready*", **more) | {"verbatim": True}}]}
        )

    assert said()[0] == 200
    assert said(kind="plain_text")[:2] == (400, "invalid_blocks")


def test_a_planned_answer_comes_once(sink):
    sink.answer_next(429, "rate_limited", {"Retry-After": "1"})
    status, _text, headers = post(sink.url, {"text": "one"})
    assert (status, headers["Retry-After"]) == (429, "1")
    assert post(sink.url, {"text": "two"})[0] == 200
    assert sink.messages == [{"text": "two"}]


def test_waiting_finds_past_and_future_messages(sink):
    post(sink.url, {"text": "past"})
    assert sink.wait_for(lambda message: message["text"] == "past")["text"] == "past"
    threading.Timer(0.1, post, (sink.url, {"text": "future"})).start()
    assert sink.wait_for(lambda message: message["text"] == "future", 5)["text"] == "future"
    with pytest.raises(TimeoutError, match="none of 2 messages"):
        sink.wait_for(lambda message: message["text"] == "never", 0.05)


def test_closing_twice_is_harmless(tmp_path):
    sink = SlackSink(tmp_path)
    sink.close()
    sink.close()


GOOD = [
    {"type": "header", "text": text("Restore ready", "plain_text")},
    {"type": "section", "fields": [text("a")] * 10},
    {"type": "section", "text": text("a" * 3_000)},
    {"type": "context", "elements": [text("a")] * 10},
    {
        "type": "actions",
        "elements": [{"type": "button", "text": text("Open", "plain_text"), "url": "https://x"}],
    },
    {"type": "image", "image_url": "https://x/y.png", "alt_text": "a picture"},
    {"type": "divider"},
]
BAD = [
    ({"type": "header", "text": text("a" * 151, "plain_text")}, "text has not 1 to 150"),
    ({"type": "header", "text": text("a")}, "plain_text"),
    ({"type": "section"}, "needs text or fields"),
    ({"type": "section", "text": text("a" * 3_001)}, "3000"),
    ({"type": "section", "text": text("")}, "1 to 3000"),
    ({"type": "section", "text": "bare"}, "not a text object"),
    ({"type": "section", "fields": [text("a")] * 11}, "up to 10"),
    ({"type": "section", "fields": [text("a" * 2_001)]}, "2000"),
    ({"type": "context", "elements": []}, "1 to 10"),
    ({"type": "actions", "elements": [{"type": "button", "text": text("a" * 76, "plain_text")}]}, "75"),
    ({"type": "image", "image_url": "https://x/y.png"}, "alt_text"),
    ({"type": "divider", "block_id": "a" * 256}, "block_id"),
    ({"type": "table"}, "unknown type"),
    ("text", "not an object"),
]


@pytest.mark.parametrize("block", GOOD, ids=lambda block: block["type"])
def test_a_block_within_the_limits(block):
    assert problems({"blocks": [block]}) == []


@pytest.mark.parametrize(("block", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_block_over_a_limit(block, reason):
    (problem,) = problems({"blocks": [block]})
    assert problem.startswith("blocks[0]: ")
    assert reason in problem


def test_a_message_that_is_no_object():
    assert problems([]) == ["the message is not a JSON object"]
    assert problems({"text": "a" * 40_001}) == ["text is not a string of up to 40000"]
