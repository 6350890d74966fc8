"""The sweeper: what a calibration left that was killed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from rewarm.domain.errors import AccessDeniedError, InvalidRequestError, ThrottledError
from rewarm.domain.model import Attachment, Volume, VolumeSettings
from rewarm.steps.record.calibrations import known_leases, put_lease
from tests.support.builders import ALICE, NOW, VOLUME_ID, ZONE, at, snapshot
from tests.support.worlds.performance import STACK
from tests.support.worlds.sweeping import SweepWorld

NAME, SNAPSHOT = "calibration-0123456789abcdef", "snap-0ca1b0000000000ff"
TAGS = {"rewarm:stack": STACK, "rewarm:calibration": NAME}
OLD = NOW - timedelta(days=365)


@pytest.fixture
def world() -> SweepWorld:
    made = SweepWorld()
    lease(made, 0)
    put_snapshot(made, at(2))
    lease(made, 5, volumeIds=[VOLUME_ID], snapshotIds=[SNAPSHOT])
    return made


def lease(world: SweepWorld, minutes: int, **body: Any) -> None:
    put_lease(NAME, body, world.history, by=ALICE, now=at(minutes))


def states(world: SweepWorld, minutes: int) -> dict[str, str]:
    return {one.resource: one.state for one in world.sweep(now=at(minutes))}


def put_snapshot(world: SweepWorld, started_at: datetime, **tags: str) -> None:
    made = snapshot(SNAPSHOT, started_at=started_at, tags={**TAGS, **tags})
    world.tagged_snapshots.there[SNAPSHOT] = made


def put_volume(world: SweepWorld, *, attached: bool, made_at: datetime | None = None, **tags: str) -> None:
    places = (Attachment("i-0123456789abcdef0", "/dev/sdp", "attached"),) if attached else ()
    settings, state = VolumeSettings("gp3", 4, tags={**TAGS, **tags}), "in-use" if attached else "available"
    world.volumes.volumes[VOLUME_ID] = Volume(
        VOLUME_ID, state, ZONE, settings, SNAPSHOT, False, places, made_at or at(3)
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
    assert world.history.leased == {}


def test_a_calibration_that_has_time_left_is_left_alone(world: SweepWorld) -> None:
    put_volume(world, attached=True)
    assert states(world, 20) == {}
    assert SNAPSHOT in world.tagged_snapshots.there


@pytest.mark.parametrize("made_at", [OLD, at(120)])
@pytest.mark.parametrize("attached", [True, False])
def test_a_lease_is_no_licence_for_what_was_made_at_another_time(
    world: SweepWorld,
    made_at: datetime,
    attached: bool,  # noqa: FBT001
) -> None:
    """Whoever may keep a lease could name any volume and any backup in it."""
    put_volume(world, attached=attached, made_at=made_at)
    put_snapshot(world, made_at)
    before = world.volumes.volumes[VOLUME_ID]
    world.fast_restores.enable(SNAPSHOT, ZONE)
    assert "calibrations" not in {one.sweep for one in world.sweep(now=at(150))}
    assert world.volumes.volumes == {VOLUME_ID: before}
    assert SNAPSHOT in world.tagged_snapshots.there
    assert world.fast_restores.enabled_places() == [(SNAPSHOT, ZONE)]


@pytest.mark.parametrize("made_at", [OLD, at(3)])
@pytest.mark.parametrize("attached", [True, False])
def test_tags_alone_remove_nothing_and_people_hear_of_it_once_a_day(
    made_at: datetime,
    attached: bool,  # noqa: FBT001
) -> None:
    """Whoever may tag could have a backup deleted, and a volume detached and deleted."""
    world = SweepWorld()
    past = {"rewarm:expires-at": "2026-11-21T03:20:00Z"}
    put_volume(world, attached=attached, made_at=made_at, **past)
    put_snapshot(world, made_at, **past)
    world.fast_restores.enable(SNAPSHOT, ZONE)
    before = world.volumes.volumes[VOLUME_ID]
    found = {one.resource: one for one in world.sweep(now=at(30))}
    assert {name: one.state for name, one in found.items()} == {VOLUME_ID: "left", SNAPSHOT: "left"}
    assert f"aws ec2 delete-volume --volume-id {VOLUME_ID}" in found[VOLUME_ID].reason
    assert "4 GiB of gp3" in found[VOLUME_ID].reason
    assert f"aws ec2 delete-snapshot --snapshot-id {SNAPSHOT}" in found[SNAPSHOT].reason
    assert world.sweep(now=at(45), owner="another") == []
    assert len(world.sweep(now=at(30) + timedelta(days=1), owner="another")) == 2
    assert world.volumes.volumes == {VOLUME_ID: before}
    assert world.fast_restores.enabled_places() == [(SNAPSHOT, ZONE)]


@pytest.mark.parametrize(
    ("failure", "state"), [(ThrottledError("later"), "ending"), (AccessDeniedError("denied"), "left")]
)
def test_what_could_not_be_ended_is_told(world: SweepWorld, failure: Exception, state: str) -> None:
    world.tagged_snapshots.failure = failure
    assert states(world, 30) == {SNAPSHOT: state}
    assert NAME in world.history.leased


class TestLease:
    def test_it_begins_when_it_is_first_kept(self, world: SweepWorld) -> None:
        (kept,) = known_leases(world.history).values()
        assert (kept.started_at, kept.expires_at) == (NOW, at(25))
        assert (kept.volume_ids, kept.snapshot_ids) == ([VOLUME_ID], [SNAPSHOT])

    def test_it_does_not_last_for_ever(self, world: SweepWorld) -> None:
        with pytest.raises(InvalidRequestError, match="begin another one"):
            lease(world, 12 * 60)

    @pytest.mark.parametrize("name", ["calibration-1", "fleet", "calibration-0123456789ABCDEF"])
    def test_its_name_is_that_of_a_calibration(self, world: SweepWorld, name: str) -> None:
        with pytest.raises(InvalidRequestError, match="calibrationId"):
            put_lease(name, {}, world.history, by=ALICE, now=NOW)

    def test_one_that_somebody_has_changed_counts_as_missing(self, world: SweepWorld) -> None:
        world.history.leased[NAME] = {"volumeIds": "all"}
        assert known_leases(world.history) == {}
