"""What is said of a volume whose rewind has ended, by what was really written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.contracts.values import Failure
from rewarm.domain.errors import (
    AccessDeniedError,
    AgentFailedError,
    BlocksUnavailableError,
    RestoreError,
    RewindIncompleteError,
    VolumeInUseError,
)
from rewarm.domain.model import Attachment
from rewarm.domain.ready.agent_output import MAY_PASS, AgentExit
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.steps.record.bucket import part_key
from rewarm.steps.rewind.ending import MOST_ATTEMPTS, PAUSE_SECONDS
from tests.support.builders import RESTORE_ID, assignment, at
from tests.support.worlds.replacing import OLD
from tests.support.worlds.rewinding import COPIED, Rewinding, completed, with_newest

DAMAGED = Failure(error="BlockDamagedError", cause="block 7 came with another SHA-256")


def tags(world: Rewinding) -> dict[str, str]:
    return world.volumes.volumes[OLD].settings.tags


def reasons(world: Rewinding) -> str:
    assert world.pending is not None
    assert world.pending.initialization is not None
    return "; ".join(world.pending.initialization.reasons)


def record(world: Rewinding) -> dict:
    return dict(world.table.get_volume(RESTORE_ID, 0)["rewind"])


def ended(world: Rewinding, **account: object) -> None:
    """The agent comes to the end of its manifest."""
    world.end(blocksDone=account.get("blocksWritten"), **account)


def opened(world: Rewinding) -> str:
    world.armed()
    name = completed(world)
    world.go()
    return name


def test_blocks_that_cannot_be_copied_leave_the_volume_as_it_was_where_none_was_written(
    world: Rewinding,
) -> None:
    opened(world)
    assert REWINDING_TAG in tags(world)
    assert world.go(failure=DAMAGED).phase == "stop"
    assert '"next": null' in world.packs.texts_put[part_key(RESTORE_ID, 0, 1)]
    assert world.go(failure=DAMAGED).phase == "stop"
    ended(world, blocksWritten=0)
    with pytest.raises(BlocksUnavailableError, match=rf"block 7.*Nothing was written to {OLD}"):
        world.go(failure=DAMAGED)
    assert REWINDING_TAG not in tags(world)
    assert record(world)["state"] == "preparing"


def test_the_end_stands_where_the_first_part_is_missing(world: Rewinding) -> None:
    opened(world)
    for number in (0, 1, 2, 4):
        world.artifacts.written_at[part_key(RESTORE_ID, 0, number)] = at(0)
    world.go(failure=DAMAGED)
    assert part_key(RESTORE_ID, 0, 3) in world.packs.texts_put
    assert part_key(RESTORE_ID, 0, 1) not in world.packs.texts_put


def test_an_agent_that_does_not_come_to_the_end_is_cancelled(world: Rewinding) -> None:
    opened(world)
    world.go(failure=DAMAGED)
    assert not world.commands.cancelled
    world.minute += 2
    assert world.go(failure=DAMAGED).phase == "stop"
    assert world.commands.cancelled


def test_a_volume_is_mixed_where_the_agent_says_that_it_wrote(world: Rewinding) -> None:
    name = opened(world)
    world.go(failure=DAMAGED)
    ended(world, blocksWritten=8, written=[[3, 7], [700, 1]])
    with pytest.raises(RewindIncompleteError) as raised:
        world.go(failure=DAMAGED)
    told = str(raised.value)
    assert f"{OLD} is mixed: 8 blocks (3 to 9, 700) are those of" in told
    assert "target.mode replace" in told
    assert world.way_back == f"{name} has {OLD} as it was: a rewind to it undoes this one."
    assert REWINDING_TAG in tags(world)
    assert record(world)["written"] == 8


def test_an_agent_that_ends_by_itself_has_said_what_it_wrote(world: Rewinding) -> None:
    world.opened()
    with pytest.raises(AgentFailedError, match=r"did not write.*Nothing was written"):
        world.fails_with(AgentExit.BAD_PACK, verdict="failed", blocksWritten=0, blocksDone=0)
    assert REWINDING_TAG not in tags(world)


def test_a_volume_may_be_mixed_where_the_agent_is_lost(world: Rewinding) -> None:
    opened(world)
    world.report({"event": "progress", "blocksWritten": 0})
    world.go(failure=DAMAGED)
    world.minute += 4
    with pytest.raises(RewindIncompleteError, match=rf"{OLD} may be mixed: the agent was lost"):
        world.go(failure=DAMAGED)


def test_the_last_progress_says_how_many_blocks_a_lost_agent_wrote_at_least(world: Rewinding) -> None:
    opened(world)
    world.report({"event": "progress", "blocksWritten": 31})
    world.go(failure=DAMAGED)
    world.minute += 4
    with pytest.raises(RewindIncompleteError, match=rf"{OLD} is mixed: at least 31 blocks are"):
        world.go(failure=DAMAGED)


def test_the_way_back_is_noted_although_somebody_has_deleted_the_record(world: Rewinding) -> None:
    name = opened(world)
    world.go(failure=DAMAGED)
    ended(world, blocksWritten=8)
    world.table.records.clear()
    with pytest.raises(RewindIncompleteError, match=f"{OLD} is mixed"):
        world.go(failure=DAMAGED)
    assert world.way_back == f"{name} has {OLD} as it was: a rewind to it undoes this one."


def test_what_undoes_a_rewind_is_no_reason_that_it_is_done(world: Rewinding) -> None:
    """Each message looks by itself, as somebody may delete the snapshot meanwhile."""
    world.opened()
    (name,) = world.evidence.made
    world.end()
    assert world.go().finished
    assert f"before the first write {name} had what {OLD} was" in reasons(world)
    assert "undoes" not in reasons(world)
    assert world.way_back.startswith(f"{name} has {OLD} as it was")


def test_all_attempts_count(world: Rewinding) -> None:
    world.opened()
    world.report({"event": "progress", "blocksWritten": 160})
    world.fails_with(AgentExit.ENDED)
    assert record(world)["written"] == 160
    world.opened()
    world.end(blocksDone=0, blocksWritten=0)
    assert world.go().finished
    assert "160 blocks (80 MiB)" in reasons(world)
    assert record(world)["written"] == 160


def test_tags_that_may_not_be_removed_do_not_fail_a_volume_that_equals_the_snapshot(
    world: Rewinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> None:
        raise AccessDeniedError("DeleteTags: denied")

    world.opened()
    monkeypatch.setattr(world.volumes, "untag", denied)
    world.end()
    assert world.go().finished
    assert f"aws ec2 delete-tags --resources {OLD} --tags Key={REWINDING_TAG}" in reasons(world)


def test_a_second_instance_at_the_end_is_not_passed_over(world: Rewinding) -> None:
    world.opened()
    there = world.volumes.volumes[OLD]
    second = Attachment("i-2", "/dev/sdf", "attached")
    world.volumes.volumes[OLD] = replace(there, attachments=(*there.attachments, second))
    world.end()
    with pytest.raises(RewindIncompleteError) as raised:
        world.go()
    assert f"{OLD} may differ from" in str(raised.value)
    assert "attached to i-2 too" in str(raised.value)
    assert "is mixed" not in str(raised.value)


def test_an_instance_that_stays_away_once_blocks_are_written_leaves_a_mixed_volume(world: Rewinding) -> None:
    with_newest(world).armed()
    world.go(COPIED)
    completed(world)
    world.go()
    world.report({"event": "progress", "blocksWritten": 5})
    world.go(COPIED)
    world.end(AgentExit.ENDED)
    assert world.go().phase == "look"
    there = world.instances.get(str(assignment().instance_id))
    world.instances.add(replace(there, state="stopped", ssm_online=False))
    assert world.go().phase == "look"
    world.minute += 11
    with pytest.raises(RewindIncompleteError, match=rf"{OLD} is mixed: at least 5 .*is stopped, for 12 min"):
        world.go()


@pytest.mark.parametrize("written", [[], "?", [[1]], [["a", 2]], [[True, 2]], [None]])
def test_runs_that_are_none_are_passed_over(world: Rewinding, written: object) -> None:
    opened(world)
    world.go(failure=DAMAGED)
    ended(world, blocksWritten=8, written=written)
    with pytest.raises(RestoreError, match=rf"{OLD} is mixed: 8 blocks are those"):
        world.go(failure=DAMAGED)


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
    assert world.way_back.startswith(f"{second} has {OLD} as it was")
    assert f"{first} compared {OLD} once more and can be deleted" in told.reasons


@pytest.mark.parametrize("is_done", [True, False])
def test_all_snapshots_are_named_where_the_item_is_lost_while_blocks_are_written(
    world: Rewinding,
    is_done: bool,  # noqa: FBT001
) -> None:
    first = world.armed().evidence_id
    world.fails_with(AgentExit.NO_TRANSFER)
    second = opened(world)
    world.table.records[RESTORE_ID].pop("rewind0")
    if is_done:
        world.end()
        told = world.go().initialization
        assert told is not None
        assert f"{first} compared {OLD} once more and can be deleted" in told.reasons
    else:
        world.go(failure=DAMAGED)
        ended(world, blocksWritten=8)
        with pytest.raises(RewindIncompleteError):
            world.go(failure=DAMAGED)
    assert (record(world)["evidence"], record(world)["others"]) == (second, [first])


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
