"""An account of the agent counts only for the volume that the command was for."""

from __future__ import annotations

import json

import pytest

from rewarm.domain.errors import AgentFailedError, AgentUnreachableError
from rewarm.domain.model import CommandStatus
from rewarm.domain.volume.proof import wrong_volume
from rewarm.steps.replace.device_look import Look, reply
from rewarm.steps.verify.verify_volume import _measured
from tests.support.builders import INSTANCE_ID, NOW, VOLUME_ID, measurement
from tests.support.worlds.replacing import ReplacingWorld

OTHER = "vol-0fedcba9876543210"
WRONG = {"another": OTHER, "none": None, "no-text": 7, "other-spelling": VOLUME_ID.upper()}


def test_the_volume_that_was_asked_for_is_right():
    assert wrong_volume({"volumeId": VOLUME_ID}, VOLUME_ID) is None


@pytest.mark.parametrize("found", WRONG.values(), ids=WRONG)
def test_anything_else_is_said(found):
    said = wrong_volume({"volumeId": found}, VOLUME_ID)
    assert said is not None
    assert said.endswith(f", and not on {VOLUME_ID}")
    assert (
        wrong_volume({}, VOLUME_ID) == f"it worked on a device that names no volume, and not on {VOLUME_ID}"
    )


@pytest.mark.parametrize("found", WRONG.values(), ids=WRONG)
def test_a_measurement_of_another_volume_counts_for_nothing(found):
    status = CommandStatus("Success", "Success", 0, json.dumps(measurement() | {"volumeId": found}), "")
    with pytest.raises(AgentFailedError, match=f"the measurement counts for nothing: .* not on {VOLUME_ID}"):
        _measured(status, VOLUME_ID)


@pytest.mark.parametrize("found", WRONG.values(), ids=WRONG)
def test_an_answer_about_another_volume_does_not_say_that_it_is_free(found):
    world = ReplacingWorld()
    told = json.dumps({"event": "use", "volumeId": found, "mounts": [], "others": []})
    command_id = world.commands.send(INSTANCE_ID, {}, platform="linux", comment="", timeout_seconds=60)
    world.commands.finish(command_id, stdout=told)
    look = Look(command_id, INSTANCE_ID, VOLUME_ID, NOW)
    with pytest.raises(AgentUnreachableError, match="the answer is about"):
        reply(look, now=NOW, commands=world.commands)
