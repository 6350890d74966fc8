"""Each strategy from POST /restores to the verdict, on the real state machines, handlers and agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from local.aws.machines.snapshot_image import compare_files, load_manifest
from tests.support.stack.endings import assert_ready
from tests.support.stack.restores import PATIENT, Restore, RestoreUser, request_for, texts

Json = dict[str, Any]
SentEvents = Callable[[str], list[Json]]
MEASURED = {"Verify Volume Before", "Verify Volume After"}


@pytest.mark.usefixtures("cold_volumes")
def test_warm_up_agent_reads_every_written_block(user: RestoreUser, sent_events: SentEvents) -> None:
    done = user.restore(request_for(user, "warm-up-agent"))
    volume_id = assert_ready(user, done, "warm-up-agent", sent_events)
    counters, written = user.counters(volume_id), sum(count for _, count in user.image.extents)
    assert (counters.written_blocks, counters.fetched_blocks, counters.read_blocks) == (written,) * 3
    poll = done.volumes[0].answer("Poll Initialization")
    assert (poll["bytesDone"], poll["progressPercent"]) == (written * 524_288, 100)
    assert poll["signals"]["agent"]["verdict"] == "complete"
    assert set(done.volumes[0].states) & MEASURED == {"Verify Volume After"}
    before = done.volumes[0].output["before"]
    assert (
        before["result"]["latencyMs"]["p50"]
        > done.volumes[0].answer("Verify Volume After")["result"]["latencyMs"]["p50"]
    )
    instance_id = done.record["request"]["target"]["instanceId"]
    assert compare_files(user.lab.machine, instance_id, volume_id, load_manifest(user.image)) == []


def test_the_whole_volume_politely_and_the_end_of_the_data_first(
    user: RestoreUser, sent_events: SentEvents
) -> None:
    start, count = user.image.extents[-1]
    first = [{"startBlock": start, "blockCount": count}, {"startBlock": 0, "blockCount": 1}]
    asked = {"scope": "whole", "first": first, "politeLatencyMs": 2_000}
    done = user.restore(request_for(user, "warm-up-agent") | {"warmUp": asked})
    volume_id = assert_ready(user, done, "warm-up-agent", sent_events)
    counters = user.counters(volume_id)
    assert counters.read_blocks == counters.written_blocks
    poll = done.volumes[0].answer("Poll Initialization")
    assert (poll["signals"]["agent"]["scope"], poll["bytesDone"]) == ("whole", 1_024**3)
    assert poll["reasons"][0].startswith("the agent has read every block")
    (warm,) = (one for one in commands_of(user, done) if one["action"] == ["warm"])
    assert warm["arguments"] == ["--depth auto --scope whole --polite-latency-ms 2000 --first-unlimited"]
    assert warm["mapUrl"] == ["none"]
    key = f"restores/{done.restore_id}/0/first.map"
    assert key in warm["firstUrl"][0]
    stored = user.lab.client("s3").get_object(Bucket=user.lab.outputs["ArtifactsBucket"], Key=key)
    assert stored["Body"].read().decode() == f"{start} {count}\n0 1\n"


def test_used_takes_the_agents_own_total(user: RestoreUser, sent_events: SentEvents) -> None:
    done = user.restore(request_for(user, "warm-up-agent") | {"warmUp": {"scope": "used"}})
    assert_ready(user, done, "warm-up-agent", sent_events)
    poll = done.volumes[0].answer("Poll Initialization")
    agent = poll["signals"]["agent"]
    assert (agent["scope"], agent["fileSystems"]) == ("used", "ext4")
    assert poll["bytesDone"] == poll["bytesTotal"] == agent["bytesTotal"]
    assert 0 < poll["bytesTotal"] <= sum(count for _, count in user.image.extents) * 524_288


def commands_of(user: RestoreUser, done: Restore) -> list[Json]:
    """The parameters of the restore's commands, as Systems Manager keeps them."""
    instance_id = done.record["request"]["target"]["instanceId"]
    commands = user.lab.client("ssm").list_commands(InstanceId=instance_id)["Commands"]
    return [one["Parameters"] for one in commands]


