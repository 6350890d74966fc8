"""Whatever is typed: no command ends in a traceback, and each that fails says in a sentence why.

Every path and query of the API is signed as AWS checks it, whatever the names in it are.
"""

from __future__ import annotations

import io
import json
import re
from urllib.parse import quote

import botocore.loaders
import click
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.httpsession import URLLib3Session
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewarm_cli import output
from rewarm_cli.addresses import address
from rewarm_cli.doctor import alarms
from rewarm_cli.doctor.account import Account, Wanted
from rewarm_cli.problems import DONE, NOT_FOUND, NOT_READY, STATUSES, USAGE
from rewarm_cli.settings import Settings
from tests.support.amount import cases
from tests.support.commands.aws_account import ALARM
from tests.support.commands.every import commands, too_wide
from tests.support.commands.stack_api import RefusedError
from tests.support.tree import ROOT, files

IDS = (
    "vol-0123456789abcdef0", "i-0123456789abcdef0", "snap-0123456789abcdef0", "restore-1", "fleet-1",
    "rewarm-orders",
)  # fmt: skip
FITTING = (*IDS, "60", "2h", "7d", "2026-11-20", "1.5", "eu-west-1", "a=b", "restoreId", "file.yaml", "x.svg",
           "/data", "auto", "ready", "json", "plan", "gp3")  # fmt: skip
NONSENSE = (
    "", " ", "-", "--", "five", "-1", "0", "1e999", "nan", "2026-13-40", "9999999d", "mars-1", "x.png", "=",
    "a.b.c=1", "a=[", "a=!!int x", "a=0b_", "§", "\U0001f600", "\x1b[31m", "\n", "..", "x" * 300, "'", "%s",
    "%00", "\u202e", "\u00b2", "[::0]", "abs('x')", "@", "nonsense", "http://127.0.0.1:9/v1", "none.yaml",
)  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0/"), max_size=8)
VALUES = st.one_of(st.sampled_from(FITTING), st.sampled_from(NONSENSE), TEXT)
REFUSALS = (
    (400, "InvalidRequestError"), (403, "ACCESS_DENIED"), (404, "RestoreNotFoundError"),
    (409, "TargetBusyError"), (429, "TooManyRestoresError"), (500, "INTEGRATION_FAILURE"),
)  # fmt: skip
NEVER = {"local"}
"""Options that would leave this process."""


@st.composite
def lines(draw):
    """The words of a command, with any of its own options and arguments, of which any may be nonsense."""
    path, command = draw(st.sampled_from(commands()))
    words = list(path)
    for parameter in command.params:
        if parameter.name in NEVER:
            continue
        if isinstance(parameter, click.Argument):
            words += draw(st.lists(VALUES, min_size=0 if draw(st.integers(0, 9)) == 0 else 1, max_size=1))
        elif (
            draw(st.integers(0, 5)) == 0
            or (parameter.name == "yes" and draw(st.booleans()))
            or (parameter.required and draw(st.integers(0, 9)))
        ):
            words.append(draw(st.sampled_from(parameter.opts)))
            words += [] if parameter.is_flag else [draw(VALUES) for _ in range(parameter.nargs)]
    return words + draw(st.lists(VALUES, max_size=1 if draw(st.integers(0, 9)) == 0 else 0))


