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
)
from rewarm.domain.model import Attachment
from rewarm.domain.ready.agent_output import AgentExit
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.steps.record.bucket import part_key
from tests.support.builders import RESTORE_ID, assignment, at
from tests.support.replacing import OLD
from tests.support.rewinding import COPIED, Rewinding, completed, with_newest

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
    assert f"{name} has {OLD} as it was: a rewind to it undoes this one" in told
    assert "target.mode replace" in told
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


def test_an_evidence_that_is_gone_is_no_way_back(world: Rewinding) -> None:
    name = opened(world)
    world.go(failure=DAMAGED)
    ended(world, blocksWritten=8)
    del world.evidence.made[name]
    with pytest.raises(RewindIncompleteError, match=rf"There is no way back: {name}.*is gone"):
        world.go(failure=DAMAGED)
    assert record(world)["evidenceState"] == "gone"


def test_a_rewind_that_is_done_says_where_its_evidence_is_gone(world: Rewinding) -> None:
    world.opened()
    (name,) = world.evidence.made
    del world.evidence.made[name]
    world.end()
    assert world.go().finished
    assert f"there is no way back: {name}" in reasons(world)
    assert "undoes" not in reasons(world)


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
