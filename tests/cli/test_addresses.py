"""Every path and query of the API is signed as AWS checks it, whatever the names in it are."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from rewarm_cli.addresses import address
from rewarm_cli.doctor import alarms
from rewarm_cli.doctor.account import Account, Wanted
from rewarm_cli.problems import DONE, NOT_FOUND
from rewarm_cli.settings import Settings
from tests.support.commands.aws_account import ALARM
from tests.support.tree import ROOT, files

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
