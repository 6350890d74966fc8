"""Step Functions run in lab time, and EventBridge stamps its events with it.

Why: a fast snapshot restore takes an hour per TiB; the emulator would wait for it in real time, or
(SFN_WAIT_SCALE=0) not at all. Here Wait states and retries wait in lab time, every stamp is a lab stamp
($now() and $millis() too), and lab time runs ahead only while no state works. Retries follow MaxDelaySeconds
and JitterStrategy, which the emulator reads but does not use (AWS documentation, "Handling errors in Step
Functions workflows").
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from local.aws.emulator import seam
from local.aws.emulator.lab_time import STOPPED, Activity, iso


def apply(activity: Activity) -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    seam.known(states, "_scaled_sleep", "time.sleep(scaled)")
    seam.known(states, "_sleep_until", "datetime.now(timezone.utc)")
    seam.known(states, "_add_event", '"timestamp": now_iso()')
    seam.known(states, "_execute_task", "_scaled_sleep(min(sleep_sec, 60))", "_find_matching_retrier(")
    seam.replace(states, "now_iso", lambda: iso(activity.clock.now()))
    _mend_waits(states, activity)
    _mend_retries(states, activity)
    _mend_threads(states, activity)
    _mend_jsonata_clock(states, activity)
    events = seam.module("services.eventbridge")
    seam.known(events, "_put_events", "event_time = int(_now_ts())")
    seam.replace(events, "_now_ts", activity.clock.now)


def _mend_waits(states: Any, activity: Activity) -> None:
    def sleep(seconds: float) -> None:
        if not activity.sleep(seconds):
            raise states._ExecutionError(STOPPED, "the execution was stopped")

    def sleep_until(stamp: str) -> None:
        sleep(datetime.fromisoformat(stamp).timestamp() - activity.clock.now())

    seam.replace(states, "_scaled_sleep", sleep)
    seam.replace(states, "_sleep_until", sleep_until)


def _mend_retries(states: Any, activity: Activity) -> None:
    find = seam.known(states, "_find_matching_retrier", 'retrier.get("MaxAttempts", 3)')

    def find_and_wait(retriers: Any, error: str, counts: dict[int, int]) -> tuple[dict[str, Any] | None, int]:
        # The caller caps its own wait at 60 s and knows no jitter: wait here, leave it nothing to wait for.
        retrier, index = find(retriers, error, counts)
        if retrier is None:
            return None, -1
        if not activity.sleep(retry_delay_seconds(retrier, counts.get(index, 0), random.random())):
            return None, -1
        return {**retrier, "IntervalSeconds": 0}, index

    seam.replace(states, "_find_matching_retrier", find_and_wait)


def retry_delay_seconds(retrier: dict[str, Any], attempts_made: int, chance: float) -> float:
    """How long AWS waits before the next attempt; `chance` (0..1) is the draw of full jitter."""
    delay = float(retrier.get("IntervalSeconds", 1)) * float(retrier.get("BackoffRate", 2.0)) ** attempts_made
    delay = min(delay, float(retrier.get("MaxDelaySeconds", delay)))
    return delay * chance if retrier.get("JitterStrategy") == "FULL" else delay


def _mend_threads(states: Any, activity: Activity) -> None:
    """Hold the clock in each thread that walks states, and let go in the thread that waits for them."""
    seam.known(states, "_run_sub_machine", "states.get(current_name)")
    for name in ("_run_execution", "_run_sub_machine", "_invoke_resource"):
        seam.replace(states, name, _within(activity.working, seam.known(states, name)))
    for name in ("_run_map_items", "_run_parallel_branches"):
        seam.replace(states, name, _within(activity.waiting, seam.known(states, name)))


def _within(scope: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return function(*args, **kwargs)

    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run


def _mend_jsonata_clock(states: Any, activity: Activity) -> None:
    register = seam.known(states, "_register_sfn_jsonata_functions", 'expr.register_lambda("uuid"')
    from jsonata.functions import Functions

    def millis() -> int:
        return round(activity.clock.now() * 1000)

    def now(picture: str | None = None, timezone: str | None = None) -> Any:
        return Functions.datetime_from_millis(millis(), picture, timezone)

    def register_with_lab_time(expression: Any) -> None:
        register(expression)
        expression.register_lambda("millis", millis)
        expression.register_lambda("now", now)

    seam.replace(states, "_register_sfn_jsonata_functions", register_with_lab_time)
