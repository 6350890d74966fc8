"""What a shell completes: commands and options, and the ids and names that the stack has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rewarm_cli import main, settings
from rewarm_cli.main import COMPLETE, SHELLS, run
from tests.support.commands.stack_api import RefusedError
from tests.support.tree import ROOT


def completed(shell, words, environment, cwd=None):
    """What the shell is offered for the last of the words."""
    typed = ["rewarm", *words]
    asked = {"COMP_WORDS": " ".join(typed), "COMP_CWORD": words[-1] if shell == "fish" else str(len(words))}
    ended = subprocess.run(
        [sys.executable, "-m", "rewarm_cli"],
        env={**environment, "PYTHONPATH": str(ROOT / "cli"), COMPLETE: f"{shell}_complete", **asked},
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.stderr == ""
    return {word for line in ended.stdout.splitlines() for word in line.replace(",", " ").split()}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_knows_the_commands(shell, capsys):
    assert run(["completion", shell]) == 0
    assert COMPLETE in capsys.readouterr().out
    assert {"restore", "report"} <= completed(shell, ["re"], {})


@pytest.fixture
def offered(rewarm, stack):
    """Completes words in bash on the stack's API."""
    stack.put({"restoreId": "restore-1", "status": "ready"})
    stack.put({"restoreId": "restore-2", "status": "initializing"})
    stack.fleets["fleet-1"] = {"fleetId": "fleet-1", "status": "ready"}
    stack.runbooks["rewarm-orders"] = {}
    return lambda *words: completed("bash", words, os.environ) - {"plain"}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("status", ""), {"plain,restore-2", "plain,restore-1", "plain,fleet-1"}),
        (("cancel", "fl"), {"plain,fleet-1"}),
        (("approve", "restore-2"), {"plain,restore-2"}),
        (("fleet", "redrive", ""), {"plain,fleet-1"}),
        (("runbook", "delete", "re"), {"plain,rewarm-orders"}),
        (("drill", "start", ""), {"plain,rewarm-orders"}),
        (("undo-log", "delete", "x"), set()),
    ],
)
def test_ids_runbooks_and_fleets_are_completed(offered, words, names):
    assert offered(*words) == {name.removeprefix("plain,") for name in names}


def test_where_the_api_does_not_answer_nothing_is_completed(offered, stack):
    def refuse(_call):
        raise RefusedError(403, "ACCESS_DENIED", "no")

    stack.before = refuse
    assert offered("status", "") == set()


def test_ids_of_the_embedded_aws_are_completed_inside_it(rewarm, tmp_path):
    shell = tmp_path / settings.EMBEDDED_SHELL
    shell.parent.mkdir(parents=True)
    shell.write_text('#!/bin/sh\necho "plain,in-$REWARM_LOCAL"\n', encoding="utf-8")
    shell.chmod(0o700)
    assert completed("bash", ["status", "--local", ""], os.environ, tmp_path) == {"plain", "in-1"}


def test_every_command_that_takes_an_id_completes_it():
    group = main.rewarm
    for words in (("status",), ("report",), ("fleet", "report"), ("runbook", "get"), ("drill", "list")):
        command = group
        for word in words:
            command = command.commands[word]
        assert type(command.params[0].type).__name__ == "Known"
