"""Every command that makes, stops, deletes or swaps something asks first, in one way."""

from __future__ import annotations

import io

import pytest

from rewarm_cli import main
from rewarm_cli.problems import DECLINED, DONE, USAGE
from tests.support.commands.every import commands

PLANNED = {
    "plans": [],
    "frontier": [],
    "summary": {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0.75", "deadlineMissed": False},
}
VOLUME = "vol-0123456789abcdef0"
PERFORMANCE = {"volumeType": "gp3", "iops": 3_000}
TO = ("--volume", "vol-0123456789abcdef0", "--instance", "i-0123456789abcdef0")
APPROVAL = {"askedAt": "2026-11-22T10:00:00Z", "until": "2026-11-22T11:00:00Z", "usd": "3.20", "reason": "x"}
ASKING = {
    ("restore", *TO): ("At full speed by", "Start this restore?", "started", ("POST", "/restores")),
    ("approve", "restore-2"): (
        "$3.20 in all.", "Approve this plan?", "approved", ("POST", "/restores/restore-2/approve"),
    ),
    ("cancel", "restore-1"): (
        "Deleted: vol-1.", "Cancel restore-1?", "cancelled", ("DELETE", "/restores/restore-1"),
    ),
    ("fleet", "start", "-f", "file.yaml"): (
        "4 volumes by 3 restores", "Start this fleet?", "started", ("POST", "/fleets"),
    ),
    ("fleet", "cancel", "fleet-1"): (
        "2 volumes by 1 restores", "Cancel fleet-1?", "cancelled", ("DELETE", "/fleets/fleet-1"),
    ),
    ("fleet", "redrive", "fleet-1"): (
        "2 volumes by 1 restores", "Restore again what is not ready?", "started",
        ("POST", "/fleets/fleet-1/redrive"),
    ),
    ("runbook", "delete", "rewarm-orders"): (
        "volumeId: vol-1", "Delete the runbook of rewarm-orders", "deleted",
        ("DELETE", "/runbooks/rewarm-orders"),
    ),
    ("drill", "start", "rewarm-orders"): (
        "At full speed by", "Start this drill?", "started", ("POST", "/restores"),
    ),
    ("undo-log", "delete", "restore-1"): (
        "", "Delete what undoes the rewind of restore-1?", "deleted", ("DELETE", "/undo-logs/restore-1"),
    ),
    ("warm", VOLUME): ("At full speed by", "Start this warm-up?", "started", ("POST", "/restores")),
    ("observe", VOLUME): ("At full speed by", "Start this recording?", "started", ("POST", "/restores")),
    ("hot", "delete", VOLUME): (
        "", f"Delete what is recorded of {VOLUME}?", "deleted", ("DELETE", f"/hot-sets/{VOLUME}"),
    ),
    ("rule", "delete", "orders"): (
        "mode: act", "Delete the rule orders", "deleted", ("DELETE", "/rules/orders"),
    ),
    ("volume", "set", VOLUME, "--iops", "6000"): (
        "gp3, 3,000 IOPS", "to gp3, 6,000 IOPS? It cannot be cancelled.", "changed",
        ("POST", f"/volumes/{VOLUME}/performance"),
    ),
}  # fmt: skip
"""Command -> what it shows, what it asks, what it says after no, and what it then calls after yes."""
ELSEWHERE = {
    "launch": "tests/cli/commands/test_launch.py",
    "calibrate": "tests/cli/test_any_words.py and the tests of its ways: it makes things with AWS itself",
}
"""Commands that ask as well -> where that is tested."""
READS = {
    "plan", "wait", "status", "list", "report", "doctor", "completion", "version", "fleet list", "fleet plan",
    "fleet report", "fleet status", "drill list", "drill report", "hot list", "hot show", "undo-log list",
    "volume get", "rule get", "rule list", "rule check", "runbook get", "runbook list", "runbook check",
    "runbook test",
}  # fmt: skip
"""Commands that only read."""
QUIET = {
    "bench": "it writes scratch files, which it removes",
    "rule put": "it stores what is in the user's file",
    "runbook put": "it stores what the user has typed",
}
"""Others that ask nothing -> why."""


@pytest.fixture
def asked(rewarm, stack, monkeypatch, tmp_path):
    """Runs a command where somebody answers; None is nobody."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.yaml").write_text("source: {items: []}", encoding="utf-8")
    stack.answers["POST", "/plans"] = 200, PLANNED
    stack.answers["DELETE", "/undo-logs/restore-1"] = 200, {"deletedObjects": 1}
    stack.answers["DELETE", f"/hot-sets/{VOLUME}"] = 200, {"deletedObjects": 1}
    path, slots = f"/volumes/{VOLUME}/performance", {"nextFreeAt": None}
    stack.answers["GET", path] = 200, {"performance": PERFORMANCE, "slots": slots}
    stack.answers["POST", path] = 202, {"changeId": "performance-1", "target": PERFORMANCE}
    stack.rules["orders"] = {"mode": "act"}
    stack.runbooks["rewarm-orders"] = {"source": {"volumeId": "vol-1"}}
    made = {"index": 0, "volume": {"volumeId": "vol-1"}}
    stack.put({"restoreId": "restore-1", "status": "restoring", "volumes": [made]})
    stack.put({"restoreId": "restore-2", "status": "awaiting-approval", "volumes": [], "approval": APPROVAL})
    rewarm("fleet", "start", "-f", "file.yaml", "--yes")

    def called(words, answer, *more):
        monkeypatch.setattr("rewarm_cli.asking.is_terminal", lambda: answer is not None)
        monkeypatch.setattr("sys.stdin", io.StringIO(answer or ""))
        stack.calls.clear()
        return rewarm(*words, *more)

    return called


def changes(stack):
    """The calls that change something."""
    reads = {("POST", "/plans"), ("POST", "/fleets/plans")}
    made = [(call.method, call.path) for call in stack.calls]
    return [call for call in made if call[0] != "GET" and call not in reads]


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
class TestEachCommand:
    def test_shows_what_it_is_about_and_starts_after_yes(self, asked, stack, words):
        shows, question, _, call = ASKING[words]
        ended = asked(words, "y\n")
        assert (ended.status, changes(stack)) == (DONE, [call])
        assert shows in ended.out + ended.err
        assert question in ended.err

    def test_does_nothing_after_no_and_says_so(self, asked, stack, words):
        ended = asked(words, "n\n")
        assert (ended.status, changes(stack)) == (DECLINED, [])
        assert ended.err.endswith(f"Nothing was {ASKING[words][2]}.\n")

    def test_without_a_terminal_does_nothing_but_say_how(self, asked, stack, words):
        ended = asked(words, None)
        assert (ended.status, stack.calls) == (USAGE, [])
        assert "there is no terminal on which to ask; use --yes" in ended.err

    def test_with_yes_asks_nothing(self, asked, stack, words):
        ended = asked(words, None, "--yes")
        assert (ended.status, changes(stack)) == (DONE, [ASKING[words][3]])
        assert "?" not in ended.err

    def test_asks_on_standard_error_where_the_answer_is_for_a_program(self, asked, words):
        ended = asked(words, "y\n", "-o", "json")
        assert ASKING[words][1] in ended.err
        assert ended.out.startswith("{")


def test_a_dry_run_makes_nothing_and_asks_nothing(asked, stack):
    assert asked(("restore", *TO), None, "--dry-run").status == DONE
    assert changes(stack) == [("POST", "/restores")]


def test_every_command_that_asks_has_the_same_option():
    said = {
        (option.help, tuple(option.opts))
        for command in _all(main.rewarm)
        for option in command.params
        if option.name == "yes"
    }
    assert len(said) == 1


def test_every_command_asks_or_has_a_reason_not_to():
    tested = {" ".join(path) for path, _ in commands() for words in ASKING if words[: len(path)] == path}
    assert tested | set(ELSEWHERE) == {
        " ".join(path) for path, command in commands() if any(one.name == "yes" for one in command.params)
    }
    assert tested | set(ELSEWHERE) | set(QUIET) | READS == {" ".join(path) for path, _ in commands()}


def _all(group):
    for command in group.commands.values():
        yield command
        yield from _all(command) if hasattr(command, "commands") else ()
