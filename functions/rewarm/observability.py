"""One logger, one tracer, the metrics, and the frame that every step's handler stands in."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from aws_lambda_powertools import Logger, Tracer, single_metric
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.parser import parse
from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm.contracts.base import Contract, JsonObject, StepEvent

logger = Logger(service="rewarm", child=False)
# Powertools takes Lambda's level, which must let the metrics through, and not the stack's LogLevel.
logging.getLogger("rewarm").setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL", "INFO"))
tracer = Tracer(service="rewarm", patch_modules=["botocore"])
METRICS_NAMESPACE = "Rewarm"

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
