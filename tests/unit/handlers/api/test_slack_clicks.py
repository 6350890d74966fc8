"""POST /slack/interactions: only what Slack has signed does anything, and a click does what the API does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from json import dumps
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from local.aws.slack_workspace import HOSTS, SlackWorkspace
from rewarm.adapters.channels.slack_bot import card
from rewarm.adapters.channels.slack_requests import MOST_BODY_CHARS, SlackRequests
from rewarm.steps.request.approval import Clickers
from tests.contract.answers import Aws
from tests.support.builders import NOW, RESTORE_ID, World
from tests.support.wired import use
from tests.support.worlds.signals import FakeTasks, FakeWaiters
from tests.unit.handlers.conftest import Context

Json = dict[str, Any]
AT = NOW.timestamp()
APPROVAL = {
    "askedAt": "2026-11-21T02:50:00Z",
    "until": "2026-11-21T03:30:00Z",
    "usd": "12.5",
    "reason": "The plan costs more than approveAboveUsd allows.",
}
NEWS = {
    "event": "approval", "restoreId": RESTORE_ID, "at": "2026-11-21T02:50:00Z", "title": "Approve?",
    "text": "x", "fields": [],
    "reportUrl": "https://public.example/v1/pages/t", "reportUntil": "2026-11-28T03:00:00Z",
}  # fmt: skip
RECORD = {"status": "awaiting-approval", "startedAt": "2026-11-21T02:49:00Z", "approval": APPROVAL}


class ResponseUrls:
    """urllib3 for response URLs: the workspace behind them."""

    def __init__(self, slack: SlackWorkspace) -> None:
        self.slack = slack

    def request(self, _method: str, url: str, *, json: Json) -> None:
        host, _, path = url.removeprefix("https://").partition("/")
        assert host == HOSTS[1]
        self.slack.take(f"/{path}", dumps(json).encode(), "")


class Team:
    """People in a Slack channel with the message of a restore that waits."""

    def __init__(self, module: ModuleType, slack: SlackWorkspace, world: World, context: Context) -> None:
        self._module, self.slack, self.world, self._context = module, slack, world, context
        world.table.put_new(RESTORE_ID, {**RECORD, "slack": {"channel": slack.channel}})
        body = {"channel": slack.channel, **card(NEWS, RECORD)}
        answer = slack.take("/api/chat.postMessage", json.dumps(body).encode(), f"Bearer {slack.token}")
        assert answer is not None
        self.ts = json.loads(answer[1])["ts"]

    @property
    def record(self) -> Json:
        return dict(self.world.table.records[RESTORE_ID])

    @property
    def buttons(self) -> list[str]:
        (message,) = self.slack.shown()
        found = [block["elements"] for block in message["blocks"] if block["type"] == "actions"]
        return [button["action_id"].removeprefix("rewarm-") for elements in found for button in elements]

    def send(self, headers: dict[str, str], body: str, **event: Any) -> Json:
        call = {
            "httpMethod": "POST",
            "path": "/slack/interactions",
            "headers": headers,
            "body": body,
            **event,
        }
        answer: Json = self._module.lambda_handler(call, self._context)
        assert answer["body"] == ""
        return answer

    def press(self, name: str, *, at: float = AT, **changes: Any) -> int:
        headers, body = self.slack.click(self.ts, f"rewarm-{name}", at=at, **changes)
        return int(self.send(headers, body)["statusCode"])


@pytest.fixture
def team(warm: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context) -> Team:
    world, module, slack = World(), warm("public"), SlackWorkspace()
    world.waiters, world.tasks = FakeWaiters(), FakeTasks()  # type: ignore[attr-defined]
    secrets = Aws("secretsmanager").on("GetSecretValue", {"SecretString": slack.signing_secret})
    requests = SlackRequests(secrets.client, "arn", ResponseUrls(slack), clock=lambda: AT)  # type: ignore[arg-type]
    use(monkeypatch, module, table=world.table, waiters=world.waiters, tasks=world.tasks, slack=requests)  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "now", lambda: NOW)
    return Team(module, slack, world, context)


def test_approve_approves_and_says_who(team: Team) -> None:
    assert team.press("approve") == 200
    assert team.record["approval"]["by"] == "Slack user U0ANN (ann)"
    assert team.buttons == ["report"]
    assert "Approved by Slack user U0ANN (ann)" in json.dumps(team.slack.shown())


def test_a_name_in_slack_never_looks_like_an_arn(team: Team) -> None:
    user = {"id": "U0ANN", "username": "arn:aws:iam::123456789012:user/ciso\n"}
    assert team.press("approve", user=user) == 200
    by = team.record["approval"]["by"]
    assert by == "Slack user U0ANN (arn:aws:iam::123456789012:user/ciso )"


def test_cancel_cancels_and_says_who(team: Team) -> None:
    assert team.press("cancel") == 200
    assert team.record["cancelRequested"] is True
    assert team.record["events"][-1]["title"] == "Cancelled by Slack user U0ANN (ann)"
    assert team.buttons == ["report"]


def test_the_same_click_again_does_nothing_twice(team: Team) -> None:
    clicks = [team.slack.click(team.ts, f"rewarm-{name}", at=AT) for name in ("approve", "cancel")]
    for headers, body in clicks * 3:
        assert team.send(headers, body)["statusCode"] == 200
    titles = [news["title"] for news in team.record["events"]]
    assert sorted(titles) == ["Approved by Slack user U0ANN (ann)", "Cancelled by Slack user U0ANN (ann)"]


def test_approving_an_earlier_question_approves_nothing(team: Team) -> None:
    later = {**APPROVAL, "askedAt": "2026-11-21T02:58:00Z", "usd": "99"}
    team.world.table.update(RESTORE_ID, {"approval": later})
    assert team.press("approve") == 200
    assert "approvedAt" not in team.record["approval"]
    assert "another plan" in team.slack.ephemeral[-1]["text"]
    assert team.buttons == ["approve", "cancel", "report"]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
"""Any JSON."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["actions", "user", "channel", "type"]), value=ODD)
def test_a_payload_of_any_other_shape_does_nothing(team: Team, name: str, value: Any) -> None:
    assume(name != "user" or value)  # Without one, the workspace names who is logged in.
    assert team.press("approve", **{name: value}) == 200
    assert "approvedAt" not in team.record["approval"]


