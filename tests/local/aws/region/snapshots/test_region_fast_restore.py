"""Fast snapshot restore: states over time, credits, quota and partial failures."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import ApiError, FastRestoreSettings, RegionSettings
from tests.local.aws.region.region_lab import ZONE, Lab

KIND = "EBS Fast Snapshot Restore State-change Notification"


def enable(lab: Lab, *snapshots: str, zones: list[str] | None = None) -> dict[str, Any]:
    return lab.ec2(
        "EnableFastSnapshotRestores", SourceSnapshotIds=list(snapshots), AvailabilityZones=zones or [ZONE]
    )


def state(lab: Lab, snapshot: str) -> dict[str, Any]:
    filters = [{"Name": "snapshot-id", "Values": [snapshot]}]
    found: dict[str, Any] = lab.ec2("DescribeFastSnapshotRestores", Filters=filters)["FastSnapshotRestores"][
        0
    ]
    return found


def enabled(lab: Lab, *, size_gib: int = 128) -> str:
    """A snapshot with fast snapshot restore just enabled, its bucket empty."""
    snapshot = lab.snapshot(size_gib=size_gib)
    enable(lab, snapshot)
    lab.wait(60)
    lab.wait(3_600 * size_gib / 1_024)
    return snapshot


def test_optimizing_takes_an_hour_per_tib() -> None:
    lab = Lab()
    snapshot = lab.snapshot(size_gib=1_024)
    assert enable(lab, snapshot)["Successful"][0]["State"] == "enabling"
    lab.wait(60)
    assert state(lab, snapshot)["State"] == "optimizing"
    lab.wait(3_599)
    assert state(lab, snapshot)["State"] == "optimizing"
    lab.wait(1)
    shown = state(lab, snapshot)
    assert shown["State"] == "enabled"
    assert (shown["EnabledTime"] - shown["OptimizingTime"]).total_seconds() == 3_600
    assert [detail["state"] for detail in lab.named_events(KIND)] == ["enabling", "optimizing", "enabled"]


def test_a_bucket_starts_empty_and_fills_with_the_snapshot_size() -> None:
    lab = Lab()
    snapshot = enabled(lab, size_gib=128)
    assert not lab.shown(lab.volume(SnapshotId=snapshot))["FastRestored"]
    lab.wait(447)  # 128 GiB fill 8 credits an hour: the first is there after 450 s
    assert not lab.shown(lab.volume(SnapshotId=snapshot))["FastRestored"]
    lab.wait(2)
    assert lab.shown(lab.volume(SnapshotId=snapshot))["FastRestored"]
    assert not lab.shown(lab.volume(SnapshotId=snapshot))["FastRestored"]


def test_a_bucket_holds_at_most_its_size() -> None:
    lab = Lab()
    snapshot = enabled(lab, size_gib=512)
    lab.wait(86_400)
    fast = [lab.shown(lab.volume(SnapshotId=snapshot))["FastRestored"] for _ in range(3)]
    assert fast == [True, True, False]


def test_a_fast_volume_is_warm_and_a_rate_overrides_it() -> None:
    lab = Lab()
    snapshot = enabled(lab)
    lab.wait(3_600)
    warm, rated = (
        lab.volume(SnapshotId=snapshot),
        lab.volume(SnapshotId=snapshot, VolumeInitializationRate=100),
    )
    assert lab.plane.volumes[warm].fetched == lab.plane.volumes[warm].written > 0
    assert lab.status(warm)["InitializationStatusDetails"] == {
        "InitializationType": "default",
        "Progress": 100,
    }
    assert lab.plane.volumes[rated].fetched < lab.plane.volumes[rated].written
    assert not lab.shown(rated)["FastRestored"]


def test_a_volume_in_another_zone_is_not_fast() -> None:
    lab = Lab()
    snapshot = enabled(lab)
    lab.wait(3_600)
    assert not lab.shown(lab.volume(SnapshotId=snapshot, AvailabilityZone="us-east-1b"))["FastRestored"]


def test_the_quota_counts_snapshots_and_fails_partially() -> None:
    lab = Lab(RegionSettings(fast_restore_quota=1))
    first, second = lab.snapshot(), lab.snapshot()
    answer = enable(lab, first, second, "snap-0000000000000dead", zones=[ZONE, "us-east-1b"])
    assert [one["SnapshotId"] for one in answer["Successful"]] == [first, first]
    refused = {one["SnapshotId"]: one["FastSnapshotRestoreStateErrors"] for one in answer["Unsuccessful"]}
    assert [error["Error"]["Code"] for error in refused[second]] == ["FastSnapshotRestoreLimitExceeded"] * 2
    assert refused["snap-0000000000000dead"][0]["Error"]["Code"] == "InvalidSnapshot.NotFound"


def test_disabling_ends_it_and_the_bill_has_one_hour_at_least() -> None:
    lab = Lab()
    snapshot = lab.snapshot()
    enable(lab, snapshot)
    lab.wait(600)
    answer = lab.ec2("DisableFastSnapshotRestores", SourceSnapshotIds=[snapshot], AvailabilityZones=[ZONE])
    assert answer["Successful"][0]["State"] == "disabling"
    lab.wait(60)
    assert state(lab, snapshot)["State"] == "disabled"
    assert lab.region.inventory()["fastRestores"] == []
    assert lab.region.money()["totalUsd"] == pytest.approx(0.75)
    again = lab.ec2("DisableFastSnapshotRestores", SourceSnapshotIds=[snapshot], AvailabilityZones=[ZONE])
    assert again["Successful"] == []
    assert again["Unsuccessful"][0]["SnapshotId"] == snapshot


def test_enabling_again_starts_over_and_is_billed_again() -> None:
    lab = Lab()
    snapshot = enabled(lab)
    lab.ec2("DisableFastSnapshotRestores", SourceSnapshotIds=[snapshot], AvailabilityZones=[ZONE])
    lab.wait(60)
    enable(lab, snapshot)
    assert state(lab, snapshot)["State"] == "enabling"
    assert lab.region.money()["totalUsd"] == pytest.approx(1.5)


def test_a_pending_snapshot_waits_and_an_archived_one_is_refused() -> None:
    lab = Lab()
    pending, archived = lab.snapshot(state="pending", progress=10), lab.snapshot(storage_tier="archive")
    answer = enable(lab, pending, archived)
    assert [one["SnapshotId"] for one in answer["Unsuccessful"]] == [archived]
    lab.wait(3_600)
    assert state(lab, pending)["State"] == "enabling"
    lab.region.change_snapshot(pending, state="completed", progress=100)
    lab.wait(60)
    assert state(lab, pending)["State"] == "optimizing"


def test_credits_may_start_with_enabling() -> None:
    lab = Lab(RegionSettings(fast_restore=FastRestoreSettings(credits_start_at="enabling")))
    snapshot = enabled(lab, size_gib=1_024)
    assert lab.shown(lab.volume(SnapshotId=snapshot))["FastRestored"]


def test_ten_snapshots_a_call_and_one_way_to_name_zones() -> None:
    lab = Lab()
    many = [lab.snapshot() for _ in range(11)]
    with pytest.raises(ApiError, match="less than or equal to 10"):
        enable(lab, *many)
    with pytest.raises(ApiError) as refused:
        lab.ec2("EnableFastSnapshotRestores", SourceSnapshotIds=many[:1])
    assert refused.value.code == "MissingParameter"
    by_id = lab.ec2(
        "EnableFastSnapshotRestores", SourceSnapshotIds=many[:1], AvailabilityZoneIds=["use1-az2"]
    )
    assert by_id["Successful"][0]["AvailabilityZone"] == "us-east-1b"


def test_credit_metrics_come_every_minute() -> None:
    lab = Lab(RegionSettings(metric_delay_seconds=(0, 0)))
    snapshot = enabled(lab)
    lab.metrics.clear()
    lab.wait(180)
    sizes = [one for one in lab.metrics if one["MetricName"] == "FastSnapshotRestoreCreditsBucketSize"]
    assert [one["Value"] for one in sizes] == [8.0, 8.0, 8.0]
    assert {"Name": "SnapshotId", "Value": snapshot} in sizes[0]["Dimensions"]
