"""Rules are stored, shown and deleted, and a check says what one fits now."""

from __future__ import annotations

import pytest

from rewarm.contracts.rules import MOST_RULES
from rewarm.domain.errors import InvalidRequestError, RuleNotFoundError
from rewarm.domain.model import Attachment
from rewarm.steps.adopt.rules import CheckRulePorts, check_rule, delete_rule, get_rule, put_rule
from rewarm.steps.request.listing import list_rules, list_runbooks
from tests.support.builders import ALICE, INSTANCE_ID, SNAPSHOT_ID, World, instance, snapshot
from tests.support.wired import wired
from tests.unit.steps.select.test_adoptions import NAME, OTHER, in_use

RULE = {"match": {"volumeTags": {"app": "orders"}}, "mode": "act"}


def put(world, name="orders", **parts):
    return put_rule(name, {**RULE, **parts}, by=ALICE, table=world.table)


def check(world, name="orders"):
    return check_rule(name, wired(CheckRulePorts, world))


def test_a_rule_is_stored_with_every_default_and_who_wrote_it():
    world = World()
    stored = put(world)
    assert stored == get_rule("orders", world.table)
    assert stored["rule"]["limits"]["maxAtOnce"] == 40
    assert stored["writtenBy"]["name"] == ALICE.name
    assert [one["name"] for one in list_rules({}, world.table)["rules"]] == ["orders"]
    assert list_runbooks({}, world.table)["runbooks"] == []


def test_a_deleted_rule_is_not_there():
    world = World()
    put(world)
    assert delete_rule("orders", world.table) == {"name": "orders", "deleted": True}
    for act in (get_rule, delete_rule):
        with pytest.raises(RuleNotFoundError, match="rewarm rule list"):
            act("orders", world.table)


def test_there_are_so_many_rules_at_most_and_each_can_be_replaced():
    world = World()
    for number in range(MOST_RULES):
        put(world, f"rule-{number}")
    with pytest.raises(InvalidRequestError, match=f"at most {MOST_RULES}"):
        put(world, "one-more")
    assert put(world, "rule-0", mode="observe")["rule"]["mode"] == "observe"


def test_a_check_names_the_volumes_by_instance_and_starts_nothing():
    world = in_use(in_use(World()), OTHER)
    world.instances.add(instance(devices={"/dev/sdf": NAME, "/dev/sdg": OTHER}))
    put(world)
    (adoption,) = check(world)["adoptions"]
    assert (adoption["instanceId"], adoption["volumeIds"]) == (INSTANCE_ID, [NAME, OTHER])
    assert adoption["request"]["source"]["existing"]["volumeIds"] == [NAME, OTHER]
    assert adoption["request"]["dryRun"] is False
    assert world.executions.started == {}


@pytest.mark.parametrize(
    ("criteria", "found"),
    [
        ({"instanceTags": {"role": "db"}}, [NAME]),
        ({"instanceTags": {"role": "web"}}, []),
        ({"snapshotTags": {"of": "backup"}}, [NAME]),
        ({"snapshotTags": {"of": "other"}}, []),
        ({"volumeTags": {"app": "or*"}}, []),
    ],
)
def test_each_kind_of_tag_finds_its_volumes(criteria, found):
    world = in_use(World())
    world.instances.add(instance(devices={"/dev/sdf": NAME}, tags={"role": "db"}))
    world.snapshots.add(snapshot(SNAPSHOT_ID, tags={"of": "backup"}))
    put(world, match=criteria)
    assert [one for adoption in check(world)["adoptions"] for one in adoption["volumeIds"]] == found


@pytest.mark.parametrize(
    ("changes", "on", "said"),
    [
        ({"attachments": ()}, {}, "is attached to no instance"),
        ({"attachments": tuple(Attachment(i, "/dev/sdf", "attached") for i in ("i-1", "i-2"))}, {}, "2 inst"),
        ({}, {"ssm_online": False}, "is not online in Systems Manager"),
        ({}, {"system": "Bottlerocket"}, "Bottlerocket"),
    ],
)
def test_a_check_says_why_a_volume_is_passed_over(changes, on, said):
    world = in_use(World(), **changes)
    world.instances.add(instance(devices={"/dev/sdf": NAME}, **on))
    put(world)
    found = check(world)
    assert found["adoptions"] == []
    assert said in found["passedOver"][0]["reason"]
