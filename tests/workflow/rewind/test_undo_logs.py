"""A rewind with an undo log, and the one that undoes it: no snapshot is made, and the bucket has all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.aws.machines.dataplane import SnapshotImage
from local.soak.audit.rewinds import RewindAudit
from local.soak.lab.endings import ended
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.undoing import differing, overlaid
from local.soak.lab.lab import FastLab
from tests.support.stack.restores import RestoreUser, texts
from tests.workflow.rewind.test_rewind import Damaged
from tests.workflow.rewind.test_rewind import damaged as damaged  # noqa: PLC0414  # the fixture

Json = dict[str, Any]
LOG: Json = {"evidence": "undo-log", "compare": "device"}


@pytest.fixture
def fast() -> Iterator[FastLab]:
    with FastLab(seed=4) as made:
        yield made


class Volume:
    """One that has more than its snapshot, of a few GiB."""

    def __init__(self, lab: FastLab) -> None:
        self.lab = lab
        self.instance_id = lab.region.add_instance()
        self.volume_id = lab.region.add_volume(size_gib=2, attach_to=self.instance_id, device="/dev/sdf")
        self.good = lab.region.add_snapshot(
            size_gib=2, extents=((0, 150), (1_000, 250)), volume_id=self.volume_id
        )
        self.there.blocks_written = 600
        self.was = self.now

    @property
    def there(self) -> Any:
        return self.lab.data_plane.volume(self.volume_id)

    @property
    def now(self) -> SnapshotImage:
        return self.there.image_now()

    @property
    def of_snapshot(self) -> SnapshotImage:
        return self.lab.data_plane.known_image(self.good)

    def started(self, source: Json | None = None, **target: Any) -> str:
        asked = {
            "source": source or {"snapshotId": self.good},
            "target": {"instanceId": self.instance_id, "mode": "rewind", **LOG, **target},
        }
        status, answer = self.lab.api("POST", "/restores", asked)
        assert status == 202, answer
        return str(answer["restoreId"])

    def rewind_of(self, restore_id: str) -> Json:
        return dict(self.lab.api("GET", f"/restores/{restore_id}", {})[1]["volumes"][0]["rewind"])

    def logs(self) -> list[Json]:
        return list(self.lab.api("GET", "/undo-logs", {})[1]["undoLogs"])


def same(one: SnapshotImage, other: SnapshotImage) -> bool:
    return next(differing(one, other), None) is None


def audited(lab: FastLab, *restore_ids: str) -> None:
    assert list(RewindAudit(lab).findings(restore_ids)) == []


def told(lab: FastLab) -> str:
    return " ".join(texts(one) for one in lab.slack)


def test_a_rewind_with_an_undo_log_is_undone_by_it(fast: FastLab) -> None:
    volume = Volume(fast)
    restore_id = volume.started()
    ending = ended(fast, restore_id)
    assert ending.kind == "ready", ending
    assert same(volume.now, volume.of_snapshot)
    assert not [
        one for one in fast.region.call("ec2", "DescribeSnapshots", {})["Snapshots"] if one.get("Tags")
    ]
    rewind = volume.rewind_of(restore_id)
    assert (rewind["state"], rewind["undoLog"]["volumeId"]) == ("done", volume.volume_id)
    assert f"source.undoOf {restore_id} undoes" in told(fast)

    undo_id = volume.started({"undoOf": restore_id})
    ending = ended(fast, undo_id)
    assert ending.kind == "ready", ending
    assert same(volume.now, volume.was)
    assert volume.rewind_of(undo_id)["blocks"] == rewind["written"], "nobody wrote since: just the log"
    audited(fast, restore_id, undo_id)


def test_what_was_written_after_a_rewind_goes_back_too_where_that_is_undone(fast: FastLab) -> None:
    volume = Volume(fast)
    restore_id = volume.started()
    assert ended(fast, restore_id).kind == "ready"
    volume.there.blocks_written = 900
    volume.there.writes += 900
    undo_id = volume.started({"undoOf": restore_id})
    ending = ended(fast, undo_id)
    assert ending.kind == "ready", ending
    assert same(volume.now, volume.was)
    assert volume.rewind_of(undo_id)["blocks"] == 4_096, "the whole device is compared"


def test_a_rewind_that_stopped_halfway_is_undone_by_its_log_alone(fast: FastLab) -> None:
    volume = Volume(fast)
    fast.data_plane.troubles.append(Trouble("bad-pack", action="apply"))
    restore_id = volume.started()
    assert "is mixed" in str(ended(fast, restore_id))
    assert not same(volume.now, volume.was)
    assert not same(volume.now, volume.of_snapshot)
    assert f"source.undoOf {restore_id} undoes" in told(fast)
    ending = ended(fast, volume.started({"undoOf": restore_id}))
    assert ending.kind == "ready", ending
    assert same(volume.now, volume.was)


def test_a_log_whose_head_was_changed_to_name_another_volume_writes_nothing(fast: FastLab) -> None:
    """Who can write to the bucket does not choose which volume is overwritten."""
    volume = Volume(fast)
    restore_id = volume.started()
    assert ended(fast, restore_id).kind == "ready"
    other = fast.region.add_volume(size_gib=2, attach_to=volume.instance_id, device="/dev/sdz")
    bucket, key = fast.stack.buckets[0], f"undo/{restore_id}/0/log.json"
    head = json.loads(fast.buckets[bucket][key].value)
    fast.buckets.put(bucket, key, json.dumps({**head, "volumeId": other}).encode())
    ending = ended(fast, volume.started({"undoOf": restore_id}))
    assert ending.kind == "failed TargetNotUsableError", ending
    assert f"rewound {volume.volume_id}, and the head of its undo log names {other}" in ending.cause


def test_the_log_outlives_the_record_and_is_deleted_by_its_restore(fast: FastLab) -> None:
    volume = Volume(fast)
    restore_id = volume.started()
    assert ended(fast, restore_id).kind == "ready"
    (log,) = volume.logs()
    assert (log["restoreId"], log["volumeId"], log["packs"] > 0) == (restore_id, volume.volume_id, True)
    status, answer = fast.api("DELETE", f"/undo-logs/{restore_id}", {})
    assert (status, answer["deletedObjects"]) == (200, log["packs"] + 1)
    assert volume.logs() == []
    asked = {"source": {"undoOf": restore_id}, "target": {"instanceId": volume.instance_id, "mode": "rewind"}}
    assert fast.api("POST", "/restores", asked)[0] in {400, 404}


def test_after_a_kill_the_log_of_the_first_attempt_counts(fast: FastLab) -> None:
    volume = Volume(fast)
    fast.data_plane.troubles.append(Trouble("killed", action="apply"))
    restore_id = volume.started()
    ending = ended(fast, restore_id)
    assert ending.kind == "ready", ending
    assert volume.rewind_of(restore_id)["attempt"] == 1
    assert same(volume.now, volume.of_snapshot)
    audited(fast, restore_id)
    assert ended(fast, volume.started({"undoOf": restore_id})).kind == "ready"
    assert same(volume.now, volume.was)


def test_what_somebody_writes_between_two_attempts_becomes_what_it_was_before_the_rewind(
    fast: FastLab,
) -> None:
    volume = Volume(fast)
    fast.data_plane.troubles.append(Trouble("killed", action="apply"))
    restore_id = volume.started()
    fast.run(lambda: volume.there.writes > 0, most_seconds=3_600)
    fast.run(lambda: volume.there.reader is None, most_seconds=600)
    kept = next(one for one in differing(volume.now, volume.was))
    volume.there.image = overlaid(volume.now, {kept: "of somebody"})
    volume.there.writes += 1
    assert ended(fast, restore_id).kind == "ready"
    assert same(volume.now, volume.of_snapshot)

    asked = {"source": {"undoOf": restore_id}, "target": {"instanceId": volume.instance_id, "mode": "rewind"}}
    chosen = fast.api("POST", "/plans", asked)[1]["plans"][0]["volume"]["chosenBecause"]
    assert "each block becomes what it had before the first write" in chosen
    undo_id = volume.started({"undoOf": restore_id})
    assert ended(fast, undo_id).kind == "ready"
    assert same(volume.now, volume.was)
    assert volume.rewind_of(undo_id)["relogged"] == 1
    assert "1 of its blocks had changed again" in told(fast)


def test_the_audit_finds_what_a_log_lacks(fast: FastLab) -> None:
    volume = Volume(fast)
    restore_id = volume.started()
    assert ended(fast, restore_id).kind == "ready"
    audited(fast, restore_id)
    objects = fast.buckets[fast.stack.buckets[0]]
    del objects[next(key for key in objects if key.startswith(f"undo/{restore_id}/0/0/"))]
    (found,) = RewindAudit(fast).findings([restore_id])
    assert "are overwritten and nowhere" in found


def test_with_a_snapshot_the_device_is_compared_too(fast: FastLab) -> None:
    volume = Volume(fast)
    restore_id = volume.started(evidence="snapshot")
    ending = ended(fast, restore_id)
    assert ending.kind == "ready", ending
    assert same(volume.now, volume.of_snapshot)
    assert volume.rewind_of(restore_id)["evidence"].startswith("snap-")
    assert volume.logs() == []


def test_a_real_agent_keeps_what_it_overwrites_and_puts_it_back(damaged: Damaged, user: RestoreUser) -> None:
    damaged.damage(0, 5, 700, 1_500)
    before = damaged.bytes()
    done = damaged.rewind(damaged.good, target=LOG)
    assert done.main.status == "SUCCEEDED", done.why
    assert damaged.bytes() == damaged.was
    assert damaged.evidence(done) == []
    told = " ".join(texts(one) for one in user.messages(done.restore_id))
    assert f"source.undoOf {done.restore_id}" in told
    assert "4 blocks" in told

    target = {"instanceId": damaged.instance, "mode": "rewind"}
    undone = user.restore({"source": {"undoOf": done.restore_id}, "target": target})
    assert undone.main.status == "SUCCEEDED", undone.why
    assert damaged.bytes() == before
