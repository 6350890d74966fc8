"""What the source of a fleet may say, and what people are told where it says something else."""

from __future__ import annotations

import pytest

from rewarm.contracts.fleets import FleetSource, parse_fleet_members
from rewarm.domain.errors import InvalidRequestError
from tests.support.builders import INSTANCE_ID, SNAPSHOT_ID, SOURCE_VOLUME_ID, ZONE

TARGET = {"availabilityZone": ZONE}
ITEM = {"source": {"snapshotId": SNAPSHOT_ID}}
ARN = "arn:aws:ec2:ap-northeast-1::image/ami-0123456789abcdef0"


def refusal(source, **changes):
    with pytest.raises(InvalidRequestError) as refused:
        parse_fleet_members({"source": source, "target": TARGET, **changes})
    return refused.value.field, str(refused.value)


@pytest.mark.parametrize(
    "source",
    [
        {"instance": {"instanceId": INSTANCE_ID, "devices": ["/dev/sdf"]}, "at": "latest"},
        {"image": {"imageId": "ami-0123456789abcdef0"}, "maxSpreadSeconds": 0},
        {"recoveryPoint": {"arn": ARN}},
        {"tags": {"snapshots": {"app": "shop"}, "volumeTag": "volume"}},
        {"tags": {"volumes": {"app": "shop"}}, "at": "2026-11-20T03:00:00Z"},
        {"items": [ITEM, {"source": {"volumeId": SOURCE_VOLUME_ID}, "volume": {"volumeType": "io2"}}]},
    ],
)
def test_every_kind_of_source_is_read_back_unchanged(source):
    members = parse_fleet_members({"source": source, "target": TARGET})
    assert parse_fleet_members(members.to_json()) == members


@pytest.mark.parametrize(
    ("source", "field", "told"),
    [
        ({}, "source", "found none; exactly one of instance, image, recoveryPoint, tags, items is allowed"),
        (
            {"instance": {"instanceId": INSTANCE_ID}, "items": [ITEM]},
            "source",
            "found instance and items; exactly one",
        ),
        ({"instance": {"instanceId": "i-1"}}, "source.instance.instanceId", "an id such as i-0123456789ab"),
        ({"instance": {"id": "i-1"}}, "source.instance.instanceId", "is missing"),
        ({"image": {"imageId": "ami-1", "zone": "a"}}, "source.image.imageId", "an id such as ami-0123"),
        ({"recoveryPoint": {"arn": 7}}, "source.recoveryPoint.arn", "found 7; allowed is text"),
        (
            {"recoveryPoint": {"arn": ARN}, "at": "latest"},
            "source.at",
            "only goes with instance, tags, items",
        ),
        ({"tags": {}}, "source.tags", "exactly one of snapshots, volumes is allowed"),
        ({"tags": {"volumes": {}}}, "source.tags.volumes", "a number of entries from 1"),
        ({"tags": {"volumes": {"a": 1}}}, "source.tags.volumes", "found 1; allowed is text"),
        (
            {"tags": {"volumes": {"a": "b"}, "volumeTag": "c"}},
            "source.tags.volumeTag",
            "only goes with snapshots",
        ),
        ({"items": []}, "source.items", "a number of entries from 1"),
        ({"items": [ITEM] * 10_001}, "source.items", "a number of entries up to 10000"),
        ({"items": [ITEM, {"source": {}}]}, "source.items.1.source", "found none; exactly one"),
        ({"items": [{"source": {"snapshotId": "x"}}]}, "source.items.0.source.snapshotId", "an id such as"),
        (
            {"items": [{"source": {"snapshotId": SNAPSHOT_ID, "at": "latest"}}]},
            "source.items.0.source.at",
            "only goes with volumeId",
        ),
        ({"items": [ITEM], "maxSpreadSeconds": -1}, "source.maxSpreadSeconds", "allowed is at least 0"),
    ],
)
def test_a_refusal_names_the_field_and_what_is_allowed(source, field, told):
    named, message = refusal(source)
    assert named == field
    assert told in message


def test_a_list_needs_a_target_for_each_volume_and_any_other_source_one_for_all():
    assert refusal({"items": [ITEM]}, target=None) == (
        "source.items.0.target",
        "source.items.0.target: found none; name one here, or one for the fleet",
    )
    assert parse_fleet_members({"source": {"items": [{**ITEM, "target": TARGET}]}}).target is None
    assert refusal({"instance": {"instanceId": INSTANCE_ID}}, target=None)[0] == "target"
    assert refusal({"items": [ITEM]}, target={"device": "/dev/sdf"}) == (
        "target",
        "target: found none; exactly one of instanceId, availabilityZone is allowed",
    )


def test_the_schema_says_that_just_one_selector_is_allowed():
    schema = FleetSource.model_json_schema(by_alias=True)
    assert [next(iter(one["required"])) for one in schema["oneOf"]] == [
        "instance",
        "image",
        "recoveryPoint",
        "tags",
        "items",
    ]
