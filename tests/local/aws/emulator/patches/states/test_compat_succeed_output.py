"""A Succeed state's Output (compat_succeed_output.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.stack.state_machines import run

if TYPE_CHECKING:
    from local.aws.host import Host


def test_output_is_evaluated_with_variables(host: Host):
    states = {
        "Keep": {"Type": "Pass", "Assign": {"kept": "{% $states.input.a %}"}, "Next": "Done"},
        "Done": {"Type": "Succeed", "Output": {"kept": "{% $kept %}"}},
    }
    assert run(host, states, {"a": [1, 2]})["result"] == {"kept": [1, 2]}


def test_without_output_the_input_passes_through(host: Host):
    assert run(host, {"Done": {"Type": "Succeed"}}, {"a": 1})["result"] == {"a": 1}
