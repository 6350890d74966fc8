"""An instance that was started with new volumes is stopped again, unless it is up."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import AccessDeniedError, ThrottledError
from rewarm.domain.volume.replacing import STARTED_TAG
from rewarm.steps.replace.started import StartedPorts, stop_again
from tests.support.builders import INSTANCE_ID, RESTORE_ID, World, instance
from tests.support.wired import wired

STARTED = {"instanceId": INSTANCE_ID, "state": "started", "startedAt": "2026-11-21T03:00:00Z"}


def undo(world):
    ports = wired(StartedPorts, world, states=world.instances)
    return stop_again(RESTORE_ID, INSTANCE_ID, "volume 1 has failed", ports)


def state(world):
    found = world.instances.get(INSTANCE_ID)
    return found.state, dict(found.tags)


@pytest.fixture
def world():
    world = World()
    world.instances.add(instance(tags={STARTED_TAG: "rewarm", "Name": "app"}))
    world.table.records[RESTORE_ID] = {"instance": dict(STARTED)}
    return world


def test_it_is_stopped_and_loses_the_tag(world):
    world.instances.stops_slowly = True
    assert undo(world).state == "pending"
    assert state(world) == ("stopping", {STARTED_TAG: "rewarm", "Name": "app"})
    world.instances.add(instance(state="stopped", tags={STARTED_TAG: "rewarm", "Name": "app"}))
    assert undo(world).state == "down"
    assert state(world) == ("stopped", {"Name": "app"})
    assert undo(world).state == "down"


def test_the_other_volumes_learn_that_it_is_given_up(world):
    undo(world)
    noted = world.table.records[RESTORE_ID]["instance"]
    assert (noted["state"], noted["reason"]) == ("given-up", "volume 1 has failed")


def test_what_is_up_is_left_alone(world):
    world.table.records[RESTORE_ID]["instance"]["state"] = "up"
    assert undo(world).state == "up"
    assert state(world) == ("running", {"Name": "app"})


def test_an_instance_that_was_never_started_is_left_alone_and_never_will_be(world):
    world.table.records[RESTORE_ID] = {}
    assert undo(world).state == "down"
    assert state(world)[0] == "running"
    assert world.table.records[RESTORE_ID]["instance"]["state"] == "given-up"


def test_one_whose_record_is_lost_loses_the_tag(world):
    del world.table.records[RESTORE_ID]
    assert undo(world).state == "down"
    assert state(world) == ("running", {"Name": "app"})


def test_a_cancelled_restore_stops_it_too(world):
    world.table.records[RESTORE_ID]["cancelRequested"] = True
    assert undo(world).state == "pending"
    assert state(world)[0] == "stopped"


def test_an_instance_that_is_gone_keeps_nothing_waiting(world):
    world.instances.add(instance(state="terminated"))
    assert undo(world).state == "down"
    del world.instances.instances[INSTANCE_ID]
    assert undo(world).state == "down"


def test_volumes_that_an_instance_worked_with_are_kept_though_it_is_gone(world):
    world.table.records[RESTORE_ID]["instance"]["state"] = "up"
    del world.instances.instances[INSTANCE_ID]
    assert undo(world).state == "up"


@pytest.mark.parametrize("error", [ThrottledError("slower"), AccessDeniedError("no StopInstances")])
def test_a_refusal_is_told_and_tried_again(world, error):
    world.instances.failure = error
    done = undo(world)
    assert done.state == "pending"
    assert str(error) in done.reason
