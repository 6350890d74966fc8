"""Every command that makes, stops, deletes or swaps something asks first, in one way."""

from __future__ import annotations

import io
import json

import pytest

from rewarm_cli import main
from rewarm_cli.problems import DECLINED, DONE, REFUSED, USAGE
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
    "runbook put": "TestReplacing below: it asks where another one is stored",
    "rule put": "TestReplacing below: it asks where another one is stored",
}
"""Commands that ask as well -> where that is tested."""
READS = {
    "plan", "wait", "status", "list", "report", "doctor", "completion", "version", "fleet list", "fleet plan",
    "fleet report", "fleet status", "drill list", "drill report", "hot list", "hot show", "undo-log list",
    "volume get", "rule get", "rule list", "rule check", "runbook get", "runbook list", "runbook check",
    "runbook test",
}  # fmt: skip
"""Commands that only read."""
QUIET = {"bench": "it writes scratch files, which it removes"}
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


REPLACING = {
    ("runbook", "put", "rewarm-orders"): (
        "runbooks",
        "source.volumeId: vol-1 becomes vol-2",
        "the runbook of rewarm-orders",
    ),
    ("rule", "put", "orders"): ("rules", "mode: act becomes observe", "the rule orders"),
}
"""Command -> what it stores, how it shows the difference, and what it calls it."""


@pytest.mark.parametrize("words", REPLACING, ids=" ".join)
class TestReplacing:
    """A runbook or a rule that is there already is replaced only by who has seen what differs."""

    @pytest.fixture
    def put(self, asked, stack, words, tmp_path):
        """Puts another one in its place where somebody answers; None is nobody."""
        kind, _, _ = REPLACING[words]
        name = words[-1]
        getattr(stack, kind)[name] = {"mode": "act"} if kind == "rules" else {"source": {"volumeId": "vol-1"}}
        text = "mode: observe" if kind == "rules" else "source: {volumeId: vol-2}"
        (tmp_path / "other.yaml").write_text(text, encoding="utf-8")

        def called(answer, *more, same=False):
            if same:
                (tmp_path / "other.yaml").write_text(json.dumps(self.stored(stack, words)), encoding="utf-8")
            return asked(words, answer, "-f", "other.yaml", *more)

        return called

    def stored(self, stack, words):
        return getattr(stack, REPLACING[words][0])[words[-1]]

    def test_shows_what_differs_and_replaces_after_yes(self, put, stack, words):
        _, shown, what = REPLACING[words]
        ended = put("y\n")
        assert ended.status == DONE
        assert " ".join(ended.err.split()) == (
            f"Another one is stored already as {what}: {shown} Replace {what}? [y/N]:"
        )
        assert self.stored(stack, words) in ({"mode": "observe"}, {"source": {"volumeId": "vol-2"}})

    def test_replaces_nothing_after_no(self, put, stack, words):
        before = self.stored(stack, words)
        ended = put("n\n")
        assert (ended.status, self.stored(stack, words)) == (DECLINED, before)
        assert ended.err.endswith("Nothing was stored.\n")

    def test_without_a_terminal_replaces_nothing_and_says_how(self, put, stack, words):
        before = self.stored(stack, words)
        ended = put(None)
        assert (ended.status, self.stored(stack, words)) == (REFUSED, before)
        said = " ".join(ended.err.split())
        assert REPLACING[words][1] in said
        assert "was not replaced: there is no terminal on which to ask. Use --yes to replace it." in said

    def test_without_a_terminal_a_program_gets_both(self, put, stack, words):
        before = self.stored(stack, words)
        ended = put(None, "-o", "json")
        assert (ended.status, ended.out, self.stored(stack, words)) == (REFUSED, "", before)
        found = json.loads(ended.err)
        assert (found["error"], found["stored"]) == ("AlreadyStoredError", before)

    def test_with_yes_asks_nothing(self, put, words):
        ended = put(None, "--yes")
        assert (ended.status, ended.err) == (DONE, "")

    def test_the_same_one_is_stored_without_a_word(self, put, words):
        ended = put(None, same=True)
        assert (ended.status, ended.err) == (DONE, "")

    def test_what_somebody_stores_meanwhile_is_shown_as_well(self, put, stack, words):
        """Between the question and the answer."""
        kind, _, what = REPLACING[words]
        mine = {"mode": "off"} if kind == "rules" else {"source": {"volumeId": "vol-3"}}

        def somebody(call):
            if call.method == "PUT" and call.query.get("replaces") not in {None, "nothing"}:
                stack.before = lambda _call: None
                getattr(stack, kind)[words[-1]] = mine

        stack.before = somebody
        ended = put("y\nn\n")
        assert (ended.status, self.stored(stack, words)) == (DECLINED, mine)
        assert ended.err.count(f"Replace {what}?") == 2
        assert ("vol-3" if kind == "runbooks" else "off") in ended.err


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
