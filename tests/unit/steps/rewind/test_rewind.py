"""State Rewind, a look at a time, with what a rewind must never do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.domain.errors import (
    AgentFailedError,
    AgentUnreachableError,
    RestoreCancelledError,
    RewindIncompleteError,
    TargetNotUsableError,
    VolumeInUseError,
)
from rewarm.domain.volume.leftovers import REWINDING_TAG
from tests.support.builders import RESTORE_ID, assignment, at
from tests.support.worlds.replacing import OLD
from tests.support.worlds.rewinding import COPIED, NEWEST, Rewinding, completed, with_newest


def test_without_a_newer_snapshot_the_evidence_is_waited_for(world: Rewinding) -> None:
    waiting = world.armed()
    assert (waiting.phase, waiting.delta, waiting.writing) == ("wait", None, False)
    name = completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.without, asked.delta.goes_on) == (name, [], False)
    assert asked.delta.samples > 0
    assert world.volumes.volumes[OLD].settings.tags[REWINDING_TAG] == RESTORE_ID
    writing = world.go(COPIED)
    assert (writing.phase, writing.finished, writing.delta) == ("write", False, None)
    world.end()
    done = world.go()
    assert done.finished
    assert done.armed_at is not None
    assert done.evident_at is not None
    assert done.armed_at < done.evident_at < at(world.minute)
    assert done.initialization is not None
    assert done.initialization.ready
    assert REWINDING_TAG not in world.volumes.volumes[OLD].settings.tags
    assert world.way_back == f"{name} has {OLD} as it was: a rewind to it undoes this one."
    assert world.table.get_volume(RESTORE_ID, 0)["rewind"]["state"] == "done"


def test_looks_follow_each_other_at_once_at_first_and_slower_later(world: Rewinding) -> None:
    first = world.armed()
    assert first.wait_seconds == world.go().wait_seconds == 1
    world.minute += 10
    assert world.go().wait_seconds == 30
    world.minute += 100
    assert world.go().wait_seconds == 60


def test_an_estimate_that_counts_the_wait_for_blocks_delays_no_look(world: Rewinding) -> None:
    """The rate of the agent's first seconds is too low: 308 MiB took 6 s, where it said eight minutes."""
    world.armed()
    completed(world)
    world.go()
    world.report({"event": "progress", "bytesDone": 1 << 20, "etaSeconds": 480})
    assert [world.go(COPIED).wait_seconds for _ in range(7)] == [2, 4, 8, 16, 32, 60, 60]
    world.report({"event": "progress", "bytesDone": 2 << 20, "etaSeconds": 7})
    assert world.go().wait_seconds == 7


def test_six_days_of_writing_fit_an_executions_history(world: Rewinding) -> None:
    """64 TiB at 125 MiB/s: 300 s a look are 1,728 looks with nine events each."""
    world.opened()
    world.report({"event": "progress", "bytesDone": 1 << 20, "etaSeconds": 6 * 24 * 3_600})
    assert [world.go().wait_seconds for _ in range(9)][-1] == 300


def test_while_the_evidence_is_pending_the_newest_snapshots_blocks_are_copied(world: Rewinding) -> None:
    asked = with_newest(world).armed()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.goes_on, asked.delta.first_part) == (NEWEST, True, 1)
    world.go(COPIED)
    name = completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.without, asked.delta.first_part) == (name, [NEWEST], 3)
    done = world.go(COPIED)
    assert done.counts.blocks == 80


def test_a_mounted_volume_is_left_alone(world: Rewinding) -> None:
    world.go()
    world.end(83)
    with pytest.raises(VolumeInUseError, match=r"Nothing was written.*target\.unmount"):
        world.go()
    assert len(world.commands.sent) == 1
    assert not world.evidence.made


def test_one_that_is_used_in_another_way_cannot_be_unmounted(world: Rewinding) -> None:
    world.go()
    world.end(84)
    with pytest.raises(VolumeInUseError, match=r"send the request again$"):
        world.go()


def test_it_is_unmounted_where_that_is_asked_for(world: Rewinding) -> None:
    world.unmount = True
    world.go()
    assert world.commands.sent[-1][2]["action"] == "unmount"
    world.say()
    assert world.go().phase == "arm"
    assert len(world.commands.sent) == 2


def test_the_patience_with_an_answer_begins_when_it_is_asked_for(world: Rewinding) -> None:
    """The step that sends the command may have been throttled: its time is when the state was entered."""
    world.unmount = True
    world.go()
    world.minute += 7
    assert world.go().phase == "look"
    world.minute += 7
    with pytest.raises(AgentUnreachableError, match="no answer came"):
        world.go()


