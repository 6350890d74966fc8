"""`rewarm plan` and `rewarm fleet plan` on narrow terminals: no figure is cut, and no word."""

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
