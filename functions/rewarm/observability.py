"""One logger, one tracer, and the metrics. The dashboard and the alarms of template.yaml read the metrics."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from aws_lambda_powertools import Logger, Tracer, single_metric
from aws_lambda_powertools.metrics import MetricUnit

if TYPE_CHECKING:
    from rewarm.steps.registration import Metric

logger = Logger(service="rewarm", child=False)
# Powertools takes Lambda's level, which must let the metrics through, and not the stack's LogLevel.
logging.getLogger("rewarm").setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL", "INFO"))
tracer = Tracer(service="rewarm", patch_modules=["botocore"])
METRICS_NAMESPACE = "Rewarm"


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


def write(metrics: Iterable[Metric]) -> None:
    """Writes what a step has counted."""
    for metric in metrics:
        count(metric.name, value=metric.value, unit=metric.unit, **metric.dimensions)
