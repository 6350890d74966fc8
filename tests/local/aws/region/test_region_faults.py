"""Faults by name and request limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local.aws.region import ApiError, FaultRule, RegionSettings
from local.aws.region.faults import load
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab


def code(lab: Lab, operation: str, **params: Any) -> str | None:
    try:
        lab.ec2(operation, **params)
    except ApiError as error:
        return error.code
    return None


def test_every_scenario_of_the_library_loads() -> None:
    scenarios = load()
    assert {"throttled", "rate-refused", "create-answer-lost", "events-lost"} <= set(scenarios)
    with pytest.raises(KeyError, match="there are: access-denied"):
        Lab().region.faults.inject("nothing")


def test_unknown_keys_and_effects_are_refused(tmp_path: Path) -> None:
    library = tmp_path / "mine.json"
    library.write_text(json.dumps({"x": {"rules": [{"target": "CreateVolume", "colour": "red"}]}}))
    with pytest.raises(TypeError, match="colour"):
        load(library)
    with pytest.raises(ValueError, match="explode"):
        FaultRule("CreateVolume", effect="explode")


def test_throttled_twice_then_well() -> None:
    lab = Lab()
    lab.region.faults.inject("throttled")
    assert [code(lab, "DescribeVolumes") for _ in range(3)] == ["RequestLimitExceeded"] * 2 + [None]


def test_a_rate_is_refused_and_the_same_without_rate_is_not() -> None:
    lab = Lab()
    lab.region.faults.inject("rate-refused")
    snapshot = lab.snapshot()
    params = {"AvailabilityZone": ZONE, "SnapshotId": snapshot}
    assert code(lab, "CreateVolume", VolumeInitializationRate=100, **params) == "InsufficientVolumeCapacity"
    assert code(lab, "CreateVolume", **params) is None


def test_a_lost_answer_leaves_one_volume_for_the_retry() -> None:
    lab = Lab()
    lab.region.faults.inject("create-answer-lost")
    params = {"AvailabilityZone": ZONE, "Size": 1, "ClientToken": "once"}
    assert code(lab, "CreateVolume", **params) == "InternalError"
    assert lab.ec2("CreateVolume", **params)["VolumeId"] in lab.plane.volumes
    assert len(lab.plane.volumes) == 1


def test_a_rule_can_let_some_pass_first_and_look_at_parameters() -> None:
    lab = Lab()
    lab.region.faults.add(FaultRule("CreateVolume", code="VolumeLimitExceeded", skip=1, when={"Size": 2}))
    params = {"AvailabilityZone": ZONE}
    assert [code(lab, "CreateVolume", Size=size, **params) for size in (2, 1, 2, 2)] == [
        None, None, "VolumeLimitExceeded", None,
    ]  # fmt: skip
    lab.region.faults.add(FaultRule("DescribeVolumes", times=None))
    assert code(lab, "DescribeVolumes") == "InternalError"
    lab.region.faults.clear()
    assert code(lab, "DescribeVolumes") is None


def test_a_volume_can_fail_after_the_answer() -> None:
    lab = Lab()
    lab.region.faults.inject("volume-creation-fails")
    volume = lab.volume(Size=1)
    assert lab.shown(volume)["State"] == "error"
    assert lab.events[-1][2]["result"] == "failed"
    assert lab.region.inventory()["volumes"] == [volume]


def test_events_can_be_lost_or_come_twice() -> None:
    lost, twice = Lab(), Lab()
    lost.region.faults.inject("events-lost")
    twice.region.faults.inject("events-twice")
    lost.volume(Size=1)
    twice.volume(Size=1)
    assert (len(lost.events), len(twice.events)) == (0, 2)


def test_fast_restore_can_be_refused_inside_a_good_answer() -> None:
    lab = Lab()
    lab.region.faults.inject("fast-restore-refused")
    answer = lab.ec2(
        "EnableFastSnapshotRestores", SourceSnapshotIds=[lab.snapshot()], AvailabilityZones=[ZONE]
    )
    errors = answer["Unsuccessful"][0]["FastSnapshotRestoreStateErrors"]
    assert errors[0]["Error"]["Code"] == "Server.InsufficientCapacity"


def test_a_command_can_be_lost_on_the_way() -> None:
    lab = Lab()
    lab.instance()
    lab.region.faults.inject("command-not-delivered")
    params = {"DocumentName": "AWS-RunShellScript", "InstanceIds": [INSTANCE], "TimeoutSeconds": 30}
    command = lab.ssm("SendCommand", Parameters={"commands": ["true"]}, **params)["Command"]["CommandId"]
    lab.wait(30)
    shown = lab.ssm("GetCommandInvocation", CommandId=command, InstanceId=INSTANCE)
    assert shown["StatusDetails"] == "DeliveryTimedOut"


def test_request_limits_are_token_buckets() -> None:
    lab = Lab(RegionSettings(throttling=True))
    listing = [code(lab, "DescribeVolumes", MaxResults=5) for _ in range(101)]
    assert listing == [None] * 100 + ["RequestLimitExceeded"]
    lab.clock.advance(1)
    assert [code(lab, "DescribeVolumes", MaxResults=5) for _ in range(21)].count(None) == 20
    assert [code(lab, "DescribeVolumes") for _ in range(51)].count(None) == 50
    made = [code(lab, "CreateVolume", AvailabilityZone=ZONE, Size=1) for _ in range(101)]
    assert made == [None] * 100 + ["RequestLimitExceeded"]
    tagged = [code(lab, "CreateTags", Resources=[], Tags=[]) for _ in range(51)]
    assert tagged == [None] * 50 + ["RequestLimitExceeded"]


def test_an_operation_that_is_not_modelled_says_so() -> None:
    with pytest.raises(ApiError, match="DescribeVpcs is not modelled"):
        Lab().ec2("DescribeVpcs")