def test_provisioned_rate_is_waited_for_until_completed(user: RestoreUser, sent_events: SentEvents) -> None:
    done = user.restore(request_for(user, "provisioned-rate"))
    volume_id = assert_ready(user, done, "provisioned-rate", sent_events)
    assert user.volume(volume_id)["VolumeInitializationRate"] == 100
    assert done.record["plans"][0]["plan"]["initializationRateMibS"] == 100
    poll = done.volumes[0].answer("Poll Initialization")
    assert (poll["signals"]["initializationState"], poll["signals"]["initializationProgress"]) == (
        "completed",
        100,
    )
    counters = user.counters(volume_id)
    assert counters.fetched_blocks == counters.written_blocks
    assert "Dispatch Warmer" not in done.volumes[0].states
    billed = [item for item in user.region.money()["items"] if item["resource"] == volume_id]
    assert [item["note"] for item in billed if item["kind"] == "initialization-rate"] == ["100 MiB/s"]


@pytest.mark.long
def test_a_tight_deadline_takes_a_higher_rate(user: RestoreUser) -> None:
    """The rate is linear in price: the plan takes the lowest that is in time."""
    snapshot_id = user.region.add_snapshot(size_gib=64, extents=[(0, 131_072)])
    target = {"availabilityZone": user.zone}
    request: Json = {
        "source": {"snapshotId": snapshot_id},
        "target": target,
        "objective": {"strategy": "provisioned-rate"},
    }
    slow = user.call("POST", "/plans", request)
    request["objective"]["readyWithinMinutes"] = 15
    fast = user.call("POST", "/plans", request)
    assert (slow.status, fast.status) == (200, 200), (slow, fast)
    rates = [answer.body["plans"][0]["plan"]["initializationRateMibS"] for answer in (slow, fast)]
    assert rates[0] == 100
    assert 100 < rates[1] <= 300


def test_fast_snapshot_restore_is_enabled_used_and_disabled(
    user: RestoreUser, sent_events: SentEvents
) -> None:
    done = user.restore(request_for(user, "fast-snapshot-restore"))
    volume_id = assert_ready(user, done, "fast-snapshot-restore", sent_events)
    assert user.volume(volume_id)["FastRestored"] is True
    prepared = done.volumes[0].answers("Prepare Snapshot")
    assert [one["ready"] for one in prepared] == [False] * (len(prepared) - 1) + [True]
    assert prepared[-1]["enabledByUs"] is True
    assert prepared[-1]["credits"] >= 1
    snapshot_id = user.volume(volume_id)["SnapshotId"]
    assert done.volumes[0].answer("Release")["released"] == [
        f"fast snapshot restore of {snapshot_id} in {user.zone} disabled"
    ]
    assert done.volumes[0].answer("Poll Initialization")["signals"]["fastRestored"] is True


@pytest.mark.long
def test_fast_snapshot_restore_of_somebody_else_stays_enabled(user: RestoreUser) -> None:
    request = request_for(user, "fast-snapshot-restore") | user.to_zone
    snapshot_id = request["source"]["snapshotId"]
    user.lab.client("ec2").enable_fast_snapshot_restores(
        AvailabilityZones=[user.zone], SourceSnapshotIds=[snapshot_id]
    )
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.volumes[0].answer("Prepare Snapshot")["enabledByUs"] is False
    assert user.new("fastRestores") == [f"{snapshot_id}:{user.zone}"]


def test_background_waits_until_aws_says_completed(user: RestoreUser, sent_events: SentEvents) -> None:
    done = user.restore(request_for(user, "background"))
    volume_id = assert_ready(user, done, "background", sent_events)
    poll = done.volumes[0].answer("Poll Initialization")
    assert (poll["signals"]["initializationState"], poll["signals"]["initializationProgress"]) == (
        "completed",
        100,
    )
    assert user.counters(volume_id).fetched_blocks == user.counters(volume_id).written_blocks
    assert done.record["costUsd"] == "0.000001"


def test_without_an_instance_the_volume_is_made_and_left_alone(user: RestoreUser) -> None:
    request = request_for(user, "provisioned-rate") | {"target": {"availabilityZone": user.other_zone}}
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    volume = user.volume(done.volumes[0].output["volumeId"])
    assert (volume["AvailabilityZone"], volume["State"], volume["Attachments"]) == (
        user.other_zone,
        "available",
        [],
    )
    assert set(done.volumes[0].states).isdisjoint({"Attach Volume", "Announce Attached", *MEASURED})
    messages = [texts(one) for one in user.messages(done.restore_id)]
    assert f"{volume['VolumeId']} is available in {user.other_zone} and can be used" in messages[1]
    assert "Read latency was not measured" in messages[-1]


