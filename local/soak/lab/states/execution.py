"""One execution of a state machine: our Amazon States Language in JSONata, state by state.

Amazon States Language, and Step Functions developer guide ("Transforming data with JSONata", "Passing data
between states with variables", "Handling errors", "Service quotas"): only what statemachine/ uses; anything
else is refused when the machine is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from local import Json
from local.soak.lab.scheduler import Future, Process
from local.soak.lab.states.distributed_map import run_map
from local.soak.lab.states.errors import StateError, too_large
from local.soak.lab.states.expressions import QueryError, evaluate

if TYPE_CHECKING:
    from local.soak.lab.states.machines import Machine, StepFunctions

Steps = Generator[Future, Any, Any]
PAYLOAD_BYTES = 262_144
MOST_EVENTS = 25_000
EVENTS = {"Task": 5, "Map": 4, "Wait": 2, "Choice": 2, "Pass": 2, "Succeed": 2, "Fail": 1}
"""Entries of the history for a state that goes well; each further try of a Task writes three more."""


def stamp(instant: float) -> str:
    """An instant as Step Functions writes it."""
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Scope:
    """Where the names of an expression come from; an item of a Map has its own scope."""

    variables: Json
    item: Json = field(default_factory=dict)
    at: tuple[str, Any] | None = None
    """The state that was entered last, and its input: where a redrive continues."""
    items: dict[int, Scope] = field(default_factory=dict)
    """Of the Map that was entered last."""
    results: dict[int, Any] = field(default_factory=dict)
    """Of the items that came to their end."""


@dataclass
class Execution:
    """What DescribeExecution and GetExecutionHistory know."""

    arn: str
    name: str
    machine: Machine
    input: Any
    started: float
    status: str = "RUNNING"
    output: Any = None
    error: str = ""
    cause: str = ""
    stopped: float | None = None
    events: int = 1
    visits: list[str] = field(default_factory=list)
    entered: list[float] = field(default_factory=list)
    """When each of the visits began."""
    answers: list[tuple[str, Any]] = field(default_factory=list)
    """(state, what its function answered), in order."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """(state, error) of every failed try."""
    ended: Future = field(default_factory=Future)
    process: Process | None = None
    inner: list[Process] = field(default_factory=list)
    scope: Scope = field(default_factory=lambda: Scope({}))
    redrives: int = 0
    is_child: bool = False
    """Of a Distributed Map."""

    @property
    def state(self) -> str:
        """The state entered last."""
        return self.visits[-1] if self.visits else ""


@dataclass(slots=True)
class Visit:
    """One stay in one state."""

    name: str
    state: Json
    input: Any
    entered: float
    scope: Scope
    token: str = ""
    tries: int = 0


class Interpreter:
    """Runs one execution."""

    def __init__(self, service: StepFunctions, execution: Execution) -> None:
        self._service = service
        self._execution = execution

    def run(self) -> Steps:
        """To the end, from where it was if it is redriven; raises StateError where the execution fails."""
        one = self._execution
        return (yield from self.states(one.machine.definition, one.input, one.scope))

    def states(self, part: Json, data: Any, scope: Scope) -> Steps:
        """The states of a machine, or of a Map's ItemProcessor, from StartAt on."""
        name: str | None
        name, data = scope.at or (part["StartAt"], data)
        while name is not None:
            scope.at = name, data
            state = part["States"][name]
            self._count(EVENTS[state["Type"]])
            self._execution.visits.append(name)
            self._execution.entered.append(self._service.scheduler.now)
            visit = Visit(name, state, data, self._service.scheduler.now, scope)
            data, name = yield from self._visit(visit)
        return data

    def _visit(self, visit: Visit) -> Steps:
        """Returns output and next state (None at the end); a caught error continues where Catch says."""
        tries: dict[int, int] = {}
        while True:
            try:
                return (yield from self._once(visit))
            except StateError as failure:
                self._execution.failures.append((visit.name, failure.error))
                seconds = self._retry_delay(visit.state, failure, tries)
                if seconds is None:
                    return self._caught(visit, failure)
                visit.tries += 1
                self._count(3)
            yield self._service.scheduler.sleep(seconds)

    def _once(self, visit: Visit) -> Steps:
        try:
            match visit.state["Type"]:
                case "Task":
                    result = yield from self._service.task(self._execution, visit, self)
                    self._limit(f"the result of {visit.name}", result)
                case "Map":
                    result = yield from self._map(visit)
                case "Wait":
                    yield self._service.scheduler.sleep(float(self.value(visit, visit.state["Seconds"])))
                    result = visit.input
                case "Choice":
                    return self._choose(visit)
                case "Fail":
                    raise StateError(*(self.value(visit, visit.state[name]) for name in ("Error", "Cause")))
                case _:
                    result = visit.input
            return self._leave(visit, visit.state, result)
        except QueryError as error:
            raise StateError("States.QueryEvaluationError", str(error)) from error

    def _leave(self, visit: Visit, rule: Json, result: Any, failure: StateError | None = None) -> Any:
        """Assign and Output see the variables as they were before."""
        names = {"result": result}
        if failure is not None:
            names = {"errorOutput": {"Error": failure.error, "Cause": failure.cause}}
            result = names["errorOutput"]
        assigned = self.value(visit, rule.get("Assign", {}), **names)
        output = self.value(visit, rule["Output"], **names) if "Output" in rule else result
        for name, value in assigned.items():
            self._limit(f"the variable {name}", value)
        self._limit(f"the output of {visit.name}", output)
        visit.scope.variables = {**visit.scope.variables, **assigned}
        ends = rule.get("End") or visit.state["Type"] == "Succeed"
        return output, None if ends else rule["Next"]

    def _choose(self, visit: Visit) -> Any:
        for rule in visit.state["Choices"]:
            if self.value(visit, rule["Condition"]) is True:
                return self._leave(visit, rule, visit.input)
        if "Default" not in visit.state:
            raise StateError("States.NoChoiceMatched", visit.name)
        return self._leave(visit, {"Next": visit.state["Default"]}, visit.input)

    def _map(self, visit: Visit) -> Steps:
        """At most MaxConcurrency items at once; the first that fails ends the others."""
        if visit.state["ItemProcessor"].get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED":
            return (yield from run_map(self._service, self._execution, visit, self.value))
        items = self.value(visit, visit.state["Items"])
        outer = visit.scope
        outer.items = outer.items or {index: Scope(dict(outer.variables)) for index in range(len(items))}
        waiting = [one for one in enumerate(items) if one[0] not in outer.results]
        running: dict[int, Process] = {}
        self._count(3 * len(items))
        try:
            while waiting or running:
                while waiting and len(running) < (visit.state.get("MaxConcurrency") or 40):
                    index, item = waiting.pop(0)
                    running[index] = self._item(visit, index, item, outer.items[index])
                index, failed, value = yield _first(running)
                del running[index]
                if failed is not None:
                    raise failed
                outer.results[index] = value
        finally:
            for process in running.values():
                process.stop((0, None, None))
        results = [outer.results[index] for index in range(len(items))]
        outer.items, outer.results = {}, {}
        return results

    def _item(self, visit: Visit, index: int, item: Any, scope: Scope) -> Process:
        scope.item = {"Item": {"Index": index, "Value": item}}
        inner = Visit(visit.name, visit.state, visit.input, visit.entered, scope)
        selector = visit.state.get("ItemSelector")
        data = item if selector is None else self.value(inner, selector)

        def steps() -> Steps:
            try:
                return index, None, (yield from self.states(visit.state["ItemProcessor"], data, scope))
            except StateError as failure:
                return index, failure, None

        process = self._service.scheduler.start(steps())
        self._execution.inner.append(process)
        return process

    def value(self, visit: Visit, template: Any, **names: Any) -> Any:
        """A template of the state, evaluated; raises QueryError."""
        states = {"input": visit.input, "context": self._context(visit), **names}
        return evaluate(template, {**visit.scope.variables, "states": states})

    def _context(self, visit: Visit) -> Json:
        one = self._execution
        context: Json = {
            "Execution": {
                "Id": one.arn,
                "Name": one.name,
                "Input": one.input,
                "StartTime": stamp(one.started + one.machine.clock_ahead),
                "RedriveCount": one.redrives,
            },
            "State": {
                "Name": visit.name,
                "EnteredTime": stamp(visit.entered + one.machine.clock_ahead),
                "RetryCount": visit.tries,
            },
            "StateMachine": {"Id": one.machine.arn, "Name": one.machine.name},
        }
        if visit.token:
            context["Task"] = {"Token": visit.token}
        if visit.scope.item:
            context["Map"] = visit.scope.item
        return context

    def _retry_delay(self, state: Json, failure: StateError, tries: dict[int, int]) -> float | None:
        """Each Retrier counts for itself."""
        for number, rule in enumerate(state.get("Retry", ())):
            if not failure.matches(rule["ErrorEquals"]):
                continue
            done = tries.get(number, 0)
            if done >= rule.get("MaxAttempts", 3):
                return None
            tries[number] = done + 1
            delay = rule.get("IntervalSeconds", 1) * rule.get("BackoffRate", 2.0) ** done
            delay = min(delay, rule.get("MaxDelaySeconds", delay))
            full = rule.get("JitterStrategy") == "FULL"
            return self._service.chance.uniform(0, delay) if full else float(delay)
        return None

    def _caught(self, visit: Visit, failure: StateError) -> Any:
        for rule in visit.state.get("Catch", ()):
            if failure.matches(rule["ErrorEquals"]):
                return self._leave(visit, rule, None, failure)
        raise failure

    def _count(self, events: int) -> None:
        self._execution.events += events
        if self._execution.events > MOST_EVENTS:
            raise StateError("States.Runtime", f"the history has more than {MOST_EVENTS} events")

    def _limit(self, what: str, value: Any) -> None:
        limit(what, value)


def limit(what: str, value: Any) -> None:
    """Raises StateError where the value is larger than a state may carry."""
    # No text of so few characters has so many bytes: most values are measured without encoding them.
    size = len(json.dumps(value))
    if size * 4 > PAYLOAD_BYTES:
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        if size > PAYLOAD_BYTES:
            raise too_large(what, size, PAYLOAD_BYTES)


def _first(running: Mapping[int, Process]) -> Future:
    """Settles with the result of the item that ends first."""
    first = Future()
    for process in list(running.values()):
        process.result.listen(first.settle)
    return first
