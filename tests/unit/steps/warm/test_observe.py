"""State Dispatch Warmer To Observe."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import InstanceAwayError, RestoreCancelledError
from rewarm.steps.record.bucket import recording_key
from rewarm.steps.record.volume import VolumeNotes
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SOURCE_VOLUME_ID,
    VOLUME_ID,
    World,
    assignment,
    instance,
)
from tests.unit.steps.warm.test_dispatch_warmer import dispatch

LEARN = {"learn": {"minutes": 20}}


def observe(world, *, volume_id=VOLUME_ID, warm_because=None, **changes):
    volume = assignment(lineage=SOURCE_VOLUME_ID, warm_because=warm_because)
    return dispatch(world, volume=volume, volume_id=volume_id, phase="observe", warmUp=LEARN, **changes)


def noted(world):
    return VolumeNotes(world.table, RESTORE_ID, 0).read().recording


def test_the_agent_records_and_uploads_under_the_lineage():
    world = World()
    result = observe(world)
    ((command_id, instance_id, parameters),) = world.commands.sent
    assert (result.command_id, instance_id) == (command_id, INSTANCE_ID)
    assert (parameters["action"], parameters["arguments"]) == ("observe", "--seconds 1200")
    assert (parameters["firstUrl"], parameters["coldArguments"]) == ("none", "")
    assert parameters["mapUrl"].startswith("https://"), "what is not written cannot be cold"
    key = recording_key(SOURCE_VOLUME_ID, NOW, RESTORE_ID, 0, VOLUME_ID)
    assert f"put/{key}?" in parameters["progressUrl"]
    assert parameters["executionTimeout"] == "1800"
    assert (noted(world).command_id, noted(world).problem) == (command_id, "")
    assert noted(world).key == key


def test_a_volume_that_is_warm_has_no_map():
    world = World()
    observe(world, warm_because="its tag says so")
    assert world.commands.sent[0][2]["mapUrl"] == "none"


def test_one_command_is_sent_for_each_volume_beside_the_one_that_warms_it():
    world = World()
    warmed = dispatch(world)
    first, second = observe(world), observe(world)
    assert first == second
    assert observe(world, volume_id="vol-00000000000000002").command_id != first.command_id
    assert len(world.commands.sent) == 3
    assert dispatch(world) == warmed


def test_what_hinders_it_is_noted():
    world = World()
    world.instances.add(instance(ssm_online=False))
    with pytest.raises(InstanceAwayError):
        observe(world)
    assert (noted(world).volume_id, noted(world).command_id) == (VOLUME_ID, "")
    assert "Systems Manager" in noted(world).problem


def test_nothing_is_recorded_once_the_restore_is_cancelled():
    world = World()
    world.table.put_new(RESTORE_ID, {})
    world.table.request_cancel(RESTORE_ID)
    with pytest.raises(RestoreCancelledError):
        observe(world)
    assert world.commands.sent == []
