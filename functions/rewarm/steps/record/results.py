"""What became of one volume: what its execution returned, what the bucket has kept, and what the record says.

An execution may end without an account: it is stopped, runs into its time limit, or Step Functions itself
gives up. If its volume had reached full speed before, the volume stays, and is ready.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.domain.words.failures import explain
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.bucket import result_key
from rewarm.steps.record.payloads import read_if_kept
from rewarm.steps.record.restore import KnownRestore


def kept_result(restore_id: str, record: KnownRestore, index: int, artifacts: Artifacts) -> JsonObject:
    """A volume's result as `Keep Result` wrote it; empty without one.

    Unless that is a ready one, the result in the volume's own report counts, where there is one.
    """
    found = read_if_kept(result_key(restore_id, index), artifacts)
    own = None if found.get("verdict") == "ready" else record.volume(index).report.report_key
    reported = {} if own is None else read_if_kept(own, artifacts)
    return next(iter(reported.get("results") or []), found)


def ready_result(restore_id: str, record: KnownRestore, index: int, artifacts: Artifacts) -> JsonObject:
    """The result of a volume at full speed, with the figures that were kept."""
    known = kept_result(restore_id, record, index, artifacts)
    found = known if known.get("verdict") == "ready" else {}
    return {"volumeId": record.volume(index).volume_id, **found, "index": index, "verdict": "ready"}


def is_ready_nevertheless(result: JsonObject, record: KnownRestore) -> bool:
    """Whether a failed result is of a volume at full speed, whose execution ended later without an account.

    An execution that names the state that failed gives an account, and then its failure counts: somebody has
    deleted the volume. A drill promises that its volume is gone, so its failures count, too.
    """
    if result.get("verdict") == "ready" or record.is_drill or not record.settled(int(result["index"])):
        return False
    return explain(str(result.get("error") or ""), result.get("cause")).state is None


def are_all_ready(results: Sequence[JsonObject], record: KnownRestore) -> bool:
    """Whether all volumes of the restore are at full speed, whatever else has failed since."""
    are_ready = [each.get("verdict") == "ready" or is_ready_nevertheless(each, record) for each in results]
    return record.is_at_full_speed and bool(are_ready) and all(are_ready)


def true_result(
    restore_id: str, result: JsonObject, record: KnownRestore, artifacts: Artifacts
) -> JsonObject:
    """The result; the volume's own where it is ready and only its execution has failed.

    `announced` says then whether a channel has accepted the ready message.
    """
    if not is_ready_nevertheless(result, record):
        return result
    index = int(result["index"])
    is_announced = record.volume(index).message_sent is not None
    return {**ready_result(restore_id, record, index, artifacts), "announced": is_announced}
