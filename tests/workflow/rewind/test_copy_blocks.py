"""copy-blocks in the fast lab: real bytes of snapshots, and the real agent that applies what was written."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from local.soak.lab.lab import FastLab
from local.soak.lab.scheduler import FiberEnded
from local.soak.lab.states.execution import Execution
from local.soak.lab.transport import Call, NoInterference, Refusal
from rewarm.domain.words.failures import explain
from tests.support.loopback import Loopback, QuietHandler
from tests.support.tree import ROOT

Json = dict[str, Any]
BLOCK, BLOCKS = 524_288, 2_048
MOST_KILLS, KILLED_SHARE = 5, 0.03
VOLUME, GOOD, NEWEST, EVIDENCE = (
    "vol-0123456789abcdef0", "snap-0000000000000aaaa", "snap-0000000000000bbbb", "snap-0000000000000cccc",
)  # fmt: skip


@pytest.fixture
def lab() -> Iterator[FastLab]:
    with FastLab(seed=3) as made:
        yield made


def block(seed: str) -> bytes:
    """Some bytes; half of them cannot be compressed."""
    return hashlib.shake_256(seed.encode()).digest(BLOCK // 2).ljust(BLOCK, b"x")


def image(path: Path, held: dict[int, str]) -> Path:
    with path.open("wb") as file:
        os.truncate(file.fileno(), BLOCKS * BLOCK)
        for index, seed in held.items():
            os.pwrite(file.fileno(), block(seed), index * BLOCK)
    return path


def contents(path: Path) -> dict[int, bytes]:
    """The blocks that are not zeros; holes of the file are passed over."""
    found, at = {}, 0
    with path.open("rb") as file:
        while True:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // BLOCK
            except OSError:
                return found
            data = os.pread(file.fileno(), BLOCK, at * BLOCK)
            if data.strip(b"\0"):
                found[at] = data
            at = (at + 1) * BLOCK


def snapshots(lab: FastLab, folder: Path) -> dict[str, Path]:
    """The good snapshot, a newer one, and one of the volume as it is: more blocks differ each time."""
    good = {index: f"good {index}" for index in (*range(150), 700, 2_047)}
    newest = {**good, **{index: f"newest {index}" for index in (*range(20, 130), 300, 301)}}
    now = {**newest, **{index: f"now {index}" for index in (3, 120, 302, 900)}}
    del now[700]
    found = {}
    for snapshot_id, held in ((GOOD, good), (NEWEST, newest), (EVIDENCE, now)):
        found[snapshot_id] = image(folder / snapshot_id, held)
        lab.region.add_snapshot(
            snapshot_id=snapshot_id, size_gib=1, volume_id=VOLUME, path=found[snapshot_id],
            extents=[(index, 1) for index in sorted(held)],
        )  # fmt: skip
    return found


def delta(**changes: Any) -> Json:
    return {
        "snapshotId": GOOD, "volumeId": VOLUME, "volumeBytes": BLOCKS * BLOCK, "index": 0, "region": None,
        "against": EVIDENCE, "without": [], "firstPart": 0, "goesOn": False, "samples": 0, **changes,
    }  # fmt: skip


def copied(lab: FastLab, name: str, restore_id: str = "restore-1", **changes: Any) -> Execution:
    machine = lab.machine("CopyBlocksStateMachine")
    data = {"restoreId": restore_id, "delta": delta(**changes)}
    return lab.finish(lab.states.start(machine, name, data))


def succeeded(lab: FastLab, name: str, **changes: Any) -> Json:
    execution = copied(lab, name, **changes)
    assert execution.status == "SUCCEEDED", (execution.error, execution.cause, execution.failures)
    return dict(execution.output)


@pytest.fixture
def bucket(lab: FastLab) -> Iterator[str]:
    """The bucket on loopback; the address of its objects."""
    objects = lab.buckets[lab.stack.buckets[0]]

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            found = objects.get(self.path.split("?")[0].lstrip("/"))
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(found.value if found else b"")

    with closing(Loopback(Handler)) as server:
        yield server.url


def on_loopback(lab: FastLab, address: str) -> None:
    """Presigned addresses lead to the bucket's host on AWS; the manifest's are changed, and its checksums."""
    bucket = lab.stack.buckets[0]
    for key, stored in list(lab.buckets[bucket].items()):
        if "/part-" not in key:
            continue
        *lines, end = re.sub(r"https://[^/]+", address, stored.value.decode()).splitlines()
        text = "".join(f"{line}\n" for line in lines)
        last = {**json.loads(end), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        lab.buckets.put(bucket, key, f"{text}{json.dumps(last)}\n".encode())


def applied(volume: Path, manifest: str, folder: Path) -> Json:
    """What the agent says."""
    agent = ROOT / "warmer" / "build" / "warmer"
    done = subprocess.run(
        [agent, "apply", volume, "--image", "--volume", VOLUME, "--manifest", manifest,
         "--state", folder / "state", "--progress", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_the_agent_makes_a_damaged_volume_equal_to_the_snapshot(
    lab: FastLab, tmp_path: Path, bucket: str
) -> None:
    images = snapshots(lab, tmp_path)
    first = succeeded(lab, "first", against=NEWEST, goesOn=True)
    second = succeeded(lab, "second", without=[NEWEST], firstPart=first["nextPart"], samples=16)
    assert (first["blocks"], first["zeros"], first["packs"]) == (112, 2, 2)
    assert (second["blocks"], second["zeros"], second["packs"], second["samples"]) == (4, 2, 1, 16)
    assert first["packedBytes"] < 110 * BLOCK * 0.6
    on_loopback(lab, bucket)
    volume = images[EVIDENCE]
    result = applied(volume, f"{bucket}/{first['manifestKey']}", tmp_path)
    assert (result["verdict"], result["blocksWritten"], result["samples"]) == ("applied", 116, 16)
    assert contents(volume) == contents(images[GOOD])


def test_an_empty_volume_gets_all_blocks_of_the_snapshot(lab: FastLab, tmp_path: Path, bucket: str) -> None:
    images = snapshots(lab, tmp_path)
    volume = image(tmp_path / "empty", {})
    result = succeeded(lab, "direct", against=None)
    assert (result["blocks"], result["zeros"], result["listCalls"]) == (152, 0, 1)
    on_loopback(lab, bucket)
    applied(volume, f"{bucket}/{result['manifestKey']}", tmp_path)
    assert contents(volume) == contents(images[GOOD])


def test_the_error_names_the_shard_and_a_redrive_fetches_only_what_is_missing(
    lab: FastLab, tmp_path: Path
) -> None:
    snapshots(lab, tmp_path)
    damaged = FaultRule("block:data", effect="corrupt", when={"BlockIndex": 100}, times=None)
    lab.region.faults.add(damaged)
    zone = {"availabilityZone": lab.region.settings.zones[0]}
    asked = {"source": {"snapshotId": GOOD}, "target": zone, "dryRun": True}
    restore_id = lab.api("POST", "/restores", asked)[1]["restoreId"]
    failed = copied(lab, "damaged", restore_id, against=NEWEST)
    why = explain(failed.error, failed.cause)
    assert (failed.status, why.error) == ("FAILED", "ShardFailedError")
    assert "1 part of 2 could not be made: shard 1: BlockDamagedError: block 100 of" in why.sentence
    assert blocks_left(lab, restore_id) == 55
    lab.region.faults.clear()
    before = lab.calls["Copy Shard", "ebs", "GetSnapshotBlock"]
    lab.states.redrive(failed.arn)
    assert lab.finish(failed).status == "SUCCEEDED", (failed.error, failed.cause)
    assert lab.calls["Copy Shard", "ebs", "GetSnapshotBlock"] - before == 46, "those of one of two shards"
    assert (failed.output["packs"], blocks_left(lab, restore_id)) == (2, 0)


def blocks_left(lab: FastLab, restore_id: str) -> int:
    """By GET /restores/{id}; each of the two shards counts as a half."""
    (volume,) = lab.api("GET", f"/restores/{restore_id}")[1]["volumes"]
    return int(volume["copying"]["blocks"] - volume["copying"]["blocksCopied"])


class Kills(NoInterference):
    """Ends a function at some of its requests, before or after their effect."""

    def __init__(self, chance: random.Random) -> None:
        self.left = MOST_KILLS
        self._chance = chance

    def before(self, call: Call) -> Refusal | None:
        """Nothing is refused."""
        self._perhaps_end(call)
        return None

    def after(self, call: Call) -> bool:
        """No answer is lost by itself."""
        self._perhaps_end(call)
        return False

    def _perhaps_end(self, call: Call) -> None:
        if call.service != "lambda" and self.left and self._chance.random() < KILLED_SHARE:
            self.left -= 1
            raise FiberEnded


@pytest.mark.parametrize("seed", [1, 2])
def test_functions_that_are_killed_at_any_request_change_nothing(tmp_path: Path, seed: int) -> None:
    kills = Kills(random.Random(seed))
    undisturbed, needed = with_bucket(tmp_path, NoInterference())
    found, reads = with_bucket(tmp_path, kills)
    assert (found, kills.left) == (undisturbed, 0)
    assert needed == 110 + 16
    assert needed <= reads <= needed + MOST_KILLS * 64, "no more than the shard that was under way"


def with_bucket(folder: Path, interference: NoInterference) -> tuple[Json, int]:
    """The result, the packs, and the parts without what signs their addresses; how many blocks were read."""
    with FastLab(seed=3, interference=interference) as lab:
        snapshots(lab, folder)
        result = succeeded(lab, "once", against=NEWEST, samples=16)
        objects = lab.buckets[lab.stack.buckets[0]]
        found: Json = {key: one.value for key, one in objects.items() if key.startswith(f"deltas/{GOOD}/")}
        for key, stored in objects.items():
            if "/part-" in key:
                *lines, end = stored.value.decode().splitlines()
                text = "\n".join([*lines, json.dumps(json.loads(end) | {"sha256": ""})])
                found[key] = re.sub(r'\?[^"]+', "", text)
        return {**found, **result, "seconds": 0}, lab.calls["Copy Shard", "ebs", "GetSnapshotBlock"]


def test_snapshots_of_two_volumes_cannot_be_compared(lab: FastLab, tmp_path: Path) -> None:
    snapshots(lab, tmp_path)
    lab.region.add_snapshot(snapshot_id="snap-0000000000000dddd", size_gib=1)
    failed = copied(lab, "unrelated", against="snap-0000000000000dddd")
    assert failed.error == "SnapshotNotUsableError"
    assert "UNRELATED_SNAPSHOTS" in failed.cause
