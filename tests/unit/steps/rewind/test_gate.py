"""Nothing is written before what undoes it is completed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rewarm.contracts.values import Failure
from rewarm.domain.errors import (
    AccessDeniedError,
    BlocksUnavailableError,
    RestoreCancelledError,
    SnapshotNotUsableError,
    TargetNotUsableError,
)
from rewarm.domain.model import Attachment
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.steps.record.bucket import part_key
from tests.support.builders import RESTORE_ID, assignment
from tests.support.worlds.replacing import OLD
from tests.support.worlds.rewinding import COPIED, Rewinding, completed, with_newest


def is_marked(world: Rewinding) -> bool:
    return REWINDING_TAG in world.volumes.volumes[OLD].settings.tags


def state(world: Rewinding) -> str:
    return str(world.table.get_volume(RESTORE_ID, 0)["rewind"]["state"])


def test_packs_are_copied_while_the_evidence_is_pending_but_the_agent_gets_no_part(world: Rewinding) -> None:
    asked = with_newest(world).armed()
    assert asked.delta is not None
    assert asked.gate_part == asked.delta.first_part - 1
    waiting = world.go(COPIED)
    assert (world.gate_is_open, is_marked(world), waiting.writing, state(world)) == (
        False, False, False, "preparing",
    )  # fmt: skip
    completed(world)
    assert world.go().writing
    assert (world.gate_is_open, is_marked(world), state(world)) == (True, True, "writing")


def test_the_gate_has_no_lines_and_names_the_first_part_that_has(world: Rewinding) -> None:
    world.armed()
    completed(world)
    world.go()
    head, end = map(json.loads, world.packs.texts_put[part_key(RESTORE_ID, 0, 0)].splitlines())
    assert (head["part"], head["volumeId"], end["packs"], end["blocks"]) == (0, OLD, 0, 0)
    assert part_key(RESTORE_ID, 0, 1) in end["next"]


def test_it_is_cancelled_also_while_packs_are_copied_and_not_once_it_is_written(world: Rewinding) -> None:
    with_newest(world).armed()
    assert world.table.request_cancel(RESTORE_ID, unless=["writing"])
    with pytest.raises(RestoreCancelledError):
        world.go(COPIED)
    assert not is_marked(world)


def test_a_cancel_comes_too_late_once_the_gate_is_open(world: Rewinding) -> None:
    world.opened()
    assert not world.table.request_cancel(RESTORE_ID, unless=["writing"])


def test_an_evidence_in_error_leaves_the_volume_as_it_was(world: Rewinding) -> None:
    """A newer snapshot's blocks were copied meanwhile, and the agent has not got them."""
    with_newest(world).armed()
    world.go(COPIED)
    world.evidence.change(next(iter(world.evidence.made)), state="error", state_message="no key")
    with pytest.raises(SnapshotNotUsableError, match=rf"no key.*Nothing was written to {OLD}"):
        world.go()
    assert not is_marked(world)
    assert state(world) == "preparing"


def test_an_evidence_that_is_deleted_while_it_is_pending_leaves_the_volume_as_it_was(
    world: Rewinding,
) -> None:
    evidence = with_newest(world).armed().evidence_id
    world.go(COPIED)
    del world.evidence.made[str(evidence)]
    world.minute += 5
    with pytest.raises(SnapshotNotUsableError, match=rf"{evidence} of {OLD} .* is gone.*Nothing was written"):
        world.go()
    assert not world.evidence.made
    assert not world.gate_is_open


def test_an_evidence_without_progress_is_given_up_after_two_hours(world: Rewinding) -> None:
    name = str(world.armed().evidence_id)
    for percent in (10, 37):
        world.evidence.change(name, progress_percent=percent)
        world.minute += 100
        assert world.go().phase == "wait"
    world.minute += 119
    assert world.go().phase == "wait"
    world.minute += 2
    with pytest.raises(SnapshotNotUsableError, match=r"37 % done for 2 h.*Nothing was written"):
        world.go()


def test_blocks_that_cannot_be_copied_before_the_gate_is_open_leave_it_as_it_was(world: Rewinding) -> None:
    with_newest(world).armed()
    with pytest.raises(BlocksUnavailableError, match="Nothing was written"):
        world.go(failure=Failure(error="AccessDeniedError", cause="kms:Decrypt"))
    assert not is_marked(world)


def test_a_second_instance_is_noticed_right_before_the_first_write(world: Rewinding) -> None:
    world.armed()
    completed(world)
    both = (
        Attachment(str(assignment().instance_id), "/dev/sdf", "attached"),
        Attachment("i-2", "/dev/sdf", "attached"),
    )
    world.volumes.change(OLD, attachments=both)
    with pytest.raises(TargetNotUsableError, match=r"alone any more\. Nothing was written"):
        world.go()
    assert not world.gate_is_open
    assert not is_marked(world)


def test_a_gate_that_may_not_be_put_takes_the_mark_back(
    world: Rewinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> None:
        raise AccessDeniedError("PutObject: denied")

    world.armed()
    completed(world)
    monkeypatch.setattr(world.packs, "put_text", denied)
    with pytest.raises(AccessDeniedError, match="Nothing was written"):
        world.go()
    assert (is_marked(world), state(world)) == (False, "preparing")


def test_an_attached_volume_that_detaches_is_not_called_written(world: Rewinding) -> None:
    world.armed()
    completed(world)
    there = world.volumes.volumes[OLD]
    world.volumes.volumes[OLD] = replace(there, attachments=())
    with pytest.raises(TargetNotUsableError, match="Nothing was written"):
        world.go()
