"""AWS/EBS metrics, the price list, quotas, and the meter."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from local.aws.region import ApiError, RegionSettings
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab


def series(lab: Lab, name: str) -> list[float]:
    return [one["Value"] for one in lab.metrics if one["MetricName"] == name]


def attached_lab() -> tuple[Lab, str]:
    lab = Lab(RegionSettings(metric_delay_seconds=(0.0, 0.0)))
    lab.instance()
    volume = lab.attached(lab.volume(SnapshotId=lab.snapshot()))
    return lab, volume


def test_a_minute_arrives_one_to_three_minutes_after_its_end_with_what_was_read_in_it() -> None:
    lab = Lab()
    lab.instance()
    lab.wait(60 - lab.clock.now() % 60)
    volume = lab.attached(lab.volume(SnapshotId=lab.snapshot()))
    delays: list[float] = []
    for minute in range(20):
        lab.plane.read_blocks(volume, minute + 1)
        for _ in range(60):
            before = len(lab.metrics)
            lab.wait(1)
            new = [one for one in lab.metrics[before:] if one["MetricName"] == "VolumeReadOps"]
            delays += [lab.clock.now() - one["Timestamp"] - 60 for one in new]
    assert len(set(delays)) > 10
    assert all(60 <= delay <= 182 for delay in delays), delays
    read_ops = {one["Timestamp"]: one["Value"] for one in lab.metrics if one["MetricName"] == "VolumeReadOps"}
    found = [read_ops[stamp] for stamp in sorted(read_ops)][1:10]
    assert [after - before for before, after in pairwise(found)] == [2.0] * (len(found) - 1)


def test_each_minute_gets_its_datapoint_and_the_first_what_was_read() -> None:
    lab, volume = attached_lab()
    lab.plane.read_blocks(volume, 100, seconds=30.0)
    lab.wait(180)
    assert series(lab, "VolumeReadOps") == [200, 0, 0]
    assert series(lab, "VolumeReadBytes") == [100 * 524_288, 0, 0]
    assert series(lab, "VolumeTotalReadTime") == [30, 0, 0]
    assert series(lab, "VolumeIdleTime") == [30, 60, 60]
    assert series(lab, "VolumeQueueLength") == [0.5, 0, 0]
    stamps = [one["Timestamp"] for one in lab.metrics if one["MetricName"] == "VolumeReadOps"]
    assert [after - before for before, after in pairwise(stamps)] == [
        60,
        60,
    ]
    assert all(one["Dimensions"] == [{"Name": "VolumeId", "Value": volume}] for one in lab.metrics)


def test_metrics_come_only_while_attached_and_the_last_minute_is_not_lost() -> None:
    lab, volume = attached_lab()
    lab.wait(60)
    lab.plane.read_blocks(volume, 10)
    lab.ec2("DetachVolume", VolumeId=volume)
    lab.wait(300)
    assert series(lab, "VolumeReadOps") == [0, 20]
    lab.attached(volume)
    lab.plane.read_blocks(volume, 5)
    lab.wait(60)
    assert series(lab, "VolumeReadOps") == [0, 20, 10]


def test_background_loading_is_not_seen() -> None:
    lab, volume = attached_lab()
    lab.wait(7_200)
    assert lab.plane.volumes[volume].background == 1.0
    assert set(series(lab, "VolumeReadOps")) == {0}


def products(lab: Lab, *filters: tuple[str, str, str], **params: Any) -> list[dict[str, Any]]:
    given = [{"Type": kind, "Field": field, "Value": value} for kind, field, value in filters]
    answer = lab.region.call(
        "pricing", "GetProducts", {"ServiceCode": "AmazonEC2", "Filters": given, **params}
    )
    return [json.loads(one) for one in answer["PriceList"]]


def usd(product: dict[str, Any]) -> float:
    term = next(iter(product["terms"]["OnDemand"].values()))
    return float(next(iter(term["priceDimensions"].values()))["pricePerUnit"]["USD"])


def test_prices_are_found_as_in_the_price_list() -> None:
    lab = Lab()
    tokyo = ("TERM_MATCH", "regionCode", "ap-northeast-1")
    found = products(lab, tokyo, ("TERM_MATCH", "usagetype", "APN1-EBS:FastSnapshotRestore"))
    assert [usd(one) for one in found] == [0.90]
    assert found[0]["product"]["productFamily"] == "Fast Snapshot Restore"
    gp3 = products(
        lab, ("TERM_MATCH", "volumeApiName", "gp3"), ("EQUALS", "location", "US East (N. Virginia)")
    )
    assert {one["product"]["productFamily"] for one in gp3} == {
        "Storage", "System Operation", "Provisioned Throughput",
    }  # fmt: skip
    assert products(lab, ("CONTAINS", "usagetype", "Initialization")) == []
    both = products(lab, ("ANY_OF", "usagetype", "EBS:VolumeUsage.gp2,EBS:VolumeUsage.gp3"))
    assert sorted(usd(one) for one in both) == [0.08, 0.1]
    assert "EBS:VolumeUsage.gp3" not in {
        one["product"]["attributes"]["usagetype"]
        for one in products(lab, ("NONE_OF", "volumeApiName", "gp3"))
    }


def test_the_price_list_comes_in_pages_and_refuses_other_services() -> None:
    lab = Lab()
    first = lab.region.call("pricing", "GetProducts", {"ServiceCode": "AmazonEC2", "MaxResults": 20})
    second = lab.region.call(
        "pricing", "GetProducts", {"ServiceCode": "AmazonEC2", "NextToken": first["NextToken"]}
    )
    assert len(first["PriceList"]) == 20
    assert set(first["PriceList"]).isdisjoint(second["PriceList"])
    with pytest.raises(ApiError) as refused:
        lab.region.call("pricing", "GetProducts", {"ServiceCode": "AmazonS3"})
    assert refused.value.code == "NotFoundException"


def test_a_rate_can_be_put_on_the_price_list() -> None:
    lab = Lab(RegionSettings(initialization_usage_type="EBS:VolumeInitialization"))
    found = products(
        lab, ("CONTAINS", "usagetype", "Initialization"), ("TERM_MATCH", "regionCode", "us-east-1")
    )
    assert [usd(one) for one in found] == [0.000012]


def test_quotas() -> None:
    lab = Lab(RegionSettings(fast_restore_quota=50))
    call = lab.region.call
    assert (
        call("service-quotas", "GetServiceQuota", {"ServiceCode": "ebs", "QuotaCode": "L-631ECBD3"})["Quota"][
            "Value"
        ]
        == 50
    )
    codes = [
        one["QuotaCode"]
        for one in call("service-quotas", "ListServiceQuotas", {"ServiceCode": "ebs"})["Quotas"]
    ]
    assert codes[:3] == ["L-631ECBD3", "L-A37D9CF3", "L-39BD5252"]
    assert sorted(codes[3:]) == ["L-028ACFB9", "L-18E976AB", "L-C125AE42", "L-DB2FBAA1"]
    with pytest.raises(ApiError, match="does not exist"):
        call("service-quotas", "GetServiceQuota", {"ServiceCode": "ebs", "QuotaCode": "L-0"})


def test_the_meter_adds_storage_performance_rate_and_requests() -> None:
    lab = Lab()
    snapshot = lab.snapshot(size_gib=100, data_gib=50)
    volume = lab.volume(
        SnapshotId=snapshot, VolumeType="gp3", Iops=4_000, Throughput=253, VolumeInitializationRate=300
    )
    lab.region.call("ebs", "ListSnapshotBlocks", {"SnapshotId": snapshot})
    lab.wait(30 * 86_400 - 2)
    lab.ec2("DeleteVolume", VolumeId=volume)
    lab.wait(86_400)
    items = {one["kind"]: one["usd"] for one in lab.region.money()["items"]}
    assert items["storage"] == pytest.approx(100 * 0.08 + 1_000 * 0.005 + 128 / 1_024 * 40.96)
    assert items["initialization-rate"] == pytest.approx(50 * 0.0036)
    assert items["requests"] == pytest.approx(0.0000006)
    assert lab.region.money()["totalUsd"] == pytest.approx(sum(items.values()))


def test_a_failed_create_costs_nothing_and_the_inventory_shows_what_is_left() -> None:
    lab = Lab()
    lab.instance(root_size_gib=0)
    lab.region.faults.inject("volume-creation-fails")
    failed = lab.volume(Size=1)
    assert lab.region.money()["totalUsd"] == 0
    lab.ec2("DeleteVolume", VolumeId=failed)
    volume = lab.attached(lab.volume(Size=1))
    lab.ec2(
        "EnableFastSnapshotRestores",
        SourceSnapshotIds=[lab.snapshot(snapshot_id="snap-1")],
        AvailabilityZones=[ZONE],
    )
    assert lab.region.inventory() == {
        "volumes": [volume],
        "attachments": [f"{volume}:{INSTANCE}"],
        "fastRestores": [f"snap-1:{ZONE}"],
        "commands": [],
    }
