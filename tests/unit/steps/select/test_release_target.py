"""State Release Target."""

from __future__ import annotations

import pytest

from rewarm.domain.volume.holds import TargetHolds
from rewarm.steps.select.release_target import ReleaseTargetEvent, release_target
from tests.support.builders import INSTANCE_ID, NOW, RESTORE_ID
from tests.support.holds import FakeHolds

EVENT = ReleaseTargetEvent(restore_id=RESTORE_ID, now=NOW)


def holding() -> FakeHolds:
    holds = FakeHolds()
    empty = TargetHolds(INSTANCE_ID)
    other = empty.with_devices("another", {0: "/dev/sdh"}, NOW)
    holds.keep(empty, other.with_devices(RESTORE_ID, {0: "/dev/sdf", 1: "/dev/sdg"}, NOW))
    holds.enter(RESTORE_ID, instance_id=INSTANCE_ID, now=NOW)
    return holds


def test_gives_back_every_device_of_the_restore_and_no_other() -> None:
    holds = holding()
    released = release_target(EVENT, holds=holds).released
    assert released == [f"/dev/sdf on {INSTANCE_ID}", f"/dev/sdg on {INSTANCE_ID}"]
    assert holds.on_target(INSTANCE_ID).others(RESTORE_ID) == ["/dev/sdh"]
    assert holds.entries == {}


@pytest.mark.parametrize("noted", [INSTANCE_ID, None])
def test_an_entry_that_was_deleted_or_names_no_instance_keeps_no_device(noted: str | None) -> None:
    holds = holding()
    holds.leave(RESTORE_ID)
    if noted is None:
        holds.enter(RESTORE_ID, instance_id=None, now=NOW)
    event = EVENT.model_copy(update={"instance_id": INSTANCE_ID})
    released = release_target(event, holds=holds).released
    assert released == [f"/dev/sdf on {INSTANCE_ID}", f"/dev/sdg on {INSTANCE_ID}"]
    assert holds.on_target(INSTANCE_ID).restore_ids == ["another"]
    assert (holds.entries, release_target(event, holds=holds).released) == ({}, [])


def test_a_restore_whose_message_is_owed_stays_where_the_sweeper_finds_it() -> None:
    holds = holding()
    owed = EVENT.model_copy(update={"has_unsent_messages": True})
    assert release_target(owed, holds=holds).released == []
    assert [one.restore_id for one in holds.running()] == [RESTORE_ID]


def test_a_second_time_changes_nothing() -> None:
    holds = holding()
    release_target(EVENT, holds=holds)
    assert release_target(EVENT, holds=holds).released == []
    assert holds.on_target(INSTANCE_ID).restore_ids == ["another"]


def test_a_restore_into_a_zone_only_leaves() -> None:
    holds = FakeHolds()
    holds.enter(RESTORE_ID, instance_id=None, now=NOW)
    assert release_target(EVENT, holds=holds).released == []
    assert holds.entries == {}


def test_another_restore_that_begins_at_that_moment_keeps_its_device() -> None:
    holds = holding()
    now = holds.on_target(INSTANCE_ID)
    holds.intruders.append(now.with_devices("third", {0: "/dev/sdi"}, NOW))
    release_target(EVENT, holds=holds)
    assert sorted(holds.on_target(INSTANCE_ID).restore_ids) == ["another", "third"]
