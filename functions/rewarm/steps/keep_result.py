"""State `Keep Result`: what became of one volume goes to the bucket, what its restore must know goes on."""

from __future__ import annotations

from rewarm.contracts import KeepResultEvent, KeepResultResult
from rewarm.ports import Artifacts
from rewarm.steps.kept import result_key


def keep_result(event: KeepResultEvent, *, artifacts: Artifacts) -> KeepResultResult:
    """Idempotent."""
    result, index = event.result, int(event.result["index"])
    key = result_key(event.restore_id, index)
    artifacts.put_json(key, result)
    return KeepResultResult(
        index=index,
        verdict="ready" if result.get("verdict") == "ready" else "failed",
        volume_id=result.get("volumeId"),
        snapshot_id=result.get("snapshotId"),
        error=result.get("error"),
        result_key=key,
    )
