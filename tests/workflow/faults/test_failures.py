"""Each strategy fails for a reason: the next plan takes over, or the restore is Failed and leaves no cost."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.stack.endings import assert_failed, assert_kept, assert_nothing_left, break_blocks
from tests.support.stack.restores import NO_FALLBACK, RestoreUser, request_for, texts

Json = dict[str, Any]


# ---------------------------------------------------------------------------------------- warm-up-agent
def test_unreadable_blocks_fail_the_agent(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_for(user, "warm-up-agent") | {"verify": {"samples": 0}}
    first = next(start for start, count in user.image.extents if count >= 2)
    break_blocks(user, monkeypatch, f"eio {first} 2")
    done = user.restore(request)
    assert_failed(user, done, "VolumeUnreadableError", "did not read everything", "2 blocks unreadable")
    assert done.volumes[0].states[-3:] == ["Poll Initialization", "Clean Up", "Volume Failed"]
    assert_kept(user, done)


@pytest.mark.long
def test_an_agent_that_is_never_reached_fails(user: RestoreUser) -> None:
    request = request_for(user, "warm-up-agent") | {"verify": {"samples": 0}}
    user.region.faults.add(FaultRule("command:delivery", "drop"))
    done = user.restore(request)
    assert_failed(user, done, "AgentUnreachableError", "never reached")
    assert_kept(user, done)


# ------------------------------------------------------------------------------------- provisioned-rate
@pytest.mark.long
def test_a_refused_rate_fails_where_the_request_names_it(user: RestoreUser) -> None:
    request = request_for(user, "provisioned-rate")
    user.region.faults.inject("rate-refused")
    done = user.restore(request)
    said = assert_failed(user, done, "InitializationRateUnavailableError", "rate of 100 MiB/s")
    assert "The request demands provisioned-rate, so no other plan may take over." in said
    assert done.volumes[0].states[-5:] == NO_FALLBACK
    assert_nothing_left(user, done)


@pytest.mark.long
def test_a_stalled_initialization_fails(user: RestoreUser) -> None:
    request = request_for(user, "provisioned-rate") | user.to_zone
    user.region.faults.inject("initialization-stalls")
    done = user.restore(request)
    assert_failed(user, done, "InitializationStalledError", "no progress")
    assert_kept(user, done)


# --------------------------------------------------------------------------------- fast-snapshot-restore
def use_up_fast_restores(user: RestoreUser) -> None:
    others = [user.region.add_snapshot(size_gib=1, extents=[(0, 1)]) for _ in range(5)]
    answer = user.lab.client("ec2").enable_fast_snapshot_restores(
        AvailabilityZones=[user.zone], SourceSnapshotIds=others
    )
    assert len(answer["Successful"]) == 5
    user.mark()


@pytest.mark.long
def test_a_used_up_quota_is_seen_before_anything_is_made(user: RestoreUser) -> None:
    request = request_for(user, "fast-snapshot-restore")
    use_up_fast_restores(user)
    done = user.restore(request)
    assert_failed(user, done, "NoStrategyFitsError", "quota")
    assert not done.volumes
    assert_nothing_left(user, done)


@pytest.mark.long
def test_a_refused_fast_snapshot_restore_fails_where_it_was_asked_for(user: RestoreUser) -> None:
    request = request_for(user, "fast-snapshot-restore")
    user.region.faults.inject("fast-restore-refused")
    done = user.restore(request)
    assert_failed(user, done, "FastSnapshotRestoreUnavailableError", request["source"]["snapshotId"])
    assert "Create Volume" not in done.volumes[0].states
    assert_nothing_left(user, done)


@pytest.mark.long
def test_a_ready_volume_outlives_a_failed_release(user: RestoreUser) -> None:
    request = request_for(user, "fast-snapshot-restore") | user.to_zone
    denied = "You are not authorized to perform this operation."
    user.region.faults.add(
        FaultRule(
            "DisableFastSnapshotRestores",
            code="UnauthorizedOperation",
            message=denied,
            status=403,
            times=None,
        )
    )
    done = user.restore(request)
    assert (done.main.status, done.record["status"]) == ("SUCCEEDED", "ready"), done.why
    (volume_id,) = user.volumes_of(done.restore_id)
    snapshot_id = request["source"]["snapshotId"]
    assert user.left() == {"volumes": [volume_id], "fastRestores": [f"{snapshot_id}:{user.zone}"]}
    said = texts(user.messages(done.restore_id)[-1])
    assert volume_id in said
    assert "aws ec2 disable-fast-snapshot-restores" in said
    assert snapshot_id in said


# -------------------------------------------------------------------------------------------- background
@pytest.mark.long
def test_a_volume_in_error_fails(user: RestoreUser) -> None:
    request = request_for(user, "background")
    user.region.faults.inject("volume-creation-fails")
    done = user.restore(request)
    assert_failed(user, done, "VolumeFailedError", "error", "Removed: volume vol-")
    assert done.volumes[0].states[-3:] == ["Check Volume", "Clean Up", "Volume Failed"]
    assert_nothing_left(user, done)


# --------------------------------------------------------------------------------------- every strategy
@pytest.mark.long
def test_no_capacity_for_any_plan_fails(user: RestoreUser) -> None:
    request = request_for(user, "auto", readyWithinMinutes=60)
    user.region.faults.inject("no-volume-capacity")
    done = user.restore(request)
    assert_failed(user, done, "CapacityUnavailableError", "capacity")
    assert done.volumes[0].states.count("Announce Fallback") == 4
    assert_nothing_left(user, done)


@pytest.mark.long
def test_throttling_is_waited_out(user: RestoreUser) -> None:
    request = request_for(user, "background") | {"verify": {"samples": 0}}
    user.region.faults.inject("throttled")
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    (volume_id,) = user.volumes_of(done.restore_id)
    assert user.volume(volume_id)["Attachments"][0]["State"] == "attached"


@pytest.mark.long
def test_an_attachment_whose_answer_got_lost_goes_on(user: RestoreUser) -> None:
    request = request_for(user, "background") | {"verify": {"samples": 0}}
    lost = FaultRule("AttachVolume", "lost-answer", code="InternalError", status=500)
    user.region.faults.add(lost)
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why


@pytest.mark.long
def test_a_snapshot_that_is_deleted_after_the_plan_fails(user: RestoreUser) -> None:
    request = request_for(user, "background")
    gone = FaultRule("CreateVolume", code="InvalidSnapshot.NotFound", message="It does not exist.")
    user.region.faults.add(gone)
    done = user.restore(request)
    assert_failed(user, done, "SnapshotNotFoundError", "does not exist")
    assert_nothing_left(user, done)


@pytest.mark.long
def test_a_chat_that_does_not_answer_stops_nothing(user: RestoreUser) -> None:
    request = request_for(user, "background") | user.to_zone
    for _ in range(20):
        user.lab.slack.answer_next(500, "server_error")
    try:
        done = user.restore(request)
    finally:
        user.lab.slack._planned.clear()
    assert done.main.status == "SUCCEEDED", done.why
    assert [one["event"] for one in done.record["events"]] == ["plan", "available", "ready"]
