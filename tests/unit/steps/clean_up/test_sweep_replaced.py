"""The sweeper puts volumes back whose restore is over and did not do it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rewarm.domain.volume.replacing import REPLACED_TAG, Place
from rewarm.steps.clean_up.sweep import sweep
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.replace.put_back import PutBackPorts
from tests.support.builders import DEVICE, INSTANCE_ID, RESTORE_ID, VOLUME_ID, at, instance
from tests.support.worlds.performance import STACK
from tests.support.worlds.replacing import OLD, LiveInstances, note_out
from tests.support.worlds.sweeping import SweepWorld


@pytest.fixture
def world():
    """OLD is out of its place, and the new volume was never attached."""
    world = SweepWorld()
    world.begun()
    world.made(OLD)
    bare = replace(world.volumes.volumes[OLD].settings, tags={})
    world.volumes.change(OLD, settings=bare)
    place = Place(INSTANCE_ID, DEVICE, 0, delete_on_termination=True)
    world.volumes.tag(OLD, place.tags(RESTORE_ID, STACK))
    note_out(world.table)
    return world


def swept(world, *, minute=30):
    instances = LiveInstances(volumes=world.volumes)
    instances.add(instance(devices={}))
    ports = world.ports(at(minute))
    back = PutBackPorts(world.volumes, LookPorts(instances, world.commands, world.artifacts), world.table)
    return sweep(replace(ports, put_back=back))


def is_back(world):
    old = world.volumes.volumes[OLD]
    at_place = [(one.instance_id, one.device) for one in old.attachments] == [(INSTANCE_ID, DEVICE)]
    return at_place and REPLACED_TAG not in old.settings.tags


class TestSweepReplaced:
    @pytest.mark.parametrize("status", ["ABORTED", "TIMED_OUT", "FAILED", "GONE"])
    def test_what_a_lost_restore_took_out_goes_back(self, world, status):
        world.ended(status)
        swept(world)
        assert is_back(world)
        assert world.volumes.volumes[OLD].attachments[0].delete_on_termination

    def test_the_new_volume_is_removed_first(self, world):
        world.ended("ABORTED")
        world.made(VOLUME_ID, attached=INSTANCE_ID)
        swept(world)
        assert VOLUME_ID not in world.volumes.volumes
        assert is_back(world)

    def test_what_runs_is_left_alone(self, world):
        world.ended("RUNNING")
        swept(world)
        assert not is_back(world)

    def test_what_was_replaced_for_good_is_left_alone(self, world):
        world.table.update(RESTORE_ID, {"status": "ready", "settled0": True})
        world.ended("SUCCEEDED")
        swept(world)
        assert not is_back(world)
        assert world.volumes.volumes[OLD].settings.tags[REPLACED_TAG] == RESTORE_ID

    def test_what_is_no_longer_marked_is_left_alone(self, world):
        world.ended("ABORTED")
        world.volumes.untag(OLD, REPLACED_TAG)
        swept(world)
        assert world.volumes.volumes[OLD].attachments == ()

    def test_a_clean_up_that_gave_up_is_taken_up_again(self, world):
        account = {"removed": [], "kept": [], "unfinished": True}
        world.table.put(RESTORE_ID, {"status": "failed", "cleanUp0": account})
        world.ended("FAILED")
        swept(world)
        assert is_back(world)
        assert not world.table.records[RESTORE_ID]["cleanUp0"]["unfinished"]

    def test_it_is_told_where_somebody_must_act(self, world):
        world.ended("ABORTED")
        world.table.update(RESTORE_ID, {"attached0": {"volumeId": VOLUME_ID, "device": DEVICE}})
        world.made(VOLUME_ID, attached=INSTANCE_ID)
        swept(world)
        told = json.dumps({"event": "use", "volumeId": VOLUME_ID, "mounts": ["/data"], "others": []})
        world.commands.finish(world.commands.sent[-1][0], stdout=told)
        (found,) = [one for one in swept(world, minute=31) if one.state == "left"]
        assert (
            f"{VOLUME_ID} is at {DEVICE} on {INSTANCE_ID}, mounted at /data: {OLD} goes back" in found.reason
        )
