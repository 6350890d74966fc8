"""`make run ARGS="--scenario rewind"`: what it reads of the new volume, and what it says at the end."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

from local.aws.machines.dataplane import BLOCK_BYTES, SnapshotImage
from local.tools.run.live.view import View
from local.tools.run.options import Options
from local.tools.run.recording import RestoreRecord, StateVisit
from local.tools.run.stories.rewinds import PIECE_BYTES, RewindStory, _pieces


def visit(state: str, at: float, payload: Any) -> StateVisit:
    return StateVisit(
        execution="volume 0", state=state, kind="Task", entered_at=at, left_at=at + 1, payload=payload
    )


def record(seconds: int, *visits: StateVisit) -> RestoreRecord:
    report = visit("Report", 99, {"verdict": "ready", "slowestSeconds": seconds})
    made = RestoreRecord(title="", trigger="", restore_id="restore-1", request={}, started_at=0)
    made.visits, made.metered_usd = [*visits, report], "0.001"
    return made


def test_both_ways_and_their_undoing_are_said_and_how_often_each_is_in_the_cold_restore() -> None:
    text = io.StringIO()
    account = {"signals": {"agent": {"blocksWritten": 166}}}
    looks = (visit("Rewind", 5, {"phase": "arm"}), visit("Rewind", 9, {"phase": "wait"}))
    end = visit("Rewind", 36, {"phase": "write", "initialization": account})
    by_snapshot = [record(45, *looks, end), record(50)]
    by_log = [record(30, looks[0], end), record(15)]
    RewindStory(Options(), View(text))._compare(record(80), 10.0, by_snapshot, by_log)
    said = " ".join(text.getvalue().split())
    assert "replace 80 s" in said
    assert "90 s and every block of it read" in said
    assert (
        "rewind 45 s USD 0.001 with a snapshot: 166 blocks (83 MiB) written; agent sent after 5 s, armed "
        "after 9 s, may write after 36 s" in said
    )
    assert "undo 15 s USD 0.001 with an undo log" in said
    assert "took 2.0 times as long as the rewind with a snapshot" in said
    assert "took 3.0 times as long as the rewind with an undo log" in said
    assert "undoing reads and writes just the blocks that the rewind had written" in said


def test_every_block_that_the_snapshot_has_is_in_one_piece(tmp_path: Path) -> None:
    path, blocks = tmp_path / "image", 2 * PIECE_BYTES // BLOCK_BYTES
    path.write_bytes(b"a" * BLOCK_BYTES)
    with path.open("r+b") as file:
        file.truncate((blocks + 4) * BLOCK_BYTES)
    image = SnapshotImage("snap-1", 1, ((0, 1), (3, blocks + 1)), path)
    pieces = list(_pieces(image))
    assert [(offset // BLOCK_BYTES, length // BLOCK_BYTES) for offset, length, _ in pieces] == [
        (0, 1),
        (3, 128),
        (131, 128),
        (259, 1),
    ]
    assert pieces[0][2] == hashlib.sha256(b"a" * BLOCK_BYTES).hexdigest()


def test_a_new_volume_that_failed_is_not_read() -> None:
    failed = RestoreRecord(title="", trigger="", restore_id="restore-1", request={}, started_at=0)
    failed.visits = [visit("Create Volume", 5, {"volumeId": "vol-1"})]
    assert failed.volume_id == "vol-1"
    story: Any = RewindStory(Options(), View(io.StringIO()))
    story._examine = lambda *_: None
    assert story._prove_new(None, failed) == 0.0
