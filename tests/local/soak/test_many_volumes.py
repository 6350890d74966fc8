"""A restore of more volumes than one payload, or one item, could carry: nothing is larger than AWS takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.aws.region import RegionSettings, VolumeSettings
from local.aws.region.resources import ImageDevice
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import Ending
from local.soak.lab.lab import FastLab

Json = dict[str, Any]
VOLUMES = 32
MOST_VOLUMES = 100
MOST_BYTES = 262_144
"""AWS documentation, "Step Functions service quotas": input or result of a task, state or execution."""
ITEM_BYTES = 102_400
"""A quarter of what an item holds (DynamoDB developer guide, "Constraints"): a write is billed by the KB."""
MOST_EVENTS = 25_000
TAGS = {f"key-{number:02d}": "a value that says something" for number in range(30)}


@pytest.fixture
def lab() -> Iterator[FastLab]:
    # EC2 tells at once how far an initialization is: the looks of half an hour prove nothing here.
    settings = RegionSettings(
        throttling=True,
        initialization_rate_quota_mib_s=30_000,
        volume=VolumeSettings(status_lag_seconds=0),
    )
    with FastLab(seed=4, settings=settings) as made:
        yield made


@pytest.fixture
def largest(lab: FastLab, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The largest event of each function; the lab itself refuses larger results, outputs and variables."""
    found: dict[str, int] = {}
    begin = lab.functions._begin

    def measured(function: Any, event: Json, *args: Any) -> Any:
        size, name = len(json.dumps(event)), function.logical_id
        found[name] = max(size, found.get(name, 0))
        return begin(function, event, *args)

    monkeypatch.setattr(lab.functions, "_begin", measured)
    return found


def image(lab: FastLab, count: int) -> str:
    """An AMI with many volumes."""
    devices = [
        ImageDevice(f"/dev/sd{number:03d}", lab.region.add_snapshot(size_gib=1, extents=((0, 200),)), 1)
        for number in range(count)
    ]
    return lab.region.add_image(name="many", devices=devices)


def item_bytes(lab: FastLab) -> dict[str, int]:
    """Of each item of the record, as DynamoDB gets it; with the types, so a little more than it counts."""
    return {
        row["pk"]["S"]: len(json.dumps(row))
        for row in lab.table("RestoresTable").items()
        if row["pk"]["S"].startswith(("restore#", "restore-"))
    }


@pytest.mark.parametrize("count", [VOLUMES, pytest.param(MOST_VOLUMES, marks=pytest.mark.long)])
def test_many_volumes_are_restored_and_nothing_is_too_large(
    lab: FastLab, largest: dict[str, int], count: int
) -> None:
    request = {
        "source": {"imageId": image(lab, count)},
        "target": {"availabilityZone": "us-east-1a"},
        "objective": {"strategy": "provisioned-rate"},
        "volume": {"tags": TAGS},
    }
    started = lab.begin("many", {"request": request, "trigger": {"kind": "schedule"}})
    done = lab.finish(started)
    assert (done.status, done.output["verdict"]) == ("SUCCEEDED", "ready"), done.cause
    status, record = lab.api("GET", "/restores/many")
    assert (status, record["status"], len(record["volumes"])) == (200, "ready", count)
    volumes = [one["volume"]["volumeId"] for one in record["volumes"]]
    assert len(set(volumes)) == count
    assert max(largest.values()) < MOST_BYTES / 2, largest
    sizes = item_bytes(lab)
    assert sorted(sizes) == sorted(["restore#many", *(f"restore-volume#many#{one}" for one in range(count))])
    assert max(sizes.values()) < ITEM_BYTES, sizes
    assert done.events < MOST_EVENTS
    kids = [lab.execution("RestoreVolumeStateMachine", f"many-{number}") for number in range(count)]
    assert all(kid is not None and kid.status == "SUCCEEDED" for kid in kids)
    assert "ThrottledError" not in [error for kid in kids if kid for _, error in kid.failures]
    nothing_is_left_out(record, count)
    assert Auditor(lab).findings(Ending("ready", ready=volumes, restore_ids=["many"])) == []


def nothing_is_left_out(record: Json, count: int) -> None:
    """The record has all of every volume, however many there are."""
    assert [one["index"] for one in record["plans"]] == list(range(count))
    assert all(one["plan"]["why"] and one["plan"]["costParts"] for one in record["plans"])
    assert all(one["measured"]["phases"] for one in record["volumes"])
    told = [one for one in record["events"] if one["event"] == "ready"]
    assert len(told) == count
    assert all(len(one["text"]) > len(one["title"]) for one in told)
    assert record["events"][0]["event"] == "plan"
