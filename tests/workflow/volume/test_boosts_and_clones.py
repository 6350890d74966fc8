"""The strategies that lower or copy a volume: boosted-warm-up and volume-clone, and how they fail."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from local.aws.machines.snapshot_image import compare_files, load_manifest
from local.aws.region.faults import FaultRule
from tests.support.stack.endings import (
    assert_failed,
    assert_kept,
    assert_nothing_left,
    assert_ready,
    break_blocks,
)
from tests.support.stack.restores import NO_FALLBACK, RestoreUser, request_for, texts

Json = dict[str, Any]
SentEvents = Callable[[str], list[Json]]
FAST_INSTANCE = "m5.4xlarge"
"""Its baseline is far above 125 MiB/s, so that a boost does some good."""
TARGET = "gp3 with 3,000 IOPS and 125 MiB/s"


def test_boosted_warm_up_is_lowered_once_the_volume_is_warm(
    user: RestoreUser, sent_events: SentEvents
) -> None:
    request = request_for(user, "boosted-warm-up", instance_type=FAST_INSTANCE)
    done = user.restore(request)
    volume_id = assert_ready(user, done, "boosted-warm-up", sent_events)
    boost = done.record["plans"][0]["plan"]["boost"]
    assert (boost["volumeType"], boost["throughputMibS"] > 125) == ("gp3", True)
    counters, written = user.counters(volume_id), sum(count for _, count in user.image.extents)
    assert (counters.fetched_blocks, counters.read_blocks) == (written, written)
    volume = user.volume(volume_id)
    assert (volume["Iops"], volume["Throughput"]) == (3_000, 125)
    changes = user.region._tables.volumes[volume_id].modifications
    assert [(one.original.throughput_mib_s, one.target.throughput_mib_s) for one in changes] == [
        (boost["throughputMibS"], 125)
    ]
    assert [one["finished"] for one in done.volumes[0].answers("Release")][-2:] == [False, True]
    (shown,) = done.record["volumes"]
    assert (shown["boost"]["state"], shown["boost"]["target"]) == (
        "lowered",
        "gp3 with 3,000 IOPS and 125 MiB/s",
    )
    assert user.report(done.restore_id)["volumes"][0]["boost"]["state"] == "lowered"
    assert f"and is lowered to {TARGET}." in texts(user.messages(done.restore_id)[-2])
    billed = {one["kind"]: one for one in user.region.money()["items"] if one["resource"] == volume_id}
    assert 0 < billed["earlier-settings"]["usd"] <= float(done.record["costUsd"])


def test_a_clone_is_made_of_the_living_source_as_it_is_now(
    user: RestoreUser, sent_events: SentEvents
) -> None:
    source = f"vol-{uuid.uuid4().hex[:17]}"
    snapshot_id = user.snapshot(volume_id=source)
    user.region.add_volume(
        volume_id=source, size_gib=user.image.size_gib, snapshot_id=snapshot_id, throughput_mib_s=250
    )
    request = request_for(user, "volume-clone") | {"source": {"snapshotId": snapshot_id}}
    done = user.restore(request)
    volume_id = assert_ready(user, done, "volume-clone", sent_events)
    volume = user.volume(volume_id)
    assert (volume["SourceVolumeId"], volume["SnapshotId"], volume["Throughput"]) == (source, "", 250)
    poll = done.volumes[0].answer("Poll Initialization")
    assert (poll["signals"]["initializationState"], poll["signals"]["initializationProgress"]) == (
        "completed",
        100,
    )
    assert "Dispatch Warmer" not in done.volumes[0].states
    attached = texts(user.messages(done.restore_id)[1])
    assert f"{volume_id}, a copy of {source}, is" in attached
    instance_id = done.record["request"]["target"]["instanceId"]
    assert compare_files(user.lab.machine, instance_id, volume_id, load_manifest(user.image)) == []
    assert user.volume(source)["State"] == "available"


def test_a_clone_of_a_lost_volume_is_refused_with_the_reason(user: RestoreUser) -> None:
    answer = user.call("POST", "/plans", request_for(user, "volume-clone"))
    assert answer.status == 422, answer
    assert "the source volume is not alive in the target's Availability Zone" in str(answer.body)


# -------------------------------------------------------------------------------------- boosted-warm-up
@pytest.mark.long
def test_a_boost_that_cannot_be_lowered_is_told_and_fails_nothing(user: RestoreUser) -> None:
    request = request_for(user, "boosted-warm-up", instance_type=FAST_INSTANCE) | {"verify": {"samples": 0}}
    denied = "You are not authorized to perform this operation."
    user.region.faults.add(
        FaultRule("ModifyVolume", code="UnauthorizedOperation", message=denied, status=403, times=None)
    )
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    (volume_id,) = user.volumes_of(done.restore_id)
    volume = user.volume(volume_id)
    assert volume["Throughput"] > 125
    assert volume["Tags"]["rewarm:boost"] == "gp3 iops=3000 throughputMibS=125"
    said = texts(user.messages(done.restore_id)[-1])
    assert "still costs money: ModifyVolume: UnauthorizedOperation" in said
    assert f"Lower {volume_id} to {TARGET} with ModifyVolume." in said
    assert user.report(done.restore_id)["volumes"][0]["boost"]["state"] == "not-lowered"


@pytest.mark.long
def test_a_failed_warm_up_lowers_the_volume_that_stays(
    user: RestoreUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_for(user, "boosted-warm-up", instance_type=FAST_INSTANCE) | {"verify": {"samples": 0}}
    first = next(start for start, count in user.image.extents if count >= 2)
    break_blocks(user, monkeypatch, f"eio {first} 2")
    done = user.restore(request)
    said = assert_failed(user, done, "VolumeUnreadableError", "did not read everything")
    volume_id = assert_kept(user, done)
    assert f"Removed: boost of {volume_id} (it goes back to gp3 iops=3000 throughputMibS=125)" in said
    (change,) = user.region._tables.volumes[volume_id].modifications
    assert change.target.throughput_mib_s == 125


# ------------------------------------------------------------------------------------------ volume-clone
@pytest.mark.long
def test_a_used_up_quota_of_copies_fails_where_the_request_names_a_clone(user: RestoreUser) -> None:
    source = user.region.add_volume(size_gib=user.image.size_gib)
    snapshot_id = user.snapshot(volume_id=source)
    request = request_for(user, "volume-clone") | {"source": {"snapshotId": snapshot_id}}
    limit = FaultRule("CopyVolumes", code="CopyVolumesLimitExceeded", message="5 copies", times=None)
    user.region.faults.add(limit)
    done = user.restore(request)
    assert_failed(user, done, "VolumeCopyUnavailableError", "CopyVolumesLimitExceeded")
    assert done.volumes[0].states[-5:] == NO_FALLBACK
    assert_nothing_left(user, done)
