"""The sweeper: what a calibration left that was killed."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import AccessDeniedError, ThrottledError
from rewarm.domain.model import VolumeSettings
from tests.support.builders import NOW, VOLUME_ID, ZONE, at
from tests.support.performance import STACK
from tests.support.sweeping import SweepWorld

SNAPSHOT = "snap-0ca1b0000000000ff"
TAGS = {
    "rewarm:stack": STACK,
    "rewarm:calibration": "calibration-1",
    "rewarm:expires-at": "2026-11-21T03:20:00Z",
}


@pytest.fixture
def world() -> SweepWorld:
    made = SweepWorld()
    made.calibration_snapshots.tags[SNAPSHOT] = dict(TAGS)
    return made


def states(world: SweepWorld, minutes: int) -> dict[str, str]:
    return {one.resource: one.state for one in world.sweep(now=at(minutes))}


def put_volume(world: SweepWorld, *, attached: bool, **tags: str) -> None:
    world.made(attached="i-0123456789abcdef0" if attached else None)
    volume = world.volumes.volumes[VOLUME_ID]
    changed = VolumeSettings("gp3", 4, tags={**TAGS, **tags})
    world.volumes.volumes[VOLUME_ID] = type(volume)(
        VOLUME_ID, volume.state, ZONE, changed, SNAPSHOT, False, volume.attachments, NOW
    )


def test_an_attached_volume_is_detached_and_deleted_by_the_next_sweep(world: SweepWorld) -> None:
    put_volume(world, attached=True)
    world.fast_restores.enable(SNAPSHOT, ZONE)
    found = states(world, 30)
    assert found == {f"{SNAPSHOT}:{ZONE}": "ended", VOLUME_ID: "ending", SNAPSHOT: "ended"}
    assert world.fast_restores.enabled_places() == []
    assert states(world, 45) == {VOLUME_ID: "ended"}
    assert world.volumes.volumes == {}
    assert states(world, 60) == {}


def test_a_calibration_that_has_time_left_is_left_alone(world: SweepWorld) -> None:
    put_volume(world, attached=True)
    assert states(world, 10) == {}
    assert SNAPSHOT in world.calibration_snapshots.tags


@pytest.mark.parametrize(
    "tags",
    [
        {"rewarm:restore-id": "restore-1"},
        {"rewarm:expires-at": "some day"},
        {"rewarm:expires-at": "2026-11-21T03:20:00"},
        {"rewarm:stack": "another"},
    ],
)
def test_what_lacks_one_of_the_three_tags_or_is_a_restores_is_left_alone(
    world: SweepWorld, tags: dict[str, str]
) -> None:
    put_volume(world, attached=False, **tags)
    world.calibration_snapshots.tags = {SNAPSHOT: TAGS | tags}
    assert "calibrations" not in {one.sweep for one in world.sweep(now=at(30))}
    assert VOLUME_ID in world.volumes.volumes


@pytest.mark.parametrize(
    ("failure", "state"), [(ThrottledError("later"), "ending"), (AccessDeniedError("denied"), "left")]
)
def test_what_could_not_be_ended_is_told(world: SweepWorld, failure: Exception, state: str) -> None:
    world.calibration_snapshots.failure = failure
    assert states(world, 30) == {SNAPSHOT: state}
