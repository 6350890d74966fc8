"""Ways of fleets: all ready, one volume that a redrive brings back, cancelled, and stopped by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local import Json
from local.aws.region import FaultRule
from local.soak.lab.endings import FLEET, LONGEST_SECONDS, RESTORE, Ending, ended
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.adopt_paths import PATHS
from local.soak.trouble.paths.paths import LATE_SECONDS, awaiting, path, snapshot

__all__ = ["PATHS"]
TRIED_SECONDS = 600.0
"""For so long somebody sends a redrive again that the API could not take."""
REPORTED_SECONDS = 1_800.0
"""Two sweeps: what the fleet's own states could not report, the sweeper has reported by then."""


def items(lab: FastLab) -> list[Json]:
    """One volume to an instance, and one to a zone alone: two restores."""
    targets = ({"instanceId": lab.region.add_instance()}, {"availabilityZone": "us-east-1a"})
    return [{"source": {"snapshotId": snapshot(lab)}, "target": target} for target in targets]


def fleeted(
    lab: FastLab, listed: list[Json], during: Callable[[str], None] | None = None, **parts: Any
) -> Ending:
    """Starts a fleet by POST /fleets, waits for its end, and returns it."""
    status, body = lab.api("POST", "/fleets", {"source": {"items": listed}, **parts})
    begun = [str(body["fleetId"])] if status == 202 else [one.name for one in lab.executions(FLEET)]
    if not begun:
        return Ending(f"refused {status}", str(body.get("error", "")), str(body.get("message", "")))
    if during is not None:
        during(begun[0])
    return fleet_ended(lab, begun[0])


def fleet_ended(lab: FastLab, fleet_id: str) -> Ending:
    """How its latest run ended; where restores failed that the fleet tolerates, how these ended."""
    runs = [one for one in lab.executions(FLEET) if one.name.startswith(fleet_id)]
    for run in runs:
        lab.finish(run, most_seconds=LONGEST_SECONDS)
    restores = [one.name for one in lab.executions(RESTORE)]
    found = ended(lab, *restores) if restores else _not_begun(lab)
    last = runs[-1]
    if last.status == "SUCCEEDED":
        ready = last.output["verdict"] == "ready"
        return Ending("ready", ready=found.ready, restore_ids=restores) if ready else found
    lab.pass_time(REPORTED_SECONDS)
    status = {"FAILED": "failed", "ABORTED": "aborted", "TIMED_OUT": "timed out"}.get(last.status, "stuck")
    return Ending(status, last.error, last.cause, ready=found.ready, restore_ids=restores)


def _not_begun(lab: FastLab) -> Ending:
    """The results of the Distributed Map say why."""
    failed = [one for one in lab.executions(FLEET) if one.is_child and one.status == "FAILED"]
    return Ending("failed", failed[0].error, failed[0].cause) if failed else Ending("never started")


def some_begun(lab: FastLab) -> None:
    """Until a restore of the fleet has made its volume."""
    lab.run(lambda: bool(lab.executions(RESTORE)), most_seconds=3_600)
    lab.pass_time(20)


@path("fleet")
def _fleet(lab: FastLab) -> Ending:
    return fleeted(lab, items(lab))


@path("fleet-approved")
def _fleet_approved(lab: FastLab) -> Ending:
    def approve(fleet_id: str) -> None:
        awaiting(lab, fleet_id, FLEET)
        lab.pass_time(LATE_SECONDS)
        lab.api("POST", f"/restores/{fleet_id}/approve")

    return fleeted(lab, items(lab), approve, objective={"approveAboveUsd": 0})


@path("fleet-redriven")
def _fleet_redriven(lab: FastLab) -> Ending:
    listed = items(lab)
    when = {"SnapshotId": listed[1]["source"]["snapshotId"]}
    rule = FaultRule("CreateVolume", code="UnauthorizedOperation", when=when, times=None)
    lab.region.faults.add(rule)

    def redrive(fleet_id: str) -> None:
        fleet_ended(lab, fleet_id)
        lab.region.faults.clear()
        give_up_at = lab.scheduler.now + TRIED_SECONDS
        while lab.api("POST", f"/fleets/{fleet_id}/redrive")[0] >= 500 and lab.scheduler.now < give_up_at:
            lab.pass_time(60)

    return fleeted(lab, listed, redrive)


@path("fleet-cancelled")
def _fleet_cancelled(lab: FastLab) -> Ending:
    def cancel(fleet_id: str) -> None:
        some_begun(lab)
        lab.api("DELETE", f"/fleets/{fleet_id}")

    return fleeted(lab, items(lab), cancel)


@path("fleet-stopped")
def _fleet_stopped(lab: FastLab) -> Ending:
    def stop(fleet_id: str) -> None:
        some_begun(lab)
        run = lab.execution(FLEET, fleet_id)
        if run is not None:
            lab.states.stop(run.arn)

    return fleeted(lab, items(lab), stop)
