"""One logger, one tracer, the metrics, and the frame that every step's handler stands in.

The dashboard and the alarms of template.yaml read the metrics.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from aws_lambda_powertools import Logger, Tracer, single_metric
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.parser import parse
from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm.contracts import (
    AnnounceEvent,
    PollInitializationEvent,
    PollInitializationResult,
    ReportEvent,
    ReportResult,
)
from rewarm.contracts.base import Contract, JsonObject, StepEvent
from rewarm.domain.words.failures import explain

logger = Logger(service="rewarm", child=False)
# Powertools takes Lambda's level, which must let the metrics through, and not the stack's LogLevel.
logging.getLogger("rewarm").setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL", "INFO"))
tracer = Tracer(service="rewarm", patch_modules=["botocore"])
METRICS_NAMESPACE = "Rewarm"
_FAILURES = {"failed": "RestoresFailed", "fallback": "FallBacks"}

Event = TypeVar("Event", bound=StepEvent)
Handler = Callable[[JsonObject, LambdaContext], JsonObject]


def step_handler(model: type[Event]) -> Callable[[Callable[[Event], Contract]], Handler]:
    """Parses the event, names the restore in every log line, traces, and returns the result as JSON."""

    def frame(step: Callable[[Event], Contract]) -> Handler:
        @tracer.capture_lambda_handler(capture_response=False)
        @logger.inject_lambda_context(clear_state=True)
        def lambda_handler(event: JsonObject, context: LambdaContext) -> JsonObject:
            parsed = parse(event=event, model=model)
            logger.append_keys(restore_id=parsed.restore_id, **_volume(event))
            tracer.put_annotation("restoreId", parsed.restore_id)
            return step(parsed).to_json()

        handler: Handler = lambda_handler
        return handler

    return frame


def _volume(event: JsonObject) -> dict[str, Any]:
    """Which volume of the restore it is about, where it is about one."""
    volume = event.get("volume") or {}
    keys = {"volume_id": event.get("volumeId"), "snapshot_id": volume.get("snapshotId")}
    return {name: value for name, value in keys.items() if value}


def count(
    name: str,
    *,
    value: float = 1,
    unit: Literal["Count", "Seconds", "Percent", "None"] = "Count",
    **dimensions: str,
) -> None:
    """One business fact as a metric (CloudWatch embedded metric format, so it costs no call).

    The stack is a dimension: two stacks of an account must not raise each other's alarms.
    """
    with single_metric(name=name, unit=MetricUnit(unit), value=value, namespace=METRICS_NAMESPACE) as metric:
        metric.add_dimension(name="service", value="rewarm")
        metric.add_dimension(name="stack", value=os.environ["STACK_NAME"])
        for dimension, text in dimensions.items():
            metric.add_dimension(name=dimension, value=text)


def restore_reported(event: ReportEvent, result: ReportResult) -> None:
    """Counts a finished restore, ready or failed. Also writes zeros, so that alarms can return to OK."""
    count("RestoresFinished", verdict=result.verdict)
    figures_reported(event, result)


def figures_reported(event: ReportEvent, result: ReportResult) -> None:
    """Writes times and costs; a late report only these, for `Announce Unreported` counted the restore."""
    seconds = (event.now - event.started_at).total_seconds()
    count("RestoreSeconds", value=seconds, unit="Seconds", verdict=result.verdict)
    above = result.cost_usd - result.planned_cost_usd
    count("PlannedCostUsd", value=float(result.planned_cost_usd), unit="None")
    count("CostUsd", value=float(result.cost_usd), unit="None")
    count("CostAbovePlanUsd", value=max(0.0, float(above)), unit="None")
    if result.drill is not None:
        count("DrillsNotPassed", value=0 if result.drill.outcome == "passed" else 1)
    if event.deadline_at is not None and result.deadline_met is not None:
        _deadline(result, allowed_seconds=(event.deadline_at - event.started_at).total_seconds())


def _deadline(result: ReportResult, allowed_seconds: float) -> None:
    """By the slowest volume, as the report judges."""
    count(
        "DeadlineUsedPercent", value=100 * result.slowest_seconds / max(1.0, allowed_seconds), unit="Percent"
    )
    count("DeadlinesMissed", value=0 if result.deadline_met else 1)


def announced(event: AnnounceEvent) -> None:
    """A failure has one reason wherever it happened, also before there was anything to report.

    A restore whose report could not be written has finished all the same.
    """
    if event.event == "unreported":
        count("RestoresFinished", verdict="ready")
    failure = event.details.get("failure")
    metric = _FAILURES.get(event.event)
    if metric is not None and isinstance(failure, dict):
        told = explain(str(failure.get("error") or ""), str(failure.get("cause") or ""))
        count(metric, reason=told.error)


def polled(event: PollInitializationEvent, result: PollInitializationResult) -> None:
    """The agent's rate while it reads; what follows its end is waiting for CloudWatch."""
    before = event.previous.agent_finished_at if event.previous else None
    if event.dispatch is not None and before is None and result.mib_per_second is not None:
        count("AgentMibPerSecond", value=result.mib_per_second, unit="None")