@pytest.fixture
def typed(rewarm, stack, monkeypatch, tmp_path):
    """Runs a command where only the stack's API answers, and everything that it waits for has ended."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.yaml").write_text("source: {volumeId: vol-1}\ntarget: {instanceId: i-1}\n", "utf-8")
    loader = botocore.loaders.create_loader()
    monkeypatch.setattr("botocore.loaders.create_loader", lambda *_: loader)

    def unreachable(_self, request):
        raise EndpointConnectionError(endpoint_url=request.url)

    monkeypatch.setattr(URLLib3Session, "send", unreachable)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setattr("webbrowser.open", lambda _url: False)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(output, "WIDE", 60)
    monkeypatch.setenv("COLUMNS", "60")
    summary = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0", "deadlineMissed": False}
    planned = {"plans": [], "frontier": [], "summary": summary}

    def called(words, refusal, *, has_address):
        def proceed(_call):
            if refusal is not None:
                raise RefusedError(*refusal, "so it is", {"field": "a.b", "found": 1, "allowed": "2"})
            for record in list(stack.restores.values()):
                stack.put({**record, "status": "ready"})
            for fleet in stack.fleets.values():
                fleet["status"] = "ready"

        stack.restores.clear()
        stack.fleets.clear()
        stack.put({"restoreId": "restore-1", "status": "ready", "volumes": []})
        stack.answers["POST", "/plans"] = 200, planned
        stack.before = proceed
        with monkeypatch.context() as patched:
            if not has_address:
                patched.delenv("REWARM_API_URL")
            patched.setattr("sys.stdin", io.StringIO(json.dumps({"source": {"volumeId": "vol-1"}})))
            return rewarm(*words)

    return called


@settings(cases(100, 5_000), suppress_health_check=[*HealthCheck])
@given(words=lines(), refusal=st.none() | st.sampled_from(REFUSALS), has_address=st.integers(0, 9).map(bool))
def test_a_command_ends_well_or_says_why(typed, words, refusal, has_address):
    ended = typed(words, refusal, has_address=has_address)
    assert ended.status in STATUSES
    said = " ".join(ended.err.split())
    assert "{" in said or too_wide(ended.err, 60) == [], "a terminal of 60 columns would break words"
    if ended.status not in {DONE, NOT_READY}:
        _, _, why = said.rpartition("Error: ")
        of_findings, of_programs = "problem" in ended.out, "error" in why
        assert len(why.split()) > 2 or of_findings or of_programs, (why, ended.out)
    if ended.status == USAGE and "Invalid value" in said:
        assert "found " in said, said
        assert "allowed" in said, said


# ---------------------------------------------------------------------------- names in addresses
NASTY = [
    " a  b ", "a+b %20c%2Fd%", "/a//b/", "a?b=c&d#e;f=", "äöü ß 日本 🙂 e\u0301", "'a' \"b\" \\ $(c) `d` !e",
    "[a] {b} |c| <d> ^e ~f *g :h @i ,j", "..",
]  # fmt: skip
RUNBOOK = {"source": {"volumeId": "vol-1"}, "target": {"instanceId": "i-1"}}
TO = ("--volume", "vol-1", "--instance", "i-1")


@pytest.mark.parametrize("name", NASTY)
class TestEachCommandWithAName:
    def test_runbooks(self, rewarm, stack, name):
        alarm = f"rewarm-{name}"
        assert rewarm("runbook", "put", alarm, *TO).status == DONE
        assert stack.runbooks == {alarm: RUNBOOK}
        assert rewarm("runbook", "put", alarm, *TO, "--device", "/dev/sdf", "--yes").status == DONE
        assert rewarm("runbook", "get", alarm).status == DONE
        assert rewarm("drill", "report", alarm).status == NOT_FOUND  # it was not drilled yet
        assert rewarm("drill", "list", alarm).status == DONE
        assert rewarm("runbook", "delete", alarm, "--yes").status == DONE
        assert stack.runbooks == {}

    def test_lists(self, rewarm, stack, name):
        assert rewarm("list", "--alarm", name, "--instance", name).status == DONE
        assert {stack.calls[-1].query[field] for field in ("alarmName", "instanceId")} == {name}

    def test_hot_sets(self, rewarm, stack, name):
        path = f"/hot-sets/{quote(name, safe='')}"
        found = {"lineage": name, "bytes": 0, "recordings": [], "deletedObjects": 0}
        stack.answers |= {("GET", path): (200, found), ("DELETE", path): (200, found)}
        assert rewarm("hot", "show", name).status == DONE
        assert rewarm("hot", "delete", name, "--yes").status == DONE

    def test_the_version_that_is_watched(self, rewarm, stack, name, monkeypatch):
        """A version and the time of a question are what the API says; a page's next token is opaque."""
        version = {"restoreId": "restore-1", "version": name, "status": "initializing", "volumes": []}
        asked_at = {"approval": {"askedAt": name, "until": name, "usd": "1", "reason": "x"}}
        asked = []

        def answer(call):
            asked.append(call.query)
            ended = len(asked) > 1
            stack.answers["GET", "/restores/restore-1"] = (
                200,
                version | ({"status": "ready"} if ended else {}),
            )

        stack.before = answer
        assert rewarm("status", "restore-1", "--wait").status == DONE
        assert [query.get("version") for query in asked] == [None, name]
        stack.before = lambda _call: None
        stack.answers["GET", "/restores/restore-1"] = 200, version | asked_at
        stack.answers["POST", "/restores/restore-1/approve"] = 202, {"approval": {"by": "alice"}}
        assert rewarm("approve", "restore-1", "--yes").status == DONE
        assert stack.calls[-1].query == {"askedAt": name}
        stack.answers["GET", "/restores"] = 200, {"restores": [], "nextToken": name}
        monkeypatch.setattr("rewarm_cli.commands.showing.MOST_LISTED", 1)

        def end(call):
            if "nextToken" in call.query:
                stack.answers["GET", "/restores"] = 200, {"restores": [], "nextToken": None}

        stack.before = end
        assert rewarm("list").status == DONE
        assert stack.calls[-1].query["nextToken"] == name


def test_the_cooldown_of_an_alarm_with_a_blank_is_looked_up(account, rewarm, stack):
    del account
    stack.answers["GET", "/restores"] = 200, {"restores": []}
    looked = Account(Settings(api_url=rewarm.url), Wanted(alarm=f"{ALARM} a+b/ä", request=RUNBOOK))
    assert [found.status for found in alarms.cooldown(looked)] == ["ok"]
    assert stack.calls[-1].query["alarmName"] == f"{ALARM} a+b/ä"


@pytest.mark.parametrize("name", NASTY)
def test_a_name_is_one_segment_and_one_value(name):
    assert address("a", name, "b", x=name, y=None) == f"/a/{quote(name, safe='')}/b?x={quote(name, safe='')}"
    assert re.fullmatch(r"[A-Za-z0-9._~%-]*", address(name)[1:])


def test_nothing_else_of_the_command_line_encodes_names():
    by_hand = re.compile(r"urlencode|quote_plus|(?<!shlex\.)\bquote\(|f\"/[a-z-]*/?\{(?!self|place)")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files("*.py", below="cli")
        if path.name != "addresses.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if by_hand.search(line)
    ]
    assert found == []
