"""What the restore's record says of an instance that is started with new volumes, and how that is undone.

The attribute `instance` has `instanceId`, `state` and times. It is `started`, and then either `up` or
`given-up`, whichever is written first. Until it is `up`, whatever fails stops the instance and puts its old
volumes back; from then on nothing is taken from it.
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
from rewarm.ports import JsonObject
from rewarm.ports.instances import Instances, InstanceStates
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.records import INSTANCE


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


def started(table: RestoreTable, restore_id: str) -> JsonObject:
    """What is noted of the instance; empty before anybody asked EC2 to start it."""
    noted = (table.get(restore_id) or {}).get(INSTANCE)
    return noted if isinstance(noted, dict) else {}


def untag(instance: Instance, states: InstanceStates) -> None:
    """Takes the tag off where it is; without it IAM lets nobody of the stack change the instance's tags."""
    if STARTED_TAG in instance.tags:
        states.untag(instance.instance_id, STARTED_TAG)


def stop_again(restore_id: str, instance_id: str, why: str, ports: StartedPorts) -> Undone:
    """Gives the start up, unless the instance is up, and stops it where it was started. Idempotent.

    `why` is for the executions of the restore's other volumes. Raises nothing that AWS says.
    """
    noted = started(ports.table, restore_id)
    if noted.get("state") in {None, "started"}:
        # Not where it is cancelled: then nothing else is written, and the other executions see that.
        given_up = {**noted, "instanceId": instance_id, "state": "given-up", "reason": why}
        ports.table.replace_value(restore_id, INSTANCE, given_up, was=noted or None)
        noted = started(ports.table, restore_id)
    is_up = noted.get("state") == "up"
    try:
        instance = ports.instances.get(instance_id)
        if "startedAt" not in noted:
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
