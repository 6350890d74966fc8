"""State Rewind with an undo log, with a comparison of the device, and how such a rewind is undone."""

from __future__ import annotations

import pytest

from rewarm.contracts.rewinding import RewindResult
from rewarm.domain.errors import (
    AccessDeniedError,
    RewindIncompleteError,
    SnapshotNotFoundError,
    VolumeInUseError,
)
from rewarm.domain.model import MIB
from rewarm.domain.ready.agent_output import AgentExit
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.steps.record.bucket import rewound_key
from tests.support.builders import RESTORE_ID, SNAPSHOT_ID
from tests.support.worlds.replacing import OLD
from tests.support.worlds.rewinding import COPIED, NEWEST, Rewinding, completed, with_newest

BOOT_ID = "8f0c2f5e-0b5d-4f7e-9c53-6a0a3b2e9d11"
COUNT = {"sectors": 4096, "requests": 77, "diskSequence": 12}
COMPARED = {"blocksWritten": 3, "blocksDone": 40, "blocksEqual": 37, "bootId": BOOT_ID, "writeCount": COUNT}


@pytest.fixture
def logging(world: Rewinding) -> Rewinding:
    """A rewind that keeps what it overwrites in an undo log."""
    world.kept, world.compared = "undo-log", "device"
    return with_newest(world)


def arguments(world: Rewinding) -> str:
    return str(world.commands.sent[-1][2]["arguments"])


def refuse(_prefix: str) -> None:
    raise AccessDeniedError("s3:ListBucket is not allowed")


def keeps(world: Rewinding, attempt: int = 0) -> None:
    """The agent puts a pack of the log."""
    world.logs.sizes[f"undo/{RESTORE_ID}/0/{attempt}/000002-000"] = 2 * MIB


def finished(world: Rewinding) -> RewindResult:
    world.go(COPIED)
    world.end(**COMPARED)
    return world.go()


def test_with_an_undo_log_no_snapshot_is_made_and_writing_begins_at_once(logging: Rewinding) -> None:
    asked = logging.armed()
    assert "--compare" in arguments(logging)
    assert not logging.evidence.made
    assert logging.gate_is_open
    assert (asked.phase, asked.writing) == ("write", True)
    delta = asked.delta
    assert delta is not None
    assert (delta.whole, delta.undo_attempt, delta.against, delta.samples) == (True, 0, None, 0)
    assert (delta.goes_on, delta.without, delta.log) == (False, [], None)
    assert logging.volumes.volumes[OLD].settings.tags[REWINDING_TAG] == RESTORE_ID


def test_the_head_of_the_log_is_there_before_the_gate_is(logging: Rewinding) -> None:
    logging.go()
    head = f"undo/{RESTORE_ID}/0/log.json"
    assert head not in logging.artifacts.objects
    logging.packs.put_text = None  # type: ignore[method-assign,assignment]
    logging.report({"event": "armed"})
    with pytest.raises(TypeError):
        logging.go()
    assert logging.artifacts.objects[head]["volumeId"] == OLD


def test_at_its_end_the_log_is_named_with_size_price_and_end(logging: Rewinding) -> None:
    logging.armed()
    keeps(logging)
    done = finished(logging)
    assert done.finished
    assert done.initialization is not None
    (first,), second = done.initialization.reasons, logging.way_back
    assert "3 blocks (1.5 MiB)" in first
    assert "the other 37 were compared, and are the same" in first
    assert f"source.undoOf {RESTORE_ID} undoes this one" in second
    assert "has 2 MiB" in second
    record = logging.table.get_volume(RESTORE_ID, 0)["rewind"]
    assert (record["state"], record["undoLog"]["packs"], record["evidence"]) == ("done", 1, None)
    assert record["undoLog"]["expiresAt"]


def test_where_nothing_was_overwritten_no_way_back_is_promised(logging: Rewinding) -> None:
    logging.armed()
    done = finished(logging)
    assert done.initialization is not None
    assert "no block was overwritten" in logging.way_back
    assert logging.table.get_volume(RESTORE_ID, 0)["rewind"]["undoLog"] is None


