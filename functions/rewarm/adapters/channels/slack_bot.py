"""Slack's Web API with a bot token: one message for each restore, a thread for the rest, and buttons.

The message (the card) is posted with the first news of a restore. Later news change it (chat.update) and are
posted whole in its thread. Where the card is, is in the restore's record: `slack`, with `channel` and `ts`.

Slack has no idempotency key, so a message whose answer was lost may appear twice. The next news continue the
one in the record. Old news never change the card. A restore continues whatever Slack answers; the record
keeps what went wrong.

Sources: Slack documentation, "chat.postMessage", "chat.update", "Rate limits", "Reference: block elements",
"Confirmation dialog object".
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import urllib3

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.channels.messages import Audience, link_end
from rewarm.adapters.channels.slack import TIMEOUT, escaped, markdown, pause_of, rendered, section
from rewarm.domain.errors import RequestRefusedError, RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.domain.units import usd_text
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

API = "https://slack.com/api"
BUTTONS = "rewarm-buttons"
"""The block of the buttons."""
APPROVE, CANCEL, REPORT = "rewarm-approve", "rewarm-cancel", "rewarm-report"
_ENDED = frozenset({"ready", "failed", "cancelled", "refused", "duplicate", "suppressed"})
_WITH_THREAD = frozenset({"Restore", "Fleet"})
"""Kinds of messages that share a card and a thread with others of the same id."""
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found"})
"""Answers of chat.update after which the card is posted anew: somebody deleted it, or changed the channel."""
_PASSING = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_LIMITED = frozenset({"ratelimited", "rate_limited"})
_REMEDIES = {
    "channel_not_found": "check SlackChannel, and invite the app to the channel if it is private",
    "not_in_channel": "invite the app to the channel",
    "is_archived": "unarchive the channel, or name another one in SlackChannel",
    "invalid_auth": "SlackBotToken is not valid",
    "not_authed": "SlackBotToken is empty",
    "token_revoked": "install the app again and set SlackBotToken",
    "token_expired": "set SlackBotToken to a token without rotation",
    "account_inactive": "the app was removed from the workspace; install it again and set SlackBotToken",
    "missing_scope": "give the app the scope chat:write and install it again",
    "restricted_action": "a setting of the workspace keeps the app from posting in the channel",
}
_MOST_PLAN = 1_500
_HAVE_THE_PLAN = frozenset({"plan", "approval"})
_URL_CHARS = 3_000


class SlackApiError(RequestRefusedError):
    """Slack answered `ok: false`; `code` is Slack's own name for it."""

    def __init__(self, method: str, code: str) -> None:
        remedy = _REMEDIES.get(code)
        super().__init__(f"{method}: Slack answered {code}" + (f": {remedy}" if remedy else ""))
        self.code = code


class SlackPlace(NamedTuple):
    """Where the bot posts, and with what."""

    secret_arn: str
    channel: str
    has_buttons: bool
    """Whether clicks can be checked; Report is only a link and there in any case."""


