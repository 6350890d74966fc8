"""What becomes of a runbook in a drill, and of its `drill` when its alarm goes off."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import InvalidRequestError
from rewarm.steps.request.runbooks import request_of_runbook, resolve_request
from tests.support.builders import TO_INSTANCE, World
from tests.support.worlds.runbooks import put_runbook

NAME = "rewarm-orders"
ZONE_ONLY = {"availabilityZone": "us-east-1a"}
RUNBOOK = {
    **TO_INSTANCE,
    "onFailure": "keep",
    "objective": {"readyWithinMinutes": 60},
    "drill": {"target": ZONE_ONLY, "recoveryTimeMinutes": 30},
}


@pytest.fixture
def table():
    world = World()
    put_runbook(NAME, RUNBOOK, table=world.table)
    return world.table


def drilled(table, drill, **parts):
    return resolve_request({"source": {"alarm": NAME}, "drill": drill, **parts}, table=table)


def test_a_drill_goes_to_its_own_target_and_says_whose_it_is(table):
    found = drilled(table, {})
    assert found.is_drill
    assert found.target.availability_zone == "us-east-1a"
    assert found.target.instance_id is None
    assert (found.drill.runbook, found.drill.recovery_time_minutes, found.drill.target) == (NAME, 30, None)


def test_the_request_wins_over_the_runbook(table):
    found = drilled(
        table, {"recoveryTimeMinutes": 5, "recoveryPointMinutes": 1440}, target=TO_INSTANCE["target"]
    )
    assert (found.drill.recovery_time_minutes, found.drill.recovery_point_minutes) == (5, 1440)
    assert found.target.instance_id == TO_INSTANCE["target"]["instanceId"]


def test_what_a_drill_made_is_never_kept(table):
    assert drilled(table, {}).on_failure == "clean-up"


def test_an_alarm_is_no_drill(table):
    found = request_of_runbook(NAME, table=table)
    assert found.drill is None
    assert found.target.instance_id == TO_INSTANCE["target"]["instanceId"]
    assert found.on_failure == "keep"


def test_the_resolved_request_is_read_again_as_it_is(table):
    """The API resolves it before the execution starts, and the execution once more."""
    found = drilled(table, {})
    assert resolve_request(found.to_json(), table=table) == found


def test_a_drill_never_goes_to_the_runbooks_own_target():
    table = World().table
    put_runbook(NAME, TO_INSTANCE, table=table)
    with pytest.raises(InvalidRequestError, match="not to the runbook's own target") as refusal:
        drilled(table, {})
    assert refusal.value.field == "drill.target"


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"drill": 5}, "drill"),
        ({"drill": {"recoveryTimeMinutes": 0}}, "drill.recoveryTimeMinutes"),
        ({"drill": {}, "target": {**TO_INSTANCE["target"], "mode": "replace"}}, "drill.target.mode"),
        ({"drill": {}, "objective": {"strategy": "volume-clone"}}, "objective.strategy"),
        ({"drill": {}, "objective": {"strategy": "fast-snapshot-restore"}}, "objective.strategy"),
    ],
)
def test_what_a_drill_may_not_do_is_refused(table, parts, field):
    with pytest.raises(InvalidRequestError) as refusal:
        resolve_request({"source": {"alarm": NAME}, **parts}, table=table)
    assert refusal.value.field == field


def test_a_drill_copies_no_snapshot_of_another_region():
    table = World().table
    elsewhere = {"snapshotId": "snap-0aaaaaaaaaaaaaaaa", "region": "eu-west-1"}
    put_runbook(NAME, {**TO_INSTANCE, "source": elsewhere}, table=table)
    with pytest.raises(InvalidRequestError, match="a drill copies no snapshot") as refusal:
        drilled(table, {"target": {"availabilityZone": "us-east-1a"}})
    assert refusal.value.field == "source.region"


def test_a_drill_is_one_of_a_runbook(table):
    with pytest.raises(InvalidRequestError, match=r"source\.alarm"):
        resolve_request({**TO_INSTANCE, "drill": {}}, table=table)


def test_a_runbook_is_no_drill_itself(table):
    with pytest.raises(InvalidRequestError) as refusal:
        put_runbook(NAME, {**TO_INSTANCE, "drill": {"runbook": NAME}}, table=table)
    assert refusal.value.field == "drill.runbook"
