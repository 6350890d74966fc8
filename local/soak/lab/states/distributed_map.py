"""A Map in distributed mode: its items are an object of S3, and each runs as a separate execution.

Step Functions developer guide, "Using Map state in Distributed mode", "ItemReader", "ResultWriter",
"Setting failure thresholds for Distributed Map states", "States.ExceedToleratedFailureThreshold". Which file
of ResultWriter has which fields, the page "ResultWriter" shows by an example.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from local import Json
from local.soak.lab.scheduler import Future
from local.soak.lab.states.errors import StateError

if TYPE_CHECKING:
    from local.soak.lab.objects import Buckets
    from local.soak.lab.states.execution import Execution, Visit
    from local.soak.lab.states.machines import StepFunctions

Steps = Generator[Future, Any, Any]
TOO_MANY = "States.ExceedToleratedFailureThreshold"
ITEM_BYTES = 262_144
"""A child's input is an execution's input (Step Functions developer guide, "Quotas")."""


def run_map(service: StepFunctions, execution: Execution, visit: Visit, value: Callable[..., Any]) -> Steps:
    """The output of the state: where ResultWriter has put the results. Raises StateError."""
    state = visit.state
    reader, writer = (value(visit, state[name]["Arguments"]) for name in ("ItemReader", "ResultWriter"))
    most = value(visit, state.get("MaxConcurrency")) or 10_000
    limits = [value(visit, state.get(f"ToleratedFailure{name}")) for name in ("Percentage", "Count")]
    run = f"{service.chance.getrandbits(96):024x}"
    results = f"{writer['Prefix']}/{run}"
    places = (f"{reader['Bucket']}/{reader['Key']}", f"{writer['Bucket']}/{results}")
    service.may_map(execution.machine.arn, *places)
    waiting = [_selected(visit, value, item) for item in _items(service.buckets, reader, state)]
    children = _Children()
    machine = replace(execution.machine, definition={**state["ItemProcessor"], "QueryLanguage": "JSONata"})
    try:
        for item in waiting:
            children.add(service.start_child(machine, state["Label"], item))
            while len(children.running) >= most:
                yield from children.next_end(len(waiting), *limits)
        while children.running:
            yield from children.next_end(len(waiting), *limits)
    finally:
        for child in list(children.running.values()):
            service.end_child(child)
        _write(service.buckets, writer["Bucket"], results, children.all)
    details = {"Bucket": writer["Bucket"], "Key": f"{results}/manifest.json"}
    return {"MapRunArn": _map_run(execution, state["Label"], run), "ResultWriterDetails": details}


class _Children:
    """The children of one Map Run."""

    def __init__(self) -> None:
        self.all: list[Execution] = []
        self.running: dict[str, Execution] = {}
        self._failed = 0
        self._next = Future()

    def add(self, child: Execution) -> None:
        """One that has just been started."""
        self.all.append(child)
        self.running[child.arn] = child
        child.ended.listen(self._over)

    def next_end(self, total: int, percentage: float | None, count: int | None) -> Steps:
        """Waits until one ends. Raises StateError where more have failed than the Map tolerates."""
        self._next = Future()
        yield self._next
        if _is_exceeded(self._failed, total, percentage, count):
            raise StateError(TOO_MANY, "The specified tolerated failure threshold was exceeded")

    def _over(self, child: Execution) -> None:
        self._failed += child.status != "SUCCEEDED"
        del self.running[child.arn]
        self._next.settle(child)


def _selected(visit: Visit, value: Callable[..., Any], item: Any) -> Any:
    """What the child gets. Raises StateError."""
    selector = visit.state.get("ItemSelector")
    if selector is not None:
        scope = replace(visit.scope, item={"Item": {"Value": item}})
        item = value(replace(visit, scope=scope), selector)
    if len(json.dumps(item).encode()) > ITEM_BYTES:
        raise StateError("States.ItemReaderFailed", "an item is larger than the input of an execution")
    return item


def _items(buckets: Buckets, reader: Json, state: Json) -> list[Any]:
    found = buckets[reader["Bucket"]].get(reader["Key"])
    if found is None:
        raise StateError("States.ItemReaderFailed", f"there is no object {reader['Key']}")
    if state["ItemReader"]["ReaderConfig"]["InputType"] == "JSONL":
        return [json.loads(line) for line in found.value.splitlines()]
    return list(json.loads(found.value))


def _is_exceeded(failed: int, total: int, percentage: float | None, count: int | None) -> bool:
    """Where both limits are given, either fails the Map Run; without any, each failure does."""
    if percentage is None and count is None:
        return failed > 0
    return failed * 100 > (100 if percentage is None else percentage) * total or (
        count is not None and failed > count
    )


def _write(buckets: Buckets, bucket: str, prefix: str, children: list[Execution]) -> None:
    """A file for each status that any child has, and the manifest that names them."""
    files: dict[str, list[Json]] = {"FAILED": [], "PENDING": [], "SUCCEEDED": []}
    for status in ("FAILED", "SUCCEEDED"):
        of_status = [_described(child) for child in children if _file(child) == status]
        if of_status:
            key = f"{prefix}/{status}_0.json"
            text = json.dumps(of_status)
            buckets.put(bucket, key, text.encode())
            files[status].append({"Key": key, "Size": len(text)})
    manifest = {"DestinationBucket": bucket, "ResultFiles": files}
    buckets.put(bucket, f"{prefix}/manifest.json", json.dumps(manifest).encode())


def _described(child: Execution) -> Json:
    found = {"ExecutionArn": child.arn, "Name": child.name, "Status": child.status, "Input": child.input}
    if child.status == "SUCCEEDED":
        return {**found, "Output": json.dumps(child.output)}
    return {**found, "Error": child.error, "Cause": child.cause}


def _file(child: Execution) -> str:
    return "SUCCEEDED" if child.status == "SUCCEEDED" else "FAILED"


def _map_run(execution: Execution, label: str, run: str) -> str:
    machine = execution.machine.arn.replace(":stateMachine:", ":mapRun:", 1)
    return f"{machine}/{label}:{run}"
