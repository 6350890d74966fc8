"""How the start of an instance with its new volumes is undone.

In the restore's record the instance is `started`, and then either `up` or `given-up`, whichever is written
first. Before `up`, any failure stops the instance and puts its old volumes back; after it, its volumes stay.
"""

from __future__ import annotations

from typing import Literal

from rewarm.domain.errors import RestoreError, ServiceUnavailableError, TargetNotFoundError, ThrottledError
from rewarm.domain.model import Instance
from rewarm.domain.value import Value
from rewarm.domain.volume.replacing import STARTED_TAG
from rewarm.ports.instances import Instances, InstanceStates
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.restore import RestoreNotes


class StartedPorts(Value):
    """The ports for starting an instance and stopping it again."""

    instances: Instances
    states: InstanceStates
    table: RestoreTable


class Undone(Value):
    """`up` (its volumes stay), `pending` (call again) or `down` (its volumes may be exchanged)."""

    state: Literal["up", "pending", "down"]
    reason: str = ""


def untag(instance: Instance, states: InstanceStates) -> None:
    """Removes the tag if it is there; IAM denies the stack changes of tags on an instance without it."""
    if STARTED_TAG in instance.tags:
        states.untag(instance.instance_id, STARTED_TAG)


def stop_again(restore_id: str, instance_id: str, why: str, ports: StartedPorts) -> Undone:
    """Gives up the start, unless the instance is up, and stops the instance if it was started. Idempotent.

    The executions of the restore's other volumes report `why`. Raises no error of AWS.
    """
    record = RestoreNotes(ports.table, restore_id)
    noted = record.read().instance
    if noted.state in {None, "started"}:
        # This write fails after a cancellation, which the other executions see by themselves.
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
