"""A calibration on the embedded AWS: the document's own script writes and reads real bytes."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from local.aws.host import STACK
from rewarm_cli.calibrate.cloud import Clients, Clock, Cloud, Where, leftovers
from rewarm_cli.calibrate.measuring import Measuring
from tests.support.stack.restores import RestoreUser

SIZE_GIB = 1


def account(user: RestoreUser) -> tuple[Clients, Cloud]:
    lab = user.lab
    clients = Clients(**{name: lab.client(name) for name in ("ec2", "ssm", "cloudwatch", "pricing")})
    document = lab.outputs["CalibrationDocumentName"]
    where = Where(user.instance(), "m5.large", user.zone, lab.addresses.region, STACK, document)
    clock, name = Clock(lab.clock.now, lab.clock.sleep), f"calibration-{uuid.uuid4().hex[:16]}"

    def keep(volumes: list[str], snapshots: list[str]) -> None:
        answer = user.call("PUT", f"/calibrations/{name}", {"volumeIds": volumes, "snapshotIds": snapshots})
        assert answer.status == 200, answer

    return clients, Cloud(clients, clock, where, name, keep)


def sweep(user: RestoreUser) -> Any:
    answer = user.lab.client("lambda").invoke(
        FunctionName=user.lab.outputs["SweepFunctionName"], Payload="{}"
    )
    assert "FunctionError" not in answer, answer["Payload"].read()
    return json.loads(answer["Payload"].read())


@pytest.mark.long
def test_it_reads_what_it_wrote_and_all_that_it_made_is_gone(user: RestoreUser) -> None:
    """The first-touch file system has blocks of 512 KiB and a mean of 91 ms."""
    clients, cloud = account(user)
    said: list[str] = []
    found = Measuring(cloud, SIZE_GIB, ["volume"], said.append).run()
    assert cloud.remove_all(said.append) == []
    assert found.figures["fetchUnitKib"].value == 512, (found, said)
    assert found.answers["readWarmsBlock"] is True
    assert found.figures["firstTouchMs"].low <= 120
    assert found.figures["firstTouchMs"].high >= 80
    assert found.figures["warmReadMs"].value < 20
    cloud.clock.sleep(30)
    assert leftovers(clients, STACK) == []


@pytest.mark.long
def test_the_sweeper_ends_what_a_killed_one_left(user: RestoreUser) -> None:
    clients, cloud = account(user)
    volume, _, _ = cloud.create_volume(Size=SIZE_GIB)
    cloud.attach(volume)
    snapshot, _ = cloud.create_snapshot(volume)
    assert {one.name for one in leftovers(clients, STACK)} == {volume, snapshot}
    sweep(user)
    assert len(leftovers(clients, STACK)) == 2
    cloud.clock.sleep(1_300)
    sweep(user)
    cloud.clock.sleep(30)
    sweep(user)
    cloud.clock.sleep(30)
    assert leftovers(clients, STACK) == []