def test_the_agent_is_not_sent_where_it_cannot_be_unmounted(world: Rewinding) -> None:
    world.unmount = True
    world.go()
    world.say("/var/lib/data")
    with pytest.raises(VolumeInUseError, match=r"mounted at /var/lib/data.*Nothing was written"):
        world.go()
    assert len(world.commands.sent) == 1


def test_a_volume_that_has_left_its_instance_is_not_touched(world: Rewinding) -> None:
    world.volumes.change(OLD, attachments=())
    with pytest.raises(TargetNotUsableError, match="not attached"):
        world.go()


def test_what_a_refused_agent_says_last_is_not_taken_for_an_armed_one(world: Rewinding) -> None:
    """The agent uploads its refusal seconds before Run Command says that the command has ended."""
    with_newest(world).go()
    world.report({"event": "result", "verdict": "refused", "error": "it is mounted at /data"})
    assert world.go().phase == "arm"
    assert not world.evidence.made
    world.end(83)
    with pytest.raises(VolumeInUseError, match="Nothing was written"):
        world.go()
    assert REWINDING_TAG not in world.volumes.volumes[OLD].settings.tags


def test_an_instance_that_is_away_is_waited_for(world: Rewinding) -> None:
    there = world.instances.get(assignment().instance_id)
    world.instances.add(replace(there, ssm_online=False))
    world.unmount = True
    for _ in range(3):
        world.minute += 3
        assert world.go().phase == "look"
    assert world.commands.sent == []
    world.instances.add(there)
    world.go()
    assert world.commands.sent[-1][2]["action"] == "unmount"
    world.say()
    assert world.go().phase == "arm"


def test_a_snapshot_whose_answer_was_lost_is_found(world: Rewinding) -> None:
    world.go()
    world.report({"event": "armed"})
    world.evidence.lost_answers = 1
    unseen = world.go()
    assert (unseen.phase, unseen.unseen_since is None) == ("arm", False)
    seen = world.go()
    assert (seen.phase, seen.unseen_since) == ("wait", None)
    assert len(world.evidence.made) == 1


def test_an_evidence_is_noted_before_ec2_shows_it(world: Rewinding, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever cancels in that moment hears of it."""
    world.go()
    world.report({"event": "armed"})
    monkeypatch.setattr(world.evidence, "of_restore", lambda *_place: [])
    assert world.go().phase == "arm"
    world.table.request_cancel(RESTORE_ID)
    with pytest.raises(RestoreCancelledError):
        world.go()
    (made,) = world.evidence.made
    noted = world.table.get_volume(RESTORE_ID, 0)["rewind"]
    assert (noted["volumeId"], noted["evidence"]) == (OLD, made)


def test_a_snapshot_of_an_earlier_attempt_is_noted_again_where_its_item_was_deleted(world: Rewinding) -> None:
    world.armed()
    name = completed(world)
    others = {**world.evidence.made[name].tags, "rewarm:attempt": "7"}
    ours = world.evidence.create(OLD, others)
    world.evidence.create("vol-of-another", others)
    world.go()
    noted = world.table.get_volume(RESTORE_ID, 0)["rewind"]
    assert (noted["evidence"], noted["others"]) == (name, [ours])


def test_a_backup_to_which_somebody_has_given_our_tags_is_no_way_back(world: Rewinding) -> None:
    """Of the same volume, and older: what was written since would be lost."""
    world.armed()
    (ours,) = world.evidence.made
    backup = world.evidence.create(OLD, world.evidence.made[ours].tags)
    world.evidence.change(backup, description="nightly", state="completed")
    world.evidence.made = {backup: world.evidence.made[backup], ours: world.evidence.made[ours]}
    world.table.update_volume(RESTORE_ID, 0, {"rewind": {"askedAt": {"0": at(0).isoformat()}}})
    world.go()
    assert world.table.get_volume(RESTORE_ID, 0)["rewind"]["evidence"] == ours


def test_an_agent_that_fails_for_good_before_any_write_names_its_reason(world: Rewinding) -> None:
    world.armed()
    world.end(1)
    with pytest.raises(AgentFailedError, match="warmer: why"):
        world.go()


def test_an_agent_that_writes_nothing_for_half_an_hour_has_failed(world: Rewinding) -> None:
    world.armed()
    completed(world)
    world.minute += 120
    world.go()
    world.go(COPIED)
    world.minute += 29
    assert world.go().phase == "write"
    world.minute += 2
    assert world.go().phase == "stop"
    assert world.commands.cancelled
    world.minute += 4
    with pytest.raises(RewindIncompleteError, match=r"may be mixed.*has written nothing since"):
        world.go()
