"""States Release and Release Snapshot."""

from __future__ import annotations

import pytest

from rewarm.contracts import PrepareSnapshotEvent, ReleaseEvent
from rewarm.domain.errors import ThrottledError
from rewarm.domain.model import FastSnapshotRestore, Strategy
from rewarm.steps.prepare_snapshot import prepare_snapshot
from rewarm.steps.release import release
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, ZONE, World, assignment, at, plan

PLACE = (SNAPSHOT_ID, ZONE)


def prepare(world, *, index=0, restore_id=RESTORE_ID):
    event = PrepareSnapshotEvent(
        restore_id=restore_id,
        now=NOW,
        volume=assignment(index=index),
        plan=plan(Strategy.FAST_SNAPSHOT_RESTORE),
    )
    prepare_snapshot(event, fast_restores=world.fast_restores, table=world.table)


def give_back(world, *, index=0, restore_id=RESTORE_ID):
    event = ReleaseEvent(restore_id=restore_id, now=at(10), volume=assignment(index=index))
    return release(event, fast_restores=world.fast_restores, table=world.table).released


class TestRelease:
    def test_disables_what_we_enabled(self):
        world = World()
        prepare(world)
        assert give_back(world) == [f"fast snapshot restore of {SNAPSHOT_ID} in {ZONE} disabled"]
        assert world.fast_restores.disabled == [PLACE]

    def test_does_nothing_for_other_strategies(self):
        world = World()
        assert give_back(world) == []
        assert world.fast_restores.disabled == []

    def test_never_disables_what_somebody_else_enabled(self):
        world = World()
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(-600), 10.0)
        prepare(world)
        assert give_back(world) == []
        assert PLACE in world.fast_restores.states

    def test_the_last_of_two_volumes_disables_it_once(self):
        world = World()
        prepare(world, index=0)
        prepare(world, index=1)
        assert give_back(world, index=0) == []
        assert PLACE in world.fast_restores.states
        assert len(give_back(world, index=1)) == 1
        assert world.fast_restores.disabled == [PLACE]

    def test_the_last_of_two_restores_disables_it(self):
        world = World()
        prepare(world)
        prepare(world, restore_id="another")
        assert give_back(world) == []
        assert len(give_back(world, restore_id="another")) == 1

    def test_tries_again_after_a_failure(self):
        world = World()
        prepare(world)
        world.fast_restores.failure = ThrottledError("slow down")
        with pytest.raises(ThrottledError):
            give_back(world)
        world.fast_restores.failure = None
        give_back(world)
        assert world.fast_restores.disabled == [PLACE]

    def test_a_repeated_release_changes_nothing(self):
        world = World()
        prepare(world)
        give_back(world)
        give_back(world)
        assert world.fast_restores.disabled == [PLACE]
