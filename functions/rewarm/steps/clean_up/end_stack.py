"""Ends everything that the stack's restores have running, before the stack is deleted.

Afterwards nothing is left that could do it. So executions are stopped and the sweeper runs at once, again and
again until nothing is found that costs money.
"""

from __future__ import annotations

from collections.abc import Callable

from rewarm.domain.errors import IncompleteCleanUpError, RestoreError
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import SweptResource
from rewarm.ports.executions import StackExecutions
from rewarm.steps.clean_up.missing_reports import LATE_REPORTS
from rewarm.steps.clean_up.sweep import SweepPorts, sweep, sweep_these
from rewarm.steps.clean_up.sweep_fleets import stop_fleets
from rewarm.steps.clean_up.sweep_unproven import UNPROVEN_THINGS
from rewarm.steps.volume.extras import UNDER_WAY

CAUSE = "The stack that runs the restore is being deleted."
STARTING_SECONDS = 10
"""How long alarms may still start restores, because their rule is deleted at the same time."""
LATE_SECONDS = 65
"""How long a function may still run after its execution was stopped (template.yaml, Globals)."""


class EndOfStack(Value):
    """What end_stack needs in addition to the sweeper's ports."""

    work: StackExecutions
    seconds_left: Callable[[], float]
    reserve_seconds: float = 40
    """Reserved for one more round and the answer to CloudFormation."""


def end_stack(ports: SweepPorts, end: EndOfStack) -> int:
    """Returns how many executions were stopped. Raises IncompleteCleanUpError with all that is left."""
    stopped: dict[str, str] = {}
    quiet_at = end.seconds_left() - STARTING_SECONDS
    while True:
        # Fleets first, so that they start no more restores.
        troubles = stop_fleets(ports, CAUSE)
        just_stopped, left = _stop(end.work)
        left += troubles
        stopped.update(just_stopped)
        if just_stopped:
            quiet_at = end.seconds_left() - LATE_SECONDS
        found = [*sweep_these(set(stopped.values()), ports), *sweep(ports)]
        left += [
            f"{resource.resource} ({resource.sweep}): {resource.reason}"
            for resource in found
            if is_open(resource)
        ]
        seconds_left = end.seconds_left()
        if not left and seconds_left <= quiet_at:
            return len(stopped)
        if seconds_left < end.reserve_seconds:
            raise IncompleteCleanUpError("; ".join(left) or "functions of the restores may still be at work")
        ports.pause()


def _stop(work: StackExecutions) -> tuple[dict[str, str], list[str]]:
    """The restores by the executions that were stopped now, and what could not be stopped."""
    stopped: dict[str, str] = {}
    try:
        running = work.running()
    except RestoreError as error:
        return stopped, [f"executions could not be listed: {error}"]
    troubles = []
    for arn, restore_id in running.items():
        try:
            work.stop(arn, CAUSE)
            stopped[arn] = restore_id
        except RestoreError as error:
            troubles.append(f"{arn} could not be stopped: {error}")
    return stopped, troubles


def is_open(swept: SweptResource) -> bool:
    """Whether the stack must wait for it. EC2 finishes a modification by itself, and a missing report costs
    nothing. What is not proven to be ours keeps no stack: anybody may have put our tags on it.
    """
    finishes = swept.sweep == "boosts" and swept.reason == UNDER_WAY
    return swept.state != "ended" and not finishes and swept.sweep not in {LATE_REPORTS, UNPROVEN_THINGS}
