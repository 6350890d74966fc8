"""The agent's exit statuses: one table in C, one in Python, and one for people."""

from __future__ import annotations

import re
from pathlib import Path

from rewarm.domain.ready.agent_output import (
    IN_USE,
    INTERRUPTED,
    MAY_PASS,
    WROTE_NOTHING,
    AgentExit,
)

WARMER = Path(__file__).parents[4] / "warmer"
_STATUS = re.compile(r"^\s*WARMER_(\w+) =\s+(\d+),", re.MULTILINE)


def in_the_agent() -> dict[str, int]:
    text = (WARMER / "src/base/diag.h").read_text(encoding="utf-8")
    return {name: int(number) for name, number in _STATUS.findall(text)}


def in_the_manual() -> set[int]:
    text = (WARMER / "warmer.1.md").read_text(encoding="utf-8").split("## EXIT STATUS")[1]
    rows = re.findall(r"^\| ([\d, ]+) \|", text.split("\n## ")[0], re.MULTILINE)
    return {int(number) for row in rows for number in row.split(",")}


def test_python_knows_the_statuses_of_the_agent_and_no_others() -> None:
    assert {one.name: one.value for one in AgentExit} == in_the_agent()


def test_the_manual_has_every_status() -> None:
    assert in_the_manual() == {one.value for one in AgentExit}


def test_what_may_pass_has_all_that_was_interrupted_or_in_use() -> None:
    assert MAY_PASS > INTERRUPTED | IN_USE
    assert IN_USE < WROTE_NOTHING
    assert not INTERRUPTED & WROTE_NOTHING
