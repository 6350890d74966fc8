"""States Announce Attached, Announce Available and Announce Hot."""

from __future__ import annotations

import pytest

from rewarm.contracts.values import ReplacedVolume
from rewarm.domain.errors import RestoreCancelledError
from rewarm.domain.model import Strategy
from tests.support.builders import (
    DEVICE,
    INSTANCE_ID,
    RESTORE_ID,
    SOURCE_VOLUME_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    plan,
)
from tests.support.worlds.announcing import say


class TestAttached:
    def details(self, strategy=Strategy.WARM_UP_AGENT):
        the_plan = plan(strategy).to_json()
        return {"volume": assignment().to_json(), "plan": the_plan, "volumeId": VOLUME_ID, "device": DEVICE}

    def test_is_noted_before_anybody_is_told(self):
        """From then on the volume is never deleted; a restore that was cancelled tells nobody."""
        world = World()
        say(world, "attached", self.details())
        assert world.table.records[RESTORE_ID]["attached0"]["volumeId"] == VOLUME_ID
        cancelled = World()
        cancelled.table.update(RESTORE_ID, {"cancelRequested": True})
        with pytest.raises(RestoreCancelledError):
            say(cancelled, "attached", self.details())
        assert cancelled.messages.sent == []
        assert "attached0" not in cancelled.table.records[RESTORE_ID]

    def test_says_that_the_volume_can_be_used_and_is_still_slow(self):
        world = World()
        say(world, "attached", self.details())
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is attached to i-0123456789abcdef0 and can be used"
        assert "Full speed in about 8 min by warm-up-agent." in message["text"]
        assert world.table.records[RESTORE_ID]["status"] == "initializing"

    def test_says_when_the_instance_was_started_and_that_the_old_volume_stays_out(self):
        world = World()
        times = {"startedAt": "2026-11-21T03:02:00Z", "upAt": "2026-11-21T03:03:00Z"}
        world.table.update(RESTORE_ID, {"instance": {"instanceId": INSTANCE_ID, "state": "up", **times}})
        old = ReplacedVolume(volume_id="vol-00000000000000000", size_gib=8)
        volume = assignment(starts_instance=True, replaces=old)
        say(world, "attached", {**self.details(), "volume": volume.to_json()})
        message = world.messages.sent[0]
        assert (
            f"{INSTANCE_ID} was started with its new volumes at 2026-11-21 03:02 UTC and was up at "
            "2026-11-21 03:03 UTC. It is still slow"
        ) in message["text"]
        assert "If the restore fails" not in message["text"]
        assert message["nextSteps"][0].startswith("Use the instance")

    def test_says_where_windows_has_it_online(self):
        world = World()
        say(world, "attached", {**self.details(), "mountPoints": ["E:\\"]})
        message = world.messages.sent[0]
        assert "Windows has it online at E:\\. It is still slow" in message["text"]
        assert {"name": "Drive", "value": "E:\\"} in message["fields"]
        assert not [step for step in message["nextSteps"] if "ount it" in step]
        assert world.table.records[RESTORE_ID]["attached0"]["mountPoints"] == ["E:\\"]

    def test_says_what_windows_did_not_do(self):
        world = World()
        say(world, "attached", {**self.details(), "onlineProblem": "no answer came"})
        message = world.messages.sent[0]
        assert "It is not as asked for on Windows: no answer came. It is still slow" in message["text"]
        assert message["nextSteps"][0].startswith("See to the disk in Disk Management")

    def test_says_that_fast_snapshot_restore_is_fast_at_once(self):
        world = World()
        say(world, "attached", self.details(Strategy.FAST_SNAPSHOT_RESTORE))
        assert world.messages.sent[0]["text"].endswith(
            "It should be at full speed at once; that is measured now."
        )

    def test_says_how_fast_a_copy_is_and_what_it_holds(self):
        world = World()
        say(world, "attached", self.details(Strategy.VOLUME_CLONE))
        message = world.messages.sent[0]
        assert f"{VOLUME_ID}, a copy of {SOURCE_VOLUME_ID}, is /dev/sdf" in message["text"]
        assert "at a baseline of 3,000 IOPS and 125 MiB/s until everything is copied." in message["text"]
        assert {"name": "Data as of", "value": "the moment of the copy"} in message["fields"]


class TestAvailable:
    def details(self, strategy=Strategy.PROVISIONED_RATE):
        volume = assignment(instance_id=None, device=None).to_json()
        return {"volume": volume, "plan": plan(strategy).to_json(), "volumeId": VOLUME_ID}

    def test_is_noted_before_anybody_is_told(self):
        """In a zone alone: who is told may write to the volume, so it is never deleted from then on."""
        world = World()
        say(world, "available", self.details())
        noted = world.table.records[RESTORE_ID]["attached0"]
        assert (noted["volumeId"], noted["availabilityZone"]) == (VOLUME_ID, ZONE)
        assert "device" not in noted
        cancelled = World()
        cancelled.table.update(RESTORE_ID, {"cancelRequested": True})
        with pytest.raises(RestoreCancelledError):
            say(cancelled, "available", self.details())
        assert cancelled.messages.sent == []
        assert "attached0" not in cancelled.table.records[RESTORE_ID]

    def test_says_where_the_volume_can_be_used_and_that_it_stays(self):
        world = World()
        say(world, "available", self.details())
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is available in {ZONE} and can be used"
        assert "by provisioned-rate at 100 MiB/s." in message["text"]
        assert message["nextSteps"] == [
            f"Attach it to an instance in {ZONE} if you need the data now.",
            "The volume is yours now: no failing restore deletes it.",
        ]
        assert world.table.records[RESTORE_ID]["status"] == "initializing"
        assert [one["event"] for one in world.table.records[RESTORE_ID]["events0"]] == ["available"]

    def test_promises_no_measurement(self):
        world = World()
        say(world, "available", self.details(Strategy.FAST_SNAPSHOT_RESTORE))
        assert "nothing can be measured without an instance" in world.messages.sent[0]["text"]


class TestHot:
    def test_says_what_is_warm_and_when_the_rest_is(self):
        world = World()
        details = {"volume": assignment().to_json(), "plan": plan().to_json(), "volumeId": VOLUME_ID}
        warm = {"blocks": 6_348, "seconds": 24.6, "etaSeconds": 3_000}
        say(world, "hot", {**details, **warm})
        (message,) = world.messages.sent
        assert message["title"] == f"The hot set of {VOLUME_ID} is warm"
        assert message["text"].startswith(f"3.1 GiB of {VOLUME_ID} were warm after 25 s. ")
        assert message["text"].endswith("The others follow, in about 50 min.")
        assert "status" not in world.table.records[RESTORE_ID], "it changes nothing"

    def test_says_nothing_of_the_rest_where_nobody_knows(self):
        world = World()
        details = {"volume": assignment().to_json(), "plan": plan().to_json(), "volumeId": VOLUME_ID}
        say(world, "hot", {**details, "blocks": 2, "seconds": 0.4, "etaSeconds": None})
        assert world.messages.sent[0]["text"].endswith("The others follow.")
