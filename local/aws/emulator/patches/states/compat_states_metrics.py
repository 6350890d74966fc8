"""AWS/States metrics of executions, so that alarms on failed restores work.

Why: the emulator publishes none. AWS publishes ExecutionsStarted, ExecutionsSucceeded, ExecutionsFailed,
ExecutionsTimedOut and ExecutionsAborted with the dimension StateMachineArn (AWS documentation, "Monitoring
Step Functions metrics using Amazon CloudWatch").
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from local.aws.emulator import seam

_METRICS = {
    "RUNNING": "ExecutionsStarted",
    "SUCCEEDED": "ExecutionsSucceeded",
    "FAILED": "ExecutionsFailed",
    "TIMED_OUT": "ExecutionsTimedOut",
    "ABORTED": "ExecutionsAborted",
}

PutMetrics = Callable[[str, list[dict[str, Any]]], None]
"""Publishes metric data (botocore shape MetricData) in a namespace."""


def apply(put_metrics: PutMetrics) -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    emit = seam.known(states, "_emit_execution_status_event", "Step Functions Execution Status Change")

    def emit_with_metric(execution: dict[str, Any]) -> None:
        emit(execution)
        if not execution.get("mapRunArn"):
            datum = _datum(execution)
            # In a thread of its own: an alarm's actions may call this service again.
            context = contextvars.copy_context()
            target = context.run
            threading.Thread(target=target, args=(put_metrics, "AWS/States", [datum]), daemon=True).start()

    emit_with_metric.__wrapped__ = emit  # type: ignore[attr-defined]
    seam.replace(states, "_emit_execution_status_event", emit_with_metric)


def _datum(execution: dict[str, Any]) -> dict[str, Any]:
    dimensions = [{"Name": "StateMachineArn", "Value": execution["stateMachineArn"]}]
    return {
        "MetricName": _METRICS[execution["status"]],
        "Dimensions": dimensions,
        "Value": 1.0,
        "Unit": "Count",
    }
