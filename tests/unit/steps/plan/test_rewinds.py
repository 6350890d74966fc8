"""POST /plans for a source volume that lives says what a rewind would take, or why there can be none."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.blocks.rewind_facts import WrittenSince
from rewarm.domain.errors import (
    InvalidRequestError,
    NoStrategyFitsError,
    ServiceUnavailableError,
    TargetNotUsableError,
)
from rewarm.domain.model import BLOCK_BYTES, Attachment, InstanceEbsLimits, Volume, VolumeSettings
from rewarm.domain.time.measured import Phase
from rewarm.steps.plan.plan_restore import CUT_SHORT, PlanRestorePorts, plan_restore
from rewarm.steps.plan.rewinds import plan_rewinds
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


def test_a_volume_on_an_ebs_card_is_read_at_the_cards_speed(world):
    slow, fast = (InstanceEbsLimits(mib_s, mib_s, None, None) for mib_s in (10.0, 1_000.0))
    world.instances.limits = replace(fast, cards=(fast, slow))
    seconds = []
    for card in (0, 1):
        world.volumes.change(SOURCE_VOLUME_ID, attachments=(replace(ATTACHED, card=card),))
        seconds.append(rewind_of(world).seconds_p50)
    assert seconds[1] > seconds[0] + 10_381 / 2 / 10


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
    listed = next(way for way in found.ways if way.compare == "snapshots")
    assert listed.phases["evidence"][0] == pytest.approx(240, abs=100)
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
    "a copy": ({"good": {"is_copy": True}}, "is a copy, .* name the volume in target.volumeId"),
    "grown": ({"volume": {"settings": VolumeSettings("gp3", 200)}}, "has 200 GiB now and had 100 then"),
    "root": ({"instance": {"root_device": "/dev/sdf"}}, "target.device /dev/sdf and target.reboot"),
    "silent": ({"instance": {"ssm_online": False}}, "is not online in Systems Manager"),
    "windows": ({"instance": {"platform": "windows"}}, "runs Windows"),
    "xen": ({"limits": InstanceEbsLimits(100.0, 100.0, None, None, nvme=False)}, "has no NVMe"),
    "no agent": ({"instance": {"architecture": "riscv64"}}, "there is no agent"),
    "root of a stopped instance": (
        {"instance": {"root_device": "/dev/sdf", "state": "stopped"}},
        "the agent needs a running instance. What works is to attach the volume to another one",
    ),
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
    assert re.search(reason, found.reason)
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
    assert answer.summary.notes[0] == CUT_SHORT
    assert world.blocks.requests == 0


def test_of_many_volumes_the_first_share_the_requests(world):
    listed = [{"snapshotId": SNAPSHOT_ID}] * 10
    body = {"source": {"volumes": listed}, "target": {"availabilityZone": ZONE}}
    world.blocks.page = 100
    answer = plan_restore(body, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))
    assert [plan.rewind is not None for plan in answer.plans] == [True] * 8 + [False] * 2
    assert world.blocks.requests == 16


def ways_of(found):
    return {(way.evidence, way.compare): way for way in found.ways}


class TestWays:
    def test_the_plan_names_each_way_with_time_and_price_the_chosen_one_first(self, world):
        found = rewind_of(world)
        chosen, *others = found.ways
        assert [way.chosen for way in found.ways] == [True, False, False]
        assert (found.seconds_p50, found.cost_usd) == (chosen.seconds_p50, chosen.cost_usd)
        assert min(way.seconds_p50 for way in others) >= chosen.seconds_p50
        assert found.why.count("min (P90") == 3
        assert ways_of(found)["undo-log", "device"].cost_parts[-2].arithmetic.startswith("81,920 blocks")

    def test_a_small_volume_is_compared_rather_than_waited_for(self, world):
        self.small(world)
        found = rewind_of(world)
        assert (found.ways[0].evidence, found.ways[0].compare) == ("undo-log", "device")
        assert found.evidence.startswith(f"An undo log in the stack's bucket keeps what {SOURCE_VOLUME_ID}")

    def small(self, world):
        world.volumes.change(SOURCE_VOLUME_ID, settings=VolumeSettings("gp3", 4, 3_000, 125))
        world.snapshots.add(snapshot(size_gib=4, full_size_bytes=2**31))
        world.blocks.differing[SNAPSHOT_ID, NEWEST_ID] = [1, 2, 3]

    def test_the_request_may_say_how(self, world):
        self.small(world)
        for asked, chosen in (
            ({"evidence": "snapshot"}, ("snapshot", "snapshots")),
            ({"evidence": "snapshot", "compare": "device"}, ("snapshot", "device")),
            ({"compare": "snapshots"}, ("snapshot", "snapshots")),
            ({"evidence": "undo-log"}, ("undo-log", "device")),
        ):
            found = rewind_of(world, {**REWIND, "target": {**REWIND["target"], **asked}})
            assert (found.ways[0].evidence, found.ways[0].compare) == chosen

    def test_the_sooner_way_must_be_within_the_budget(self, world):
        self.small(world)
        found = rewind_of(world, {**REWIND, "objective": {"maxCostUsd": 0.003}})
        assert (found.ways[0].evidence, found.ways[0].compare) == ("snapshot", "snapshots")

    def test_snapshots_that_are_not_related_leave_the_comparison_of_the_device(self, world):
        world.blocks.differing.clear()
        found = rewind_of(world, REWIND)
        assert "are unrelated" in ways_of(found)["snapshot", "snapshots"].reason
        assert (found.ways[0].compare, found.compared_with) == ("device", None)
        assert "Nobody knows before how many blocks differ" in found.notes[0]

    def test_a_request_for_lists_fails_where_there_are_none(self, world):
        world.blocks.differing.clear()
        asked = {**REWIND, "target": {**REWIND["target"], "compare": "snapshots"}}
        with pytest.raises(TargetNotUsableError, match="are unrelated"):
            rewind_of(world, asked)

    def test_it_says_that_a_volume_that_was_rewound_may_go_back_sooner(self, world):
        at = "2026-11-26T10:00:00Z"
        world.artifacts.objects[f"rewound/{SOURCE_VOLUME_ID}.json"] = {"snapshotId": NEWEST_ID, "at": at}
        note = rewind_of(world).notes[-1]
        assert note.startswith(f"If nothing was written to {SOURCE_VOLUME_ID} since its last rewind ended")
        assert f"at {at}, it is sooner. Then {NEWEST_ID} has what is on it" in note

    def test_of_an_undone_rewind_it_names_no_snapshot_that_has_what_is_on_the_volume(self, world):
        told = {"snapshotId": None, "at": "2026-11-26T10:00:00Z"}
        world.artifacts.objects[f"rewound/{SOURCE_VOLUME_ID}.json"] = told
        assert "If nothing was written" not in " ".join(rewind_of(world).notes)


class TestUndo:
    def test_a_rewind_to_its_evidence_writes_what_the_rewind_wrote_though_no_metrics_say_so(self, world):
        """The evidence differs from the snapshot to which the volume was put back."""
        world.metrics.writes.clear()
        evidence = snapshot(
            "snap-0aaaaaaaaaaaaaaa1", started_at=NOW, completed_at=NOW, tags={"rewarm:evidence": SNAPSHOT_ID}
        )
        world.snapshots.add(evidence)
        world.blocks.differing[SNAPSHOT_ID, evidence.snapshot_id] = list(range(166))
        found = rewind_of(world, {**REWIND, "source": {"snapshotId": evidence.snapshot_id}})
        assert found.blocks == 166

    def test_the_plan_says_what_it_takes_if_nobody_has_written_since(self, world):
        evidence = snapshot(
            "snap-0aaaaaaaaaaaaaaa1", started_at=NOW, completed_at=NOW, tags={"rewarm:evidence": SNAPSHOT_ID}
        )
        world.snapshots.add(evidence)
        world.blocks.differing[SNAPSHOT_ID, evidence.snapshot_id] = list(range(166))
        world.artifacts.objects[f"rewound/{SOURCE_VOLUME_ID}.json"] = {"snapshotId": SNAPSHOT_ID, "at": "x"}
        asked = {**REWIND["target"], "evidence": "snapshot", "compare": "snapshots"}
        found = rewind_of(world, {**REWIND, "source": {"snapshotId": evidence.snapshot_id}, "target": asked})
        assert "just 166 blocks are read and written: 27 s (P90" in found.notes[-1]
        assert found.seconds_p50 > 500, "the safe way waits for a snapshot"


CLONE_ID = "vol-0c10c10c10c10c100"


class TestAnotherVolume:
    def clone(self, world, **changes):
        settings = VolumeSettings("gp3", 100, 3_000, 125)
        at = Attachment(INSTANCE_ID, "/dev/sdg", "attached")
        made = Volume(CLONE_ID, "in-use", ZONE, settings, None, None, (at,), NOW)
        world.volumes.volumes[CLONE_ID] = replace(made, **changes)

    def named(self, **target):
        return {**REWIND, "target": {**REWIND["target"], "volumeId": CLONE_ID, **target}}

    def test_a_clone_goes_back_by_a_comparison_of_the_device(self, world):
        self.clone(world)
        found = rewind_of(world, self.named())
        assert (found.volume_id, found.ways[0].compare) == (CLONE_ID, "device")
        assert "is no snapshot of" in ways_of(found)["snapshot", "snapshots"].reason

    def test_so_does_a_volume_of_which_the_snapshot_is_a_copy(self, world):
        world.snapshots.add(snapshot(is_copy=True))
        body = {**REWIND, "target": {**REWIND["target"], "volumeId": SOURCE_VOLUME_ID}}
        assert rewind_of(world, body).ways[0].compare == "device"

    def test_its_size_must_be_the_snapshot_s(self, world):
        self.clone(world, settings=VolumeSettings("gp3", 200))
        with pytest.raises(TargetNotUsableError, match="has 200 GiB now and had 100 then"):
            rewind_of(world, self.named())

    def test_it_must_exist(self, world):
        with pytest.raises(TargetNotUsableError, match="there is no such volume") as refused:
            rewind_of(world, self.named())
        assert refused.value.field == "target.volumeId"


class TestUndoLog:
    UNDO = {"source": {"undoOf": "restore-1"}, "target": {"instanceId": INSTANCE_ID, "mode": "rewind"}}

    def log(self, world, packs=3, **more):
        done = {"completedAt": "2026-11-21T03:10:00Z", "packs": packs, "undoOf": None}
        head = {"volumeId": SOURCE_VOLUME_ID, "snapshotId": SNAPSHOT_ID, "index": 2, **done, **more}
        world.artifacts.objects["undo/restore-1/2/log.json"] = head
        for line in range(packs):
            world.artifacts.written_at[f"undo/restore-1/2/0/000001-{line:03d}"] = NOW

    def test_the_log_s_head_says_which_volume_goes_back_and_over_which_snapshot(self, world):
        self.log(world)
        found = rewind_of(world, self.UNDO)
        assert (found.volume_id, found.ways[0].compare) == (SOURCE_VOLUME_ID, "device")
        # Between a block and 512 of each of three packs.
        assert (found.blocks, found.most_blocks) == (68, 1_536)

    def test_the_whole_device_is_the_safe_way_and_the_note_has_the_log_alone(self, world):
        self.log(world, blocks=900)
        told = {"restoreId": "restore-1", "index": 2, "snapshotId": SNAPSHOT_ID, "at": "x"}
        world.artifacts.objects[f"rewound/{SOURCE_VOLUME_ID}.json"] = told
        found = rewind_of(world, self.UNDO)
        assert (found.blocks, found.most_blocks) == (900, 900)
        assert found.seconds_p50 > 600
        assert found.cost_usd > Decimal("0.1")
        assert "just 900 blocks are read and written: 45 s (P90" in found.notes[-1]

    def test_another_log_than_that_of_the_last_rewind_is_never_written_alone(self, world):
        self.log(world, blocks=900)
        told = {"restoreId": "restore-7", "index": 2, "snapshotId": SNAPSHOT_ID, "at": "x"}
        world.artifacts.objects[f"rewound/{SOURCE_VOLUME_ID}.json"] = told
        assert "If nothing was written" not in " ".join(rewind_of(world, self.UNDO).notes)

    def test_a_log_that_is_always_written_alone_is_priced_and_timed_as_such(self, world):
        self.log(world, blocks=900, undoOf="restore-0")
        found = rewind_of(world, self.UNDO)
        assert (found.blocks, found.cost_usd) == (900, Decimal(0))
        assert found.seconds_p50 < 60
        self.log(world, completedAt=None)
        found = rewind_of(world, self.UNDO)
        assert (found.blocks, found.most_blocks, found.cost_usd) == (68, 1_536, Decimal(0))
        assert "Nobody has counted the blocks of the undo log" in " ".join(found.notes)

    def test_the_assignment_names_the_log(self, world):
        self.log(world)
        answer = plan_restore(self.UNDO, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))
        volume = answer.plans[0].volume
        assert (volume.undo_index, volume.undo_packs, volume.rewinds) == (2, 3, SOURCE_VOLUME_ID)
        assert not volume.undo_alone

    @pytest.mark.parametrize(
        ("head", "because"),
        [
            ({"completedAt": None}, "did not complete that; only the blocks that it has overwritten"),
            ({"undoOf": "restore-0"}, "restore-1 has undone restore-0 on"),
        ],
    )
    def test_only_the_log_undoes_what_was_not_the_snapshot_without_it(self, world, head, because):
        self.log(world, **head)
        answer = plan_restore(self.UNDO, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))
        volume = answer.plans[0].volume
        assert volume.undo_alone
        assert because in volume.chosen_because

    def test_a_rewind_that_has_overwritten_nothing_has_no_log(self, world):
        self.log(world, packs=0, completedAt=None)
        with pytest.raises(InvalidRequestError, match="restore-1, which has no undo log"):
            rewind_of(world, self.UNDO)

    def test_a_log_of_which_packs_are_deleted_undoes_nothing(self, world):
        self.log(world)
        del world.artifacts.written_at["undo/restore-1/2/0/000001-001"]
        with pytest.raises(InvalidRequestError, match="has 2 of 3 packs left") as refused:
            rewind_of(world, self.UNDO)
        assert refused.value.field == "source.undoOf"

    def test_without_a_log_the_field_is_named(self, world):
        with pytest.raises(InvalidRequestError, match="restore-1, which has no undo log") as refused:
            rewind_of(world, self.UNDO)
        assert refused.value.field == "source.undoOf"

    def test_a_volume_that_is_gone_is_named(self, world):
        self.log(world)
        del world.volumes.volumes[SOURCE_VOLUME_ID]
        with pytest.raises(TargetNotUsableError, match="which its undo log is of, is gone") as refused:
            rewind_of(world, self.UNDO)
        assert refused.value.field == "source.undoOf"


def test_the_plan_that_is_carried_out_has_the_chosen_way_with_the_times_of_its_parts(world):
    ports = wired(PlanRestorePorts, world)
    answer = plan_restore(REWIND, restore_id=RESTORE_ID, now=NOW, ports=ports)
    volumes = [answer.plans[0].volume.model_copy(update={"written_blocks": 81_920})]
    for asked, way in (
        ({"evidence": "undo-log"}, ("undo-log", "device")),
        ({"compare": "snapshots"}, ("snapshot", "snapshots")),
    ):
        request = parse_restore_request({**REWIND, "target": {**REWIND["target"], **asked}})
        book = world.prices.book(now=NOW)
        (planned,) = plan_rewinds(request, volumes, book, ports, deadline_at=None, now=NOW).plans
        plan = planned.plan
        assert (plan.evidence, plan.compare) == way
        assert (Phase.EVIDENCE in plan.phases) == (way[0] == "snapshot")
        assert sum(p50 for p50, _ in plan.phases.values()) == pytest.approx(plan.ready_p50_seconds, abs=1)
        assert "The way is" in plan.why


@pytest.mark.parametrize(
    ("asked", "minutes", "field", "missing"),
    [
        ({"readyWithinMinutes": 1}, 1, "readyWithinMinutes", r": the deadline is .+ too early$"),
        ({"maxCostUsd": 0}, None, "maxCostUsd", r": the budget is \$[\d.]+ too small$"),
        (
            {"readyWithinMinutes": 1, "maxCostUsd": 0},
            1,
            "readyWithinMinutes",
            r": the budget is \$[\d.]+ too small, and the deadline is .+ too early$",
        ),
    ],
)
def test_a_strict_rewind_is_refused_with_what_is_missing(world, asked, minutes, field, missing):
    ports = wired(PlanRestorePorts, world)
    volumes = [plan_restore(REWIND, restore_id=RESTORE_ID, now=NOW, ports=ports).plans[0].volume]
    request = parse_restore_request({**REWIND, "objective": {"strict": True, **asked}})
    deadline_at = None if minutes is None else NOW + timedelta(minutes=minutes)
    with pytest.raises(NoStrategyFitsError, match=missing) as refused:
        plan_rewinds(request, volumes, world.prices.book(now=NOW), ports, deadline_at=deadline_at, now=NOW)
    assert refused.value.field == f"objective.{field}"
