"""The registration of a step, from which `runtime` makes the Lambda function of its states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Literal, TypeVar

from rewarm.domain.value import Value

StepFunction = TypeVar("StepFunction", bound=Callable[..., Any])


class Metric(Value):
    """One fact for the dashboard and the alarms of template.yaml."""

    name: str
    value: float = 1
    unit: Literal["Count", "Seconds", "Percent", "None"] = "Count"
    dimensions: Mapping[str, str] = field(default_factory=dict)


Metrics = Callable[[Any, Any], Iterator[Metric]]
"""From the event and the result of a step to what is counted."""


class Registration(Value):
    """The Task states that a step serves, and what is counted when it has returned."""

    states: tuple[str, ...]
    step: Callable[..., Any]
    metrics: Metrics | None


REGISTRATIONS: dict[str, Registration] = {}
"""By the names of the steps that are imported."""


def state(*names: str, metrics: Metrics | None = None) -> Callable[[StepFunction], StepFunction]:
    """Registers a function as the step of the states with these names.

    It takes the event, and then a bundle of ports or ports by keyword. Their names say which they are: see
    wiring.py.
    """

    def register(step: StepFunction) -> StepFunction:
        REGISTRATIONS[step.__name__] = Registration(names, step, metrics)
        return step

    return register
