"""JSONata's time limit counts the expression's own work (compat_jsonata_time_limit.py)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from jsonata import Jsonata
from jsonata.jexception import JException

from tests.support.stack.state_machines import run

if TYPE_CHECKING:
    from local.aws.host import Host


def test_waiting_for_a_processor_is_not_counted(host: Host):
    expression = Jsonata.jsonata("$pause() + 1", timeout=200)
    expression.register_lambda("pause", lambda: time.sleep(0.5) or 1)
    assert expression.evaluate(None) == 2


def test_an_expression_that_never_ends_is_ended(host: Host):
    endless = Jsonata.jsonata("($f := function($n) { $f($n + 1) }; $f(1))", timeout=200)
    with pytest.raises(JException):
        endless.evaluate(None)


def test_the_state_fails_with_the_name_that_aws_uses(host: Host):
    endless = "{% ($f := function($n) { $f($n + 1) }; $f(1)) %}"
    described = run(host, {"Turn": {"Type": "Pass", "Output": endless, "End": True}})
    assert described["error"] == "States.QueryEvaluationError"
