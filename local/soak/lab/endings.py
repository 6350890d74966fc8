"""How restores end in the lab."""

from __future__ import annotations

from dataclasses import dataclass, field

from local import Json
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import Execution
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS

VOLUME, RESTORE = "RestoreVolumeStateMachine", "RestoreStateMachine"
FLEET = "FleetStateMachine"
LONGEST_SECONDS = LONGEST_RESTORE_SECONDS + 86_400


@dataclass(slots=True)
class Ending:
    """How a path ended."""

    status: str
    error: str = ""
    cause: str = ""
    ready: list[str] = field(default_factory=list)
    """Volumes that are reported as ready."""
    restore_ids: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def kind(self) -> str:
        """`ready`, `failed …`, `refused …`: what is compared."""
        return self.status if not self.error else f"{self.status} {self.error}"


def stopped_when_ready(execution: Execution, record: Json) -> bool:
    """Whether the restore was stopped after its report: then it stays ready, and no failure is announced.

    The function of `Report` outlives a stopped execution, so the record counts, too.
    """
    reported = any(state == "Report" and answer["verdict"] == "ready" for state, answer in execution.answers)
    return execution.status == "ABORTED" and (reported or record.get("status") == "ready")


def ended(lab: FastLab, *restore_ids: str) -> Ending:
    """How the restores ended; the worst of several counts."""
    executions = [lab.execution(RESTORE, restore_id) for restore_id in restore_ids]
    found = [
        _ending(lab, lab.finish(execution, most_seconds=LONGEST_SECONDS))
        for execution in executions
        if execution
    ]
    if not found:
        return Ending("never started", restore_ids=list(restore_ids))
    worst = next((one for one in found if one.status != "ready"), found[0])
    worst.ready = [volume for one in found for volume in one.ready]
    worst.restore_ids = list(restore_ids)
    return worst


def _ending(lab: FastLab, execution: Execution) -> Ending:
    children = [one for one in lab.executions(VOLUME) if one.name.startswith(f"{execution.name}-")]
    for child in children:
        lab.finish(child, most_seconds=LONGEST_SECONDS)
    ready = [str(one.output["volumeId"]) for one in children if one.status == "SUCCEEDED"]
    if execution.status == "SUCCEEDED":
        return Ending(str(execution.output.get("verdict", "done")), ready=ready)
    status = {"FAILED": "failed", "ABORTED": "aborted", "TIMED_OUT": "timed out"}.get(
        execution.status, "stuck"
    )
    return Ending(status, execution.error, execution.cause, ready)
