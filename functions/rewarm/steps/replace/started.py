"""How the start of an instance with its new volumes is undone.

In the restore's record it is `started`, and then either `up` or `given-up`, whichever is written first. Until
it is `up`, whatever fails stops the instance and puts its old volumes back; from then on nothing is taken
from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarm.domain.errors import (
    RestoreError,
    ServiceUnavailableError,
    TargetNotFoundError,
    ThrottledError,
)
from rewarm.domain.model import Instance
from rewarm.domain.volume.replacing import STARTED_TAG
from rewarm.ports.instances import Instances, InstanceStates
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.restore import RestoreNotes


@dataclass(frozen=True)
class StartedPorts:
    """The ports that starting an instance and stopping it again needs."""

    instances: Instances
    states: InstanceStates
    table: RestoreTable


@dataclass(frozen=True, slots=True)
class Undone:
    """`up` (it stays), `pending` (ask again), or `down`: its volumes may be exchanged."""

    state: Literal["up", "pending", "down"]
    reason: str = ""


def untag(instance: Instance, states: InstanceStates) -> None:
    """Takes the tag off where it is; without it IAM lets nobody of the stack change the instance's tags."""
    if STARTED_TAG in instance.tags:
        states.untag(instance.instance_id, STARTED_TAG)


def stop_again(restore_id: str, instance_id: str, why: str, ports: StartedPorts) -> Undone:
    """Gives the start up, unless the instance is up, and stops it where it was started. Idempotent.

    `why` is for the executions of the restore's other volumes. Raises nothing that AWS says.
    """
    record = RestoreNotes(ports.table, restore_id)
    noted = record.read().instance
    if noted.state in {None, "started"}:
        # Not where it is cancelled: then nothing else is written, and the other executions see that.
        given_up = {"instanceId": instance_id, "state": "given-up", "reason": why}
        record.replace_instance(given_up, noted)
        noted = record.read().instance
    is_up = noted.state == "up"
    try:
        instance = ports.instances.get(instance_id)
        if noted.started_at is None:
            untag(instance, ports.states)  # it was started, and the record is lost
            return Undone("down")
        return _undone(instance, is_up=is_up, states=ports.states)
    except (ThrottledError, ServiceUnavailableError) as error:
        return Undone("pending", str(error))
    except TargetNotFoundError:
        return Undone("up" if is_up else "down")
    except RestoreError as error:
        return Undone("pending", f"{instance_id} could not be stopped: {error}")


def _undone(instance: Instance, *, is_up: bool, states: InstanceStates) -> Undone:
    if is_up or instance.state == "stopped":
        untag(instance, states)
        return Undone("up" if is_up else "down")
    if instance.is_gone:
        return Undone("down")
    if instance.state in {"pending", "running"}:
        states.stop(instance.instance_id)
    return Undone("pending", f"{instance.instance_id} is being stopped, to put its old volumes back")
