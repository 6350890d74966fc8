"""What to type while the embedded AWS stays up: commands of `rewarm` with the ids of the run."""

from __future__ import annotations

from collections.abc import Iterator

from local.tools.run.lab import ALARM
from local.tools.run.recording import RunRecord


def commands(run: RunRecord) -> Iterator[str]:
    """Lines for a shell in the clone, with a comment above each group."""
    first, snapshot_id = run.restores[0], run.snapshot.snapshot_id if run.snapshot else None
    yield from _about("All restores, the first one, and its page in a file", [
        "list", f"status {first.restore_id}", f"report {first.restore_id} --save .local/restore.html",
    ])  # fmt: skip
    instance_id = first.request.get("target", {}).get("instanceId")
    if snapshot_id and instance_id:
        wanted = f"--snapshot {snapshot_id} --instance {instance_id} --ready-within 30"
        yield from _about("What a restore would take and cost; then the restore, watched to its end", [
            f"plan {wanted}", f"restore {wanted} --watch",
        ])  # fmt: skip
    for volume_id in run.delivered[:1]:
        yield from _about("The restored volume, and more throughput for it", [
            f"volume get {volume_id}", f"volume set {volume_id} --throughput 250",
        ])  # fmt: skip
    yield from _about("The alarm's runbook, and what it would restore now", [
        "runbook list", f"runbook check {ALARM}", f"runbook test {ALARM}",
    ])  # fmt: skip
    yield from _about("Fleets, drills, and what rewinds have overwritten", [
        "fleet list", f"drill list {ALARM}", "undo-log list",
    ])  # fmt: skip


def _about(subject: str, lines: list[str]) -> Iterator[str]:
    yield f"# {subject}"
    yield from (f"./rewarm {line} --local" for line in lines)
