"""A Distributed Map evaluates JSONata, stops when it should, and writes its results.

Why: the emulator reads ItemReader, ItemSelector and MaxConcurrency as JSONPath only, and no JSON lines. It
starts every item although the execution was stopped or too many have failed, and it has no ResultWriter. On
AWS a Map Run ends with the execution that started it, and as soon as more items have failed than it tolerates
(Step Functions developer guide, "Using Map state in Distributed mode", "Setting failure thresholds for
Distributed Map states", "ItemReader").
"""

from __future__ import annotations

import contextvars
import copy
import json
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

from local.aws.emulator import seam
from local.aws.emulator.lab_time import STOPPED, current_stop

Json = dict[str, Any]
TOO_MANY = "States.ExceedToleratedFailureThreshold"
LOOK_SECONDS = 0.05
"""Between two looks whether the execution was stopped."""
MOST_THREADS = 64


def apply() -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    seam.known(states, "_run_distributed_map", "_read_map_items(", "failed * 100 > tolerated_pct")

    def run(
        state: Json, raw_input: Any, _effective: Any, processor: Json, execution: Json, context: Json
    ) -> tuple[Any, Any]:
        def value(part: Any) -> Any:
            return states._apply_jsonata_template(part, raw_input, context)

        reader, writer = (value(state[name]["Arguments"]) for name in ("ItemReader", "ResultWriter"))
        text = states._s3_object_text(reader["Bucket"], reader["Key"])
        is_lines = state["ItemReader"]["ReaderConfig"]["InputType"] == "JSONL"
        items = [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
        if "ItemSelector" in state:
            items = [
                states._apply_jsonata_template(
                    state["ItemSelector"], raw_input, {**context, "Map": {"Item": {"Value": item}}}
                )
                for item in items
            ]
        tolerated = [value(state.get(f"ToleratedFailure{name}")) for name in ("Percentage", "Count")]
        map_run = _MapRun(states, state, processor, execution, context)
        try:
            map_run.go(items, value(state.get("MaxConcurrency")) or MOST_THREADS, *tolerated)
        finally:
            key = _write(writer["Bucket"], f"{writer['Prefix']}/{map_run.id}", map_run.children)
        result = {"MapRunArn": map_run.arn, "ResultWriterDetails": {"Bucket": writer["Bucket"], "Key": key}}
        output = states._apply_jsonata_output(state, raw_input, context, result=result, default=result)
        states._apply_state_assign(state, raw_input, context, result=result)
        return output, states._next_or_end(state)

    seam.replace(states, "_run_distributed_map", run)


class _MapRun:
    """The children of one state, each in a thread."""

    def __init__(self, states: Any, state: Json, processor: Json, execution: Json, context: Json) -> None:
        self.id = str(uuid.uuid4())
        self.children: list[Json] = []
        machine = execution["stateMachineArn"]
        self._name = f"{machine.rpartition(':')[2]}/{state['Label']}"
        self._prefix = machine.partition(":stateMachine:")[0]
        self.arn = f"{self._prefix}:mapRun:{self._name}:{self.id}"
        self._states, self._processor, self._context = states, processor, context

    def go(self, items: list[Any], most: int, percentage: float | None, count: int | None) -> None:
        """Runs all items. Raises the emulator's error where it was stopped or too many have failed."""
        waiting, running, failed = list(items), set[Future[bool]](), 0
        parent, stop = current_stop.get(), Event()
        error: tuple[str, str] | None = None
        with ThreadPoolExecutor(max_workers=min(most, len(items)) or 1) as pool:
            while (waiting and error is None) or running:
                while waiting and error is None and len(running) < most:
                    running.add(pool.submit(_in_context(self._child, stop), waiting.pop(0)))
                over, running = wait(running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
                failed += sum(not future.result() for future in over)
                if parent is not None and parent.is_set():
                    error = (STOPPED, "the execution was stopped")
                elif _is_exceeded(failed, len(items), percentage, count):
                    error = (TOO_MANY, "The specified tolerated failure threshold was exceeded")
                if error is not None:
                    stop.set()
        if error is not None:
            raise self._states._ExecutionError(*error)

    def _child(self, item: Any) -> bool:
        """Whether the child succeeded."""
        states, name = self._states, str(uuid.uuid4())
        child = {
            "executionArn": f"{self._prefix}:execution:{self._name}:{name}",
            "stateMachineArn": f"{self._prefix}:stateMachine:{self._name}",
            "name": name, "status": "RUNNING", "startDate": states.now_iso(), "stopDate": None,
            "input": json.dumps(item), "inputDetails": {"included": True}, "output": None,
            "outputDetails": {"included": True}, "mapRunArn": self.arn, "events": [], "mockAttempts": {},
        }  # fmt: skip
        states._executions[child["executionArn"]] = child
        self.children.append(child)
        context = copy.deepcopy(self._context)
        started = {"Id": child["executionArn"], "Name": name, "Input": item, "StartTime": child["startDate"]}
        context["Execution"] = {**context.get("Execution", {}), **started}
        try:
            part = self._processor
            output = states._run_sub_machine(part["States"], part["StartAt"], item, child, context)
            child.update(status="SUCCEEDED", output=json.dumps(output))
        except states._ExecutionError as error:
            status = "ABORTED" if error.error == STOPPED else "FAILED"
            child.update(status=status, error=error.error, cause=error.cause)
        child["stopDate"] = states.now_iso()
        return bool(child["status"] == "SUCCEEDED")


def _in_context(work: Callable[[Any], bool], stop: Event) -> Callable[[Any], bool]:
    """The work as it is in this thread's context, but stopped by an event of its own."""
    context = contextvars.copy_context()

    def done(item: Any) -> bool:
        context.run(current_stop.set, stop)
        return context.run(work, item)

    return done


def _is_exceeded(failed: int, total: int, percentage: float | None, count: int | None) -> bool:
    """Where both limits are given, either fails the Map Run; without any, each failure does."""
    if percentage is None and count is None:
        return failed > 0
    return failed * 100 > (100 if percentage is None else percentage) * total or (
        count is not None and failed > count
    )


def _write(bucket: str, prefix: str, children: list[Json]) -> str:
    """A file for each status, and the manifest that names them, whose key is returned."""
    s3 = seam.module("services.s3")
    files: dict[str, list[Json]] = {"FAILED": [], "PENDING": [], "SUCCEEDED": []}
    for status in ("FAILED", "SUCCEEDED"):
        text = json.dumps([_described(child) for child in children if _file(child) == status])
        if text != "[]":
            s3._put_object(bucket, f"{prefix}/{status}_0.json", text.encode(), {})
            files[status].append({"Key": f"{prefix}/{status}_0.json", "Size": len(text)})
    manifest = {"DestinationBucket": bucket, "ResultFiles": files}
    s3._put_object(bucket, f"{prefix}/manifest.json", json.dumps(manifest).encode(), {})
    return f"{prefix}/manifest.json"


def _file(child: Json) -> str:
    return "SUCCEEDED" if child["status"] == "SUCCEEDED" else "FAILED"


def _described(child: Json) -> Json:
    names = ("executionArn", "name", "status", "input", "output", "error", "cause", "startDate", "stopDate")
    return {name[0].upper() + name[1:]: child[name] for name in names if child.get(name) is not None}
