"""Slack's incoming webhook, in Block Kit.

Limits (Slack documentation, "Reference: blocks"): header 150 characters, section text 3,000, 10 fields of
2,000. Slack takes about one message a second and answers 429 with Retry-After beyond that ("Rate limits").
Whoever knows the webhook's address can post, so it never appears in an error or a log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import urllib3

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.channels.messages import Audience, link_end, shortened
from rewarm.domain.errors import RequestRefusedError, ServiceUnavailableError, ThrottledError
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

_HEADER = 150
_SECTION = 3_000
_FIELDS = 10
_LONGEST_PAUSE_SECONDS = 10.0
TIMEOUT = urllib3.Timeout(connect=3.0, read=5.0)
PAGE = "Page of the restore"
_MARKS = {"good": "✅", "warning": "⚠️", "error": "❌"}


class SlackWebhook:
    """The channel of MessageFanOut that posts to a Slack webhook."""

    name = "slack"
    audience: Audience = "slack"

    def __init__(
        self,
        secrets: SecretsManagerClient,
        secret_arn: str,
        http: urllib3.PoolManager | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._secrets = secrets
        self._secret_arn = secret_arn
        self._http = http or urllib3.PoolManager(timeout=TIMEOUT, retries=False)
        self._sleep = sleep

    def send(self, message: JsonObject) -> None:
        """Posts the message to the webhook.

        Raises ThrottledError, ServiceUnavailableError, RequestRefusedError.
        """
        url = self._url()
        body = rendered(message)
        answer = self._post(url, body)
        if answer.status == 429:
            self._sleep(pause_of(answer))
            answer = self._post(url, body)
        _check(answer)

    def _url(self) -> str:
        # Read each time: messages are rare, and a new webhook counts at once.
        with naming_errors():
            return self._secrets.get_secret_value(SecretId=self._secret_arn)["SecretString"].strip()

    def _post(self, url: str, body: JsonObject) -> urllib3.BaseHTTPResponse:
        try:
            return self._http.request("POST", url, json=body)
        except urllib3.exceptions.HTTPError as error:
            # urllib3 writes the address into its messages, so only the kind of error is passed on.
            raise ServiceUnavailableError(f"Slack did not answer: {type(error).__name__}") from None


def rendered(message: JsonObject) -> JsonObject:
    """The message in Block Kit, within Slack's limits."""
    mark = _MARKS.get(str(message.get("severity")), "")
    title = f"{mark} {message['title']}".strip()
    blocks: list[JsonObject] = [
        {"type": "header", "text": {"type": "plain_text", "text": shortened(title, _HEADER), "emoji": True}},
        section(escaped(message["text"], _SECTION)),
    ]
    fields = [_field(field) for field in message["fields"]]
    starts = range(0, len(fields), _FIELDS)
    blocks += [{"type": "section", "fields": fields[start : start + _FIELDS]} for start in starts]
    if message.get("nextSteps"):
        steps = "\n".join(f"• {escaped(step, 700)}" for step in message["nextSteps"][:4])
        blocks.append(section(steps))
    if message.get("reportUrl"):
        blocks += _link(str(message["reportUrl"]), link_end(message))
    blocks.append(
        {
            "type": "context",
            "elements": [markdown(f"{message.get('kind', 'Restore')} `{message['restoreId']}`")],
        }
    )
    # The text is markup as well, and an alarm's name must not notify a whole channel.
    return {"text": escaped(title, _SECTION), "blocks": blocks}


def _link(url: str, until: str) -> list[JsonObject]:
    """Empty if the address is too long for a section, because a cut address leads nowhere."""
    text = f"<{url.replace('&', '&amp;')}|{PAGE}>, until {until}"
    return [section(text)] if len(text) <= _SECTION else []


def escaped(text: str, limit: int) -> str:
    """Slack's three control characters as entities, cut to the limit without cutting an entity."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if len(safe) <= limit:
        return safe or " "
    return re.sub(r"&[a-z]*$", "", safe[: limit - 1]) + "…"


def _field(field: JsonObject) -> JsonObject:
    """Name and value together stay below the 2,000 characters of a field."""
    return markdown(f"*{escaped(field['name'], 200)}*\n{escaped(field['value'], 1_700)}")


def section(text: str) -> JsonObject:
    """A block of text."""
    return {"type": "section", "text": markdown(text)}


def markdown(text: str) -> JsonObject:
    """A text in Slack's mark-up; an address or a name in it becomes no link and calls nobody.

    Slack documentation, "Text object": verbatim.
    """
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def pause_of(answer: urllib3.BaseHTTPResponse) -> float:
    """Retry-After in seconds, bounded by what a Lambda may spend on a message."""
    try:
        seconds = float(answer.headers.get("Retry-After", "1"))
    except ValueError:
        seconds = 1.0
    return min(max(seconds, 0.0), _LONGEST_PAUSE_SECONDS)


def _check(answer: urllib3.BaseHTTPResponse) -> None:
    said: Any = answer.data[:200].decode(errors="replace")
    if answer.status == 429:
        raise ThrottledError("Slack takes no more messages now")
    if answer.status >= 500:
        raise ServiceUnavailableError(f"Slack answered HTTP {answer.status}")
    if answer.status >= 300:
        raise RequestRefusedError(f"Slack answered HTTP {answer.status}: {said}")
