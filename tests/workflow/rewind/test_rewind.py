"""A damaged volume goes back to its snapshot: the agent writes the blocks that differ, on the real device."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from local.soak.audit.rewinds import RewindAudit
from local.soak.lab.endings import ended
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.undoing import differing
from local.soak.lab.lab import FastLab
from tests.support.stack.restores import Restore, RestoreUser, texts
from tests.workflow.faults.test_agent_faults import KILL_ALL, on_instance

Json = dict[str, Any]
DEVICE = "/dev/sdf"
BLOCK = 524_288
BY_ID = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol"
TAG = "rewarm:rewinding"


class Damaged:
    """A user with an instance that has a volume, a snapshot of it from before, and what it was."""

    def __init__(self, user: RestoreUser) -> None:
        self.user = user
        self.instance = user.instance()
        self.volume = user.region.add_volume(
            size_gib=1, snapshot_id=user.snapshot(), attach_to=self.instance, device=DEVICE
        )
        self.link = f"{BY_ID}{self.volume.removeprefix('vol-')}"
        self.good = self.snapshot_now()
        self.was = self.bytes()

    def run(self, script: str) -> str:
        """On the instance, as its owner does."""
        command: Any = self.user.lab.machine.run_command(self.instance, script, environment={})
        assert command.wait(300) == 0, command.output()
        return str(command.output()[0])

    def bytes(self) -> str:
        """The checksum of the whole device."""
        return self.user.checksum(self.instance, self.volume)

    def damage(self, *blocks: int) -> None:
        for block in blocks:
            seed = hashlib.sha256(str(block).encode()).hexdigest()
            self.run(
                f"yes {seed} | dd of={self.link} bs={BLOCK} seek={block} count=1 iflag=fullblock "
                "conv=notrunc,fsync status=none"
            )

    def snapshot_now(self) -> str:
        made = self.user.region.call("ec2", "CreateSnapshot", {"VolumeId": self.volume})
        snapshot_id = str(made["SnapshotId"])
        self.user.wait_until(
            lambda: self.snapshot(snapshot_id)["State"] == "completed", lambda: "the snapshot is pending"
        )
        return snapshot_id

    def snapshot(self, snapshot_id: str) -> Json:
        found = self.user.region.call("ec2", "DescribeSnapshots", {"SnapshotIds": [snapshot_id]})
        return dict(found["Snapshots"][0])

    def rewind(self, to: str, **changes: Any) -> Restore:
        target = {"instanceId": self.instance, "mode": "rewind", **changes.pop("target", {})}
        return self.user.restore({"source": {"snapshotId": to}, "target": target, **changes})

    def evidence(self, done: Restore) -> list[Json]:
        found = self.user.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]
        return [
            one for one in found
            if {"Key": "rewarm:restore-id", "Value": done.restore_id} in (one.get("Tags") or [])
        ]  # fmt: skip


@pytest.fixture
def damaged(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> Damaged:
    """Its snapshots are pending for seconds only."""
    core = user.region._core
    quick = replace(core.settings.snapshot, creation_seconds=2.0, creation_pause_seconds=0.0)  # type: ignore[arg-type]
    monkeypatch.setattr(core, "settings", replace(core.settings, snapshot=quick))
    return Damaged(user)


def test_a_damaged_volume_goes_back_and_the_rewind_is_undone(damaged: Damaged, user: RestoreUser) -> None:
    damaged.damage(0, 5, 700, 1_500)
    before = damaged.bytes()
    assert before != damaged.was
    kept = {"evidence": "snapshot", "compare": "snapshots"}
    done = damaged.rewind(damaged.good, target=kept)
    assert done.main.status == "SUCCEEDED", done.why
    assert damaged.bytes() == damaged.was
    (evidence,) = damaged.evidence(done)
    told = " ".join(texts(one) for one in user.messages(done.restore_id))
    assert evidence["SnapshotId"] in told
    assert "4 blocks" in told
    assert TAG not in user.volume(damaged.volume)["Tags"]

    undone = damaged.rewind(evidence["SnapshotId"], target=kept)
    assert undone.main.status == "SUCCEEDED", undone.why
    assert damaged.bytes() == before


@pytest.mark.long
def test_what_somebody_writes_while_the_agent_is_away_goes_back_too(
    damaged: Damaged, user: RestoreUser
) -> None:
    """A second attempt on the real agent: its parts count on from those of the first."""
    damaged.damage(*range(40))
    damaged.snapshot_now()
    damaged.damage(700)
    target = {"instanceId": damaged.instance, "mode": "rewind"}
    restore_id = user.start(
        {"source": {"snapshotId": damaged.good}, "target": target, "warmUp": {"maxMibPerSecond": 8}}
    )
    user.wait_for_state(restore_id, "Copy Blocks")
    written = user.counters(damaged.volume).write_bytes
    user.wait_until(
        lambda: user.counters(damaged.volume).write_bytes > written, lambda: "the agent writes nothing"
    )
    on_instance(user, damaged.instance, KILL_ALL)
    damaged.damage(900)
    done = user.finished(restore_id)
    assert done.main.status == "SUCCEEDED", done.why
    assert len(damaged.evidence(done)) == 2
    assert damaged.bytes() == damaged.was


def lab_rewind(lab: FastLab, **changes: Any) -> Json:
    """A volume of 8 GiB whose newest snapshot is half an hour old, and its rewind to an older one."""
    instance_id = lab.region.add_instance()
    volume_id = lab.region.add_volume(size_gib=8, attach_to=instance_id, device="/dev/sdf")
    good = lab.region.add_snapshot(size_gib=8, extents=((0, 30), (1_000, 50)), volume_id=volume_id)
    lab.pass_time(3_600)
    lab.region.add_snapshot(size_gib=8, extents=((0, 36), (1_000, 40)), volume_id=volume_id)
    lab.pass_time(1_800)
    target = {"instanceId": instance_id, "mode": "rewind"}
    return {"source": {"snapshotId": good}, "target": target, **changes}


@pytest.fixture
def fast() -> Iterator[FastLab]:
    with FastLab(seed=4) as made:
        yield made


def told(lab: FastLab) -> str:
    return " ".join(texts(one) for one in lab.slack)


def started(lab: FastLab, asked: Json) -> str:
    status, answer = lab.api("POST", "/restores", asked)
    assert status == 202, answer
    return str(answer["restoreId"])


def rewind_of(lab: FastLab, restore_id: str) -> Json:
    return dict(lab.api("GET", f"/restores/{restore_id}", {})[1]["volumes"][0]["rewind"])


def state_of(lab: FastLab, restore_id: str) -> str | None:
    volumes = lab.api("GET", f"/restores/{restore_id}", {})[1].get("volumes") or [{}]
    state = (volumes[0].get("rewind") or {}).get("state")
    return None if state is None else str(state)


def test_an_agent_that_is_killed_takes_the_volume_again(fast: FastLab) -> None:
    fast.data_plane.troubles.append(Trouble("killed", action="apply"))
    restore_id = started(fast, lab_rewind(fast))
    ending = ended(fast, restore_id)
    assert ending.kind == "ready", ending
    found = rewind_of(fast, restore_id)
    assert (found["attempt"], found["state"]) == (1, "done")
    shown = fast.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]
    kept = [one for one in shown if "rewarm:evidence" in {tag["Key"] for tag in one.get("Tags") or []}]
    assert len(kept) == 2
    first, second = (one["SnapshotId"] for one in sorted(kept, key=lambda one: str(one["StartTime"])))
    assert (found["evidence"], found["others"]) == (first, [second])
    assert f"{second} compared" in told(fast), "it costs storage"


def test_an_instance_that_is_gone_while_it_writes_leaves_a_volume_that_is_named(fast: FastLab) -> None:
    asked = lab_rewind(fast)
    instance_id = asked["target"]["instanceId"]
    restore_id = started(fast, asked)
    fast.run(lambda: state_of(fast, restore_id) == "writing", most_seconds=3_600)
    fast.region.call("ec2", "TerminateInstances", {"InstanceIds": [instance_id]})
    ending = ended(fast, restore_id)
    assert (ending.status, ending.error) == ("failed", "RewindIncompleteError"), ending
    assert rewind_of(fast, restore_id)["evidence"] in told(fast)
    assert "may be mixed" in told(fast)


@pytest.mark.parametrize("state", ["planned", "writing"])
def test_an_instance_that_is_away_for_some_minutes_is_waited_for(fast: FastLab, state: str) -> None:
    asked = lab_rewind(fast)
    instance_id = asked["target"]["instanceId"]
    restore_id = started(fast, asked)
    if state != "planned":
        fast.run(lambda: state_of(fast, restore_id) == state, most_seconds=3_600)
    else:
        fast.run(lambda: bool(fast.executions("RestoreVolumeStateMachine")), most_seconds=600)
    fast.region.call("ec2", "StopInstances", {"InstanceIds": [instance_id]})
    fast.pass_time(240)
    fast.region.call("ec2", "StartInstances", {"InstanceIds": [instance_id]})
    ending = ended(fast, restore_id)
    assert ending.kind == "ready", ending
    assert rewind_of(fast, restore_id)["state"] == "done"


def test_each_snapshot_of_a_rewind_that_fails_is_named(fast: FastLab) -> None:
    fast.data_plane.troubles.append(Trouble("killed", action="apply"))
    asked = lab_rewind(fast)
    restore_id = started(fast, asked)
    fast.run(lambda: state_of(fast, restore_id) is not None, most_seconds=3_600)
    fast.run(lambda: bool(rewind_of(fast, restore_id).get("others")), most_seconds=3_600)
    fast.region.call("ec2", "TerminateInstances", {"InstanceIds": [asked["target"]["instanceId"]]})
    assert ended(fast, restore_id).status == "failed"
    found = rewind_of(fast, restore_id)
    for snapshot_id in (found["evidence"], *found["others"]):
        assert f"snapshot {snapshot_id}" in told(fast)


def test_the_agent_of_a_rewind_that_fails_is_ended_also_where_somebody_deletes_the_record(
    fast: FastLab,
) -> None:
    """It would keep the volume to itself for hours."""
    fast.region.faults.add(FaultRule("snapshot:creation", effect="snapshot-error"))
    restore_id = started(fast, lab_rewind(fast))
    fast.run(lambda: state_of(fast, restore_id) == "preparing", most_seconds=3_600)
    fast.run(lambda: fast.region.inventory()["commands"] != [], most_seconds=600)
    table = fast.table("RestoresTable")
    for key in [item["pk"] for item in table.items() if restore_id in item["pk"]["S"]]:
        table.delete({"pk": key})
    assert ended(fast, restore_id).status == "failed"
    assert fast.region.inventory()["commands"] == []


def test_it_can_be_cancelled_until_it_writes_also_while_packs_are_copied(fast: FastLab) -> None:
    asked = lab_rewind(fast)
    first = started(fast, asked)
    fast.run(lambda: bool(fast.executions("CopyBlocksStateMachine")), most_seconds=3_600)
    assert state_of(fast, first) == "preparing", "the evidence is pending, and packs are copied"
    assert fast.api("DELETE", f"/restores/{first}", {})[0] == 202
    assert ended(fast, first).status == "failed"
    second = started(fast, asked)
    fast.run(lambda: state_of(fast, second) == "writing", most_seconds=3_600)
    status, refusal = fast.api("DELETE", f"/restores/{second}", {})
    assert (status, "would be mixed" in refusal["detail"]) == (409, True)
    assert ended(fast, second).kind == "ready"


def test_a_backup_that_has_just_begun_delays_the_evidence_only(fast: FastLab) -> None:
    """EC2 wants 15 seconds between two snapshots of a volume."""
    restore_id = started(fast, lab_rewind(fast))
    (volume,) = fast.data_plane.volumes.values()
    fast.run(lambda: volume.reader is not None, most_seconds=600)
    fast.region.call("ec2", "CreateSnapshot", {"VolumeId": volume.volume_id})
    assert ended(fast, restore_id).kind == "ready"


def test_two_rewinds_of_one_volume_never_run_at_once(fast: FastLab) -> None:
    asked = lab_rewind(fast)
    first = started(fast, asked)
    status, refusal = fast.api("POST", "/restores", asked)
    assert (status, first in refusal["detail"]) == (409, True), refusal
    assert ended(fast, first).kind == "ready"


def test_a_volume_goes_back_to_one_snapshot_at_a_time(fast: FastLab) -> None:
    asked = lab_rewind(fast)
    shown = fast.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]
    both = {"volumes": [{"snapshotId": one["SnapshotId"]} for one in shown]}
    for path in ("/plans", "/restores"):
        status, refusal = fast.api("POST", path, {**asked, "source": both})
        assert (status, "to one of them only" in str(refusal)) == (400, True), refusal


@pytest.mark.parametrize("compare", ["snapshots", "device"])
def test_a_rewind_that_nobody_has_written_after_is_undone_without_a_new_snapshot(
    fast: FastLab, compare: str
) -> None:
    asked = lab_rewind(fast)
    (volume,) = fast.data_plane.volumes.values()
    volume.blocks_written = 600
    volume.writes += 600
    was = volume.image_now()
    asked["target"] |= {"evidence": "snapshot", "compare": compare}
    good = asked["source"]["snapshotId"]
    first = started(fast, asked)
    assert ended(fast, first).kind == "ready"
    evidence = rewind_of(fast, first)["evidence"]
    there = fast.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]
    began = fast.scheduler.now
    second = started(fast, {**asked, "source": {"snapshotId": evidence}})
    ending = ended(fast, second)
    assert ending.kind == "ready", ending
    assert fast.region.call("ec2", "DescribeSnapshots", {})["Snapshots"] == there
    assert next(differing(volume.image_now(), was), None) is None
    assert rewind_of(fast, second)["evidence"] == good, "the volume was equal to it"
    assert f"{good} has" in told(fast)
    assert fast.scheduler.now - began < 60
    assert list(RewindAudit(fast).findings([first, second])) == []


def test_the_newest_snapshot_of_a_volume_is_never_the_evidence(fast: FastLab) -> None:
    asked = lab_rewind(fast)
    first = started(fast, asked)
    assert ended(fast, first).kind == "ready"
    volume_id = str(rewind_of(fast, first)["volumeId"])
    _, plan = fast.api("POST", "/plans", {**asked, "source": {"volumeId": volume_id}})
    evidence = rewind_of(fast, first)["evidence"]
    (passed,) = [one for one in plan["plans"][0]["volume"]["passedOver"] if one["snapshotId"] == evidence]
    assert "before a rewind" in passed["reason"]
