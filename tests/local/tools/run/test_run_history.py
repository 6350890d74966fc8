"""Execution histories become visits of states."""

import json
from datetime import UTC, datetime

from local.tools.run.history import end_of, visits

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def event(kind, seconds=0, **details):
    return {"type": kind, "timestamp": datetime.fromtimestamp(AT.timestamp() + seconds, UTC), **details}


def entered(name, seconds, kind="Task"):
    return event(f"{kind}StateEntered", seconds, stateEnteredEventDetails={"name": name, "input": "{}"})


def left(name, seconds, kind="Task"):
    return event(f"{kind}StateExited", seconds, stateExitedEventDetails={"name": name, "output": "{}"})


def succeeded(answer):
    return event("TaskSucceeded", taskSucceededEventDetails={"output": json.dumps(answer)})


def failed(error, cause):
    return event("TaskFailed", taskFailedEventDetails={"error": error, "cause": cause})


def test_a_task_has_its_times_and_the_payload_of_its_function():
    events = [
        entered("Create Volume", 1),
        succeeded({"Payload": {"volumeId": "vol-1"}}),
        left("Create Volume", 3.5),
    ]
    (visit,) = visits("volume 0", events)
    assert (visit.execution, visit.state, visit.kind) == ("volume 0", "Create Volume", "Task")
    assert (visit.entered_at, visit.seconds) == (AT.timestamp() + 1, 2.5)
    assert visit.payload == {"volumeId": "vol-1"}


def test_a_state_that_lasts_has_no_end():
    (visit,) = visits("restore", [entered("Wait For Volume", 0, "Wait")])
    assert visit.left_at is None
    assert visit.seconds is None


def test_every_visit_of_a_loop_is_told_apart():
    events = [
        entered("Poll", 0), succeeded({"Payload": {"n": 1}}), left("Poll", 1),
        entered("Wait", 1, "Wait"), left("Wait", 6, "Wait"),
        entered("Poll", 6), succeeded({"Payload": {"n": 2}}), left("Poll", 7),
    ]  # fmt: skip
    found = visits("volume 0", events)
    assert [visit.state for visit in found] == ["Poll", "Wait", "Poll"]
    assert [visit.payload for visit in found] == [{"n": 1}, None, {"n": 2}]


def test_a_failed_attempt_is_kept_in_words_though_a_retry_succeeds():
    cause = json.dumps({"errorMessage": "slow down", "errorType": "ThrottledError"})
    events = [
        entered("Create Volume", 0), failed("ThrottledError", cause),
        succeeded({"Payload": {"volumeId": "vol-1"}}), left("Create Volume", 9),
    ]  # fmt: skip
    (visit,) = visits("volume 0", events)
    assert visit.failures == ("ThrottledError: slow down",)
    assert visit.payload == {"volumeId": "vol-1"}


def test_states_inside_a_map_belong_to_themselves_and_not_to_the_map():
    child = {"ExecutionArn": "arn:aws:states:us-east-1:1:execution:v:r-0", "Output": '{"verdict": "ready"}'}
    events = [
        entered("Restore Volumes", 0, "Map"), entered("Restore Volume", 1), succeeded(child),
        left("Restore Volume", 5), left("Restore Volumes", 6, "Map"),
    ]  # fmt: skip
    outer, inner = visits("restore", events)
    assert (outer.seconds, outer.payload) == (6.0, None)
    assert (inner.seconds, inner.payload) == (4.0, {"verdict": "ready"})


def test_a_fail_state_is_entered_and_never_left():
    events = [
        entered("Restore Failed", 0, "Fail"),
        event("ExecutionFailed", executionFailedEventDetails={"error": "E"}),
    ]
    (visit,) = visits("restore", events)
    assert (visit.kind, visit.left_at) == ("Fail", None)
    assert end_of(events) == ("E", "")


def test_an_execution_that_succeeds_has_no_error():
    assert end_of([event("ExecutionSucceeded", executionSucceededEventDetails={"output": "{}"})]) is None
