"""An instance that went away during the warm-up: how long it is waited for, and what is said of it.

Run Command shows the command of such an instance as in progress. Where the instance comes back, its SSM agent
runs the document again (amazon-ssm-agent, processor.go).
"""

from __future__ import annotations

from datetime import timedelta

from rewarm.contracts.request import RestoreRequest
from rewarm.domain.errors import AgentUnreachableError, TargetNotFoundError, VolumeFailedError
from rewarm.domain.model import Instance, Volume
from rewarm.domain.ready.readiness import misplaced
from rewarm.domain.units import duration_text
from rewarm.ports.instances import Instances

PATIENCE = timedelta(minutes=10)
"""EC2 user guide, "Reboot your instance": a few minutes; Windows with updates takes longer."""
SHORTEST_STALL = timedelta(minutes=30)
"""First reads of more than a minute were seen, DescribeVolumeStatus lags by 5: half an hour is safe."""
LOOK_AFTER = timedelta(minutes=2)
"""An agent that has been silent for so long is looked for: it reports every two seconds."""


def stall_patience(request: RestoreRequest, usual: timedelta = SHORTEST_STALL) -> timedelta:
    """How long nothing may move; the request may say otherwise."""
    wanted = request.readiness.stalled_after_minutes
    return usual if wanted is None else timedelta(minutes=wanted)


def is_reachable(instance: Instance, *, away: timedelta) -> bool:
    """Whether a command reaches the instance now. `away` is how long none did.

    Raises AgentUnreachableError where none ever will, or where it was waited for long enough.
    """
    _check_not_gone(instance)
    if instance.state == "running" and instance.ssm_online:
        return True
    if away > PATIENCE:
        waited = duration_text(away.total_seconds())
        raise AgentUnreachableError(f"the agent was interrupted: {instance.reach_in_words}, for {waited}")
    return False


def check_silent_agent(instance_id: str, instances: Instances, *, silence: timedelta) -> None:
    """Looks for the instance of a warm-up command that still runs and has reported nothing for a while.

    Raises AgentUnreachableError where the instance is away for too long, or for good.
    """
    if silence > LOOK_AFTER:
        is_reachable(_found(instance_id, instances), away=silence)


def check_not_terminated(instance_id: str, instances: Instances, *, silence: timedelta) -> None:
    """The same for a command that says nothing before its end. Raises AgentUnreachableError."""
    if silence > LOOK_AFTER:
        _check_not_gone(_found(instance_id, instances))


def _check_not_gone(instance: Instance) -> None:
    if instance.is_gone:
        raise AgentUnreachableError(f"the agent was interrupted: {instance.reach_in_words}")


def _found(instance_id: str, instances: Instances) -> Instance:
    try:
        return instances.get(instance_id)
    except TargetNotFoundError as error:
        raise AgentUnreachableError(f"the agent was interrupted: {error}") from error


def check_in_place(volume: Volume, instance_id: str | None, instances: Instances) -> None:
    """Checks that the volume is where the restore put it: anybody may have detached it or ended its instance.

    Raises VolumeFailedError.
    """
    problem = misplaced(volume, instance_id)
    if problem is not None:
        ended = None if instance_id is None else _end_of_instance(instance_id, instances)
        raise VolumeFailedError(problem if ended is None else f"{problem}: {ended}")


def _end_of_instance(instance_id: str, instances: Instances) -> str | None:
    try:
        instance = instances.get(instance_id)
    except TargetNotFoundError:
        return "EC2 no longer shows the instance, so it was terminated"
    return f"the instance is {instance.state}" if instance.is_gone else None
