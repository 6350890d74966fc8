"""Boosts of volumes that were there, after their restore: the sweeper, a clean-up, and the gauges."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from rewarm.domain.errors import ModificationPostponedError
from rewarm.domain.model import Volume, VolumeSettings
from rewarm.domain.units import iso
from rewarm.domain.volume.performance import ModificationRule, PerformanceSettings, VolumeModification
from rewarm.ports.restores import BOOST
from rewarm.steps.clean_up.clean_up import CleanUpPorts, remove
from rewarm.steps.clean_up.clean_up_account import Remains
from rewarm.steps.clean_up.gauges import GaugePorts, read_gauges
from rewarm.steps.record.boosts import NotedBoost, boost_of, note_boost, noted_boost
from rewarm.steps.record.leftovers import removed_and_kept
from rewarm.steps.record.restore import RestoreNotes
from tests.support.builders import INSTANCE_ID, NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID, ZONE, World, at
from tests.support.wired import wired
from tests.support.worlds.performance import STACK, FakeInventory
from tests.support.worlds.sweeping import SweepWorld

ORIGINAL, BOOSTED = PerformanceSettings("gp3", 3_000, 125), PerformanceSettings("gp3", 4_000, 500)
NOTED = NotedBoost(
    volume_id=VOLUME_ID, restore_id=RESTORE_ID, index=0, asked_at=NOW, original=ORIGINAL, boosted=BOOSTED,
    size_gib=100, usd_per_hour=Decimal("0.02"),
)  # fmt: skip
ADOPTION = {"source": {"existing": {"volumeIds": [VOLUME_ID], "boost": True}}}
BY_HAND = f"aws ec2 modify-volume --volume-id {VOLUME_ID} --iops 3000 --throughput 125"


@pytest.fixture
def world() -> SweepWorld:
    """EC2 has finished the raise; the restore's execution was stopped."""
    made = SweepWorld()
    settings = VolumeSettings("gp3", 100, 4_000, 500, tags={"rewarm:managed": "true"})
    made.volumes.volumes[VOLUME_ID] = Volume(VOLUME_ID, "in-use", ZONE, settings, SNAPSHOT_ID, None, (), NOW)
    made.modifications.changes[VOLUME_ID] = VolumeModification("completed", BOOSTED, started_at=NOW)
    made.modifications.now = at(60)
    made.table.put_new(RESTORE_ID, {"request": ADOPTION, "volumeCount": 1, "plan0": {"adopts": VOLUME_ID}})
    note_boost(NOTED, made.table)
    return made


def swept(world: SweepWorld, minutes: float = 60) -> list[tuple[str, str]]:
    found = world.sweep(now=at(minutes))
    return [(one.state, one.reason) for one in found if one.sweep == "boosts"]


def cleaned(world: SweepWorld, adopted: str | None = None) -> tuple[list[str], list[str]]:
    remains = Remains(RESTORE_ID, 0, None, None, None, announced=True, adopted=adopted)
    result = remove(remains, wired(CleanUpPorts, world, stack_name=STACK), now=at(60))
    told = removed_and_kept(RESTORE_ID, [{"index": 0}], RestoreNotes(world.table, RESTORE_ID).read_whole())
    assert told == (result.removed, result.kept)
    return told


def test_the_sweeper_lowers_what_a_killed_restore_left(world: SweepWorld) -> None:
    assert [state for state, _ in swept(world)] == ["ending"]
    assert world.modifications.started == [(VOLUME_ID, ORIGINAL)]
    world.modifications.become(VOLUME_ID, "optimizing")
    assert [state for state, _ in swept(world)] == ["ended"]
    assert (swept(world), noted_boost(VOLUME_ID, world.table)) == ([], None)


def test_a_restore_that_runs_keeps_its_boost(world: SweepWorld) -> None:
    world.executions.running.add((RESTORE_ID, 0))
    assert (swept(world), world.modifications.started) == ([], [])


def test_a_raise_that_ec2_still_works_on_is_nobodys_trouble_before_it_is_overdue(world: SweepWorld) -> None:
    world.modifications.become(VOLUME_ID, "optimizing")
    ((state, reason),) = swept(world)
    assert state == "ending"
    assert "0.02 USD an hour" in reason
    assert reason.endswith(f"; by hand: {BY_HAND}")
    # 35 min for a tenth of a TiB, and two sweeps.
    assert [state for state, _ in swept(world, minutes=66)] == ["left"]


def test_what_ec2_refuses_is_tried_again(world: SweepWorld) -> None:
    world.modifications.failure = ModificationPostponedError("VolumeModificationRateExceeded")
    ((state, reason),) = swept(world, minutes=120)
    assert (state, "VolumeModificationRateExceeded" in reason) == ("left", True)
    world.modifications.failure = None
    assert [state for state, _ in swept(world, minutes=24 * 60)] == ["ending"]