@pytest.mark.parametrize(
    "value", [5, "x", [], {"blocks": 5}, {"blocks": [5]}, {"blocks": [{"elements": [5]}]}]
)
@pytest.mark.parametrize("name", ["team", "message", "response_url"])
def test_what_else_a_payload_says_may_be_odd(team: Team, name: str, value: Any) -> None:
    assert team.press("approve", **{name: value}) == 200


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=ODD | st.dictionaries(st.sampled_from(["restoreId", "askedAt"]), ODD))
def test_a_button_with_any_other_value_approves_nothing(team: Team, value: Any) -> None:
    assert team.press("approve", actions=[{"action_id": "rewarm-approve", "value": dumps(value)}]) == 200
    assert "approvedAt" not in team.record["approval"]


@pytest.mark.parametrize("changes", [{}, {"askedAt": None}])
def test_a_button_that_names_no_plan_approves_nothing(team: Team, changes: Json) -> None:
    action = {"action_id": "rewarm-approve", "value": dumps({"restoreId": RESTORE_ID, **changes})}
    assert team.press("approve", actions=[action]) == 200
    assert "approvedAt" not in team.record["approval"]
    assert "names no plan" in team.slack.ephemeral[-1]["text"]


def test_one_that_ended_is_not_cancelled(team: Team) -> None:
    team.world.table.update(RESTORE_ID, {"status": "ready"})
    assert team.press("cancel") == 200
    assert "cancelRequested" not in team.record
    assert "has ended" in team.slack.ephemeral[-1]["text"]


def test_report_is_a_link_and_needs_nothing_done(team: Team) -> None:
    before = json.dumps(team.record)
    assert team.press("report") == 200
    assert json.dumps(team.record) == before


def test_what_slack_has_not_signed_is_answered_without_a_word(team: Team) -> None:
    headers, body = team.slack.click(team.ts, "rewarm-cancel", at=AT)
    signature = headers["X-Slack-Signature"]
    wrong = [
        {},
        {**headers, "X-Slack-Signature": ""},
        {**headers, "X-Slack-Signature": signature[:-1] + ("0" if signature[-1] != "0" else "1")},
        {**headers, "X-Slack-Signature": signature.upper()},
        {**headers, "X-Slack-Signature": signature.replace("v0", "v1")},
        {**headers, "X-Slack-Request-Timestamp": str(int(AT) + 1)},
        {**headers, "X-Slack-Request-Timestamp": "now"},
        {**headers, "X-Slack-Request-Timestamp": "١٢٣"},
    ]
    for each in wrong:
        assert team.send(each, body)["statusCode"] == 401, each
    assert team.send(headers, body + "&")["statusCode"] == 401
    assert team.send(headers, "")["statusCode"] == 401
    assert "cancelRequested" not in team.record


