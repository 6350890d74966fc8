"""State `Keep Result`: writes a volume's result to the bucket and answers what its restore needs of it."""

from __future__ import annotations

from rewarm.contracts import KeepResultEvent, KeepResultResult
from rewarm.domain.words.failures import Explanation, explain
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.bucket import result_key
from rewarm.steps.registration import state

MOST_CAUSE = 500
"""So many characters of each cause: a hundred causes still fit into a payload (payloads.py)."""


@state("Keep Result")
def keep_result(event: KeepResultEvent, *, artifacts: Artifacts) -> KeepResultResult:
    """Writes the result; idempotent."""
    result, index = event.result, int(event.result["index"])
    key = result_key(event.restore_id, index)
    artifacts.put_json(key, result)
    why = _why(result)
    return KeepResultResult(
        index=index,
        verdict="ready" if result.get("verdict") == "ready" else "failed",
        volume_id=result.get("volumeId"),
        snapshot_id=result.get("snapshotId"),
        error=why.error if why else None,
        cause=why.sentence[:MOST_CAUSE] if why else None,
        result_key=key,
        announced=result.get("announced", True),
    )


def _why(result: JsonObject) -> Explanation | None:
    """Step Functions calls every execution that failed States.TaskFailed; the cause says what it was."""
    error = result.get("error")
    return explain(error, result.get("cause")) if isinstance(error, str) else None
