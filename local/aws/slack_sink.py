"""Slack on loopback: takes messages of an incoming webhook, checks and keeps them, and has a workspace."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from local import Json
from local.aws.slack_limits import problems
from local.aws.slack_workspace import Answer, SlackWorkspace

MAX_BODY_BYTES = 1_000_000


class SlackSink:
    """An HTTP server that answers as `hooks.slack.com` does."""

    def __init__(self, keep_in: Path, port: int = 0) -> None:
        self.messages: list[Json] = []
        self.refused: list[tuple[Any, list[str]]] = []
        """Messages that Slack wouldn't have taken, each with the reasons."""
        self._arrived = threading.Condition()
        self._planned: deque[Answer] = deque()
        self._file = keep_in / "slack-messages.jsonl"
        team, channel, token = secrets.token_hex(4), secrets.token_hex(4), secrets.token_hex(12)
        self._path = f"/services/T{team.upper()}/B{channel.upper()}/{token}"
        self.workspace = SlackWorkspace()
        """What the Web API of a bot reaches."""
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_for(self))
        self._thread = threading.Thread(target=self._server.serve_forever, name="slack-sink", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The webhook's URL. As with Slack's, its path is the secret."""
        return f"{self.address}{self._path}"

    @property
    def address(self) -> str:
        """Where the workspace's Web API and its response URLs are, too."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer_next(self, status: int, body: str = "", headers: dict[str, str] | None = None) -> None:
        """Give this answer to the next message, instead of taking it (429 with Retry-After, 500, ...)."""
        self._planned.append((status, body, headers or {}))

    def wait_for(self, wanted: Callable[[Json], bool], timeout_seconds: float = 60.0) -> Json:
        """The first message that is wanted, which may have come already; TimeoutError when none comes."""
        give_up = time.monotonic() + timeout_seconds
        with self._arrived:
            while True:
                for message in self.messages:
                    if wanted(message):
                        return message
                if not self._arrived.wait(give_up - time.monotonic()):
                    raise TimeoutError(
                        f"none of {len(self.messages)} messages was the one, in {timeout_seconds:.0f} s"
                    )

    def take(self, path: str, body: bytes, authorization: str = "") -> Answer | None:
        """Slack's answer to a POST; None where it is lost on the way."""
        if path.startswith(("/api/", "/actions/")):
            return self.workspace.take(path, body, authorization)
        if path != self._path:
            return 404, "no_service", {}
        if self._planned:
            return self._planned.popleft()
        try:
            message = json.loads(body)
        except ValueError:
            return 400, "invalid_payload", {}
        found = problems(message)
        with self._arrived:
            if found:
                self.refused.append((message, found))
                return 400, "no_text" if found[0].startswith("no text") else "invalid_blocks", {}
            self.messages.append(message)
            with self._file.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(message) + "\n")
            self._arrived.notify_all()
        return 200, "ok", {}

    def close(self) -> None:
        """Stop listening. Safe to call twice."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def _handler_for(sink: SlackSink) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > MAX_BODY_BYTES:
                self.close_connection = True
                return self._send((413, "payload_too_large", {}))
            body = self.rfile.read(length)
            answer = sink.take(self.path, body, self.headers.get("Authorization") or "")
            if answer is None:
                self.close_connection = True
                return None
            return self._send(answer)

        def _send(self, answer: Answer) -> None:
            status, body, headers = answer
            content = body.encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json" if self.path.startswith("/api/") else "text/html",
                "Content-Length": str(len(content)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
            """Say nothing: the path is a secret."""

    return Handler