@pytest.mark.parametrize(("seconds", "status"), [(-301, 401), (-300, 200), (300, 200), (301, 401)])
def test_a_request_is_good_for_five_minutes(team: Team, seconds: int, status: int) -> None:
    assert team.press("cancel", at=AT + seconds) == status


def test_names_of_headers_and_base64_are_api_gateways(team: Team) -> None:
    headers, body = team.slack.click(team.ts, "rewarm-cancel", at=AT)
    small = {name.lower(): value for name, value in headers.items()}
    coded = base64.b64encode(body.encode()).decode()
    assert team.send(small, coded, isBase64Encoded=True)["statusCode"] == 200
    assert team.record["cancelRequested"] is True
    assert team.send(small, "%", isBase64Encoded=True)["statusCode"] == 413


def test_a_body_that_slack_never_sends_is_not_read(team: Team) -> None:
    body = "payload=" + "x" * MOST_BODY_CHARS
    assert team.send(team.slack.signed(body, at=AT), body)["statusCode"] == 413


@pytest.mark.parametrize(
    "body", ["", "payload=", "payload=[]", "payload=%7B", "a=b", "payload=" + "[" * 50_000, "payload={}"]
)
def test_what_is_signed_and_no_click_does_nothing(team: Team, body: str) -> None:
    assert team.send(team.slack.signed(body, at=AT), body)["statusCode"] == 200


@pytest.mark.parametrize(
    ("clickers", "changes"),
    [
        (Clickers(user_ids=["U0BOB"]), {}),
        (Clickers(team_id="T0OTHER"), {}),
        (Clickers(team_id="T0OURS"), {"team": {"id": "T0OURS"}, "user": {"id": "U1", "team_id": "T0THEIRS"}}),
        (Clickers(), {"user": {"username": "nobody"}}),
        (Clickers(), {"channel": {"id": "C0ELSEWHERE"}}),
    ],
)
def test_only_who_may_can_click(
    team: Team, monkeypatch: pytest.MonkeyPatch, clickers: Clickers, changes: Json
) -> None:
    monkeypatch.setattr(team._module, "_clickers", lambda: clickers)
    for name in ("approve", "cancel"):
        assert team.press(name, **changes) == 200
    assert "cancelRequested" not in team.record
    assert "approvedAt" not in team.record["approval"]
    assert len(team.slack.ephemeral) == 2
    assert team.buttons == ["approve", "cancel", "report"]


def test_who_is_listed_may_click(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = Clickers(team_id=team.slack.team, user_ids=["U0BOB", "U0ANN"])
    monkeypatch.setattr(team._module, "_clickers", lambda: allowed)
    team.press("approve")
    assert team.record["approval"]["approvedAt"]


def test_an_answer_goes_to_slack_only(team: Team) -> None:
    """ResponseUrls would fail for any other host."""
    assert team.press("cancel", response_url="https://hooks.slack.com.example.org/actions/x") == 200
    assert team.press("cancel", response_url="http://169.254.169.254/actions/x") == 200
    assert team.slack.ephemeral == []


def test_a_signing_secret_that_was_emptied_signs_nothing() -> None:
    """Everybody could sign with it."""
    secrets = Aws("secretsmanager").on("GetSecretValue", {"SecretString": "\n"})
    requests = SlackRequests(secrets.client, "arn", clock=lambda: AT)
    signature = hmac.new(b"", f"v0:{AT:.0f}:payload={{}}".encode(), hashlib.sha256).hexdigest()
    headers = {"X-Slack-Request-Timestamp": f"{AT:.0f}", "X-Slack-Signature": f"v0={signature}"}
    assert requests.payload(headers, "payload={}") is None


def test_without_an_app_the_route_is_not_there(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team._module, "_slack", lambda: None)
    assert team.press("cancel") == 404


def test_the_signing_secret_is_in_no_log(team: Team, caplog: pytest.LogCaptureFixture) -> None:
    team.press("cancel")
    team.press("report", at=AT - 999)
    logged = [str(vars(record)) for record in caplog.records]
    assert any("clicked" in line for line in logged)
    assert not any(team.slack.signing_secret in line for line in logged)
