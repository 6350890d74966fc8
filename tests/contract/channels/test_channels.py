"""Slack, SNS and EventBridge: shapes, limits, refusals, and no secret in any log."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.aws.slack_limits import problems
from rewarm.adapters.channels.messages import (
    ChatTopic,
    EventBus,
    MessageFanOut,
    NotificationTopic,
    custom_notification,
    plain_text,
    subject,
)
from rewarm.adapters.channels.slack import SlackWebhook, escaped, rendered
from rewarm.domain import errors
from tests.contract.answers import ApiError, Aws
from tests.support.amount import cases
from tests.support.loopback import Loopback, QuietHandler

TOPIC = "arn:aws:sns:us-east-1:123456789012:rewarm"
MESSAGE: dict[str, Any] = {
    "event": "ready",
    "restoreId": "restore-1",
    "at": "2026-11-21T03:00:00Z",
    "severity": "good",
    "title": "vol-1 is at full speed",
    "text": "p99 < 20 ms & no errors",
    "fields": [{"name": "Time", "value": "21 min"}],
    "nextSteps": ["Nothing that costs extra money is left running."],
    "links": {"restore": "/restores/restore-1"},
    "notify": {"slack": True, "email": True},
}
texts = st.text(max_size=4_000).filter(lambda text: text.strip())
messages = st.fixed_dictionaries({
    "event": st.sampled_from(["plan", "ready", "failed"]), "restoreId": st.just("restore-1"),
    "severity": st.sampled_from(["info", "good", "warning", "error"]), "title": texts, "text": texts,
    "fields": st.lists(st.fixed_dictionaries({"name": texts, "value": texts}), max_size=25),
    "nextSteps": st.lists(texts, max_size=8),
})  # fmt: skip


class Slack:
    """Slack's end of the webhook."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.bodies = list(statuses), []  # type: ignore[var-annotated]
        outer = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                outer.bodies.append(json.loads(self.body()))
                status = outer.statuses.pop(0) if outer.statuses else 200
                self.send_response(status)
                self.send_header("Retry-After", "2")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"no" if status != 200 else b"ok")

        self.server = Loopback(Handler, "/services/T0/B0/secretpath")
        self.url = self.server.url

    def close(self) -> None:
        self.server.close()


@pytest.fixture
def slack() -> Iterator[Slack]:
    server = Slack()
    yield server
    server.close()


def webhook(url: str, slept: list[float] | None = None) -> SlackWebhook:
    answer = {
        "SecretString": f"{url}\n",
        "Name": "webhook",
        "ARN": "arn:aws:secretsmanager:us-east-1:1:secret:x",
    }
    secrets = Aws("secretsmanager").on("GetSecretValue", answer)
    return SlackWebhook(secrets.client, "arn:secret", sleep=(slept if slept is not None else []).append)


class TestSlack:
    def test_posts_block_kit(self, slack: Slack) -> None:
        webhook(slack.url).send(MESSAGE)
        assert len(slack.bodies) == 1
        assert problems(slack.bodies[0]) == []
        text = json.dumps(slack.bodies[0])
        assert "p99 &lt; 20 ms &amp; no errors" in text
        assert "restore-1" in text

    def test_a_title_calls_nobody(self, slack: Slack) -> None:
        webhook(slack.url).send({**MESSAGE, "title": "the alarm <!channel> & co"})
        assert "<!channel>" not in slack.bodies[0]["text"]

    def test_waits_once_when_told_to(self, slack: Slack) -> None:
        slack.statuses, slept = [429], []  # type: ignore[var-annotated]
        webhook(slack.url, slept).send(MESSAGE)
        assert slept == [2.0]
        assert len(slack.bodies) == 2

    @pytest.mark.parametrize(
        ("statuses", "error"),
        [
            ([429, 429], errors.ThrottledError),
            ([500], errors.ServiceUnavailableError),
            ([404], errors.RequestRefusedError),
        ],
    )
    def test_says_why_slack_refused(self, slack: Slack, statuses: list[int], error: type[Exception]) -> None:
        slack.statuses = statuses
        with pytest.raises(error) as caught:
            webhook(slack.url).send(MESSAGE)
        assert "secretpath" not in str(caught.value)

    def test_the_address_is_in_no_error_and_in_no_log(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.DEBUG, logger="rewarm"):
            assert MessageFanOut([webhook("http://127.0.0.1:9/services/secretpath")]).send(MESSAGE) == []
        logged = [record.getMessage() for record in caplog.records if record.name.startswith("rewarm")]
        assert logged
        assert not any("secretpath" in line for line in logged)
        assert all(record.exc_info is None for record in caplog.records if record.name.startswith("rewarm"))

    @cases(60, 600)
    @given(messages)
    def test_never_breaks_slacks_limits(self, message: dict[str, Any]) -> None:
        assert problems(rendered(message)) == []

    def test_cuts_no_entity_in_two(self) -> None:
        assert escaped("a" * 8 + "&&", 12) == "aaaaaaaa…"
        assert escaped("<b>", 12) == "&lt;b&gt;"


