"""What has ended the agent may be over, and then it takes the volume again."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import (
    AgentFailedError,
    RewindIncompleteError,
    VolumeInUseError,
)
from rewarm.domain.ready.agent_output import MAY_PASS, AgentExit
from rewarm.steps.rewind.attempts import MOST_ATTEMPTS, PAUSE_SECONDS
from tests.support.replacing import OLD
from tests.support.rewinding import COPIED, Rewinding, completed, with_newest

HELD = (AgentExit.MOUNTED, AgentExit.HELD, AgentExit.SWAP)


@pytest.mark.parametrize("code", sorted(MAY_PASS))
def test_after_the_gate_is_open_what_may_pass_begins_a_new_attempt(world: Rewinding, code: int) -> None:
    """The kernel holds the device for a while for an agent that was killed: exit status 84."""
    world.opened()
    again = world.fails_with(code)
    assert (again.phase, again.attempt, again.writing) == ("look", 1, True)


def test_pauses_grow_and_attempts_end(world: Rewinding) -> None:
    pauses = []
    for _ in range(MOST_ATTEMPTS - 1):
        world.opened()
        pauses.append(world.fails_with(AgentExit.HELD).wait_seconds)
    assert pauses == sorted(pauses) == list(PAUSE_SECONDS)
    world.opened()
    with pytest.raises(RewindIncompleteError, match="may be mixed"):
        world.fails_with(AgentExit.HELD)


@pytest.mark.parametrize("code", HELD)
def test_before_the_agent_has_the_volume_one_that_is_used_ends_it(world: Rewinding, code: int) -> None:
    world.go()
    with pytest.raises(VolumeInUseError, match="Nothing was written"):
        world.fails_with(code)


@pytest.mark.parametrize("code", HELD)
def test_an_agent_that_had_the_volume_and_was_killed_is_waited_for(world: Rewinding, code: int) -> None:
    """`warmer run` starts it again at once, and the kernel still holds the device for the dead one."""
    world.armed()
    assert world.fails_with(code).attempt == 1


def test_a_restarted_agent_that_says_so_is_waited_for_as_well(world: Rewinding) -> None:
    world.go()
    world.report({"event": "result", "verdict": "refused", "takenBefore": True})
    assert world.fails_with(AgentExit.HELD).attempt == 1


def test_a_device_that_a_killed_agent_may_hold_is_waited_for_in_the_next_attempt(world: Rewinding) -> None:
    world.armed()
    world.fails_with(AgentExit.ENDED)
    world.go()
    assert world.fails_with(AgentExit.HELD).attempt == 2


def test_one_that_is_mounted_between_two_attempts_is_waited_for_only_once_it_is_written(
    world: Rewinding,
) -> None:
    world.armed()
    world.fails_with(AgentExit.ENDED)
    world.go()
    with pytest.raises(VolumeInUseError, match="Nothing was written"):
        world.fails_with(AgentExit.MOUNTED)


def test_one_that_cannot_be_unmounted_once_it_is_written_is_waited_for(world: Rewinding) -> None:
    world.unmount = True
    world.go()
    world.say()
    world.go()
    world.report({"event": "armed"})
    world.go()
    completed(world)
    world.go()
    world.go(COPIED)
    world.fails_with(AgentExit.DISTURBED)
    world.go()
    world.say("/data")
    assert world.go().attempt == 2


def test_an_interrupted_agent_takes_the_volume_again_and_compares_it_anew(world: Rewinding) -> None:
    first = with_newest(world).armed().evidence_id
    world.go(COPIED)
    completed(world)
    world.go()
    world.go(COPIED)
    world.report({"event": "progress", "blocksWritten": 12})
    world.end(70)
    again = world.go()
    assert (again.phase, again.attempt, again.next_part, again.writing) == ("look", 1, 3, True)
    asked = world.armed()
    assert asked.phase == "wait"
    second = completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.without, asked.delta.first_part) == (second, [], 4)
    assert asked.evidence_id == first != second


def test_before_the_first_write_the_newest_evidence_has_what_is_overwritten(world: Rewinding) -> None:
    """Between two attempts the device is free, and somebody may write to it."""
    first = world.armed().evidence_id
    assert world.fails_with(AgentExit.NO_TRANSFER).evidence_id is None
    second = world.armed().evidence_id
    assert second != first
    completed(world)
    world.go()
    world.go(COPIED)
    world.end()
    told = world.go().initialization
    assert told is not None
    assert any(reason.startswith(f"{second} has {OLD} as it was") for reason in told.reasons)
    assert f"{first} compared {OLD} once more and can be deleted" in told.reasons


def test_an_attempt_that_ends_before_the_agent_has_the_volume_makes_no_snapshot(world: Rewinding) -> None:
    for attempt in range(1, MOST_ATTEMPTS):
        world.go()
        assert world.fails_with(AgentExit.NO_TRANSFER).attempt == attempt
    assert not world.evidence.made
    world.go()
    with pytest.raises(AgentFailedError, match=f"{MOST_ATTEMPTS} times.*Nothing was written"):
        world.fails_with(AgentExit.NO_TRANSFER)


def test_an_agent_whose_address_has_ended_takes_the_volume_again(world: Rewinding) -> None:
    """A snapshot of a busy volume may be pending for hours."""
    with_newest(world).armed()
    world.go(COPIED)
    old_name, sent = completed(world), world.commands.sent[-1][0]
    world.minute += 5 * 60
    assert world.go().delta is None
    assert world.commands.cancelled == [sent]
    world.commands.finish(sent, status="Cancelled")
    again = world.go()
    assert (again.phase, again.attempt, again.writing) == ("look", 1, False)
    assert world.armed().evidence_id != old_name
    completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.phase, asked.delta.first_part) == ("write", 4)


@pytest.mark.parametrize("told", [{"blocksResumed": 5}, {"takenBefore": True}])
def test_what_a_resumed_agent_says_is_not_believed(world: Rewinding, told: dict) -> None:
    """SSM runs the document again after a restart, and somebody may have written meanwhile."""
    world.opened()
    world.end(**told)
    assert world.go().attempt == 1
