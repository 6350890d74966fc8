"""How far a fleet is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rewarm.domain.fleets import (
    FleetStatus,
    FleetVolume,
    RestoreStanding,
    execution_of_fleet,
    fleet_of_execution,
    progress_of,
    status_of_fleet,
)

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
ENDED = frozenset({"ready", "failed", "cancelled", "refused"})


def volume(restore_id="r1", index=0):
    return FleetVolume({"snapshot": {"snapshotId": "snap-1"}}, restore_id, index)


def standing(status="ready", minutes=0, cause=None, settled=()):
    return RestoreStanding(status, NOW - timedelta(minutes=minutes), cause, frozenset(settled))


def found(volumes, restores, **changes):
    values = {"ended": ENDED, "since": NOW - timedelta(minutes=30), "now": NOW}
    return progress_of(volumes, restores, **{**values, **changes})


def test_a_volume_at_full_speed_counts_though_its_restore_failed():
    restores = {"r1": standing("failed", cause="no capacity", settled={0})}
    progress = found([volume(), volume(index=1)], restores)
    assert progress.counts == {"failed": 1, "ready": 1}
    (failed,) = progress.failed
    assert (failed.index, failed.cause) == (1, "no capacity")
    assert progress.ended == 2


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("ready", "ready"),
        ("refused", "failed"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
        ("initializing", "initializing"),
        (None, "waiting"),
    ],
)
def test_each_status_of_a_restore_is_a_state_of_its_volumes(status, state):
    assert found([volume()], {"r1": standing(status)}).counts == {state: 1}


def test_a_restore_without_a_record_waits():
    progress = found([volume()], {})
    assert (progress.counts, progress.running_restores) == ({"waiting": 1}, ())


def test_the_oldest_of_those_that_run_are_the_slowest():
    restores = {name: standing("restoring", minutes) for name, minutes in (("r1", 5), ("r2", 50))}
    progress = found([volume("r1"), volume("r2"), volume("r2", 1)], restores)
    assert [one.restore_id for one in progress.slowest] == ["r2", "r1"]
    assert set(progress.running_restores) == {"r1", "r2"}


def test_the_pace_so_far_says_when_all_have_ended():
    restores = {"r1": standing(), "r2": standing("restoring")}
    volumes = [volume("r1"), volume("r2"), volume("r3")]
    assert found(volumes, restores).eta == NOW + timedelta(minutes=60)
    assert found(volumes, {}).eta is None
    assert found(volumes[:1], restores).eta is None


def test_what_was_ready_before_a_redrive_is_no_pace():
    restores = {"r1": standing(), "r2": standing("restoring")}
    volumes = [volume("r1"), volume("r2")]
    assert found(volumes, restores, before=1).eta is None


@pytest.mark.parametrize("run", [1, 2, 17])
def test_the_name_of_an_execution_leads_to_its_fleet(run):
    assert fleet_of_execution(execution_of_fleet("fleet-0123456789abcdef", run)) == "fleet-0123456789abcdef"


def test_statuses_of_fleets_are_none_of_restores():
    assert status_of_fleet("ready") is None
    assert [status_of_fleet(one.recorded) for one in FleetStatus] == [*FleetStatus]
