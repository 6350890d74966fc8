"""The sweeper: boosts of restores that ended without lowering them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import pytest

from rewarm.domain.errors import AccessDeniedError, ServiceUnavailableError, ThrottledError
from rewarm.domain.model import VolumeSettings
from rewarm.domain.volume.performance import PerformanceSettings
from rewarm.steps.clean_up import sweep as sweeping
from rewarm.steps.clean_up.sweep import SweptResource
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID
from tests.support.worlds.performance import STACK
from tests.support.worlds.sweeping import SweepWorld

TARGET = PerformanceSettings("gp3", 3_000, 125)
BOOSTED = VolumeSettings(
    "gp3", 100, 4_000, 1_000,
    tags={
        "rewarm:stack": STACK, "rewarm:boost": TARGET.as_text, "rewarm:restore-id": RESTORE_ID,
        "rewarm:volume-index": "3", "rewarm:snapshot-id": SNAPSHOT_ID,
    },
)  # fmt: skip


@pytest.fixture
def world() -> SweepWorld:
    made = SweepWorld()
    made.put(BOOSTED)
    noted(made, 3, VOLUME_ID)
    return made


def noted(world: SweepWorld, index: int, volume_id: str, target: str = TARGET.as_text) -> None:
    """That the volume was made with more than it is to have."""
    boost = {"volumeId": volume_id, "state": "boosted", "targetSettings": target}
    world.table.update_volume(RESTORE_ID, index, {"volume": {"volumeId": volume_id}, "boost": boost})


def swept(world: SweepWorld) -> list[SweptResource]:
    return world.sweep(now=NOW)


def test_lowers_what_an_ended_restore_left_boosted(world: SweepWorld) -> None:
    (first,) = swept(world)
    assert (first.sweep, first.resource, first.state) == ("boosts", VOLUME_ID, "ending")
    assert world.modifications.started == [(VOLUME_ID, TARGET)]
    world.modifications.become(VOLUME_ID, "optimizing")
    assert [one.state for one in swept(world)] == ["ended"]
    assert swept(world) == []
    assert len(world.modifications.started) == 1
    told = world.table.records[RESTORE_ID]["boost3"]
    assert (told["state"], told["target"], told["volumeId"]) == ("lowered", TARGET.in_words, VOLUME_ID)
    assert "by the sweeper" in told["reason"]


def test_leaves_a_restore_that_runs_alone(world: SweepWorld) -> None:
    world.executions.running.add((RESTORE_ID, 3))
    assert swept(world) == []
    assert world.modifications.started == []


def test_leaves_other_stacks_alone(world: SweepWorld) -> None:
    world.put(replace(BOOSTED, tags={**BOOSTED.tags, "rewarm:stack": "another"}))
    assert swept(world) == []


def test_a_boost_without_a_restore_is_nobodys(world: SweepWorld) -> None:
    tags = {name: one for name, one in BOOSTED.tags.items() if name != "rewarm:restore-id"}
    world.put(replace(BOOSTED, tags=tags))
    swept(world)
    assert world.modifications.started == []


@pytest.mark.parametrize(
    ("failure", "state"), [(ThrottledError("later"), "ending"), (AccessDeniedError("denied"), "left")]
)
def test_tells_what_it_could_not_do(world: SweepWorld, failure: Exception, state: str) -> None:
    world.modifications.failure = failure
    (found,) = swept(world)
    assert (found.state, found.reason) == (state, str(failure))


def test_one_volume_keeps_no_other_from_being_swept(world: SweepWorld) -> None:
    other = "vol-00000000000000002"
    tags = {**BOOSTED.tags, "rewarm:volume-index": "4"}
    world.put(replace(BOOSTED, tags=tags), other)
    noted(world, 4, other, "very fast")
    found = {one.resource: one for one in swept(world)}
    assert (found[VOLUME_ID].state, found[other].state) == ("ending", "left")
    world.executions.failure = ServiceUnavailableError("busy")
    unknown = swept(world)
    assert [(one.state, one.reason) for one in unknown] == [("ending", "busy")] * 2


def test_one_sweep_keeps_no_other_from_running(world: SweepWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_ports: SweepPorts) -> Iterator[SweptResource]:
        raise AccessDeniedError("ec2:DescribeSomething")
        yield

    table = MappingProxyType({"broken": broken, **sweeping.SWEEPS})
    monkeypatch.setattr(sweeping, "SWEEPS", table)
    assert [(one.sweep, one.state) for one in swept(world)] == [("broken", "left"), ("boosts", "ending")]


def test_a_volume_that_no_record_calls_boosted_keeps_its_performance(world: SweepWorld) -> None:
    """Somebody has put our tags on a volume of production, which has what its owner pays for."""
    theirs = "vol-0fffffffffffffff0"
    world.put(replace(BOOSTED, iops=16_000), theirs)
    before = world.volumes.volumes[theirs]
    swept(world)
    assert [name for name, _ in world.modifications.started] == [VOLUME_ID]
    assert world.volumes.volumes[theirs] == before


def test_a_boost_that_was_given_back_is_not_taken_once_more(world: SweepWorld) -> None:
    """Its owner has made it faster since, and the tag stayed or was put back."""
    boost = {"volumeId": VOLUME_ID, "state": "lowered", "target": TARGET.in_words}
    world.table.update_volume(RESTORE_ID, 3, {"boost": boost})
    assert [one.state for one in swept(world)] == ["ended"]
    assert (world.modifications.started, swept(world)) == ([], [])


def test_the_target_is_the_records_and_not_the_tags(world: SweepWorld) -> None:
    world.put(replace(BOOSTED, tags={**BOOSTED.tags, "rewarm:boost": "gp3 iops=16000"}))
    swept(world)
    assert world.modifications.started == [(VOLUME_ID, TARGET)]


def test_a_boost_whose_record_is_lost_stays(world: SweepWorld) -> None:
    """The volume may be somebody's, with copied tags."""
    world.table.records.clear()
    swept(world)
    assert world.modifications.started == []