def test_a_clean_up_lowers_it_and_says_so(world: SweepWorld) -> None:
    removed, kept = cleaned(world)
    assert removed == [f"boost of {VOLUME_ID} (it goes back to gp3 with 3,000 IOPS and 125 MiB/s)"]
    assert (kept, len(world.modifications.started)) == ([], 1)


def test_a_boost_is_named_although_the_item_of_its_volume_is_lost(world: SweepWorld) -> None:
    """The execution knows its volume."""
    del world.table.records[RESTORE_ID]["plan0"]
    removed, _ = cleaned(world, adopted=VOLUME_ID)
    assert removed == [f"boost of {VOLUME_ID} (it goes back to gp3 with 3,000 IOPS and 125 MiB/s)"]


def test_a_clean_up_lowers_it_although_its_note_is_lost(world: SweepWorld) -> None:
    world.table.discard(BOOST, VOLUME_ID)
    cleaned(world)
    assert world.modifications.started == [(VOLUME_ID, ORIGINAL)]


def test_what_ec2_does_not_lower_yet_is_noted_again_for_the_sweeper(world: SweepWorld) -> None:
    world.modifications.become(VOLUME_ID, "optimizing")
    world.table.discard(BOOST, VOLUME_ID)
    cleaned(world)
    world.modifications.become(VOLUME_ID, "completed")
    assert [state for state, _ in swept(world)] == ["ending"]
    assert world.modifications.started == [(VOLUME_ID, ORIGINAL)]


def test_a_lost_note_is_not_written_over_that_of_another_restore(world: SweepWorld) -> None:
    other = NOTED.model_copy(update={"restore_id": "another"})
    world.table.discard(BOOST, VOLUME_ID)
    looks = iter([None])
    stored = world.table.stored

    def stored_late(kind: str, name: str) -> dict[str, Any] | None:
        """The first look finds nothing, and the other restore writes its note after it."""
        if kind == BOOST and next(looks, NOTED) is None:
            world.table.store(BOOST, VOLUME_ID, other.to_json())
            return None
        return stored(kind, name)

    world.table.stored = stored_late
    assert boost_of(RESTORE_ID, 0, VOLUME_ID, world.table) is None
    assert noted_boost(VOLUME_ID, world.table) == other


def test_the_sweepers_message_names_it_by_the_boosts_own_note(world: SweepWorld) -> None:
    del world.table.records[RESTORE_ID]["plan0"]
    world.table.put(RESTORE_ID, {"status": "initializing", "startedAt": iso(NOW)})
    world.holds.enter(RESTORE_ID, instance_id=INSTANCE_ID, now=NOW)
    world.ended("ABORTED")
    world.modifications.become(VOLUME_ID, "optimizing")
    world.sweep(now=at(60))
    assert [f"boost of {VOLUME_ID}" in message["text"] for message in world.messages.sent] == [True]


def test_a_clean_up_does_not_wait_for_ec2_and_says_what_it_costs(world: SweepWorld) -> None:
    world.modifications.become(VOLUME_ID, "optimizing")
    removed, kept = cleaned(world)
    assert (removed, world.modifications.started) == ([], [])
    assert kept[0].startswith(f"boost of {VOLUME_ID} (gp3 with 4,000 IOPS and 500 MiB/s, to be gp3")
    assert kept[0].endswith(BY_HAND)
    account = RestoreNotes(world.table, RESTORE_ID).read_whole().volume(0).clean_up
    assert account is not None
    assert account.boost is not None
    assert (account.boost.costs, account.boost.usd_per_hour) == (True, Decimal("0.02"))
    assert account.boost.command == BY_HAND


def test_where_ec2_takes_no_change_within_six_hours_it_is_overdue_after_them() -> None:
    slow = NOTED.model_copy(update={"rule": ModificationRule.SIX_HOURS})
    assert [one.is_overdue(NOW + timedelta(hours=6)) for one in (NOTED, slow)] == [True, False]
    assert slow.is_overdue(NOW + timedelta(hours=6, minutes=31))


@pytest.mark.parametrize(("later", "left"), [(timedelta(minutes=60), 0), (timedelta(minutes=90), 1)])
def test_an_alarm_is_about_boosts_that_should_be_over(world: SweepWorld, later: timedelta, left: int) -> None:
    ports = wired(
        GaugePorts, world, stack_name=STACK, now=NOW + later, inventory=FakeInventory(), prices=World().prices
    )
    found = {one.name: one.value for one in read_gauges(ports).gauges}
    assert (found["BoostedVolumes"], found["BoostedVolumesLeft"]) == (1, left)