def test_an_alarm_restores_what_its_runbook_says(user: RestoreUser, sent_events: SentEvents) -> None:
    source = user.region.add_volume(size_gib=1, has_data=False)
    user.snapshot(volume_id=source, state="pending", progress=12)
    newest = user.snapshot(volume_id=source, start_time=user.region.now() - 3_600)
    user.snapshot(volume_id=source, start_time=user.region.now() - 7_200)
    request = {
        "source": {"volumeId": source},
        "target": {"instanceId": user.instance(), "device": "/dev/sdk"},
        "objective": {"readyWithinMinutes": 60},
        "verify": PATIENT,
    }
    user.runbook("rewarm-orders-lost", request)
    (restore_id,) = user.alarm("rewarm-orders-lost")
    done = user.finished(restore_id)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.main.output["deadlineMet"] is True
    volume = user.volume(done.volumes[0].output["volumeId"])
    assert (volume["SnapshotId"], volume["Attachments"][0]["Device"]) == (newest, "/dev/sdk")
    assert done.record["trigger"]["alarmName"] == "rewarm-orders-lost"
    assert 'The alarm "rewarm-orders-lost" went off.' in texts(user.messages(restore_id)[0])
    assert len(sent_events(restore_id)) == 4


def test_a_schedule_restores_and_can_spare_the_chat(user: RestoreUser, sent_events: SentEvents) -> None:
    request = request_for(user, "background") | {
        "target": {"availabilityZone": user.zone},
        "notify": {"slack": False},
    }
    restore_id = user.start_execution({"request": request, "trigger": {"kind": "schedule"}})
    done = user.finished(restore_id)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.record["trigger"]["kind"] == "schedule"
    assert user.messages(restore_id) == []
    assert "slack" not in done.main.answer("Announce Plan")["channels"]
    assert len(sent_events(restore_id)) == 3


def test_progress_can_be_watched(user: RestoreUser) -> None:
    request = request_for(user, "warm-up-agent") | {
        "verify": {"samples": 0},
        "warmUp": {"maxMibPerSecond": 8},
    }
    restore_id = user.start(request)
    user.wait_for_state(restore_id, "Wait For Initialization")
    seen = user.call("GET", f"/restores/{restore_id}")
    assert (seen.status, seen.body["status"]) == (200, "initializing"), seen
    (volume,) = seen.body["volumes"]
    assert volume["initialization"]["strategy"] == "warm-up-agent"
    assert volume["initialization"]["bytesTotal"] == sum(count for _, count in user.image.extents) * 524_288
    assert user.volumes_of(restore_id) == [volume["volume"]["volumeId"]]
    done = user.finished(restore_id)
    assert done.main.status == "SUCCEEDED", done.why
    done_bytes = [one["bytesDone"] for one in done.volumes[0].answers("Poll Initialization")]
    assert done_bytes == sorted(done_bytes)
    assert len(set(done_bytes)) > 2


def test_a_dry_run_plans_and_creates_nothing(user: RestoreUser) -> None:
    request = request_for(user, "auto") | {"dryRun": True}
    before = user.region.inventory()
    done = user.restore(request)
    assert (done.main.status, done.main.states[-1], done.volumes) == ("SUCCEEDED", "Dry Run Completed", ())
    assert {one["strategy"] for one in done.main.output["plans"][0]["candidates"]} == {
        "background",
        "warm-up-agent",
        "provisioned-rate",
        "fast-snapshot-restore",
        "volume-clone",
        "direct-write",
        "boosted-warm-up",
    }
    assert user.region.inventory() == before


def test_a_plan_over_the_api_creates_nothing(user: RestoreUser) -> None:
    request = request_for(user, "auto", readyWithinMinutes=60)
    before = user.region.inventory()
    answer = user.call("POST", "/plans", request)
    assert answer.status == 200, answer
    plan = answer.body["plans"][0]
    assert plan["plan"]["strategy"] == "warm-up-agent"
    assert all(one["reason"] for one in plan["candidates"])
    assert user.region.inventory() == before
