"""What passes is tried again in the same way in every state of every state machine."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import pytest

from local import Json, state_machines

OF_LAMBDA = (
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.TooManyRequestsException",
)
OF_STEP_FUNCTIONS = (
    "StepFunctions.ExecutionLimitExceededException",
    "StepFunctions.AWSStepFunctionsException",
    "StepFunctions.SdkClientException",
)
BUSY = (
    "ServiceUnavailableError",
    "Lambda.Unknown",
    "Runtime.ExitError",
    "Sandbox.Timedout",
    "States.Timeout",
)
OF_AWS = ("States.TaskFailed", "States.Timeout")
BLOCKS: dict[tuple[str, ...], tuple[float, int, float, int]] = {
    OF_LAMBDA: (4, 30, 2, 120),
    ("ThrottledError",): (4, 30, 2, 120),
    BUSY: (2, 8, 2, 60),
    ("VolumeNotFoundError",): (5, 4, 2, 60),
    ("InstanceAwayError",): (5, 25, 2, 60),
    ("AccessDeniedError",): (4, 4, 2, 60),
    ("TooManyRestoresError",): (30, 60, 1.5, 300),
    OF_STEP_FUNCTIONS: (4, 30, 2, 120),
    OF_AWS: (4, 8, 2, 120),
}
"""Errors -> seconds to the first retry, how many, how much longer each time, seconds at most."""
OTHER_ATTEMPTS = {
    # The state has no longer than the wait that it stands for.
    ("Await Signal", OF_LAMBDA): 2,
    ("Await Signal Of Snapshot", OF_LAMBDA): 2,
    ("Await Signal Of Approval", OF_LAMBDA): 2,
    # Hours of work are at stake.
    **{(name, BUSY): 24 for name in ("Poll Initialization", "Verify Volume After", "Rewind")},
    # EC2 needs its time to detach what is to be deleted.
    ("Clean Up", BUSY): 20,
    ("Clean Up Attempt", BUSY): 20,
    ("Clean Up Drill", BUSY): 20,
    # The message does not wait for a page.
    ("Report Volume", ("ThrottledError",)): 2,
    ("Report Volume", BUSY): 2,
    # Neither matters to the volume, which is looked at again only after them.
    **{
        (name, errors): 2
        for name in ("Announce Hot", "Dispatch Warmer To Observe")
        for errors in (("ThrottledError",), BUSY)
    },
    # The agent reads at the old speed meanwhile, and a note says how long EC2 may be asked.
    **{("Boost Volume", errors): 2 for errors in (OF_LAMBDA, ("ThrottledError",), BUSY)},
    # Nobody else gives the verdict.
    ("Give Verdict", OF_AWS): 20,
    ("Report Failure", ("ThrottledError",)): 4,
    ("Report Failure", BUSY): 4,
}


def tasks(states: Json) -> Iterator[tuple[str, Json]]:
    """Every Task, those of Map states too."""
    for name, state in states.items():
        if state["Type"] == "Task":
            yield name, state
        yield from tasks(state.get("ItemProcessor", {}).get("States", {}))


MACHINES = state_machines.definitions()
TASKS = [
    pytest.param(name, state, id=f"{machine}-{name}")
    for machine, definition in MACHINES.items()
    for name, state in tasks(definition["States"])
]


@pytest.mark.parametrize(("name", "state"), TASKS)
def test_what_passes_is_tried_again_in_the_same_way(name: str, state: Json) -> None:
    for block in state["Retry"]:
        errors = tuple(block["ErrorEquals"])
        seconds, attempts, rate, most_seconds = BLOCKS[errors]
        assert block == {
            "ErrorEquals": list(errors),
            "IntervalSeconds": seconds,
            "MaxAttempts": OTHER_ATTEMPTS.get((name, errors), attempts),
            "BackoffRate": rate,
            "MaxDelaySeconds": most_seconds,
            "JitterStrategy": "FULL",
        }


@pytest.mark.parametrize("errors", [OF_LAMBDA, OF_STEP_FUNCTIONS])
def test_a_service_that_refuses_for_five_minutes_is_outlasted(errors: tuple[str, ...]) -> None:
    """Each delay is anything from zero to its full length; of 100,000 restores not one may give up."""
    seconds, attempts, rate, most_seconds = BLOCKS[errors]
    delays = [min(seconds * rate**number, most_seconds) for number in range(attempts)]
    mean, variance = sum(delays) / 2, sum(delay**2 for delay in delays) / 12
    assert NormalDist(mean, variance**0.5).cdf(300) < 1e-5


@pytest.mark.parametrize(("name", "state"), TASKS)
def test_a_function_is_asked_again_after_whatever_passes(name: str, state: Json) -> None:
    found = [tuple(block["ErrorEquals"]) for block in state["Retry"]]
    if state["Resource"].endswith(":lambda:invoke"):
        assert found[:3] == [OF_LAMBDA, ("ThrottledError",), BUSY], name


def test_only_what_a_new_tag_allows_is_tried_again_where_it_is_denied() -> None:
    """IAM sees the tag that DetachVolume or StartInstances needs a little later; else a denial stays."""
    denied = ("AccessDeniedError",)
    found = [
        one.values[0]
        for one in TASKS
        if denied in {tuple(block["ErrorEquals"]) for block in one.values[1]["Retry"]}
    ]
    assert found == ["Replace Detachment", "Start Instance"]


def test_every_exception_is_in_use() -> None:
    used = {(one.values[0], tuple(block["ErrorEquals"])) for one in TASKS for block in one.values[1]["Retry"]}
    assert used >= set(OTHER_ATTEMPTS)
    assert {errors for _, errors in used} == set(BLOCKS)
    assert len(MACHINES) == 6
