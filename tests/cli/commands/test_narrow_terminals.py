"""Plans and lists on narrow terminals: no figure is cut, and no word."""

from __future__ import annotations

import re

import pytest

from rewarm_cli import output
from tests.cli.commands.test_restores import JOINT, PLAN, REQUEST
from tests.support.commands.stack_api import FLEET_PLAN

FIGURE = re.compile(r"\$[\d,.]*\d|\d+ (?:min|MiB/s|h|s)\b|(?:\d\d-){2}\d\d \d\d:\d\d|[░▒█▓]+|[\w/-]{5,}")
HEADINGS = {"strategy", "schedule", "people", "right"}
"""Columns that need no name where each row is lines of its own."""
BY_HAND = {
    "program": "fio", "command": "sudo fio --name=read --filename=/dev/nvme1n1", "readySeconds": 3_247,
    "costUsd": "0", "effort": "a person, who is there and knows the device",
}  # fmt: skip
SHOWN = {
    "one volume": {**PLAN, "summary": {**PLAN["summary"], "byHand": [BY_HAND]}},
    "several volumes": {**JOINT, "frontier": PLAN["frontier"]},
}


@pytest.fixture
def shown(rewarm, monkeypatch):
    def printed(width, *command):
        monkeypatch.setattr(output, "WIDE", width)
        return rewarm(*command).out

    return printed


def figures(text):
    return set(FIGURE.findall(" ".join(text.split()))) - HEADINGS


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("kind", SHOWN)
def test_no_figure_of_a_plan_is_cut(shown, stack, kind, width):
    stack.answers["POST", "/plans"] = 200, SHOWN[kind]
    command = ("plan", *REQUEST, "--what-if", "--explain")
    narrow = shown(width, *command)
    assert figures(shown(400, *command)) <= figures(narrow)
    assert "…" not in narrow
    lines = [line for line in narrow.splitlines() if not line.startswith("By hand with")]
    assert max(map(len, lines)) <= width, "only a command that people copy is left to the terminal"


@pytest.mark.parametrize("width", [60, 80])
def test_no_figure_of_a_fleets_plan_is_cut(shown, tmp_path, width):
    file = tmp_path / "fleet.yaml"
    file.write_text("source: {items: []}", encoding="utf-8")
    command = ("fleet", "plan", "-f", str(file))
    narrow = shown(width, *command)
    assert figures(shown(400, *command)) <= figures(narrow)
    assert max(map(len, narrow.splitlines())) <= width
    assert FLEET_PLAN["summary"]["notes"][0] in " ".join(narrow.split())


RUNBOOK = {"source": {"volumeId": "vol-0123456789abcdef0"}, "target": {"instanceId": "i-0123456789abcdef0"}}
DRILL = {
    "restoreId": "restore-0123456789abcdef", "runbook": "rewarm-a", "at": "2026-11-20T03:00:00Z",
    "outcome": "passed", "recoverySeconds": 4_530, "recoveryObjectiveSeconds": 7_200,
    "recoveryOf": "application", "pointSeconds": 86_400, "pointObjectiveSeconds": 172_800,
}  # fmt: skip
VOLUME = {"index": 0, "volumeId": "vol-0123456789abcdef0", "device": "/dev/sdf", "progress": None}
RECORD = {
    "restoreId": "restore-0123456789abcdef", "status": "initializing", "startedAt": "2026-11-20T03:00:00Z",
    "request": RUNBOOK, "volumes": [VOLUME], "trigger": {"kind": "alarm", "alarmName": "rewarm-orders"},
}  # fmt: skip
NAME = "rewarm-orders-database-volume-lost"
LISTS = ("list", "fleet list", "runbook list", f"drill list {NAME}", "status restore-0123456789abcdef")


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("command", LISTS)
def test_no_word_of_a_list_is_broken_and_no_column_is_dropped(shown, rewarm, stack, tmp_path, command, width):
    stack.runbooks[NAME] = RUNBOOK
    stack.answers["GET", f"/runbooks/{NAME}"] = 200, {"alarmName": NAME, "request": {}, "drills": [DRILL] * 2}
    stack.put(RECORD)
    file = tmp_path / "fleet.yaml"
    file.write_text("source: {items: []}", encoding="utf-8")
    rewarm("fleet", "start", "--yes", "-f", str(file))
    narrow = shown(width, *command.split())
    cells = {word for line in shown(400, *command.split()).splitlines()[1:] for word in line.split()}
    # Lines leave out what has no value.
    assert cells - {word.strip(",") for word in narrow.split()} - {"-"} == set()
    assert max(map(len, narrow.splitlines())) <= width
