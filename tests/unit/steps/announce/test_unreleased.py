"""A volume that is ready, and whose fast snapshot restore or boost could not be given back."""

from __future__ import annotations

import json

import pytest

from rewarm.contracts import AnnounceEvent, PrepareSnapshotEvent
from rewarm.domain.errors import AccessDeniedError
from rewarm.domain.model import FastSnapshotRestore, Strategy
from rewarm.page import render
from rewarm.steps.announce.announce import announce
from rewarm.steps.volume.prepare_snapshot import PrepareSnapshotPorts, prepare_snapshot
from tests.support import accounts
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    boosted_plan,
    plan,
    request,
)
from tests.support.sweeping import SweepWorld
from tests.support.wired import wired
from tests.unit.steps.announce.test_announce import ready_details

PLACE = (SNAPSHOT_ID, ZONE)
DENIED = {
    "state": "Release",
    "error": "AccessDeniedError",
    "cause": json.dumps(
        {"errorType": "AccessDeniedError", "errorMessage": "DisableFastSnapshotRestores: not authorized."}
    ),
}
RELEASED = {
    "released": [],
    "finished": True,
    "waitSeconds": 1,
    "firstTriedAt": NOW.isoformat(),
    "failure": DENIED,
}
SWITCH_OFF = (
    f"aws ec2 disable-fast-snapshot-restores --availability-zones {ZONE} --source-snapshot-ids {SNAPSHOT_ID}"
)


@pytest.fixture
def world():
    """Its volume is at full speed; the record says no more than that it was made."""
    made = SweepWorld()
    made.begun()
    made.made()
    return made


def say_ready(world, the_plan, released=RELEASED):
    event = AnnounceEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        event="ready",
        request=request(),
        details=ready_details(plan=the_plan.to_json(), released=released),
    )
    announce(event, table=world.table, messages=world.messages)
    return world.messages.sent[-1]


def reported(strategy):
    one = accounts.planned(strategy=strategy)
    released = {**accounts.ready()["released"], "failure": DENIED}
    result, document = accounts.reported(World(), [one], [accounts.ready(one=one, released=released)])
    return result, render(document)


class TestMessage:
    def test_warns_that_fast_snapshot_restore_is_on_and_names_the_command(self, world):
        message = say_ready(world, plan(Strategy.FAST_SNAPSHOT_RESTORE))
        assert f"Fast snapshot restore of {SNAPSHOT_ID} in {ZONE} may still be on" in message["text"]
        assert "DisableFastSnapshotRestores: not authorized." in message["text"]
        assert (message["event"], message["severity"]) == ("ready", "warning")
        (step,) = message["nextSteps"]
        assert SWITCH_OFF in step

    def test_warns_of_a_boost_that_was_not_even_tried_to_be_lowered(self, world):
        message = say_ready(world, boosted_plan())
        assert "It is still boosted to gp3 with 4,000 IOPS and 1,000 MiB/s" in message["text"]
        assert "with ModifyVolume." in message["nextSteps"][0]

    def test_says_nothing_of_it_where_the_plan_left_nothing_on(self, world):
        message = say_ready(world, plan(Strategy.PROVISIONED_RATE))
        assert "may still be on" not in message["text"]
        assert message["severity"] == "good"


class TestReport:
    def test_names_what_goes_on_and_knows_no_bill_for_it(self):
        result, page = reported(Strategy.FAST_SNAPSHOT_RESTORE)
        (volume,) = result.volumes
        assert (result.verdict, result.billed_usd) == ("ready", None)
        assert volume.release_failure.error == "AccessDeniedError"
        assert volume.release_failure.cause == "DisableFastSnapshotRestores: not authorized."
        assert (
            f"what fast-snapshot-restore needed for {VOLUME_ID} may still be on: "
            "DisableFastSnapshotRestores: not authorized." in page
        )

    def test_leaves_it_out_where_the_plan_left_nothing_on(self):
        result, page = reported(Strategy.PROVISIONED_RATE)
        assert result.volumes[0].release_failure is None
        assert "may still be on" not in page


class TestSweep:
    def enable(self, world):
        event = PrepareSnapshotEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            volume=assignment(),
            plan=plan(Strategy.FAST_SNAPSHOT_RESTORE),
        )
        prepare_snapshot(
            event,
            wired(PrepareSnapshotPorts, world, clock=lambda: NOW),
        )
        say_ready(world, plan(Strategy.FAST_SNAPSHOT_RESTORE))
        world.table.update(RESTORE_ID, {"status": "ready"})
        world.holds.leave(RESTORE_ID)
        world.ended("SUCCEEDED")

    def test_switches_off_what_was_left_and_keeps_the_volume(self, world):
        self.enable(world)
        world.fast_restores.failure = AccessDeniedError("DisableFastSnapshotRestores")
        assert "left" in {one.state for one in world.sweep()}
        world.fast_restores.failure = None
        world.sweep()
        assert world.fast_restores.disabled == [PLACE]
        assert world.table.claims == {}
        assert VOLUME_ID in world.volumes.volumes
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags
        assert world.sweep() == []
        assert world.table.records[RESTORE_ID]["status"] == "ready"

    def test_forgets_that_it_was_ours_where_it_is_off_already(self, world):
        """Else whoever enables it next would be taken for us."""
        self.enable(world)
        world.fast_restores.states.clear()
        world.sweep()
        assert world.table.claims == {}
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled")
        world.sweep()
        assert PLACE in world.fast_restores.states

    def test_keeps_a_ready_volume_of_a_restore_of_which_another_volume_failed(self, world):
        """It was announced as ready, and nothing but that says so."""
        self.enable(world)
        world.table.update(RESTORE_ID, {"status": "failed", "toldAt": NOW.isoformat()})
        world.sweep()
        assert VOLUME_ID in world.volumes.volumes
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags
