"""Requests that Slack sends: whether they are Slack's, what was pressed, and how the message changes.

Source: Slack documentation, "Verifying requests from Slack", "block_actions payload", "Handling user
interaction".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import urllib3
from pydantic import BaseModel, ConfigDict

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.channels.slack import escaped, markdown
from rewarm.adapters.channels.slack_bot import BUTTONS, REPORT
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

MOST_BODY_CHARS = 262_144
"""Slack sends the whole message with a click: 50 blocks of 3,000 characters at most, percent-encoded."""
MOST_AGE_SECONDS = 300
"""Slack's own advice against requests that somebody kept."""
SECRET_SECONDS = 300.0
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_RESPONSE_URL = re.compile(r"https://hooks\.slack(-gov)?\.com/actions/\S+")
_TIMEOUT = urllib3.Timeout(connect=0.5, read=1.0)
"""Slack waits three seconds for the answer to a click."""


class _PayloadPart(BaseModel):
    model_config = ConfigDict(defer_build=True)


class _Named(_PayloadPart):
    id: str | None = None
    team_id: str | None = None
    username: str | None = None
    name: str | None = None


class _Action(_PayloadPart):
    action_id: str | None = None
    value: str | None = None


class _Block(_PayloadPart):
    block_id: str | None = None
    elements: list[JsonObject] | None = None


class _Message(_PayloadPart):
    text: str | None = None
    blocks: list[_Block] | None = None


class _Click(_PayloadPart):
    """What is read of a payload, in the types that Slack documents."""

    type: str | None = None
    actions: list[_Action] | None = None
    user: _Named | None = None
    team: _Named | None = None
    channel: _Named | None = None
    message: _Message | None = None
    response_url: str | None = None


class SlackRequests:
    """Slack's requests, checked by the app's signing secret."""

    def __init__(
        self,
        secrets: SecretsManagerClient,
        secret_arn: str,
        http: urllib3.PoolManager | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._secrets = secrets
        self._secret_arn = secret_arn
        self._http = http or urllib3.PoolManager(timeout=_TIMEOUT, retries=False)
        self._clock = clock
        self._known: tuple[float, bytes] = (0.0, b"")

    def payload(self, headers: Mapping[str, str], body: str) -> JsonObject | None:
        """The click that Slack reports; None if Slack has not signed it in the last five minutes."""
        named = {name.lower(): value for name, value in headers.items()}
        timestamp = named.get("x-slack-request-timestamp", "")
        signature = named.get("x-slack-signature", "")
        # Refuse what cannot be valid before Secrets Manager is called.
        if not _SIGNATURE.fullmatch(signature) or not _TIMESTAMP.fullmatch(timestamp):
            return None
        if abs(self._clock() - int(timestamp)) > MOST_AGE_SECONDS:
            return None
        secret = self._secret()
        if not secret:  # Everybody can sign with an empty one.
            return None
        expected = hmac.new(secret, f"v0:{timestamp}:{body}".encode(), hashlib.sha256).hexdigest()
        return _payload(body) if hmac.compare_digest(f"v0={expected}", signature) else None

    def change(self, payload: JsonObject, sentence: str) -> None:
        """Takes the buttons but Report off the message that was clicked, and adds the sentence."""
        message = payload.get("message") or {}
        blocks = [kept for block in message.get("blocks") or [] for kept in _without_buttons(block)]
        blocks.append({"type": "context", "elements": [markdown(escaped(sentence, 2_000))]})
        self._respond(payload, {"replace_original": True, "text": message.get("text", ""), "blocks": blocks})

    def tell(self, payload: JsonObject, sentence: str) -> None:
        """Shows the sentence only to the person who clicked."""
        body = {"response_type": "ephemeral", "replace_original": False, "text": escaped(sentence, 2_000)}
        self._respond(payload, body)

    def _respond(self, payload: JsonObject, body: JsonObject) -> None:
        """Posts once; the next news change the message anyway."""
        url = str(payload.get("response_url") or "")
        if not _RESPONSE_URL.fullmatch(url):
            return
        try:
            self._http.request("POST", url, json=body)
        except urllib3.exceptions.HTTPError:
            return

    def _secret(self) -> bytes:
        """Kept for five minutes, because anybody can make this function read it."""
        read_at, secret = self._known
        if not secret or self._clock() - read_at > SECRET_SECONDS:
            with naming_errors():
                found = self._secrets.get_secret_value(SecretId=self._secret_arn)["SecretString"]
            secret = found.strip().encode()
            self._known = (self._clock(), secret)
        return secret


def body_of(event: JsonObject) -> str | None:
    """The body as it was sent; None if it is too long or cannot be read."""
    body = str(event.get("body") or "")
    if len(body) > MOST_BODY_CHARS:
        return None
    if not event.get("isBase64Encoded"):
        return body
    try:
        return base64.b64decode(body, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _payload(body: str) -> JsonObject:
    """The form's field `payload`; empty if Slack sends something else."""
    try:
        found: Any = json.loads(parse_qs(body).get("payload", ["{}"])[0])
        _Click.model_validate(found)
    except (ValueError, RecursionError):
        return {}
    return dict(found)


def _without_buttons(block: JsonObject) -> list[JsonObject]:
    if block.get("block_id") != BUTTONS:
        return [block]
    kept = [button for button in block.get("elements") or [] if button.get("action_id") == REPORT]
    return [{**block, "elements": kept}] if kept else []
