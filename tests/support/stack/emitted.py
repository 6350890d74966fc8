"""The metrics that the handlers write as CloudWatch embedded metric format, read as CloudWatch reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Datapoint:
    """One value of one metric."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]
    value: float
    unit: str
    at_ms: int


def datapoints(lines: Iterable[str]) -> Iterator[Datapoint]:
    """Those of log lines in the embedded metric format; other lines are passed over.

    CloudWatch user guide, "Specification: Embedded metric format": each set of dimensions names members of
    the root, as does each metric; a value is a number or a list of numbers.
    """
    for line in lines:
        try:
            root = json.loads(line)
        except ValueError:
            continue
        if isinstance(root, dict) and "_aws" in root:
            yield from _of_document(root)


def _of_document(root: dict[str, Any]) -> Iterator[Datapoint]:
    for directive in root["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = frozenset((name, str(root[name])) for name in names)
            assert all(value for _, value in dimensions), "CloudWatch drops a metric with an empty dimension"
            for metric in directive["Metrics"]:
                found = root[metric["Name"]]
                for value in found if isinstance(found, list) else [found]:
                    unit, at_ms = metric.get("Unit", "None"), int(root["_aws"]["Timestamp"])
                    yield Datapoint(
                        directive["Namespace"], metric["Name"], dimensions, float(value), unit, at_ms
                    )