def test_where_nobody_can_look_at_the_log_the_volume_is_whole_all_the_same(
    logging: Rewinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging.armed()
    logging.go(COPIED)
    logging.end(**COMPARED)
    monkeypatch.setattr(logging.logs, "objects", refuse)
    done = logging.go()
    assert done.finished
    assert logging.way_back == f"A rewind with source.undoOf {RESTORE_ID} undoes this one."


def test_a_further_attempt_compares_everything_and_keeps_a_log_of_its_own(logging: Rewinding) -> None:
    logging.armed()
    logging.go(COPIED)
    logging.end(92, blocksWritten=0)
    again = logging.go()
    assert (again.attempt, again.phase, again.counts.blocks) == (1, "look", 0)
    logging.go()
    logging.report({"event": "armed"})
    delta = logging.go().delta
    assert delta is not None
    assert (delta.undo_attempt, delta.whole, delta.first_part) == (1, True, 4)
    assert not logging.evidence.made


def test_a_mounted_volume_is_refused_before_anything_is_kept(logging: Rewinding) -> None:
    logging.go()
    logging.end(83)
    with pytest.raises(VolumeInUseError, match="Nothing was written"):
        logging.go()
    assert not logging.gate_is_open


def test_the_head_of_the_log_says_at_the_end_how_many_packs_undo_the_rewind(logging: Rewinding) -> None:
    logging.armed()
    keeps(logging)
    head = logging.artifacts.objects[f"undo/{RESTORE_ID}/0/log.json"]
    assert "completedAt" not in head
    finished(logging)
    told = logging.artifacts.objects[f"undo/{RESTORE_ID}/0/log.json"]
    assert (told["packs"], told["blocks"]) == (1, 3)
    assert (told["startedAt"], told["undoOf"]) == (head["startedAt"], None)
    assert told["completedAt"]


def test_a_further_attempt_leaves_the_head_of_the_log_as_it_is(logging: Rewinding) -> None:
    logging.armed()
    head = dict(logging.artifacts.objects[f"undo/{RESTORE_ID}/0/log.json"])
    logging.go(COPIED)
    logging.end(92, blocksWritten=0)
    logging.go()
    logging.go()
    logging.report({"event": "armed"})
    logging.go()
    assert logging.artifacts.objects[f"undo/{RESTORE_ID}/0/log.json"] == head


@pytest.mark.parametrize("has_log", [True, False])
def test_a_mixed_volume_names_its_log_only_if_that_is_there(logging: Rewinding, *, has_log: bool) -> None:
    logging.armed()
    logging.go(COPIED)
    if has_log:
        keeps(logging)
    with pytest.raises(RewindIncompleteError) as caught:
        logging.fails_with(89, verdict="failed", blocksWritten=3, written=[[4, 3]])
    assert "is mixed: 3 blocks" in str(caught.value)
    assert (f"source.undoOf {RESTORE_ID} undoes" in logging.way_back) == has_log


def test_with_a_snapshot_the_device_is_compared_once_that_is_completed(world: Rewinding) -> None:
    world.kept, world.compared = "snapshot", "device"
    with_newest(world)
    asked = world.armed()
    delta = asked.delta
    assert delta is not None
    assert (asked.phase, delta.whole, delta.undo_attempt, delta.goes_on) == ("wait", True, None, False)
    world.go(COPIED)
    assert not world.gate_is_open
    completed(world)
    writing = world.go()
    assert world.gate_is_open
    assert (writing.phase, writing.delta, writing.counts.blocks) == ("write", None, 40)
    world.end(**COMPARED)
    assert world.go().finished


class TestUnwritten:
    """Nobody has written since the volume went back to another snapshot."""

    @pytest.fixture
    def again(self, logging: Rewinding) -> Rewinding:
        told = {"restoreId": "restore-0", "index": 0, "bootId": BOOT_ID, "writeCount": COUNT}
        logging.artifacts.objects[rewound_key(OLD)] = {**told, "snapshotId": NEWEST}
        return logging

    def test_just_what_differs_between_the_two_snapshots_is_compared(self, again: Rewinding) -> None:
        again.go()
        assert f"--since {BOOT_ID},4096,77,12" in arguments(again)
        again.report({"event": "armed", "unwrittenSince": True})
        delta = again.go().delta
        assert delta is not None
        assert (delta.against, delta.whole, delta.undo_attempt) == (NEWEST, False, 0)

    @pytest.mark.parametrize("compared", ["snapshots", "device"])
    def test_no_snapshot_is_made_and_the_one_that_the_volume_equals_is_the_way_back(
        self, again: Rewinding, compared: str
    ) -> None:
        again.kept, again.compared = "snapshot", compared
        again.go()
        again.report({"event": "armed", "unwrittenSince": True})
        taken = again.go()
        assert (taken.phase, taken.evidence_id, taken.delta) == ("wait", NEWEST, None)
        assert again.table.get_volume(RESTORE_ID, 0)["rewind"]["evidence"] == NEWEST, "before a write"
        delta = again.go().delta
        assert again.gate_is_open
        assert not again.evidence.made
        assert delta is not None
        assert (delta.against, delta.whole, delta.undo_attempt, delta.without) == (NEWEST, False, None, [])
        done = finished(again)
        assert done.initialization is not None
        assert again.way_back.startswith(f"{NEWEST} has {OLD}, to which nobody had written")

    def test_after_a_kill_it_stays_the_way_back_and_a_snapshot_says_what_differs(
        self, again: Rewinding
    ) -> None:
        again.kept, again.compared = "snapshot", "snapshots"
        again.go()
        again.report({"event": "armed", "unwrittenSince": True})
        again.go()
        again.go()
        again.go(COPIED)
        assert again.fails_with(AgentExit.ENDED).attempt == 1
        again.go()
        again.report({"event": "armed", "unwrittenSince": False})
        asked = again.go()
        (made,) = again.evidence.made
        assert (asked.evidence_id, asked.compared_id, asked.equal_id) == (NEWEST, made, None)
        assert again.table.get_volume(RESTORE_ID, 0)["rewind"]["others"] == [made]

    def test_where_it_is_deleted_meanwhile_nothing_is_written(self, again: Rewinding) -> None:
        again.kept, again.compared = "snapshot", "snapshots"
        again.go()
        again.report({"event": "armed", "unwrittenSince": True})
        again.go()
        del again.snapshots.snapshots[NEWEST]
        with pytest.raises(SnapshotNotFoundError, match="Nothing was written"):
            again.go()
        assert not again.gate_is_open

    @pytest.mark.parametrize(("unwritten", "left"), [(False, NEWEST), (True, "snap-00000000000000bad")])
    def test_everything_is_compared_where_somebody_has_written_or_ebs_cannot_compare(
        self, again: Rewinding, *, unwritten: bool, left: str
    ) -> None:
        again.artifacts.objects[rewound_key(OLD)]["snapshotId"] = left
        again.go()
        again.report({"event": "armed", "unwrittenSince": unwritten})
        delta = again.go().delta
        assert delta is not None
        assert (delta.against, delta.whole) == (None, True)


class TestUndoing:
    @pytest.fixture
    def undoing(self, logging: Rewinding) -> Rewinding:
        logging.undo_of = "restore-0"
        self.has_left(logging, "restore-0", 2)
        return logging

    def has_left(self, world: Rewinding, restore_id: str, index: int) -> None:
        told = {"restoreId": restore_id, "index": index, "bootId": BOOT_ID, "writeCount": COUNT}
        world.artifacts.objects[rewound_key(OLD)] = {**told, "snapshotId": SNAPSHOT_ID}

    @pytest.mark.parametrize(("unwritten", "whole"), [(True, False), (False, True)])
    def test_the_log_alone_is_written_where_nothing_was_written_since(
        self, undoing: Rewinding, *, unwritten: bool, whole: bool
    ) -> None:
        undoing.go()
        assert f"--since {BOOT_ID},4096,77,12" in arguments(undoing)
        undoing.report({"event": "armed", "unwrittenSince": unwritten})
        delta = undoing.go().delta
        assert delta is not None
        assert delta.log is not None
        assert (delta.log.restore_id, delta.log.index) == ("restore-0", 2)
        assert (delta.whole, delta.undo_attempt) == (whole, 0)

    def test_with_a_snapshot_the_one_below_the_log_is_the_way_back(self, undoing: Rewinding) -> None:
        undoing.kept = "snapshot"
        undoing.go()
        undoing.report({"event": "armed", "unwrittenSince": True})
        assert undoing.go().evidence_id == SNAPSHOT_ID
        delta = undoing.go().delta
        assert delta is not None
        assert (delta.log is not None, delta.against, delta.whole) == (True, None, False)
        assert not undoing.evidence.made

    def test_the_log_alone_undoes_a_rewind_that_stopped_halfway(self, undoing: Rewinding) -> None:
        undoing.undo_alone = True
        undoing.go()
        undoing.report({"event": "armed", "unwrittenSince": False})
        delta = undoing.go().delta
        assert delta is not None
        assert delta.log is not None
        assert not delta.whole, "the other blocks are not those of the snapshot"

    @pytest.mark.parametrize(
        ("unwritten", "alone", "rest"),
        [
            (True, False, "the others were not read, as nobody had written to the volume since"),
            (False, True, "the others were not read, and stay as they were"),
            (False, False, "the other 37 were compared, and are the same there"),
        ],
    )
    def test_its_end_says_what_was_proven(
        self, undoing: Rewinding, *, unwritten: bool, alone: bool, rest: str
    ) -> None:
        undoing.undo_alone = alone
        undoing.go()
        undoing.report({"event": "armed", "unwrittenSince": unwritten})
        undoing.go()
        done = finished(undoing)
        assert done.initialization is not None
        assert rest in done.initialization.reasons[0]

    def test_its_end_names_blocks_that_changed_again_before_the_agent_took_the_volume_once_more(
        self, undoing: Rewinding
    ) -> None:
        undoing.armed()
        undoing.go(COPIED.model_copy(update={"relogged": 2}))
        undoing.end(**COMPARED)
        done = undoing.go()
        assert done.initialization is not None
        assert "2 of its blocks had changed again" in done.initialization.reasons[0]

    def test_what_another_rewind_has_left_counts_for_nothing(self, undoing: Rewinding) -> None:
        self.has_left(undoing, "restore-7", 2)
        undoing.armed()
        assert "--since" not in arguments(undoing)

    def test_a_mixed_volume_has_no_blocks_of_the_snapshot(self, undoing: Rewinding) -> None:
        undoing.armed()
        undoing.go(COPIED)
        with pytest.raises(RewindIncompleteError) as caught:
            undoing.fails_with(89, verdict="failed", blocksWritten=3, written=[[4, 3]])
        assert "3 blocks (4 to 6) are as before restore-0, and the others are as they were" in str(
            caught.value
        )

    @pytest.mark.parametrize("count", [None, {"sectors": 4096, "requests": 77}])
    def test_counts_that_do_not_say_of_which_attachment_prove_nothing(
        self, undoing: Rewinding, count: dict[str, int] | None
    ) -> None:
        undoing.artifacts.objects[rewound_key(OLD)]["writeCount"] = count
        undoing.armed()
        assert "--since" not in arguments(undoing)

    def test_it_leaves_its_own_counts(self, undoing: Rewinding) -> None:
        undoing.armed()
        finished(undoing)
        told = undoing.artifacts.objects[rewound_key(OLD)]
        assert (told["restoreId"], told["snapshotId"], told["writeCount"]) == (RESTORE_ID, None, COUNT)
