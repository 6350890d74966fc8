"""Initialization: by rate, in the background and by reading; what DescribeVolumeStatus says, and when."""

from __future__ import annotations

import math
from typing import Any

import pytest

from local.aws.region import ApiError, RegionSettings, VolumeSettings
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab


def lagging(seconds: float, **fields: Any) -> RegionSettings:
    return RegionSettings(volume=VolumeSettings(status_lag_seconds=seconds, **fields))


def detail(lab: Lab, volume: str) -> tuple[str, int]:
    """(initialization-state, Progress)"""
    shown = lab.status(volume)
    states = {one["Name"]: one["Status"] for one in shown["VolumeStatus"]["Details"]}
    return states["initialization-state"], shown["InitializationStatusDetails"]["Progress"]


def test_progress_is_elapsed_time_times_rate_over_the_data() -> None:
    lab = Lab(lagging(0))
    volume = lab.volume(SnapshotId=lab.snapshot(size_gib=100, data_gib=30), VolumeInitializationRate=300)
    lab.wait(51.2)  # half of 30 GiB at 300 MiB/s
    assert detail(lab, volume) == ("initializing", 50)
    eta = lab.status(volume)["InitializationStatusDetails"]["EstimatedTimeToCompleteInSeconds"]
    assert eta == math.ceil(51.2)
    assert lab.plane.volumes[volume].background == pytest.approx(0.5)
    lab.wait(51.2)
    assert detail(lab, volume) == ("completed", 100)
    assert lab.status(volume)["InitializationStatusDetails"]["EstimatedTimeToCompleteInSeconds"] == 0
    assert lab.plane.volumes[volume].fetched == lab.plane.volumes[volume].written


def test_the_status_lags_by_up_to_five_minutes() -> None:
    lab = Lab()
    volume = lab.volume(SnapshotId=lab.snapshot(), VolumeInitializationRate=100)
    lab.wait(290)
    assert detail(lab, volume) == ("initializing", 0)
    lab.wait(10)
    assert detail(lab, volume) == ("completed", 100)


def test_the_event_comes_after_completion_and_not_for_a_deleted_volume() -> None:
    lab = Lab(lagging(0, initialize_event_name="initializeVolume"))
    kept, deleted = (lab.volume(SnapshotId=lab.snapshot(), VolumeInitializationRate=100) for _ in range(2))
    lab.wait(15)
    lab.ec2("DeleteVolume", VolumeId=deleted)
    lab.wait(120)
    announced = [one for one in lab.events if one[2].get("event") == "initializeVolume"]
    assert [resources for *_, resources in announced] == [
        [f"arn:aws:ec2:us-east-1:123456789012:volume/{kept}"]
    ]
    assert announced[0][2]["result"] == "succeeded"


def test_the_default_event_name_has_the_leading_space_of_the_sample() -> None:
    lab = Lab()
    lab.volume(SnapshotId=lab.snapshot(), VolumeInitializationRate=300)
    lab.wait(120)
    assert lab.events[-1][2]["event"] == " initializeVolume"


def test_reading_advances_a_default_volume_and_completes_it() -> None:
    lab = Lab(lagging(0))
    lab.instance()
    volume = lab.attached(lab.volume(SnapshotId=lab.snapshot()))
    lab.plane.read_blocks(volume, 1_024)
    lab.wait(2)
    assert detail(lab, volume) == ("initializing", 50)
    lab.plane.read_blocks(volume, 1_024)
    lab.wait(2)
    assert detail(lab, volume) == ("completed", 100)


def test_reading_may_count_for_nothing() -> None:
    lab = Lab(lagging(0, reads_advance_initialization=False, background_mib_s=0.0))
    lab.instance()
    volume = lab.attached(lab.volume(SnapshotId=lab.snapshot()))
    lab.plane.read_blocks(volume, 2_048)
    lab.wait(3_600)
    assert detail(lab, volume) == ("initializing", 0)


def test_the_background_finishes_100_gib_in_about_a_day() -> None:
    lab = Lab()
    volume = lab.volume(SnapshotId=lab.snapshot(size_gib=100, data_gib=100))
    lab.wait(12 * 3_600)
    state, progress = detail(lab, volume)
    assert state == "initializing"
    assert 40 < progress < 60
    lab.wait(12 * 3_600)
    assert detail(lab, volume) == ("completed", 100)


def test_an_empty_volume_has_no_initialization_details() -> None:
    lab = Lab()
    shown = lab.status(lab.volume(Size=1))
    assert "InitializationStatusDetails" not in shown
    assert [one["Name"] for one in shown["VolumeStatus"]["Details"]] == ["io-enabled", "io-performance"]


def test_the_rate_quota_counts_what_is_still_initializing() -> None:
    lab = Lab(RegionSettings(initialization_rate_quota_mib_s=500))
    snapshot = lab.snapshot()
    request = {"AvailabilityZone": ZONE, "SnapshotId": snapshot, "VolumeInitializationRate": 300}
    lab.ec2("CreateVolume", **request)
    with pytest.raises(ApiError, match="500 MiB/s") as refused:
        lab.ec2("CreateVolume", **request)
    assert refused.value.code == lab.settings.volume.rate_quota_error_code
    lab.wait(10)
    assert lab.ec2("CreateVolume", **request)["VolumeInitializationRate"] == 300
    assert len(lab.plane.volumes) == 2


def test_a_stalled_initialization_stays_where_it_is_until_somebody_reads() -> None:
    lab = Lab(lagging(0))
    lab.instance()
    lab.region.faults.inject("initialization-stalls")
    volume = lab.attached(lab.volume(SnapshotId=lab.snapshot(), VolumeInitializationRate=100))
    lab.wait(3_600)
    assert detail(lab, volume) == ("initializing", 50)
    lab.plane.read_blocks(volume, 1_025)
    lab.wait(2)
    assert detail(lab, volume) == ("completed", 100)


def test_details_may_be_absent_at_first() -> None:
    lab = Lab(lagging(0, details_delay_seconds=60.0))
    volume = lab.volume(SnapshotId=lab.snapshot(), VolumeInitializationRate=100)
    assert "InitializationStatusDetails" not in lab.status(volume)
    lab.wait(60)
    assert detail(lab, volume) == ("completed", 100)


def test_details_may_be_dropped_after_completion() -> None:
    lab = Lab(lagging(0, details_kept_seconds=60.0))
    volume = lab.volume(SnapshotId=lab.snapshot(), VolumeInitializationRate=100)
    lab.wait(30)
    assert detail(lab, volume) == ("completed", 100)
    lab.wait(90)
    shown = lab.status(volume)
    assert "InitializationStatusDetails" not in shown
    assert {"Name": "initialization-state", "Status": "completed"} in shown["VolumeStatus"]["Details"]


def test_a_seeded_volume_is_initialized_unless_said_otherwise() -> None:
    lab = Lab(lagging(0))
    lab.instance()
    snapshot = lab.snapshot()
    old = lab.region.add_volume(size_gib=8, snapshot_id=snapshot, attach_to=INSTANCE)
    cold = lab.region.add_volume(size_gib=8, snapshot_id=snapshot, initialized=False)
    assert detail(lab, old) == ("completed", 100)
    assert detail(lab, cold)[0] == "initializing"
    assert lab.plane.volumes[cold].fetched < lab.plane.volumes[old].fetched
