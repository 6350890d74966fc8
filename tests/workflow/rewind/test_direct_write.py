"""An empty volume gets every block of a snapshot: once on the real agent, else in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from local.aws.machines.snapshot_image import compare_files, load_manifest
from local.soak.lab.endings import ended
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.lab import FastLab
from tests.support.stack.restores import RestoreUser, request_for, texts

Json = dict[str, Any]
REGION = "eu-west-1"
BLOCKS = 600
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"


def test_the_volume_equals_the_snapshot_and_ebs_has_fetched_nothing(user: RestoreUser) -> None:
    done = user.restore(request_for(user, "direct-write"))
    assert done.main.status == "SUCCEEDED", done.why
    (volume_id,) = user.volumes_of(done.restore_id)
    assert user.volume(volume_id).get("SnapshotId") in {None, ""}
    instance_id = done.record["request"]["target"]["instanceId"]
    assert compare_files(user.lab.machine, instance_id, volume_id, load_manifest(user.image)) == []
    assert user.counters(volume_id).fetched_blocks == 0
    assert [one["event"] for one in done.record["events"]][:3] == ["plan", "attached", "ready"]
    told = " ".join(texts(one) for one in user.messages(done.restore_id))
    assert "are written and read back" in told


@pytest.fixture
def fast() -> Iterator[FastLab]:
    with FastLab(seed=4) as made:
        yield made


def asked(fast: FastLab, volumes: int = 1, **fields: Any) -> Json:
    snapshot_id = fast.region.add_snapshot(size_gib=8, extents=((0, 300), (1_000, BLOCKS - 300)), **fields)
    return {
        "source": {"volumes": [{"snapshotId": snapshot_id}] * volumes},
        "target": {"instanceId": fast.region.add_instance()},
        "objective": {"strategy": "direct-write"},
    }


def shown(fast: FastLab, restore_id: str) -> Json:
    return dict(fast.api("GET", f"/restores/{restore_id}", {})[1])


def made(fast: FastLab) -> list[Json]:
    ours = {"Filters": [{"Name": "tag-key", "Values": ["rewarm:restore-id"]}]}
    return list(fast.region.call("ec2", "DescribeVolumes", ours)["Volumes"])


def fetched(fast: FastLab) -> int:
    """GetSnapshotBlock requests."""
    return sum(count for (*_, call), count in fast.calls.items() if call == "GetSnapshotBlock")


def test_volumes_of_one_snapshot_pay_its_blocks_once(fast: FastLab) -> None:
    restore_id = fast.start(asked(fast, volumes=3))
    ending = ended(fast, restore_id)
    assert (ending.kind, len(ending.ready)) == ("ready", 3), ending
    assert BLOCKS <= fetched(fast) <= 1.05 * BLOCKS
    lines = [
        part
        for one in shown(fast, restore_id)["plans"]
        for part in one["plan"]["costParts"]
        if part["item"] == "GetSnapshotBlock requests"
    ]
    assert len(lines) == 3
    assert abs(sum(float(part["usd"]) for part in lines) - 0.003 * BLOCKS / 1_000) < 1e-6


def test_a_fleet_of_one_snapshot_fetches_its_blocks_once_for_all_instances(fast: FastLab) -> None:
    """Also where the agent of one of them is killed."""
    snapshot_id = fast.region.add_snapshot(size_gib=8, extents=((0, BLOCKS),))
    fast.data_plane.troubles.append(Trouble("killed", action="apply"))
    targets = [{"instanceId": fast.region.add_instance()} for _ in range(4)]
    items = [{"source": {"snapshotId": snapshot_id}, "target": target} for target in targets]
    objective = {"strategy": "direct-write"}
    status, body = fast.api("POST", "/fleets", {"source": {"items": items}, "objective": objective})
    assert status == 202, body
    fleet = fast.execution("FleetStateMachine", body["fleetId"])
    assert fleet is not None
    fast.finish(fleet)
    record = fast.api("GET", f"/fleets/{body['fleetId']}")[1]
    assert (record["status"], record["progress"]["counts"]) == ("ready", {"ready": 4}), record
    plans = [shown(fast, one.name)["plans"][0]["plan"] for one in fast.executions("RestoreStateMachine")]
    assert [one["strategy"] for one in plans] == ["direct-write"] * 4
    assert BLOCKS <= fetched(fast) <= 1.05 * BLOCKS
    paid = sum(
        float(part["usd"])
        for one in plans
        for part in one["costParts"]
        if part["item"] == "GetSnapshotBlock requests"
    )
    assert abs(paid - 0.003 * BLOCKS / 1_000) < 1e-5


def test_an_agent_that_is_killed_writes_all_of_it_again_and_the_volume_is_encrypted(fast: FastLab) -> None:
    fast.data_plane.troubles.append(Trouble("killed", action="apply"))
    ending = ended(fast, fast.start(asked(fast, encrypted=True, kms_key_id=KEY)))
    assert ending.kind == "ready", ending
    assert fetched(fast) <= 1.05 * BLOCKS, "the packs are there"
    (volume,) = made(fast)
    assert (volume["Encrypted"], volume["KmsKeyId"]) == (True, KEY)


def test_cancel_deletes_what_is_half_written(fast: FastLab) -> None:
    restore_id = fast.start(asked(fast))
    fast.run(lambda: shown(fast, restore_id).get("status") == "initializing", most_seconds=3_600)
    assert fast.api("DELETE", f"/restores/{restore_id}", {})[0] == 202
    assert ended(fast, restore_id).status == "failed"
    assert shown(fast, restore_id)["status"] == "cancelled"
    assert made(fast) == []


def test_a_volume_that_is_kept_half_written_is_named_and_tagged_as_that(fast: FastLab) -> None:
    request = {**asked(fast), "onFailure": "keep"}
    restore_id = fast.start(request)
    fast.run(lambda: shown(fast, restore_id).get("status") == "initializing", most_seconds=3_600)
    assert fast.api("DELETE", f"/restores/{restore_id}", {})[0] == 202
    assert ended(fast, restore_id).status == "failed"
    (volume,) = made(fast)
    snapshot_id = request["source"]["volumes"][0]["snapshotId"]
    tags = {tag["Key"]: tag["Value"] for tag in volume["Tags"]}
    assert (tags["rewarm:failed"], tags["rewarm:incomplete"]) == (restore_id, snapshot_id)
    (told,) = [
        sent["detail"]["text"]
        for sent in fast.events.sent
        if (sent["detail"]["kind"], sent["detail"]["event"]) == ("Restore", "failed")
    ]
    assert f"it is written in part only, and does not hold all of {snapshot_id}" in told


def test_blocks_of_another_region_are_read_there_and_no_copy_is_made(fast: FastLab) -> None:
    neighbour = fast.region.neighbour(REGION)
    snapshot_id = neighbour.add_snapshot(size_gib=8, extents=[(0, BLOCKS)])
    instance_id = fast.region.add_instance()
    source, target = {"region": REGION, "snapshotId": snapshot_id}, {"instanceId": instance_id}
    restore_id = fast.start({"source": source, "target": target, "objective": {"readyWithinMinutes": 10}})
    assert ended(fast, restore_id).kind == "ready"
    plan = shown(fast, restore_id)["plans"][0]["plan"]
    assert (plan["strategy"], plan["copyMinutes"]) == ("direct-write", None)
    assert plan["costParts"][0]["item"] == f"Data transfer from {REGION}"
    assert not fast.region.call("ec2", "DescribeSnapshots", {"OwnerIds": ["self"]})["Snapshots"]
