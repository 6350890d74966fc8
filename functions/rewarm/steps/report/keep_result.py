"""State `Keep Result`: writes a volume's result to the bucket, and returns what its restore needs of it."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent
from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.domain.words.failures import Explanation, explain
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.executions import VolumeExecutions
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.bucket import result_key
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.record.results import true_result
from rewarm.steps.registration import state

ENDED_BEFORE = "StepFunctions.ExecutionAlreadyExistsException"
"""The error of a Task that starts an execution, if its first try lost the answer and the execution ended
before the second try. It occurs after a redrive as well."""
MOST_CAUSE = 500
"""Characters of a cause, so that a hundred causes fit into a payload (payloads.py)."""


class KeepResultEvent(StepEvent):
    """Asks to keep what became of one volume."""

    result: JsonObject


class StoredResult(Contract):
    """What a restore must know of its volume; the bucket has the whole result."""

    index: int
    verdict: Literal["ready", "failed"]
    volume_id: str | None = None
    snapshot_id: str | None = None
    error: str | None = None
    cause: Annotated[
        str | None, Field(description="Why it failed, in words; for the message where there is no report.")
    ] = None
    result_key: str
    announced: Annotated[
        bool, Field(description="False if no channel accepted the ready message; the sweeper sends it.")
    ] = True


@state("Keep Result")
def keep_result(
    event: KeepResultEvent, *, artifacts: Artifacts, volume_executions: VolumeExecutions, table: RestoreTable
) -> StoredResult:
    """Writes the result; idempotent. Asks for it where the volume's execution had ended before.

    A volume at full speed is ready, even if its execution ended later without an account (results.py).
    """
    result = event.result
    index = int(event.result["index"])
    if result.get("error") == ENDED_BEFORE:
        result = _ended(result, volume_executions.ending(event.restore_id, index))
    if result.get("verdict") != "ready":
        record = RestoreNotes(table, event.restore_id).read_with(index)
        result = true_result(event.restore_id, result, record, artifacts)
    key = result_key(event.restore_id, index)
    artifacts.put_json(key, result)
    why = _why(result)
    return StoredResult(
        index=index,
        verdict="ready" if result.get("verdict") == "ready" else "failed",
        volume_id=result.get("volumeId"),
        snapshot_id=result.get("snapshotId"),
        error=why.error if why else None,
        cause=why.sentence[:MOST_CAUSE] if why else None,
        result_key=key,
        announced=result.get("announced", True),
    )


def _ended(result: JsonObject, end: ExecutionEnd) -> JsonObject:
    """The result with which the execution itself ended; the given one if the execution says nothing."""
    if end.status == "SUCCEEDED" and end.output:
        output: JsonObject = json.loads(end.output)
        return output
    return {**result, "error": end.error, "cause": end.cause} if end.error else result


def _why(result: JsonObject) -> Explanation | None:
    """The failure: Step Functions reports any failed execution as States.TaskFailed, so the cause counts."""
    error = result.get("error")
    return explain(error, result.get("cause")) if isinstance(error, str) else None
