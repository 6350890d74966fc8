"""A Slack workspace with one channel and one app: its Web API, and people who press buttons.

Slack documentation: "chat.postMessage", "chat.update", "block_actions payload", "Handling user interaction",
"Verifying requests from Slack". What Slack keeps of a message is what was sent, with `ts` and `thread_ts`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections import defaultdict, deque
from typing import Any
from urllib.parse import urlencode

from local import Json
from local.aws.slack_limits import problems

Answer = tuple[int, str, dict[str, str]]
HOSTS = ("slack.com", "hooks.slack.com")
"""Where apps find the Web API, and the response URLs of clicks."""
_KEPT = ("text", "blocks", "thread_ts")


class SlackWorkspace:
    """One workspace; `shown` and `thread` are what its people see."""

    def __init__(self) -> None:
        self.team, self.channel, self.app = (f"{kind}{secrets.token_hex(4).upper()}" for kind in "TCA")
        self.token = f"xoxb-{secrets.token_hex(12)}"
        self.signing_secret = secrets.token_hex(16)
        self.refused: list[tuple[Json, list[str]]] = []
        """Messages that Slack would not have taken, each with the reasons."""
        self.ephemeral: list[Json] = []
        """What only somebody who clicked was sent."""
        self._messages: list[Json] = []
        self._planned: dict[str, deque[Answer]] = defaultdict(deque)
        self._lost = 0
        self._lock = threading.Lock()

    def shown(self) -> list[Json]:
        """The channel's messages, without those in threads."""
        return [message for message in self._messages if "thread_ts" not in message]

    def thread(self, ts: str) -> list[Json]:
        """The replies to a message."""
        return [message for message in self._messages if message.get("thread_ts") == ts]

    def answer_next_call(self, method: str, answer: Json | Answer) -> None:
        """Give this answer to the next call of a method, instead of carrying it out."""
        found = (200, json.dumps(answer), {}) if isinstance(answer, dict) else answer
        self._planned[method].append(found)

    def lose_next_answer(self) -> None:
        """The next call is carried out, and nobody hears of it."""
        self._lost += 1

    def take(self, path: str, body: bytes, authorization: str) -> Answer | None:
        """Slack's answer to a POST at one of HOSTS; None where it is lost on the way."""
        with self._lock:
            answer = self._answer(path, body, authorization)
            if self._lost:
                self._lost -= 1
                return None
            return answer

    def click(
        self, ts: str, action_id: str, *, at: float, user: Json | None = None, **changes: Any
    ) -> tuple[dict[str, str], str]:
        """Headers and body of the request that Slack sends when somebody presses a button."""
        message = self._message(ts)
        assert message is not None, f"there is no message {ts}"
        buttons = [
            button
            for block in message["blocks"]
            if block["type"] == "actions"
            for button in block["elements"]
            if button["action_id"] == action_id
        ]
        assert buttons, f"the message has no button {action_id}"
        pressed = {key: buttons[0].get(key) for key in ("type", "action_id", "value")}
        payload = {
            "type": "block_actions",
            "api_app_id": self.app,
            "team": {"id": self.team, "domain": "example"},
            "user": user or {"id": "U0ANN", "username": "ann", "name": "ann", "team_id": self.team},
            "container": {"type": "message", "message_ts": ts, "channel_id": self.channel},
            "channel": {"id": self.channel, "name": "restores"},
            "message": message,
            "response_url": f"https://{HOSTS[1]}/actions/{self.team}/{ts}",
            "actions": [{**pressed, "action_ts": f"{at:.6f}"}],
            **changes,
        }
        body = urlencode({"payload": json.dumps(payload)})
        return self.signed(body, at=at), body

    def signed(self, body: str, *, at: float) -> dict[str, str]:
        """The headers of a request of Slack's."""
        base = f"v0:{int(at)}:{body}".encode()
        signature = hmac.new(self.signing_secret.encode(), base, hashlib.sha256).hexdigest()
        return {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": str(int(at)),
            "X-Slack-Signature": f"v0={signature}",
        }

    def _answer(self, path: str, body: bytes, authorization: str) -> Answer:
        try:
            sent = json.loads(body)
        except ValueError:
            return _said({"ok": False, "error": "invalid_json"})
        if path.startswith("/actions/"):
            return self._respond(path.rpartition("/")[2], sent)
        method = path.removeprefix("/api/")
        if self._planned[method]:
            return self._planned[method].popleft()
        if authorization != f"Bearer {self.token}":
            return _said({"ok": False, "error": "invalid_auth" if authorization else "not_authed"})
        if sent.get("channel") != self.channel:
            return _said({"ok": False, "error": "channel_not_found"})
        found = problems(sent)
        if found:
            self.refused.append((sent, found))
            return _said({"ok": False, "error": "invalid_blocks"})
        known = {"chat.postMessage": self._post, "chat.update": self._update}.get(method)
        return known(sent) if known else _said({"ok": False, "error": "unknown_method"})

    def _post(self, sent: Json) -> Answer:
        if "thread_ts" in sent and self._message(sent["thread_ts"]) is None:
            return _said({"ok": False, "error": "thread_not_found"})
        ts = f"1795400000.{len(self._messages):06d}"
        self._messages.append({**{key: sent[key] for key in _KEPT if key in sent}, "ts": ts})
        return _said({"ok": True, "channel": self.channel, "ts": ts})

    def _update(self, sent: Json) -> Answer:
        message = self._message(sent.get("ts"))
        if message is None:
            return _said({"ok": False, "error": "message_not_found"})
        message.update({key: sent[key] for key in ("text", "blocks") if key in sent})
        return _said({"ok": True, "channel": self.channel, "ts": message["ts"]})

    def _respond(self, ts: str, sent: Json) -> Answer:
        """By a response URL, which needs no token."""
        if sent.get("response_type") == "ephemeral":
            self.ephemeral.append(sent)
            return 200, "ok", {}
        found, message = problems(sent), self._message(ts)
        if found or message is None:
            self.refused.append((sent, found or ["there is no such message"]))
            return 404, "no_such_message", {}
        message.update({key: sent[key] for key in ("text", "blocks")})
        return 200, "ok", {}

    def _message(self, ts: Any) -> Json | None:
        return next((message for message in self._messages if message["ts"] == ts), None)


def _said(answer: Json) -> Answer:
    return 200, json.dumps(answer), {}
