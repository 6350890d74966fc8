"""What a request for a rewind may say."""

from __future__ import annotations

import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.errors import InvalidRequestError

INSTANCE, SNAPSHOT = "i-0123456789abcdef0", "snap-0123456789abcdef0"
REWIND = {"source": {"snapshotId": SNAPSHOT}, "target": {"instanceId": INSTANCE, "mode": "rewind"}}


def with_part(name, **fields):
    return {**REWIND, name: {**REWIND.get(name, {}), **fields}}


LISTED = {"snapshotId": SNAPSHOT}
REFUSED = {
    "device": (with_part("target", device="/dev/sdf"), "target.device"),
    "bringOnline": (with_part("target", bringOnline=True), "target.bringOnline"),
    "start": (with_part("target", start=True), "target.start"),
    "instance": ({**REWIND, "source": {"instanceId": INSTANCE}}, "source.instanceId"),
    "image": ({**REWIND, "source": {"imageId": "ami-0123456789abcdef0"}}, "source.imageId"),
    "region": (with_part("source", region="eu-west-1"), "source.region"),
    "many": ({**REWIND, "source": {"volumes": [LISTED] * 9}}, "source.volumes"),
    "its device": (
        {**REWIND, "source": {"volumes": [{**LISTED, "device": "/dev/sdf"}]}},
        "source.volumes.0.device",
    ),
    "its volume": (
        {**REWIND, "source": {"volumes": [{**LISTED, "volume": {"sizeGib": 9}}]}},
        "source.volumes.0.volume",
    ),
    "size": (with_part("volume", sizeGib=200), "volume.sizeGib"),
    "scope": (with_part("warmUp", scope="whole"), "warmUp.scope"),
    "strategy": (with_part("objective", strategy="background"), "objective.strategy"),
    "a log beside snapshots": (
        with_part("target", evidence="undo-log", compare="snapshots"),
        "target.compare",
    ),
    "another volume beside snapshots": (
        with_part("target", volumeId="vol-0123456789abcdef0", compare="snapshots"),
        "target.compare",
    ),
    "an undo beside snapshots": (
        {**with_part("target", compare="snapshots"), "source": {"undoOf": "restore-1"}},
        "target.compare",
    ),
    "another volume of an undo": (
        {**with_part("target", volumeId="vol-0123456789abcdef0"), "source": {"undoOf": "restore-1"}},
        "target.volumeId",
    ),
    "another volume of a list": (
        {**with_part("target", volumeId="vol-0123456789abcdef0"), "source": {"volumes": [LISTED]}},
        "target.volumeId",
    ),
    "evidence": (with_part("target", evidence="none"), "target.evidence"),
    "compare": (with_part("target", compare="lists"), "target.compare"),
    "a path as a restore": ({**REWIND, "source": {"undoOf": "../restore-1"}}, "source.undoOf"),
    "evidence of a new volume": (with_part("target", mode="replace", evidence="auto"), "target.evidence"),
    "compare of a new volume": (with_part("target", mode=None, compare="device"), "target.compare"),
    "a volume of a new volume": (
        with_part("target", mode="attach", volumeId="vol-0123456789abcdef0"),
        "target.volumeId",
    ),
    "undo without a rewind": (
        {"source": {"undoOf": "restore-1"}, "target": {"instanceId": INSTANCE}},
        "source.undoOf",
    ),
}


@pytest.mark.parametrize(("body", "field"), REFUSED.values(), ids=REFUSED)
def test_what_is_about_a_new_volume_is_refused_by_its_field(body, field):
    with pytest.raises(InvalidRequestError) as refused:
        parse_restore_request(body)
    assert refused.value.field == field


def test_what_is_no_id_of_a_restore_is_answered_with_one():
    with pytest.raises(InvalidRequestError, match=r'found "x/y"; allowed is an id such as restore-\w+$'):
        parse_restore_request({**REWIND, "source": {"undoOf": "x/y"}})


@pytest.mark.parametrize(
    "body",
    [
        with_part("target", unmount=True),
        {**REWIND, "source": {"volumeId": "vol-0123456789abcdef0", "at": "2026-11-20T03:00:00Z"}},
        {**REWIND, "source": {"volumes": [LISTED] * 8}},
        with_part("warmUp", maxMibPerSecond=100, politeLatencyMs=5),
        with_part("objective", readyWithinMinutes=60, maxCostUsd=1),
        with_part("target", evidence="undo-log", compare="device"),
        with_part("target", evidence="undo-log"),
        with_part("target", evidence="snapshot", compare="device", volumeId="vol-0123456789abcdef0"),
        with_part("target", evidence="snapshot", compare="snapshots"),
        {**REWIND, "source": {"undoOf": "restore-0123456789abcdef"}},
    ],
)
def test_what_a_rewind_needs_is_taken(body):
    assert parse_restore_request(body).target.mode == "rewind"
