"""256 KiB is what a state carries (compat_payload_limit.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.stack.state_machines import create_lambda, invoke_state, run

if TYPE_CHECKING:
    from local.aws.host import Host

Json = dict[str, Any]
ANSWERS = "def handler(event, context):\n    return {'text': 'x' * event['bytes']}\n"
CAUGHT = {"ErrorEquals": ["States.ALL"], "Next": "Caught"}
END: Json = {"Caught": {"Type": "Pass", "End": True}}


def growing(field: str) -> Json:
    """Three times the input."""
    text = "{% $states.input.text & $states.input.text & $states.input.text %}"
    return {"Grow": {"Type": "Pass", field: {"text": text}, "End": True}}


def test_a_result_that_is_just_small_enough_goes_on(host: Host) -> None:
    function = create_lambda(host, ANSWERS)
    described = run(host, {"Work": invoke_state(function, {"bytes": 262_000})})
    assert len(described["result"]["text"]) == 262_000


def test_a_larger_result_ends_the_execution_past_every_catch(host: Host) -> None:
    function = create_lambda(host, ANSWERS)
    work = invoke_state(function, {"bytes": 262_144}, Catch=[CAUGHT])
    described = run(host, {"Work": work, **END})
    assert (described["status"], described["error"]) == ("FAILED", "States.DataLimitExceeded")
    assert "service limit is 262,144" in described["cause"]


@pytest.mark.parametrize("field", ["Output", "Assign"])
def test_outputs_and_variables_have_the_same_limit(host: Host, field: str) -> None:
    described = run(host, growing(field), {"text": "x" * 100_000})
    assert (described["status"], described["error"]) == ("FAILED", "States.DataLimitExceeded")


def test_so_has_what_a_map_gives_together(host: Host) -> None:
    function = create_lambda(host, ANSWERS)
    items = {
        "StartAt": "Work",
        "States": {"Work": invoke_state(function, {"bytes": 100_000})},
    }
    described = run(host, {"All": {"Type": "Map", "Items": [1, 2, 3], "ItemProcessor": items, "End": True}})
    assert (described["status"], described["error"]) == ("FAILED", "States.DataLimitExceeded")
