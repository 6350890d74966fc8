"""Whether the run did what it is for, decided from what was found and not from what Rewarm says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from local import Json
from local.tools.run.recording import Proof, RestoreRecord, RunRecord
from rewarm.domain.model import Strategy
from rewarm.domain.words.failures import explain


def problems(run: RunRecord) -> list[str]:
    """Why the run is not ready; empty when it is."""
    found = [
        f"{restore.title}: {problem}" for restore in run.restores for problem in restore_problems(restore)
    ]
    if not run.restores:
        found.append("nothing was restored")
    return found + [f"left running, and costs money: {thing}" for thing in run.left_running]


def restore_problems(restore: RestoreRecord) -> Iterator[str]:
    """Why one restore is not ready."""
    if restore.status != "SUCCEEDED":
        why = explain(restore.error, restore.cause)
        yield f"the execution ended as {restore.status}: {why.error}: {why.sentence}"
        return
    verdict = (restore.report or {}).get("verdict")
    if verdict != "ready":
        yield f"its report says {verdict}"
    if restore.expected_outcome is not None:
        outcome = (restore.drill or {}).get("outcome")
        if outcome != restore.expected_outcome:
            yield f"the drill is {outcome}, and should be {restore.expected_outcome}"
        return
    if restore.device is not None and restore.device[0] != restore.device[1]:
        yield f"its device has the SHA-256 {restore.device[0]}, and should have {restore.device[1]}"
    if restore.proof is None and restore.device is None:
        yield "its volume could not be examined"
        return
    if restore.proof is not None:
        yield from _proof_problems(restore, restore.proof)


def _proof_problems(restore: RestoreRecord, proof: Proof) -> Iterator[str]:
    if proof.files == 0:
        yield "no file was compared"
    if proof.files_identical != proof.files or proof.differences:
        shown = ", ".join(proof.differences[:3])
        yield f"{proof.files - proof.files_identical} of {proof.files} files differ from the source ({shown})"
    if proof.read_blocks is None:
        return
    name = strategy(restore)
    if name is not None and Strategy(name).reads_with_agent and proof.read_blocks != proof.written_blocks:
        yield f"only {proof.read_blocks} of {proof.written_blocks} written blocks were read"
    if proof.fetched_blocks < proof.written_blocks:
        yield f"only {proof.fetched_blocks} of {proof.written_blocks} written blocks are local"


def strategy(restore: RestoreRecord) -> str | None:
    """The strategy that was carried out: after a fallback not the one that was planned."""
    report = restore.report
    if report and report.get("volumes") and report["volumes"][0].get("strategy"):
        name: str = report["volumes"][0]["strategy"]
        return name
    return restore.plans[0]["plan"]["strategy"] if restore.plans else None


def verdict_text(run: RunRecord) -> str:
    """The verdict as people read it; it names what this machine could not show."""
    if problems(run):
        return "not ready"
    return f"ready, but {run.machine_note}" if run.machine_note else "ready"


def summary(run: RunRecord, report: Path | None) -> Json:
    """The object that `--json` prints."""
    found = problems(run)
    return {
        "verdict": "failed" if found else "ready",
        "verdictText": verdict_text(run),
        "problems": found,
        "restores": [_restore_summary(restore) for restore in run.restores],
        "dataPlane": {"kind": "plain-files" if run.is_plain else "first-touch", "note": run.machine_note},
        "delivered": run.delivered,
        "leftRunning": run.left_running,
        "realSeconds": round(run.real_seconds, 1),
        "report": str(report) if report else None,
    }


def _restore_summary(restore: RestoreRecord) -> Json:
    plan = restore.plans[0]["plan"] if restore.plans else {}
    return {
        "restoreId": restore.restore_id,
        "trigger": restore.trigger,
        "status": restore.status,
        "error": restore.error or None,
        "strategy": strategy(restore),
        "volumeId": restore.volume_id,
        "plannedSeconds": {"p50": plan.get("readyP50Seconds"), "p90": plan.get("readyP90Seconds")},
        "labSeconds": None if restore.seconds is None else round(restore.seconds, 1),
        "realSeconds": round(restore.real_seconds, 1),
        "plannedCostUsd": str(plan["costUsd"]) if plan else None,
        "meteredCostUsd": restore.metered_usd,
        "readLatencyMs": {"before": _latency(restore, "Before"), "after": _latency(restore, "After")},
        "proof": _proof_summary(restore.proof),
    }


def _latency(restore: RestoreRecord, phase: str) -> Json | None:
    measured = restore.measured(phase)
    return None if measured is None else {**measured["latencyMs"], "iops": measured["iops"]}


def _proof_summary(proof: Proof | None) -> Json | None:
    if proof is None:
        return None
    return {
        "files": proof.files,
        "filesIdentical": proof.files_identical,
        "writtenBlocks": proof.written_blocks,
        "fetchedBlocks": proof.fetched_blocks,
        "readBlocks": proof.read_blocks,
    }


def total_usd(restore: RestoreRecord) -> Decimal:
    """The planned cost of all volumes of a restore."""
    return sum((Decimal(str(plan["plan"]["costUsd"])) for plan in restore.plans), Decimal(0))
