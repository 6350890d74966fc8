"""`--watch` and `--wait`: what is shown while a restore runs, and that looking changes nothing."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading

import pytest

from rewarm_cli import api as calls
from rewarm_cli import watching
from rewarm_cli.problems import DECLINED, DONE, FAILED, NOT_BACK, STOPPED
from rewarm_cli.views import progress_text
from tests.support.commands.stack_api import RefusedError, Served
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

ATTACHED = {"event": "attached", "at": "2026-11-22T10:00:15Z", "title": "vol-1 can be used"}
READY = {"event": "ready", "at": "2026-11-22T10:01:00Z", "title": "vol-1 is at full speed"}
SUMMARY = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0.75", "deadlineMissed": False}


def record(status, *events, done=None, **more):
    figures = {"bytesTotal": 1024 * 2**20, "mibPerSecond": 125.0, "etaSeconds": 3}
    agent = None if done is None else {"bytesDone": done * 2**20, **figures}
    volume = {"index": 0, "volume": {"volumeId": "vol-1", "strategy": "warm-up-agent"}, "agent": agent}
    general = {"restoreId": "restore-1", "startedAt": "2026-11-22T10:00:00Z", "summary": SUMMARY}
    return {**general, "status": status, "events": list(events), "volumes": [volume], **more}


@pytest.fixture
def course(stack):
    """Puts the next record whenever the one before has been read."""
    records = [
        record("planning", step="Choose Strategy"),
        record("restoring", step="Create Volume"),
        record("initializing", ATTACHED, done=0),
        record("initializing", ATTACHED, done=740),
        record("ready", ATTACHED, READY, done=1024),
    ]
    stack.put(record("accepted"))

    def proceed():
        for number, following in enumerate(records, start=1):
            wait_until(lambda number=number: len(stack.calls) > number)
            stack.put(following)

    thread = threading.Thread(target=proceed)
    thread.start()
    yield stack
    thread.join()


def test_states_events_and_progress_until_the_end(rewarm, course):
    shown = rewarm("status", "restore-1", "--watch")
    assert shown.status == DONE
    lines = shown.out.splitlines()
    wanted = [
        "accepted",
        "planning Choose Strategy",
        "restoring Create Volume",
        "2026-11-22 10:00:15 UTC  vol-1 can be used",
        "volume 0: 72 %  740 MiB of 1 GiB  125.0 MiB/s  ETA 3 s",
        "2026-11-22 10:01:00 UTC  vol-1 is at full speed",
        "restore-1 is ready",
    ]
    assert [line for line in lines if line in wanted] == wanted
    assert shown.out.count("vol-1 is at full speed") == 1
    assert {call.method for call in course.calls} == {"GET"}


def test_each_look_waits_for_news_and_a_live_one_for_two_seconds(rewarm, course):
    rewarm("status", "restore-1", "--watch")
    first, *others = [call.query for call in course.calls]
    assert first == {}
    assert [query["version"] for query in others] == ["1", "2", "3", "4", "5"][: len(others)]
    assert {query["wait"] for query in others[:3]} == {"20"}
    assert others[-1]["wait"] == "2"


def test_blocks_on_their_way_are_shown_until_the_agent_writes():
    copying = {"blocks": 2_048, "bytesCopied": 1 << 29, "mibPerSecond": 250.0, "remainingSeconds": 2}
    shown = "copying 50 %  512 MiB of 1 GiB  250.0 MiB/s  ETA 2 s"
    assert progress_text({"copying": copying}) == shown
    assert progress_text({"copying": copying, "initialization": {"progressPercent": 0.0}}) == shown
    writing = {"agent": {"bytesDone": 1 << 29, "bytesTotal": 1 << 30}}
    assert progress_text({"copying": copying, **writing}) == "50 %  512 MiB of 1 GiB"
    assert progress_text({"copying": copying | {"bytesCopied": 1 << 30}}) is None


def test_how_much_of_the_hot_set_is_read_is_shown_until_all_is():
    agent = {"bytesDone": 1 << 29, "bytesTotal": 1 << 30, "firstBlocksTotal": 8, "firstBlocksDone": 6}
    assert progress_text({"agent": agent}) == "50 %  512 MiB of 1 GiB  hot set 75 %"
    assert progress_text({"agent": agent | {"bytesDone": 1 << 30}}) == "100 %  1 GiB of 1 GiB"


def test_what_programs_read_is_not_mixed_with_what_people_watch(rewarm, course):
    shown = rewarm("status", "restore-1", "--watch", "--query", "status")
    assert shown.out == "ready\n"
    assert "vol-1 can be used" in shown.err


def test_an_api_that_fails_for_a_moment_ends_no_watching(rewarm, stack):
    stack.put(record("ready"))
    left = [502, 502]

    def refuse(_call):
        if left:
            raise RefusedError(left.pop(), "BadGateway", "a moment")

    stack.before = refuse
    shown = rewarm("status", "restore-1", "--wait")
    assert shown.status == DONE
    assert shown.err.splitlines() == [
        "The API does not answer (it answers 502). What runs continues; it is asked for 5 min more.",
        "The API answers again.",
    ]


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("2999-01-01T00:00:00Z", "; AWS reports it up to 5 min later"),
        ("2026-01-01T00:00:00Z", "expected to be loaded by now; AWS reports it up to 5 min later"),
    ],
)
def test_where_aws_loads_no_estimate_stands_still(at, words):
    polled = {"progressPercent": 0, "etaSeconds": 11, "progressKey": None, "at": at}
    assert words in progress_text({"initialization": polled})
    assert progress_text({"initialization": {**polled, "progressKey": "key"}}) == "0 %  ETA 11 s"


def test_an_api_that_is_busy_is_said_before_anything_is_sent_again(rewarm, stack, monkeypatch):
    stack.put(record("ready"))
    left = [503]

    def refuse(_call):
        if left:
            raise RefusedError(left.pop(), "ServiceUnavailable", "a moment")

    stack.before = refuse
    monkeypatch.setattr(calls, "PAUSES_SECONDS", (1e9,))
    assert "(it answers 503)" in rewarm("status", "restore-1", "--wait").err


def test_that_nothing_is_there_is_said_at_once(rewarm, stack, monkeypatch):
    monkeypatch.setattr(watching, "OUTAGE_SECONDS", 0.2)
    shown = rewarm("status", "restore-1", "--watch", "--api-url", "http://127.0.0.1:9/v1")
    assert shown.status == FAILED
    assert shown.err.startswith("The API does not answer (")
    assert "the API cannot be reached" in shown.err


def test_an_api_that_fails_for_long_does(rewarm, stack, monkeypatch):
    def refuse(_call):
        raise RefusedError(502, "BadGateway", "for ever")

    stack.before = refuse
    monkeypatch.setattr(watching, "OUTAGE_SECONDS", 0.0)
    assert rewarm("status", "restore-1", "--wait").status == FAILED


class Terminal:
    """`rewarm` on a terminal of its own."""

    def __init__(self, url, *words):
        self._mine, its = pty.openpty()
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT / "cli"), "REWARM_API_URL": url, "AWS_ACCESS_KEY_ID": "1",
            "AWS_SECRET_ACCESS_KEY": "2", "AWS_REGION": "eu-west-1", "TERM": "xterm", "COLUMNS": "120",
        }  # fmt: skip
        command = ["setsid", "--ctty", sys.executable, "-m", "rewarm_cli", *words]
        self.process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment)
        os.close(its)
        self.seen = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        while True:
            try:
                part = os.read(self._mine, 65_536)
            except OSError:
                return
            self.seen += part.decode(errors="replace")

    def waits_for(self, pattern):
        wait_until(lambda: re.search(pattern, self.seen), lambda: self.seen, lambda: len(self.seen))

    def type(self, keys):
        os.write(self._mine, keys)

    def end(self):
        status = self.process.wait()
        self._reader.join()
        os.close(self._mine)
        return status


def test_on_a_terminal_it_plans_and_asks_and_ctrl_c_leaves_the_restore_alone(stack):
    stack.answers["POST", "/plans"] = 200, {"plans": [], "summary": {**SUMMARY, "notes": []}}
    served = Served(stack)
    terminal = Terminal(served.url, "restore", "--volume", "vol-1", "--instance", "i-1", "--watch")
    try:
        terminal.waits_for(r"At full speed by 2026-11-22 10:04 UTC[\s\S]*Start this restore\? \[y/N\]")
        assert list(stack.restores) == []
        terminal.type(b"y\n")
        wait_until(lambda: stack.restores)
        stack.put(record("initializing", ATTACHED, done=740))
        terminal.waits_for("vol-1 can be used")
        terminal.waits_for("740 MiB of 1 GiB  125.0 MiB/s  ETA 3 s")
        terminal.type(b"\x03")
        assert terminal.end() == STOPPED
    finally:
        terminal.process.kill()
        served.close()
    assert "The restore continues." in terminal.seen
    assert "rewarm cancel restore-1" in terminal.seen
    assert "DELETE" not in {call.method for call in stack.calls}


def test_ctrl_c_before_the_answer_says_that_the_restore_may_have_begun(stack):
    answers = threading.Event()
    stack.before = lambda _call: answers.wait()
    served = Served(stack)
    terminal = Terminal(served.url, "restore", "--volume", "vol-1", "--instance", "i-1", "--yes")
    try:
        wait_until(lambda: stack.calls)
        terminal.type(b"\x03")
        assert terminal.end() == STOPPED
    finally:
        answers.set()
        terminal.process.kill()
        served.close()
    key = stack.calls[0].headers["idempotency-key"]
    assert "The restore may have been started" in terminal.seen
    assert f"--idempotency-key {key}" in " ".join(terminal.seen.split())


def test_no_is_the_answer_that_starts_nothing(stack):
    stack.answers["POST", "/plans"] = 200, {"plans": [], "summary": {**SUMMARY, "notes": []}}
    served = Served(stack)
    terminal = Terminal(served.url, "restore", "--volume", "vol-1", "--instance", "i-1")
    try:
        terminal.waits_for(r"\[y/N\]")
        terminal.type(b"\n")
        assert terminal.end() == DECLINED
    finally:
        terminal.process.kill()
        served.close()
    assert [call.path for call in stack.calls] == ["/plans"]
    assert terminal.seen.endswith("Nothing was started.\r\n")


AFTER = {"after": {"document": {"name": "start-orders"}}}
PART = {"title": "document start-orders", "state": "failed", "reason": "exit status 1"}


WHY = "document start-orders: exit status 1"


@pytest.mark.parametrize(
    ("application", "status", "words"),
    [
        ({"state": "back", "parts": [{**PART, "state": "done"}]}, DONE, None),
        ({"state": "failed", "parts": [PART], "reason": PART["reason"]}, NOT_BACK, f"is not back: {WHY}"),
        ({"state": "failed", "parts": [], "reason": "so it is"}, NOT_BACK, "is not back: so it is"),
        (
            {"state": "unknown", "parts": [{**PART, "state": "unknown"}], "reason": PART["reason"]},
            NOT_BACK,
            f"may not be back: {WHY}",
        ),
        (None, NOT_BACK, "may not be back: nobody knows why"),
    ],
)
def test_an_application_that_is_not_back_is_said_and_has_a_separate_exit_status(
    rewarm, stack, application, status, words
):
    stack.put(record("ready", READY, done=1024, request=AFTER, application=application))
    shown = rewarm("status", "restore-1", "--wait")
    assert shown.status == status
    said = [line for line in shown.out.splitlines() if line.startswith("The restore is ready, but")]
    assert said == ([f"The restore is ready, but the application {words}"] if words else [])


LEFT_OUT = {"field": "target.mode", "effect": "Nothing is rewound", "because": "it is"}


@pytest.mark.parametrize(
    ("left", "status", "said"),
    [
        (LEFT_OUT, NOT_BACK, True),
        ({**LEFT_OUT, "field": "after"}, NOT_BACK, True),
        ({**LEFT_OUT, "field": "objective.strategy"}, DONE, False),
    ],
)
def test_what_the_stack_lacks_of_a_runbook_is_said_and_is_not_done(rewarm, stack, left, status, said):
    stack.put(record("ready", READY, done=1024, request={"leftOut": [left]}))
    shown = rewarm("status", "restore-1", "--wait")
    assert shown.status == status
    assert ("Nothing is rewound, because it is." in shown.out.splitlines()) == said


def test_to_look_at_a_restore_whose_application_is_not_back_is_no_failure(rewarm, stack):
    stack.put(record("ready", READY, done=1024, request=AFTER))
    assert rewarm("status", "restore-1").status == DONE
