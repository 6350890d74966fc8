"""Step Functions and EventBridge run in lab time (compat_lab_time.py)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from local.aws.emulator import seam
from local.aws.emulator.patches.states.compat_lab_time import retry_delay_seconds
from tests.support.stack.state_machines import create_lambda, invoke_state, run

if TYPE_CHECKING:
    from local.aws.host import Host

HOUR = 3_600


def test_an_hour_of_waiting_passes_quickly_and_is_an_hour_on_every_stamp(host: Host):
    began_real, began_lab = time.monotonic(), host.clock.now()
    described = run(
        host,
        {
            "Wait": {"Type": "Wait", "Seconds": "{% 3 * 1200 %}", "Next": "Look"},
            "Look": {
                "Type": "Pass",
                "Output": {"now": "{% $now() %}", "millis": "{% $millis() %}"},
                "End": True,
            },
        },
    )
    assert time.monotonic() - began_real < HOUR / 10
    assert described["stopDate"].timestamp() - described["startDate"].timestamp() >= HOUR
    assert described["result"]["millis"] / 1000 >= began_lab + HOUR
    seen = datetime.fromisoformat(described["result"]["now"])
    assert abs(seen.timestamp() - described["result"]["millis"] / 1000) < 60


def test_a_wait_until_an_instant_ends_at_that_instant(host: Host):
    due = datetime.fromtimestamp(host.clock.now() + HOUR, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    described = run(host, {"Wait": {"Type": "Wait", "Timestamp": due, "End": True}})
    assert described["stopDate"] >= datetime.fromisoformat(due)


def test_an_event_s_time_is_lab_time(host: Host):
    """Or an event after hours of lab time would seem to have been delivered hours late."""
    run(host, {"Wait": {"Type": "Wait", "Seconds": 3 * HOUR, "End": True}})
    before = int(host.clock.now())
    host.emulator.put_event("Small", "aws.cloudwatch", {}, [])
    (event,) = (
        each
        for each in seam.module("services.eventbridge")._events_log_list()
        if each["DetailType"] == "Small"
    )
    assert before <= event["Time"] <= host.clock.now()


def test_a_retry_waits_in_lab_time(host: Host):
    function = create_lambda(
        host, "class Busy(Exception): pass\ndef handler(event, context):\n    raise Busy('no')\n"
    )
    retry = [{"ErrorEquals": ["Busy"], "IntervalSeconds": 600, "MaxAttempts": 2, "BackoffRate": 1}]
    described = run(host, {"Try": invoke_state(function, Retry=retry)})
    assert described["error"] == "Busy"
    assert (described["stopDate"] - described["startDate"]).total_seconds() >= 2 * 600


def test_work_is_never_accelerated(host: Host):
    function = create_lambda(
        host, "import time\ndef handler(event, context):\n    time.sleep(1)\n    return {}\n"
    )
    states = {
        "Both": {
            "Type": "Map",
            "Items": ["{% 1 %}", "{% 2 %}"],
            "ItemProcessor": {
                "StartAt": "Work",
                "States": {"Work": invoke_state(function)},
            },
            "End": True,
        }
    }
    described = run(host, states)
    assert (described["stopDate"] - described["startDate"]).total_seconds() < HOUR / 10


@pytest.mark.parametrize(
    ("retrier", "attempts_made", "chance", "expected"),
    [
        ({}, 0, 1.0, 1.0),
        ({}, 2, 1.0, 4.0),
        ({"IntervalSeconds": 5, "BackoffRate": 3}, 1, 1.0, 15.0),
        ({"IntervalSeconds": 5, "BackoffRate": 3, "MaxDelaySeconds": 12}, 1, 1.0, 12.0),
        ({"IntervalSeconds": 100, "BackoffRate": 1}, 5, 1.0, 100.0),
        ({"IntervalSeconds": 8, "JitterStrategy": "FULL"}, 0, 0.25, 2.0),
        ({"IntervalSeconds": 8, "JitterStrategy": "NONE"}, 0, 0.25, 8.0),
    ],
)
def test_the_delay_before_a_retry(retrier, attempts_made, chance, expected):
    assert retry_delay_seconds(retrier, attempts_made, chance) == pytest.approx(expected)
