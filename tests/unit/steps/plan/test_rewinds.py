"""POST /plans for a source volume that lives says what a rewind would take, or why there can be none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from rewarm.domain.blocks.rewind import WrittenSince
from rewarm.domain.errors import ServiceUnavailableError, TargetNotUsableError
from rewarm.domain.model import BLOCK_BYTES, Attachment, InstanceEbsLimits, Volume, VolumeSettings
from rewarm.steps.plan.plan_restore import PlanRestorePorts, plan_restore
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    TO_INSTANCE,
    ZONE,
    World,
    instance,
    snapshot,
)
from tests.support.wired import wired

NEWEST_ID = "snap-0eeeeeeeeeeeeeeee"
ATTACHED = Attachment(INSTANCE_ID, "/dev/sdf", "attached")


@pytest.fixture
def world():
    """The source volume lives on the target's instance, and has a newer snapshot."""
    made = World()
    made.volumes.volumes[SOURCE_VOLUME_ID] = Volume(
        SOURCE_VOLUME_ID, "in-use", ZONE, VolumeSettings("gp3", 100, 3_000, 125), None, None, (ATTACHED,), NOW
    )
    hour_ago = NOW - timedelta(hours=1)
    done = hour_ago + timedelta(minutes=15)
    made.snapshots.add(snapshot(NEWEST_ID, started_at=hour_ago, completed_at=done))
    made.blocks.differing[SNAPSHOT_ID, NEWEST_ID] = list(range(0, 10_240, 1))
    made.metrics.writes[SOURCE_VOLUME_ID] = WrittenSince(100, 100 * BLOCK_BYTES)
    return made


def rewind_of(world, body=TO_INSTANCE):
    answer = plan_restore(body, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))
    return answer.plans[0].rewind


def test_it_says_blocks_time_price_and_the_way_back(world):
    found = rewind_of(world)
    assert found.possible
    assert (found.volume_id, found.instance_id, found.compared_with) == (
        SOURCE_VOLUME_ID, INSTANCE_ID, NEWEST_ID,
    )  # fmt: skip
    assert (found.blocks, found.most_blocks, found.bytes) == (10_381, 10_440, 10_381 * BLOCK_BYTES)
    assert found.cost_usd == pytest.approx(Decimal("0.039"), abs=Decimal("0.001"))
    assert found.seconds_p50 < found.seconds_p90
    assert sum(p50 for p50, _ in found.phases.values()) == pytest.approx(found.seconds_p50, abs=1)
    assert found.evidence == (
        f"A snapshot of {SOURCE_VOLUME_ID} as it is then is made first and kept, about $0.0034 a month. A "
        "rewind to it undoes the rewind."
    )
    assert found.notes == []


def test_where_the_good_snapshot_is_the_newest_only_what_was_written_since_counts(world):
    del world.snapshots.snapshots[NEWEST_ID]
    found = rewind_of(world)
    assert (found.compared_with, found.blocks, world.blocks.requests) == (SNAPSHOT_ID, 141, 0)


def test_the_volume_s_later_snapshots_say_how_long_the_evidence_is_pending(world):
    for number in range(5):
        started = NOW - timedelta(hours=20 - number)
        made = snapshot(
            f"snap-0aaaaaaaaaaaaaaa{number}", started_at=started, completed_at=started + timedelta(minutes=4)
        )
        world.snapshots.add(made)
    first = snapshot(started_at=NOW - timedelta(days=9), completed_at=NOW - timedelta(days=8))
    world.snapshots.add(first)
    found = rewind_of(world)
    assert found.phases["evidence"][0] == pytest.approx(240, abs=90)
    assert found.notes == []


def test_a_snapshot_that_is_pending_or_copied_is_not_compared_with(world):
    world.snapshots.add(snapshot("snap-0ddddddddddddddd1", state="pending", started_at=NOW))
    world.snapshots.add(snapshot("snap-0ddddddddddddddd2", is_copy=True, started_at=NOW))
    world.snapshots.add(snapshot("snap-0ddddddddddddddd3", storage_tier="archive", started_at=NOW))
    assert rewind_of(world).compared_with == NEWEST_ID


def test_without_metrics_it_says_that_all_may_have_changed(world):
    world.metrics.writes.clear()
    found = rewind_of(world)
    assert found.most_blocks == 204_800
    assert "CloudWatch does not say" in found.notes[0]


def test_a_long_list_is_drawn_out(world):
    world.blocks.page = 100
    found = rewind_of(world)
    assert world.blocks.requests == 16
    assert "of the volume; the rest is drawn out" in found.notes[0]


def test_no_source_volume_no_rewind():
    assert rewind_of(World()) is None