class TestTopics:
    def test_mail_is_plain_text(self) -> None:
        sns = Aws("sns").on("Publish", {"MessageId": "1"})
        NotificationTopic(sns.client, TOPIC).send(MESSAGE)
        sent = sns.params("Publish")[0]
        assert sent["Subject"] == "Rewarm: vol-1 is at full speed"
        assert "p99 < 20 ms & no errors" in sent["Message"]
        assert sent["MessageAttributes"]["severity"]["StringValue"] == "good"

    @cases(60, 600)
    @given(texts)
    def test_a_subject_is_what_sns_takes(self, title: str) -> None:
        found = subject(title)
        assert 0 < len(found) <= 100
        assert found.isascii()
        assert found.isprintable()

    def test_chat_gets_the_schema_of_custom_notifications(self) -> None:
        sns = Aws("sns").on("Publish", {"MessageId": "1"})
        ChatTopic(sns.client, TOPIC).send(MESSAGE)
        sent = json.loads(sns.params("Publish")[0]["Message"])
        assert (sent["version"], sent["source"], sent["content"]["textType"]) == (
            "1.0",
            "custom",
            "client-markdown",
        )
        assert sent["metadata"]["threadId"] == "restore-1"

    @cases(60, 600)
    @given(messages)
    def test_chat_never_breaks_the_limits(self, message: dict[str, Any]) -> None:
        content = custom_notification(message)["content"]
        assert len(content["title"]) <= 250
        assert 0 < len(content["description"]) <= 8_000
        assert all(len(step) <= 350 for step in content["nextSteps"])
        assert all(len(word) <= 75 for word in content["keywords"])


class TestEventBus:
    def test_events_carry_their_name(self) -> None:
        events = Aws("events").on("PutEvents", {"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]})
        EventBus(events.client, "default").send(MESSAGE)
        entry = events.params("PutEvents")[0]["Entries"][0]
        assert (entry["Source"], entry["DetailType"]) == ("rewarm", "Rewarm Restore Ready")
        assert json.loads(entry["Detail"])["restoreId"] == "restore-1"

    def test_a_failure_within_http_200_is_a_failure(self) -> None:
        entry = {"ErrorCode": "InternalFailure", "ErrorMessage": "later"}
        events = Aws("events").on("PutEvents", {"FailedEntryCount": 1, "Entries": [entry]})
        with pytest.raises(errors.ServiceUnavailableError):
            EventBus(events.client, "default").send(MESSAGE)


class TestReportLink:
    """An address that is cut, or escaped twice, leads nowhere."""

    URL = (
        "https://rewarm-artifacts-123456789012.s3.ap-northeast-1.amazonaws.com/restores/restore-1/report.html"
        f"?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Security-Token={'t%2F' * 400}&X-Amz-Signature={'a' * 64}"
    )
    UNTIL = "2026-11-28 03:00 UTC"
    LONG = {**MESSAGE, "text": "x" * 9_000, "reportUrl": URL, "reportUntil": "2026-11-28T03:00:00Z"}

    def test_slack_links_it(self) -> None:
        message = rendered(self.LONG)
        assert problems(message) == []
        (link,) = [
            block["text"]["text"] for block in message["blocks"] if "Page of the restore" in json.dumps(block)
        ]
        address, _, words = link.removeprefix("<").partition("|")
        said = f"Page of the restore>, until {self.UNTIL}"
        assert (address.replace("&amp;", "&"), words) == (self.URL, said)

    def test_one_too_long_for_slack_is_left_out(self) -> None:
        message = rendered({**self.LONG, "reportUrl": f"{self.URL}{'t' * 3_000}"})
        assert problems(message) == []
        assert "Page of the restore" not in json.dumps(message)

    def test_mail_has_it_on_a_line(self) -> None:
        assert f"Page of the restore (the link lasts until {self.UNTIL}): {self.URL}\n" in plain_text(
            self.LONG
        )

    def test_chat_has_it_whole_however_long_the_text_is(self) -> None:
        description = custom_notification(self.LONG)["content"]["description"]
        assert description.endswith(f"\nPage of the restore, until {self.UNTIL}: {self.URL}")
        assert len(description) <= 8_000

    def test_programs_have_it_in_the_detail(self) -> None:
        events = Aws("events").on("PutEvents", {"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]})
        EventBus(events.client, "default").send(self.LONG)
        assert json.loads(events.params("PutEvents")[0]["Entries"][0]["Detail"])["reportUrl"] == self.URL

    def test_without_one_there_is_no_word_of_it(self) -> None:
        message = {**MESSAGE, "reportUrl": None}
        told = [rendered(message), plain_text(message), custom_notification(message)]
        assert "Page" not in json.dumps(told)


class TestFanOut:
    def channels(self) -> tuple[Aws, MessageFanOut]:
        sns = Aws("sns").on("Publish", {"MessageId": "1"})
        bus = Aws("events").on("PutEvents", ApiError("AccessDeniedException"))
        return sns, MessageFanOut([
            EventBus(bus.client, "default"), NotificationTopic(sns.client, TOPIC), ChatTopic(sns.client,
            TOPIC)
        ])  # fmt: skip

    def test_one_deaf_channel_stops_no_other(self, caplog: pytest.LogCaptureFixture) -> None:
        _, fan_out = self.channels()
        assert fan_out.send(MESSAGE) == ["email", "chat"]
        assert "AccessDeniedError" in caplog.text

    def test_the_request_may_leave_people_out(self) -> None:
        sns, fan_out = self.channels()
        assert fan_out.send({**MESSAGE, "notify": {"slack": False, "email": True}}) == ["email"]
        assert fan_out.send({**MESSAGE, "notify": {"slack": False, "email": False}}) == []
        assert len(sns.calls) == 1


def test_an_address_in_a_name_becomes_no_link():
    """Else the name of an alarm, or of who asked, could lead people elsewhere."""
    blocks = rendered(MESSAGE | {"text": "https://example.com asked for it"})["blocks"]
    objects = [block.get("text") for block in blocks] + [one for b in blocks for one in b.get("fields", [])]
    marked = [one for one in objects if one and one["type"] == "mrkdwn"]
    assert len(marked) == 3
    assert all(one["verbatim"] is True for one in marked)
