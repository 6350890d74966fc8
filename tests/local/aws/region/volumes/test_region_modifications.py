"""ModifyVolume: states over time, what takes effect when, and the limits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from local.aws.region import ApiError, RegionSettings
from local.aws.region.faults import FaultRule
from local.aws.region.settings import VolumeSettings
from tests.local.aws.region.region_lab import Lab


def change(lab: Lab, volume: str) -> dict[str, Any]:
    found: dict[str, Any] = lab.ec2("DescribeVolumesModifications", VolumeIds=[volume])[
        "VolumesModifications"
    ][0]
    return found


def refused(lab: Lab, volume: str, **params: Any) -> str:
    with pytest.raises(ApiError) as error:
        lab.ec2("ModifyVolume", VolumeId=volume, **params)
    return error.value.code


def test_a_change_is_in_force_before_it_is_completed() -> None:
    lab = Lab()
    volume = lab.volume(Size=1_024, VolumeType="gp3", Throughput=500)
    answer = lab.ec2("ModifyVolume", VolumeId=volume, Throughput=125)["VolumeModification"]
    assert (answer["ModificationState"], answer["OriginalThroughput"], answer["TargetThroughput"]) == (
        "modifying",
        500,
        125,
    )
    lab.wait(30)
    assert lab.plane.volumes[volume].limits.throughput_mib_s == 125
    assert lab.shown(volume)["Throughput"] == 125
    lab.wait(3 * 3_600)
    assert (change(lab, volume)["ModificationState"], change(lab, volume)["Progress"]) == ("optimizing", 50)
    assert refused(lab, volume, Iops=4_000) == "IncorrectModificationState"
    lab.wait(3 * 3_600)
    assert (change(lab, volume)["ModificationState"], change(lab, volume)["Progress"]) == ("completed", 100)
    results = [
        one["result"] for one in lab.named_events("EBS Volume Notification") if one["event"] == "modifyVolume"
    ]
    assert results == ["optimizing", "completed"]


def test_four_changes_in_a_rolling_day() -> None:
    lab = Lab()
    volume = lab.volume(Size=10, VolumeType="gp3")
    for iops in (3_100, 3_200, 3_300, 3_400):
        lab.ec2("ModifyVolume", VolumeId=volume, Iops=iops)
        lab.wait(3_600)
    assert refused(lab, volume, Iops=3_500) == "VolumeModificationRateExceeded"
    lab.wait(20 * 3_600)
    lab.ec2("ModifyVolume", VolumeId=volume, Iops=3_500)


def test_what_is_not_named_stays_or_takes_the_new_default() -> None:
    lab = Lab()
    volume = lab.volume(Size=10, VolumeType="gp3", Throughput=250)
    target = lab.ec2("ModifyVolume", VolumeId=volume, VolumeType="io2")["VolumeModification"]
    assert (target["TargetIops"], target["TargetVolumeType"], target["TargetSize"]) == (3_000, "io2", 10)
    assert "TargetThroughput" not in target


def test_what_is_refused() -> None:
    lab = Lab()
    volume = lab.volume(Size=10, VolumeType="gp3")
    assert refused(lab, volume) == "MissingParameter"
    assert refused(lab, volume, Size=9) == "InvalidParameterValue"
    assert refused(lab, volume, VolumeType="gp2", Iops=3_000) == "InvalidParameterCombination"
    assert refused(lab, "vol-0000000000000dead", Size=20) == "InvalidVolume.NotFound"
    with pytest.raises(ApiError, match="does not exist"):
        change(lab, volume)


def test_a_change_may_fail_and_is_then_not_in_force() -> None:
    lab = Lab()
    volume = lab.volume(Size=10, VolumeType="gp3", Throughput=500)
    lab.region.faults.add(FaultRule("volume:modification", "volume-error"))
    lab.ec2("ModifyVolume", VolumeId=volume, Throughput=125)
    lab.wait(30)
    assert change(lab, volume)["ModificationState"] == "failed"
    assert lab.shown(volume)["Throughput"] == 500
    lab.ec2("ModifyVolume", VolumeId=volume, Throughput=125)
    lab.wait(30)
    assert lab.shown(volume)["Throughput"] == 125


def test_the_meter_bills_each_setting_for_its_time() -> None:
    """Half an hour with more, and the present settings for the whole time."""
    lab = Lab()
    volume = lab.volume(Size=10, VolumeType="gp3", Iops=4_000, Throughput=1_000)
    lab.wait(1_798)
    lab.ec2("ModifyVolume", VolumeId=volume, Iops=3_000, Throughput=125)
    lab.wait(1_800)
    rows = {item["kind"]: item for item in lab.region.money()["items"] if item["resource"] == volume}
    month = 30 * 24 * 3_600
    assert rows["storage"]["usd"] == pytest.approx(10 * 0.08 * 3_600 / month)
    assert rows["earlier-settings"]["usd"] == pytest.approx((1_000 * 0.005 + 875 * 0.04) * 1_800 / month)
    assert rows["earlier-settings"]["note"] == "gp3, 10 GiB, 4,000 IOPS, 1,000 MiB/s for 30.0 min"


def looked_up(lab: Lab, name: str = "ModifyVolume", **params: Any) -> list[dict[str, Any]]:
    wanted = [{"AttributeKey": "EventName", "AttributeValue": name}]
    found: list[dict[str, Any]] = lab.region.call(
        "cloudtrail", "LookupEvents", {"LookupAttributes": wanted, **params}
    )["Events"]
    return found


def test_cloudtrail_knows_of_a_call_some_minutes_later() -> None:
    lab = Lab()
    volume = lab.volume(Size=10, VolumeType="gp3")
    called = lab.clock.now()
    lab.ec2("ModifyVolume", VolumeId=volume, Iops=4_000)
    refused(lab, volume, Iops=5_000)
    assert looked_up(lab) == []
    lab.wait(300)
    newest, first = looked_up(lab)
    record = json.loads(first["CloudTrailEvent"])
    assert record["requestParameters"] == {"ModifyVolumeRequest": {"VolumeId": volume, "Iops": 4_000}}
    assert first["EventTime"].timestamp() == int(called)
    assert "errorCode" not in record
    assert json.loads(newest["CloudTrailEvent"])["errorCode"] == "Client.IncorrectModificationState"
    assert looked_up(lab, "CreateVolume") == []
    assert looked_up(lab, StartTime=datetime.fromtimestamp(called + 60, UTC)) == []
    lab.wait(91 * 86_400)
    assert looked_up(lab) == []


def test_six_hours_between_two_changes_where_the_older_rule_holds() -> None:
    lab = Lab(RegionSettings(volume=VolumeSettings(modification_pause_seconds=21_600)))
    volume = lab.volume(Size=10, VolumeType="gp3")
    lab.ec2("ModifyVolume", VolumeId=volume, Iops=3_100)
    lab.wait(21_000)
    assert refused(lab, volume, Iops=3_200) == "VolumeModificationRateExceeded"
    lab.wait(600)
    lab.ec2("ModifyVolume", VolumeId=volume, Iops=3_200)