CASES = {
    "belongs to AWS": ({"volume": {"managed_by": "eks.amazonaws.com"}}, "belongs to eks.amazonaws.com"),
    "several instances": (
        {"volume": {"attachments": (ATTACHED, Attachment("i-0bbbbbbbbbbbbbbbb", "/dev/sdf", "attached"))}},
        "is attached to 2 instances",
    ),
    "attached nowhere": ({"volume": {"attachments": ()}}, "is attached to no instance"),
    "a copy": ({"good": {"is_copy": True}}, "name the volume in target.volumeId"),
    "grown": ({"volume": {"settings": VolumeSettings("gp3", 200)}}, "has 200 GiB now and had 100 then"),
    "root": ({"instance": {"root_device": "/dev/sdf"}}, "target.device /dev/sdf and target.reboot"),
    "silent": ({"instance": {"ssm_online": False}}, "is not online in Systems Manager"),
    "windows": ({"instance": {"platform": "windows"}}, "runs Windows"),
    "xen": ({"limits": InstanceEbsLimits(100.0, 100.0, None, None, nvme=False)}, "has no NVMe"),
    "no agent": ({"instance": {"architecture": "riscv64"}}, "there is no agent"),
    "unrelated": ({"differing": {}}, "are unrelated"),
}


@pytest.mark.parametrize(("changes", "reason"), CASES.values(), ids=CASES)
def test_it_says_why_it_is_not_possible(world, changes, reason):
    world.volumes.change(SOURCE_VOLUME_ID, **changes.get("volume", {}))
    world.snapshots.add(snapshot(**changes.get("good", {})))
    there = "i-0ccccccccccccccc1"
    world.instances.add(replace(instance(**changes.get("instance", {})), instance_id=there))
    if world.volumes.get(SOURCE_VOLUME_ID).attachments == (ATTACHED,):
        world.volumes.change(SOURCE_VOLUME_ID, attachments=(replace(ATTACHED, instance_id=there),))
    world.instances.limits = changes.get("limits", world.instances.limits)
    world.blocks.differing = changes.get("differing", world.blocks.differing)
    found = rewind_of(world)
    assert not found.possible
    assert reason in found.reason
    assert found.blocks is None


REWIND = {**TO_INSTANCE, "target": {"instanceId": INSTANCE_ID, "mode": "rewind", "unmount": True}}


class TestAskedFor:
    def test_the_plan_says_that_the_strategies_are_for_new_volumes(self, world):
        answer = plan_restore(REWIND, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))
        assert answer.plans[0].rewind.possible
        assert answer.summary.notes[0].startswith("The strategies are for new volumes in place of a rewind")

    def test_the_instance_must_be_the_one_that_has_the_volume(self, world):
        other = "i-0bbbbbbbbbbbbbbbb"
        world.instances.add(replace(instance(), instance_id=other))
        asked = {**REWIND, "target": {"instanceId": other, "mode": "rewind"}}
        with pytest.raises(TargetNotUsableError, match=f"is attached to {INSTANCE_ID}") as refused:
            rewind_of(world, asked)
        assert refused.value.field == "target.instanceId"

    def test_what_stands_against_it_is_an_error_that_names_the_field(self, world):
        world.volumes.change(SOURCE_VOLUME_ID, settings=VolumeSettings("gp3", 200))
        with pytest.raises(TargetNotUsableError, match=r"target.mode: found rewind; vol-\w+ has 200 GiB now"):
            rewind_of(world, REWIND)
        with pytest.raises(TargetNotUsableError, match="the snapshot's volume is gone"):
            rewind_of(World(), REWIND)


def test_a_plan_does_not_fail_for_what_nobody_asked(world, monkeypatch):
    def unavailable(*_given):
        raise ServiceUnavailableError("DescribeSnapshots")

    monkeypatch.setattr(world.snapshots, "of_volume", unavailable)
    assert "DescribeSnapshots" in rewind_of(world).reason


def test_a_plan_comes_in_time_without_a_rewind(world):
    ports = wired(PlanRestorePorts, world)
    answer = plan_restore(TO_INSTANCE, restore_id=RESTORE_ID, now=NOW, ports=ports, has_time=lambda: False)
    assert "no time left" in answer.plans[0].rewind.reason
    assert world.blocks.requests == 0


def test_of_many_volumes_the_first_share_the_requests(world):
    listed = [{"snapshotId": SNAPSHOT_ID}] * 10
    body = {"source": {"volumes": listed}, "target": {"availabilityZone": ZONE}}
    world.blocks.page = 100
    answer = plan_restore(body, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))
    assert [plan.rewind is not None for plan in answer.plans] == [True] * 8 + [False] * 2
    assert world.blocks.requests == 16
