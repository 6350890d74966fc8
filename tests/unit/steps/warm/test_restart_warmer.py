"""A warm-up command that was interrupted is sent again, so often and so long."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from rewarm.contracts.events import PollInitializationEvent
from rewarm.contracts.values import DispatchWarmerResult
from rewarm.domain.errors import AgentFailedError, AgentInterruptedError, AgentUnreachableError
from rewarm.domain.model import CommandStatus
from rewarm.domain.ready import agent_output
from rewarm.steps.warm.dispatch_warmer import (
    MOST_RESTARTS,
    DispatchWarmerEvent,
    DispatchWarmerPorts,
    dispatch_warmer,
)
from rewarm.steps.warm.poll_initialization import PollInitializationPorts, poll_initialization
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    instance,
    plan,
    request,
)
from tests.support.wired import wired

KILLED: dict[str, Any] = {
    "status": "Failed",
    "status_details": "Failed",
    "exit_code": 70,
    "stderr": "Killed",
}


@pytest.fixture
def world() -> World:
    return World()


def dispatch(world: World, now: datetime = NOW) -> DispatchWarmerResult:
    event = DispatchWarmerEvent(
        restore_id=RESTORE_ID, now=now, request=request(), volume=assignment(), volume_id=VOLUME_ID
    )
    return dispatch_warmer(
        event,
        wired(DispatchWarmerPorts, world),
    )


def interrupt(world: World, **changes: Any) -> DispatchWarmerResult:
    """Send the command and let it be interrupted."""
    first = dispatch(world)
    world.commands.finish(first.command_id, **{**KILLED, **changes})
    return first


def away(world: World, **changes: Any) -> None:
    """The instance is not there as it was."""
    world.instances.add(replace(instance(), **changes))


@pytest.mark.parametrize("status", [70, 4, 69, None])
def test_sends_the_same_command_again(world: World, status: int | None) -> None:
    first = interrupt(world, exit_code=status)
    second = dispatch(world, at(1))
    assert (second.command_id, second.started_at) == ("command-2", at(1))
    assert second.progress_key == f"restores/{RESTORE_ID}/0/progress-0-1.json" != first.progress_key
    (_, _, before), (_, _, after) = world.commands.sent
    assert {name for name in before if before[name] != after[name]} == {"progressUrl"}
    assert dispatch(world, at(1)) == second, "a state that is retried finds it"
    assert world.commands.cancelled == []


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "InProgress", "status_details": "InProgress", "exit_code": None},
        {"status": "Success", "status_details": "Success", "exit_code": 0},
        {"exit_code": 1},
        {"exit_code": 65},
        {"status": "Cancelled", "status_details": "Cancelled"},
        {"status": "TimedOut", "status_details": "ExecutionTimedOut", "exit_code": None},
        {"status_details": "Undeliverable", "exit_code": None},
    ],
)
def test_leaves_alone_what_was_not_interrupted(world: World, changes: dict[str, Any]) -> None:
    first = interrupt(world, **changes)
    assert dispatch(world, at(1)) == first
    assert len(world.commands.sent) == 1


def test_waits_for_the_instance_and_then_sends(world: World) -> None:
    first = interrupt(world)
    away(world, ssm_online=False)
    for minute in (1, 5, 10):
        assert dispatch(world, at(minute)) == first
    away(world)
    assert dispatch(world, at(10.5)).command_id == "command-2"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"state": "stopped", "ssm_online": False}, f"{INSTANCE_ID} is stopped, for 11 min"),
        ({"ssm_online": False}, "not online in Systems Manager, for 11 min"),
    ],
)
def test_gives_an_instance_up_that_does_not_come_back(
    world: World, changes: dict[str, Any], says: str
) -> None:
    interrupt(world)
    away(world, **changes)
    dispatch(world, at(1))
    with pytest.raises(AgentUnreachableError, match=says):
        dispatch(world, at(12))


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_waits_for_no_instance_that_is_gone(world: World, state: str) -> None:
    interrupt(world)
    away(world, state=state, ssm_online=False)
    with pytest.raises(AgentUnreachableError, match=f"{INSTANCE_ID} is {state}"):
        dispatch(world, at(1))


def test_each_interruption_is_waited_for_anew(world: World) -> None:
    interrupt(world)
    away(world, ssm_online=False)
    dispatch(world, at(1))
    away(world)
    second = dispatch(world, at(2))
    world.commands.finish(second.command_id, **KILLED)
    away(world, ssm_online=False)
    assert dispatch(world, at(30)) == second


def test_gives_up_what_is_interrupted_time_and_again(world: World) -> None:
    sent = interrupt(world)
    for minute in range(1, MOST_RESTARTS + 1):
        sent = dispatch(world, at(minute))
        world.commands.finish(sent.command_id, **KILLED)
    with pytest.raises(AgentFailedError, match=rf"interrupted {MOST_RESTARTS + 1} times.*70: Killed"):
        dispatch(world, at(60))
    assert len(world.commands.sent) == MOST_RESTARTS + 1


def test_the_poll_tells_an_interruption_from_a_failure(world: World) -> None:
    sent = interrupt(world)
    event = PollInitializationEvent(
        restore_id=RESTORE_ID, now=at(1), request=request(), volume=assignment(), volume_id=VOLUME_ID,
        plan=plan(), started_at=NOW, dispatch=sent,
    )  # fmt: skip
    with pytest.raises(AgentInterruptedError, match=rf"{INSTANCE_ID} was interrupted: .*70: Killed"):
        poll_initialization(event, wired(PollInitializationPorts, world))  # fmt: skip


def test_an_end_that_nobody_saw_is_an_interruption() -> None:
    lost = CommandStatus("Failed", "Failed", None, "", "")
    assert agent_output.is_interrupted(lost)
    assert not agent_output.is_interrupted(replace(lost, status_details="Terminated"))
