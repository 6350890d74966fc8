"""Which restores a fleet has."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import InvalidRequestError
from rewarm.steps.fleet.requests import (
    listed_items,
    parse_fleet_request,
    restore_ids_of,
    restores_of,
    source_of,
    trigger_of,
)
from tests.support.builders import INSTANCE_ID, SNAPSHOT_ID, SOURCE_VOLUME_ID, ZONE, at

FLEET_ID = "fleet-0123456789abcdef"
OTHER = "i-0bbbbbbbbbbbbbbbb"


def item(target=None, source=None, **parts):
    return {
        "source": source or {"snapshotId": SNAPSHOT_ID},
        "target": target or {"instanceId": INSTANCE_ID},
        **parts,
    }


def restores(*items, run=1, **parts):
    request = parse_fleet_request({"source": {"items": list(items)}, **parts})
    return restores_of(FLEET_ID, listed_items(source_of(request)), request, run=run)


def bodies(*items, **parts):
    return [one.request.to_json() for one in restores(*items, **parts)]


class TestGroups:
    def test_volumes_to_one_instance_are_one_restore_in_their_order(self):
        first = item(
            {"instanceId": INSTANCE_ID, "device": "/dev/sdg"}, volume={"volumeType": "io2", "iops": 900}
        )
        other = item({"instanceId": OTHER})
        second = item({"instanceId": INSTANCE_ID}, {"volumeId": SOURCE_VOLUME_ID, "at": "latest"})
        shared, alone = bodies(first, other, second)
        assert [one["device"] for one in shared["source"]["volumes"]] == ["/dev/sdg", None]
        assert shared["source"]["volumes"][0]["volume"]["iops"] == 900
        assert shared["source"]["volumes"][1]["volumeId"] == SOURCE_VOLUME_ID
        assert (shared["target"]["instanceId"], shared["target"]["device"]) == (INSTANCE_ID, None)
        assert (alone["source"]["snapshotId"], alone["target"]["instanceId"]) == (SNAPSHOT_ID, OTHER)

    def test_a_volume_knows_its_restore_and_its_index_there(self):
        (restore,) = restores(item(), item())
        assert [(one.restore_id, one.index) for one in restore.volumes] == [
            (restore.restore_id, 0),
            (restore.restore_id, 1),
        ]

    @pytest.mark.parametrize(
        "other",
        [
            item({"availabilityZone": ZONE}),
            item({"instanceId": INSTANCE_ID, "mode": "replace", "device": "/dev/sdf"}),
            item({"instanceId": INSTANCE_ID, "bringOnline": True, "mountPath": "E:"}),
            item(source={"tags": {"app": "shop"}}),
            item(volume={"tags": {"app": "shop"}}),
        ],
    )
    def test_what_one_restore_cannot_say_for_both_is_a_restore_of_its_own(self, other):
        assert len(restores(item(), other)) == 2

    def test_volumes_to_a_zone_are_each_alone(self):
        assert len(restores(*[item({"availabilityZone": ZONE})] * 3)) == 3

    def test_a_restore_has_forty_volumes_at_most(self):
        assert [len(one.volumes) for one in restores(*[item()] * 90)] == [40, 40, 10]

    def test_items_take_the_target_and_the_volume_of_the_fleet(self):
        (body,) = bodies(
            {"source": {"snapshotId": SNAPSHOT_ID}},
            target={"availabilityZone": ZONE},
            volume={"volumeType": "st1"},
        )
        assert (body["target"]["availabilityZone"], body["volume"]["volumeType"]) == (ZONE, "st1")


class TestRequests:
    def test_the_fleet_speaks_for_its_restores(self):
        (body,) = bodies(item(), objective={"readyWithinMinutes": 30}, verify={"samples": 64})
        assert body["notify"] == {"slack": False, "email": False, "hot": True}
        assert body["objective"]["readyWithinMinutes"] == 30
        assert body["verify"]["samples"] == 64

    def test_the_same_run_has_the_same_ids_and_another_has_others(self):
        first, again, second = (
            [one.restore_id for one in restores(item(), item({"instanceId": OTHER}), run=run)]
            for run in (1, 1, 2)
        )
        assert first == again
        assert not set(first) & set(second)

    def test_the_restores_of_a_run_are_told_from_those_before(self):
        before, now = restores(item()), restores(item({"instanceId": OTHER}), run=2)
        volumes = [*before[0].volumes, *now[0].volumes]
        assert restore_ids_of(FLEET_ID, 2, volumes) == {now[0].restore_id}

    def test_the_distributed_map_reads_name_and_input(self):
        (restore,) = restores(item())
        found = restore.to_item(trigger_of(FLEET_ID, at(60)))
        assert found["restoreId"] == restore.restore_id
        assert found["input"]["trigger"]["fleetId"] == FLEET_ID
        assert found["input"]["trigger"]["deadlineAt"] == "2026-11-21T04:00:00Z"


class TestRefused:
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "source"),
            ({"source": {"items": []}}, "source.items"),
            (
                {"source": {"items": [item(source={"snapshotId": "snap-1"})]}},
                "source.items.0.source.snapshotId",
            ),
            ({"source": {"items": [item()]}, "maxConcurrency": 0}, "maxConcurrency"),
            (
                {"source": {"items": [item()]}, "toleratedFailurePercentage": 101},
                "toleratedFailurePercentage",
            ),
            (
                {"source": {"items": [item()]}, "warmUp": {"first": [{"startBlock": 0, "blockCount": 1}]}},
                "warmUp.first",
            ),
            (
                {"source": {"items": [item({"instanceId": "i-0123456789abcdef0", "mode": "rewind"})]}},
                "source.items.0.target.mode",
            ),
            (
                {
                    "source": {"items": [item()]},
                    "target": {"instanceId": "i-0123456789abcdef0", "mode": "rewind"},
                },
                "target.mode",
            ),
        ],
    )
    def test_names_the_field(self, body, field):
        with pytest.raises(InvalidRequestError) as caught:
            parse_fleet_request(body)
        assert caught.value.field == field

    def test_names_the_items_of_a_restore_that_cannot_be(self):
        bad = item({"availabilityZone": ZONE, "device": "/dev/sdf"})
        with pytest.raises(
            InvalidRequestError, match=r"^source.items: of item 1: target.device: only goes with"
        ):
            restores(item(), bad)
