"""A fleet on the embedded AWS, with real volumes and agents: what fails is cleaned up and comes again."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.stack.restores import PATIENT, RestoreUser

Json = dict[str, Any]
SLOW_MIB_S = 8
READ_BLOCKS = 16


def fleet(user: RestoreUser, instances: int, volumes: int) -> Json:
    """A request of so many volumes to each of the instances."""
    targets = [user.instance() for _ in range(instances)]
    items = [
        {"source": {"snapshotId": user.snapshot()}, "target": {"instanceId": target}}
        for target in targets
        for _ in range(volumes)
    ]
    return {
        "source": {"items": items},
        "objective": {"strategy": "warm-up-agent"},
        "verify": PATIENT,
        "warmUp": {"maxMibPerSecond": SLOW_MIB_S},
    }


def reboot_while_read(user: RestoreUser, instance_id: str) -> None:
    """Reboots the instance once an agent there has read a part of its volume."""

    def has_begun() -> bool:
        return any(
            instance_id in [one["InstanceId"] for one in user.volume(volume_id)["Attachments"]]
            and user.counters(volume_id).read_blocks >= READ_BLOCKS
            for volume_id in user.left().get("volumes", [])
        )

    user.wait_until(has_begun, lambda: f"no agent reads on {instance_id}")
    user.lab.client("ec2").reboot_instances(InstanceIds=[instance_id])


def ended(user: RestoreUser, fleet_id: str) -> Json:
    """What GET says when the fleet has ended."""
    shown: Json = {}

    def is_over() -> bool:
        answer = user.call("GET", f"/fleets/{fleet_id}")
        if answer.status == 429:
            return False  # the API takes 20 requests a second, as on AWS
        shown.update(answer.body)
        return shown["status"] not in ("accepted", "restoring")

    user.wait_until(is_over, lambda: f"{fleet_id} is {shown}")
    return shown


@pytest.mark.long
@pytest.mark.parametrize(("instances", "volumes"), [(1, 2), (3, 4)])
def test_one_volume_fails_and_a_redrive_brings_it_back(
    user: RestoreUser, instances: int, volumes: int
) -> None:
    """An instance reboots meanwhile, and its agents go on from where they were."""
    request, count = fleet(user, instances, volumes), instances * volumes
    refused = request["source"]["items"][-1]["source"]["snapshotId"]
    user.region.faults.add(
        FaultRule("CreateVolume", code="UnauthorizedOperation", when={"SnapshotId": refused}, times=None)
    )
    user.mark()
    answer = user.call("POST", "/fleets", request)
    assert answer.status == 202, answer
    fleet_id = str(answer.body["fleetId"])
    reboot_while_read(user, request["source"]["items"][0]["target"]["instanceId"])
    shown = ended(user, fleet_id)
    assert (shown["status"], shown["restoreCount"]) == ("incomplete", instances), shown
    assert shown["progress"]["counts"] == {"failed": 1, "ready": count - 1}, shown
    (failed,) = shown["progress"]["failed"]
    assert failed["snapshot"]["snapshotId"] == refused
    assert len(user.left()["volumes"]) == count - 1

    user.region.faults.clear()
    answer = user.call("POST", f"/fleets/{fleet_id}/redrive")
    assert (answer.status, answer.body["run"]) == (202, 2), answer
    shown = ended(user, fleet_id)
    assert (shown["status"], shown["progress"]["counts"]) == ("ready", {"ready": count}), shown
    made = user.left()["volumes"]
    assert len(made) == count, "what was ready is not restored again"
    for volume_id in made:
        counters = user.counters(volume_id)
        assert counters.read_blocks >= counters.written_blocks > 0
    told = [one["text"] for one in user.messages(fleet_id)]
    assert len(told) == 4, told
    assert all(fleet_id in text for text in told)
