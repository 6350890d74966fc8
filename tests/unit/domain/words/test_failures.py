"""From what Step Functions records to a sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.words.failures import PLAIN, explain


def of_lambda(error, message):
    return json.dumps({"errorMessage": message, "errorType": error, "requestId": "r", "stackTrace": ["x"]})


def of_execution(error, cause, **more):
    return json.dumps({"ExecutionArn": "arn", "Status": "FAILED", "Error": error, "Cause": cause, **more})


def of_volume(error, cause, **more):
    return json.dumps({"state": "Create Volume", "error": error, "cause": cause, **more})


class TestExplain:
    def test_a_lambda_function(self):
        told = explain("TargetNotUsableError", of_lambda("TargetNotUsableError", "i-1 is stopped"))
        assert (told.error, told.sentence) == ("TargetNotUsableError", "i-1 is stopped")

    def test_a_nested_execution(self):
        cause = of_execution("VolumeFailedError", of_lambda("VolumeFailedError", "vol-1 is error"))
        told = explain("States.TaskFailed", cause)
        assert (told.error, told.sentence) == ("VolumeFailedError", "vol-1 is error")

    def test_a_volumes_failure_names_the_state(self):
        failure = of_volume("A", of_lambda("A", "no room."), cleanUps=[of_lambda("B", "stays")])
        told = explain("States.TaskFailed", of_execution("A", failure))
        assert told.state == "Create Volume"
        assert (told.error, told.sentence) == ("A", "no room. Clean-up failed too: stays")

    def test_a_volumes_failure_that_was_cut(self):
        failure = of_volume("A", of_lambda("A", 'no "room"'))[:-60]
        assert explain("A", failure).sentence == 'no "room"'

    def test_why_no_other_plan_took_over(self):
        failure = of_volume("A", of_lambda("A", "no room"), noFallback="No plan is left.")
        assert explain("A", failure).sentence == "no room. No plan is left."

    def test_a_nested_execution_whose_input_was_cut(self):
        cause = of_execution("X", of_lambda("X", 'said "no"'), Input="y" * 99)[:-50]
        assert explain("States.TaskFailed", cause).sentence == 'said "no"'

    def test_clean_ups_that_failed_too(self):
        causes = [of_lambda("B", "vol-1 stays"), of_lambda("C", "snap-1 stays")]
        failure = of_volume("A", of_lambda("A", "the agent failed"), cleanUps=causes)
        assert explain("A", failure).sentence == (
            "the agent failed. Clean-up failed too: vol-1 stays. Clean-up failed too: snap-1 stays"
        )

    def test_an_execution_that_was_aborted(self):
        cause = json.dumps({"Status": "ABORTED", "ExecutionArn": "arn"})
        assert explain("States.TaskFailed", cause).sentence == "The execution of a volume ended as ABORTED."

    @pytest.mark.parametrize(
        ("error", "cause", "sentence"),
        [
            ("States.Timeout", "", "A step took longer than it is allowed to."),
            ("States.Timeout", None, "A step took longer than it is allowed to."),
            (
                "Sandbox.Timedout",
                of_lambda("Sandbox.Timedout", "RequestId: 1 timed out"),
                "A function took longer than it is allowed to. RequestId: 1 timed out",
            ),
            (
                "Runtime.ExitError",
                of_lambda("Runtime.ExitError", "RequestId: 1 Error: Runtime exited: signal: killed"),
                f"{PLAIN['Runtime.ExitError']} RequestId: 1 Error: Runtime exited: signal: killed",
            ),
            (
                "Lambda.TooManyRequestsException",
                "Rate Exceeded. (Status Code: 429)",
                f"{PLAIN['Lambda.TooManyRequestsException']} Rate Exceeded. (Status Code: 429)",
            ),
            (
                "Lambda.ClientExecutionTimeoutException",
                "",
                "Lambda did not answer in time.",
            ),
            ("VolumeFailedError", "plain words", "plain words"),
            ("VolumeFailedError", "", "VolumeFailedError, without a reason."),
            ("VolumeFailedError", "[1, 2]", "[1, 2]"),
        ],
    )
    def test_other_shapes(self, error, cause, sentence):
        assert explain(error, cause).sentence == sentence

    @given(st.text(), st.text())
    def test_always_says_something_and_never_too_much(self, error, cause):
        assert 0 < len(explain(error or "x", cause).sentence) <= 1_501
