"""An agent that writes counts only by what it says of the volume that it was sent for."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import AgentFailedError, RewindIncompleteError
from rewarm.domain.ready.agent_output import AgentExit
from rewarm.domain.volume.leftovers import REWINDING_TAG
from tests.support.worlds.replacing import OLD
from tests.support.worlds.rewinding import Rewinding

OTHERS = {"another": "vol-0fedcba9876543210", "none": None, "no-text": 7, "other-spelling": OLD.upper()}
any_other = pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)


@any_other
def test_one_that_has_taken_another_volume_gets_no_snapshot_and_may_write_nothing(
    world: Rewinding, other: object
) -> None:
    world.go()
    world.report({"event": "armed", "volumeId": other})
    with pytest.raises(
        AgentFailedError, match=rf"counts for nothing: .*, and not on {OLD}\. Nothing was written to {OLD}"
    ):
        world.go()
    assert not world.evidence.made
    assert not world.gate_is_open


@any_other
def test_the_end_of_a_rewind_of_another_volume_is_none(world: Rewinding, other: object) -> None:
    world.opened()
    with pytest.raises(RewindIncompleteError, match=rf"{OLD} may be mixed: .* and not on {OLD}"):
        world.fails_with(0, volumeId=other, blocksWritten=40)
    assert REWINDING_TAG in world.volumes.volumes[OLD].settings.tags


@any_other
def test_what_it_counts_on_another_volume_neither_calls_this_one_untouched_nor_is_tried_again(
    world: Rewinding, other: object
) -> None:
    world.opened()
    with pytest.raises(RewindIncompleteError, match=f"{OLD} may be mixed"):
        world.fails_with(AgentExit.DISTURBED, volumeId=other, verdict="failed", blocksWritten=0)
    assert len(world.commands.sent) == 1


def test_progress_needs_no_name_because_the_agent_gives_none_in_between(world: Rewinding) -> None:
    world.opened()
    world.report({"event": "progress", "volumeId": None, "bytesDone": 1 << 20})
    found = world.go().initialization
    assert found is not None
    assert found.bytes_done == 1 << 20
