"""A restore of more volumes than one payload could carry: nothing of it is larger than AWS takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.region import RegionSettings, VolumeSettings
from local.region.resources import ImageDevice
from local.soak.lab import FastLab
from local.soak.services import backend as moto_backend

Json = dict[str, Any]
VOLUMES = 32
MOST_BYTES = 262_144
"""AWS documentation, "Step Functions service quotas": input or result of a task, state or execution."""
ITEM_BYTES = 409_600
"""DynamoDB developer guide, "Constraints": an item."""
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


def image(lab: FastLab) -> str:
    """An AMI with many volumes."""
    devices = [
        ImageDevice(f"/dev/sd{number:03d}", lab.region.add_snapshot(size_gib=1, extents=((0, 200),)), 1)
        for number in range(VOLUMES)
    ]
    return lab.region.add_image(name="many", devices=devices)


def item_bytes(restore_id: str) -> int:
    (table,) = [one for name, one in moto_backend("dynamodb").tables.items() if "estores" in name]
    rows = [row.to_json()["Attributes"] for row in table.all_items()]
    (row,) = [row for row in rows if row["pk"]["S"] == f"restore#{restore_id}"]
    return len(json.dumps(row))


def test_many_volumes_are_restored_and_nothing_is_too_large(lab: FastLab, largest: dict[str, int]) -> None:
    request = {
        "source": {"imageId": image(lab)},
        "target": {"availabilityZone": "us-east-1a"},
        "objective": {"strategy": "provisioned-rate"},
        "volume": {"tags": TAGS},
    }
    started = lab.begin("many", {"request": request, "trigger": {"kind": "schedule"}})
    done = lab.finish(started)
    assert (done.status, done.output["verdict"]) == ("SUCCEEDED", "ready"), done.cause
    status, record = lab.api("GET", "/restores/many")
    assert (status, record["status"], len(record["volumes"])) == (200, "ready", VOLUMES)
    assert len({one["volume"]["volumeId"] for one in record["volumes"]}) == VOLUMES
    assert max(largest.values()) < MOST_BYTES / 2, largest
    assert item_bytes("many") < ITEM_BYTES
    assert done.events < MOST_EVENTS
    kids = [lab.execution("RestoreVolumeStateMachine", f"many-{number}") for number in range(VOLUMES)]
    assert all(kid is not None and kid.status == "SUCCEEDED" for kid in kids)
    assert "ThrottledError" not in [error for kid in kids if kid for _, error in kid.failures]
