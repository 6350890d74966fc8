"""How far a fleet is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rewarm.domain import fleets as members
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.fleets import (
    MOST_CANDIDATES,
    FleetStatus,
    FleetVolume,
    RestoreStanding,
    candidates_of_each,
    check_count,
    check_devices,
    check_spread,
    execution_of_fleet,
    fleet_of_execution,
    progress_of,
    recovery_point,
    status_of_fleet,
    together,
)
from rewarm.domain.snapshots import unusable
from tests.support.builders import snapshot

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


REGION = "ap-northeast-1"


def aged(hours, **changes):
    return snapshot(f"snap-{hours:017x}", started_at=NOW - timedelta(hours=hours), **changes)


def candidates(found, *, at=None):
    kept = candidates_of_each(
        found, name_of=lambda one: one.volume_id, at=at, refusal=unusable, field="source.tags.snapshots"
    )
    return {name: {one.snapshot_id for one in each} for name, each in kept.items()}


class TestRecoveryPoints:
    @pytest.mark.parametrize(
        ("arn", "found"),
        [
            (f"arn:aws:ec2:{REGION}::snapshot/snap-0123456789abcdef0", ("snap-0123456789abcdef0", None)),
            (f"arn:aws:ec2:{REGION}::image/ami-0123456789abcdef0", ("", "ami-0123456789abcdef0")),
            (f"arn:aws-cn:ec2:{REGION}:123456789012:image/ami-12345678", ("", "ami-12345678")),
        ],
    )
    def test_an_arn_says_what_aws_backup_has_made(self, arn, found):
        assert recovery_point(arn, REGION, field="f") == found

    @pytest.mark.parametrize(
        "arn",
        [
            "arn:aws:backup:ap-northeast-1:123456789012:recovery-point:1EB3B5E7-9EB0-435A-A80B-108B488B0D45",
            f"arn:aws:ec2:{REGION}::volume/vol-0123456789abcdef0",
            f"arn:aws:ec2:{REGION}::snapshot/snap-0123456789abcdef0\n",
            f"arn:aws:ec2:{REGION}::snapshot/ami-0123456789abcdef0",
            "x" * 2_048,
        ],
    )
    def test_other_arns_are_refused_with_the_two_that_are_allowed(self, arn):
        with pytest.raises(
            InvalidRequestError, match=r"^f: found .*::snapshot/snap-.*::image/ami-"
        ) as refused:
            recovery_point(arn, REGION, field="f")
        assert len(str(refused.value)) < 500

    def test_another_regions_recovery_point_is_refused(self):
        with pytest.raises(InvalidRequestError, match=r"^f: is in eu-west-1; allowed is .*ap-northeast-1"):
            recovery_point("arn:aws:ec2:eu-west-1::image/ami-0123456789abcdef0", REGION, field="f")


class TestCandidates:
    def test_of_many_snapshots_the_newest_usable_ones_are_kept(self):
        found = [aged(hours) for hours in range(1, 101)]
        kept = candidates([*found[50:], *found[:50]])
        assert kept == {found[0].volume_id: {one.snapshot_id for one in found[:MOST_CANDIDATES]}}

    def test_snapshots_that_cannot_be_restored_push_none_out_that_can(self):
        usable = aged(900)
        broken = [aged(hours, state="error") for hours in range(1, 101)]
        kept = candidates([usable, *broken])[usable.volume_id]
        assert usable.snapshot_id in kept
        assert broken[0].snapshot_id in kept  # for the reason against it
        assert len(kept) == 1 + MOST_CANDIDATES

    def test_at_a_time_those_before_it_are_kept_and_the_first_ones_after_it(self):
        found = [aged(hours) for hours in range(1, 101)]
        kept = candidates(found, at=NOW - timedelta(hours=60))[found[0].volume_id]
        hours = {int(name.removeprefix("snap-"), 16) for name in kept}
        assert hours == set(range(40, 80))

    def test_more_volumes_than_a_fleet_can_have_are_refused_while_they_are_read(self, monkeypatch):
        monkeypatch.setattr(members, "MOST_VOLUMES", 3)
        endless = (aged(number, volume_id=f"vol-{number}") for number in range(1, 10**9))
        with pytest.raises(InvalidRequestError, match=r"^source.tags.snapshots: more than 3 volumes match"):
            candidates(endless)

    def test_a_fleet_has_at_least_one_volume(self):
        with pytest.raises(InvalidRequestError, match=r"^f: nothing matches"):
            check_count(0, field="f")
        check_count(10_000, field="f")
        with pytest.raises(InvalidRequestError, match=r"^f: more than 10,000 volumes match"):
            check_count(10_001, field="f")


def test_the_volumes_of_an_instance_are_one_group_and_others_are_alone():
    instances = {"vol-a": "i-1", "vol-c": "i-1", "vol-d": "i-2"}
    assert together(["vol-a", "vol-b", "vol-c", "vol-d"], instances) == [
        ["vol-a", "vol-c"],
        ["vol-b"],
        ["vol-d"],
    ]


class TestSpread:
    def test_it_is_the_time_between_the_first_snapshot_and_the_last(self):
        found = [aged(3), aged(1), aged(2)]
        assert members.spread_seconds([one.started_at for one in found]) == 7_200
        assert members.spread_seconds([]) == 0
        check_spread(found, 7_200, field="f")
        check_spread(found, None, field="f")
        with pytest.raises(InvalidRequestError) as refused:
            check_spread(found, 7_199, field="f")
        assert str(refused.value) == (
            "f: allowed are 7,199 s, and the snapshots were started within 2 h: "
            "snap-00000000000000003 at 2026-11-21 00:00 UTC, snap-00000000000000001 at 2026-11-21 02:00 UTC; "
            "source.at can name an earlier moment"
        )


class TestDevices:
    def test_two_volumes_cannot_have_one_place(self):
        places = [("a", "i-1", "/dev/sdf"), ("b", "i-2", "/dev/sdf"), ("c", "i-1", None), ("d", None, None)]
        check_devices(places)
        with pytest.raises(InvalidRequestError, match=r'^e: found "xvdf" on i-1, where another volume'):
            check_devices([*places, ("e", "i-1", "xvdf")])