class SlackBot:
    """The channel of MessageFanOut that keeps one message for each restore up to date."""

    name = "slack-bot"
    audience: Audience = "slack"

    def __init__(
        self,
        secrets: SecretsManagerClient,
        place: SlackPlace,
        table: RestoreTable,
        http: urllib3.PoolManager | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._secrets = secrets
        self._place = place
        self._table = table
        self._http = http or urllib3.PoolManager(timeout=TIMEOUT, retries=False)
        self._sleep = sleep

    def send(self, message: JsonObject) -> None:
        """Posts or changes the restore's card, and adds to its thread.

        Raises ThrottledError, ServiceUnavailableError, RequestRefusedError.
        """
        if message.get("kind", "Restore") not in _WITH_THREAD:
            self._post(rendered(message))
            return
        record = self._record(message["restoreId"])
        known = record.get("slack") or {}
        mark = f"{message['at']} {message['event']} {message['title']}"
        if known.get("last") == mark:
            return
        try:
            place = self._sent(message, record, known)
        except RestoreError as error:
            self._note(message["restoreId"], {**known, "problem": f"{message['at']}: {error}"})
            raise
        self._note(message["restoreId"], {**place, "last": mark})

    def _sent(self, message: JsonObject, record: JsonObject, known: JsonObject) -> JsonObject:
        """Where the card is now, and the time of its news."""
        if not known.get("ts"):
            return {**self._post(self._card(message, record)), "at": message["at"]}
        place = {"channel": known["channel"], "ts": known["ts"], "at": known["at"]}
        if message["at"] >= known["at"] and not _is_only_for_the_thread(message):
            place["at"] = message["at"]
            try:
                self._call(
                    "chat.update",
                    {"channel": place["channel"], "ts": place["ts"], **self._card(message, record)},
                )
            except SlackApiError as error:
                if error.code in _GONE:
                    return {**self._post(self._card(message, record)), "at": message["at"]}
                place["problem"] = f"{message['at']}: {error}"
            except RestoreError as error:
                place["problem"] = f"{message['at']}: {error}"
        self._post(rendered(message), thread=place)
        return place

    def _card(self, message: JsonObject, record: JsonObject) -> JsonObject:
        return card(message, record, has_buttons=self._place.has_buttons)

    def _post(self, body: JsonObject, thread: JsonObject | None = None) -> JsonObject:
        where = {"channel": thread["channel"], "thread_ts": thread["ts"]} if thread else {}
        answer = self._call("chat.postMessage", {"channel": self._place.channel, **where, **body})
        return {"channel": str(answer.get("channel")), "ts": str(answer.get("ts"))}

    def _call(self, method: str, body: JsonObject) -> JsonObject:
        headers = {"Authorization": f"Bearer {self._token()}"}
        answer = self._request(method, body, headers)
        if _is_limited(answer):
            self._sleep(pause_of(answer))
            answer = self._request(method, body, headers)
        return _checked(method, answer)

    def _request(self, method: str, body: JsonObject, headers: JsonObject) -> urllib3.BaseHTTPResponse:
        try:
            # Links have titles, so previews of pages would be noise.
            shown = {"unfurl_links": False, "unfurl_media": False} if method == "chat.postMessage" else {}
            return self._http.request("POST", f"{API}/{method}", json={**body, **shown}, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise ServiceUnavailableError(f"Slack did not answer: {type(error).__name__}") from None

    def _token(self) -> str:
        # Read each time: messages are rare, and a new token counts at once.
        with naming_errors():
            return self._secrets.get_secret_value(SecretId=self._place.secret_arn)["SecretString"].strip()

    def _record(self, restore_id: str) -> JsonObject:
        """Empty if it cannot be read: then there is a new card, which is better than no message."""
        with suppress(RestoreError):
            return self._table.get(restore_id) or {}
        return {}

    def _note(self, restore_id: str, place: JsonObject) -> None:
        with suppress(RestoreError):
            self._table.update(restore_id, {"slack": place})


def card(message: JsonObject, record: JsonObject, *, has_buttons: bool = True) -> JsonObject:
    """The message of a restore as it stands: the latest news, the plan behind them, who did what, buttons."""
    shown = rendered({**message, "reportUrl": None})
    *blocks, context = shown["blocks"]
    plan = next((news for news in record.get("events") or [] if news.get("event") == "plan"), None)
    if plan is not None and message["event"] not in _HAVE_THE_PLAN:
        blocks.append(section(f"*Plan*\n{escaped(str(plan.get('text', '')), _MOST_PLAN)}"))
    for news in record.get("events") or []:
        is_of_this_run = str(news.get("at", "")) >= str(record.get("runStartedAt") or "")
        if news.get("event") in ("approved", "cancel-requested") and is_of_this_run:
            blocks.append({"type": "context", "elements": [markdown(escaped(str(news.get("title")), 300))]})
    buttons = _actions(message, record) if has_buttons else []
    buttons += _report(message)
    if buttons:
        blocks.append({"type": "actions", "block_id": BUTTONS, "elements": buttons})
    if message.get("reportUrl"):
        context["elements"].append(markdown(f"Report: link until {link_end(message)}"))
    return {"text": shown["text"], "blocks": [*blocks, context]}


def _is_only_for_the_thread(message: JsonObject) -> bool:
    """A confirmation of full speed goes to the thread, so that the card keeps showing the full speed."""
    return bool(message["event"] == "confirmed" and message["severity"] != "warning")


def _actions(message: JsonObject, record: JsonObject) -> list[JsonObject]:
    restore_id = str(message["restoreId"])
    found: list[JsonObject] = []
    if record.get("status") in ("awaiting-approval", "fleet-awaiting-approval"):
        found.append(_approve(restore_id, record.get("approval") or {}))
    is_restore = message.get("kind", "Restore") == "Restore"
    if is_restore and _can_be_cancelled(record):
        found.append(_cancel(restore_id))
    return found


def _report(message: JsonObject) -> list[JsonObject]:
    url = message.get("reportUrl")
    if not url or len(url) > _URL_CHARS:
        return []
    return [{"type": "button", "action_id": REPORT, "text": _plain("Report"), "url": url}]


def _can_be_cancelled(record: JsonObject) -> bool:
    """Not one that has ended, was cancelled, is a dry run, or whose volumes are all at full speed."""
    if not record or record.get("status") in _ENDED or record.get("cancelRequested"):
        return False
    if (record.get("request") or {}).get("dryRun"):
        return False
    count = int(record.get("volumeCount") or 0)
    return not count or any(not record.get(f"settled{index}") for index in range(count))


def _approve(restore_id: str, approval: JsonObject) -> JsonObject:
    usd = approval.get("usd")
    price = f" {usd_text(Decimal(str(usd)))}" if usd is not None else ""
    value = {"restoreId": restore_id, "askedAt": approval.get("askedAt")}
    return {
        "type": "button",
        "action_id": APPROVE,
        "style": "primary",
        "text": _plain(f"Approve{price}"),
        "value": json.dumps(value),
    }


def _cancel(restore_id: str) -> JsonObject:
    return {
        "type": "button",
        "action_id": CANCEL,
        "style": "danger",
        "text": _plain("Cancel"),
        "value": json.dumps({"restoreId": restore_id}),
        "confirm": {
            "title": _plain("Cancel this restore?"),
            "text": _plain(
                "Volumes that nobody can use yet are deleted. One that was announced as usable stays, and "
                "what costs money by the hour ends."
            ),
            "confirm": _plain("Cancel the restore"),
            "deny": _plain("Let it run"),
            "style": "danger",
        },
    }


def _plain(text: str) -> JsonObject:
    return {"type": "plain_text", "text": text}


def _is_limited(answer: urllib3.BaseHTTPResponse) -> bool:
    return answer.status == 429 or _json(answer).get("error") in _LIMITED


def _checked(method: str, answer: urllib3.BaseHTTPResponse) -> JsonObject:
    """Slack answers errors with HTTP 200 and `ok: false`."""
    if _is_limited(answer):
        raise ThrottledError(f"{method}: Slack takes no more messages now")
    if answer.status >= 500:
        raise ServiceUnavailableError(f"{method}: Slack answered HTTP {answer.status}")
    said = _json(answer)
    code = str(said.get("error") or f"HTTP {answer.status}")
    if said.get("ok") is not True:
        raise (
            ServiceUnavailableError(f"{method}: {code}") if code in _PASSING else SlackApiError(method, code)
        )
    return said


def _json(answer: urllib3.BaseHTTPResponse) -> JsonObject:
    try:
        said: Any = json.loads(answer.data)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
