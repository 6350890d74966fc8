"""Headless Chromium over its debugging pipe: what a page loads, complains of, measures and looks like.

Chrome DevTools Protocol, `--remote-debugging-pipe`: messages as JSON with a null byte at the end, to file
descriptor 3 and from file descriptor 4 of the browser.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Json = dict[str, Any]
NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_SECONDS = 120.0
"""After which the browser is taken to hang; nothing asserts that it is faster."""
_OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
_LAUNCH = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(pipes[0], 3)
os.dup2(pipes[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Puts the pipes where the browser looks for them."""


def chromium() -> str | None:
    """Its path; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page at a time."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int) -> None:
        self._process, self._to, self._back = process, to, back
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[Json] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Json:
        """What the browser answers."""
        self._number += 1
        message: Json = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, f"{method}: {found['error']}"
                return dict(found["result"])
            self.events.append(found)

    def open(self, url: str, *, width: int = 1_280, dark: bool = False) -> None:
        """Load it anew, in a window of this width."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.events.clear()
        answer = self.call("Page.navigate", url=url)
        assert not answer.get("errorText"), answer
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def requests(self) -> list[str]:
        """Every address that the page asked for, its own first."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def status(self) -> int:
        """HTTP status of the page itself."""
        answers = [event for event in self.events if event.get("method") == "Network.responseReceived"]
        return int(answers[0]["params"]["response"]["status"])

    def complaints(self) -> list[str]:
        """What stands in the console: errors, warnings, exceptions, refusals of the security policy."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Log.entryAdded":
                found.append(f"{params['entry']['level']}: {params['entry']['text']}")
            elif event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                found.append(json.dumps(params)[:500])
        return found

    def screenshot(self, path: Path) -> None:
        """The whole page as PNG."""
        height = self.evaluate("Math.ceil(document.documentElement.scrollHeight)")
        width = self.evaluate("window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        found = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def _next(self) -> Json:
        give_up = time.monotonic() + ANSWER_SECONDS
        while b"\0" not in self._buffer:
            left = give_up - time.monotonic()
            ready, _, _ = select.select([self._back], [], [], max(0.0, left))
            assert ready, f"the browser said nothing for {ANSWER_SECONDS:.0f} s"
            part = os.read(self._back, 1 << 20)
            assert part, f"the browser ended with status {self._process.wait()}"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: Json = json.loads(message)
        return found


@contextmanager
def started() -> Iterator[Browser]:
    """A browser with a profile of its own, which goes with it."""
    path = chromium()
    assert path is not None, "there is no Chromium: make setup installs it"
    theirs_in, to = os.pipe()
    back, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(prefix="rewarm-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", _LAUNCH, str(theirs_in), str(theirs_out)),
                *(path, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"),
            ],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(process, to, back)
        finally:
            process.terminate()
            process.wait()
            os.close(to)
            os.close(back)
