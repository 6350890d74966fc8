"""Which snapshots a fleet chooses from, and what it refuses."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.domain import fleet_members as members
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.fleet_members import (
    MOST_CANDIDATES,
    candidates_of_each,
    check_count,
    check_devices,
    check_spread,
    recovery_point,
    together,
)
from rewarm.domain.snapshots import unusable
from tests.support.builders import NOW, snapshot

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
