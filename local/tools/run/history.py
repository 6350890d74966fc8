"""From the execution histories of the state machines to visits of states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from local import Json
from local.tools.run.recording import StateVisit
from rewarm.domain.words.failures import explain

_ENTERED = "StateEntered"
_EXITED = "StateExited"

WAITS_FOR_EVENTS = "Await Signal"


def visits(execution: str, events: Iterable[Json]) -> list[StateVisit]:
    """The states that an execution visited, in the order of entry (botocore shape HistoryEvent).

    Branches of a Map share one history, and not every implementation links an event to its state's entry: an
    event belongs to the newest visit that is still open.
    """
    found: list[StateVisit] = []
    for event in events:
        kind: str = event["type"]
        if kind.endswith(_ENTERED):
            found.append(_entered(execution, kind.removesuffix(_ENTERED), event))
        elif kind.endswith(_EXITED):
            _close(found, event)
        elif kind in {"TaskFailed", "TaskTimedOut", "LambdaFunctionFailed", "LambdaFunctionTimedOut"}:
            _fail(found, event)
        elif kind in {"TaskSucceeded", "LambdaFunctionSucceeded"}:
            _answer(found, event)
    return found


def end_of(events: Iterable[Json]) -> tuple[str, str] | None:
    """Error and cause of the event that ended an execution without success, or None."""
    for event in events:
        for kind in ("executionFailed", "executionTimedOut", "executionAborted"):
            details = event.get(f"{kind}EventDetails")
            if details is not None:
                return str(details.get("error", "")), str(details.get("cause", ""))
    return None


def _entered(execution: str, kind: str, event: Json) -> StateVisit:
    name = event["stateEnteredEventDetails"]["name"]
    if name.startswith(WAITS_FOR_EVENTS):
        kind = "Wait"  # a Task only to be woken early; its time-out is no failure
    return StateVisit(execution=execution, state=name, kind=kind, entered_at=_instant(event["timestamp"]))


def _close(found: list[StateVisit], event: Json) -> None:
    name = event["stateExitedEventDetails"]["name"]
    for index in _open(found):
        if found[index].state == name:
            found[index] = replace(found[index], left_at=_instant(event["timestamp"]))
            return


def _fail(found: list[StateVisit], event: Json) -> None:
    details = next(value for key, value in event.items() if key.endswith("EventDetails"))
    why = explain(str(details.get("error", "")), str(details.get("cause", "")))
    words = f"{why.error}: {why.sentence}"
    for index in _open_tasks(found):
        found[index] = replace(found[index], failures=(*found[index].failures, words))
        return


def _answer(found: list[StateVisit], event: Json) -> None:
    details = next(value for key, value in event.items() if key.endswith("EventDetails"))
    answer = _parsed(details.get("output", "null"))
    for index in _open_tasks(found):
        found[index] = replace(found[index], payload=_payload(answer))
        return


def _open(found: list[StateVisit]) -> Iterator[int]:
    return (index for index in range(len(found) - 1, -1, -1) if found[index].left_at is None)


def _open_tasks(found: list[StateVisit]) -> Iterator[int]:
    return (index for index in _open(found) if found[index].kind == "Task")


def _payload(answer: Any) -> Any:
    """A function's answer is in that of `lambda:invoke`, a child execution's in that of DescribeExecution."""
    if isinstance(answer, dict):
        for key in ("Payload", "Output"):
            if key in answer:
                return _parsed(answer[key]) if isinstance(answer[key], str) else answer[key]
    return answer


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def _instant(stamp: datetime | float | str) -> float:
    if isinstance(stamp, datetime):
        return stamp.timestamp()
    if isinstance(stamp, str):
        return datetime.fromisoformat(stamp).timestamp()
    return float(stamp)
