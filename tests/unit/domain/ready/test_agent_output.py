"""What the instance wrote: anybody on it may have written it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.ready import agent_output
from rewarm.domain.units import duration_text


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
        assert agent_output.numbers({"bytesDone": whole, "bytesTotal": whole, "errors": whole})
        assert duration_text(abs(whole))
