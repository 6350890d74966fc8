"""The agent's exit statuses, in one table of C, of Python and for people; and the numbers that it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.ready import agent_output
from rewarm.domain.ready.agent_output import (
    IN_USE,
    INTERRUPTED,
    MAY_PASS,
    WROTE_NOTHING,
    AgentExit,
)
from rewarm.domain.units import duration_text

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


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'{{"mibPerSecond": 1{"0" * 400}}}', id="400-digits"),
        pytest.param(f'{{"bytesDone": 1{"0" * 4_000}}}', id="4000-digits"),
        pytest.param(f'{{"bytesDone": 1{"0" * 5_000}}}', id="more-digits-than-python-reads"),
        pytest.param('{"mibPerSecond": 1.5e308}', id="largest-float"),
        pytest.param('{"mibPerSecond": 1e999}', id="infinity"),
        pytest.param('{"mibPerSecond": NaN}', id="nan"),
        pytest.param('{"volume": {"errors": [-18446744073709551617]}}', id="below"),
    ],
)
def test_a_number_that_nothing_can_be_counted_in_spoils_the_object(text):
    assert agent_output.parsed(text) is None


def test_a_rate_that_is_as_good_as_nothing_is_nothing():
    assert agent_output.parsed('{"mibPerSecond": 1e-300, "etaSeconds": 0.5}') == {
        "mibPerSecond": 0.0,
        "etaSeconds": 0.5,
    }


@given(st.dictionaries(st.text(), st.integers() | st.floats() | st.text()))
def test_what_is_read_can_be_counted_and_shown(written):
    found = agent_output.parsed(json.dumps(written)) or {}
    for name in found:
        whole = agent_output.whole_number(found, name) or 0
        assert abs(whole) <= agent_output.MOST_COUNTED
        assert duration_text(abs(whole))
