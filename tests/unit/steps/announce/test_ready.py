"""State Announce Ready, also where `Release` could not give back what costs money."""

from __future__ import annotations

import json

import pytest

from rewarm.contracts.events import AnnounceEvent, PrepareSnapshotEvent
from rewarm.contracts.results import VerifyVolumeResult
from rewarm.domain.errors import AccessDeniedError
from rewarm.domain.model import FastSnapshotRestore, Strategy
from rewarm.page import render
from rewarm.steps.announce.announce import announce
from rewarm.steps.volume.prepare_snapshot import PrepareSnapshotPorts, prepare_snapshot
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
from tests.support.values import accounts
from tests.support.wired import wired
from tests.support.worlds.announcing import ready_details, say
from tests.support.worlds.sweeping import SweepWorld


class TestReady:
    def test_the_title_of_a_rewind_says_to_what_the_volume_is_back(self, world):
        message = say_ready(world, plan(Strategy.REWIND))
        assert message["title"] == f"{VOLUME_ID} is back at {SNAPSHOT_ID} of 2026-11-20 03:00 UTC"

    def test_the_title_of_what_undoes_a_rewind_names_no_snapshot(self):
        world, details = World(), ready_details()
        details["volume"] |= {"undoIndex": 0}
        details["plan"] = plan(Strategy.REWIND).to_json()
        say(world, "ready", details)
        assert world.messages.sent[0]["title"] == f"{VOLUME_ID} is back to what it had before its rewind"

    def test_gives_the_proof(self):
        world = World()
        say(world, "ready", ready_details())
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is at full speed"
        assert "is at full speed, 9 min 00 s after the request arrived." in message["text"]
        assert (
            "take 0.6 ms (p99 1.9 ms); right after the restore they took 0.6 ms (p99 95.0 ms)."
            in message["text"]
        )
        assert (
            "Known because: the agent has read every written block; 256 random reads were within the limit."
            in message["text"]
        )
        assert message["severity"] == "good"

    def test_says_no_more_than_was_read(self):
        world = World()
        details = ready_details()
        details["initialization"]["signals"]["agent"] = {"scope": "used"}
        say(world, "ready", details)
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is at full speed where its file systems have data"
        assert (
            "is at full speed where its file systems have data, 9 min 00 s after the request arrived."
            in message["text"]
        )

    @pytest.mark.parametrize(("reads", "adopts"), [(40, VOLUME_ID), (0, VOLUME_ID), (40, None)])
    def test_says_what_an_applications_reads_took_of_a_volume_in_use(self, reads, adopts):
        world, details = World(), ready_details()
        details["volume"] |= {"adopts": adopts}
        probes = {"probeReads": reads, "probeLatencyMs": {"p50": 0.7, "p99": 18.4}}
        details["initialization"]["signals"]["agent"] = probes
        say(world, "ready", details)
        told = "During the warm-up a small read, such as an application's, took 0.7 ms (p99 18.4 ms)."
        is_told = reads > 0 and adopts is not None
        assert (told in world.messages.sent[0]["text"]) == is_told

    @pytest.mark.parametrize(
        ("recording", "told"),
        [
            ({"blocks": 5_120, "coldBlocks": 312}, "5,120 blocks that the application read, at most 312 "),
            ({"blocks": 5_120, "coldBlocks": 1}, "read, at most 1 was cold."),
            ({"blocks": 9, "coldBlocks": 0}, "Of the first 9 blocks that the application read, none was"),
            ({"blocks": 9}, None),
            ({}, None),
        ],
    )  # fmt: skip
    def test_says_how_many_first_reads_were_cold_where_they_were_recorded(self, recording, told):
        world = World()
        world.table.update_volume(RESTORE_ID, 0, {"recording": recording})
        say(world, "ready", ready_details())
        text = world.messages.sent[0]["text"]
        assert told in text if told else "application read" not in text

    @pytest.mark.parametrize(
        ("recording", "told"),
        [
            ({"state": "failed", "problem": "no tracefs"}, "The recording of its reads failed: no tracefs."),
            ({"state": "running", "problem": ""}, "The recording of its reads still runs."),
            ({"state": "recorded", "problem": ""}, None),
        ],
    )
    def test_says_what_became_of_a_recording_that_is_not_done(self, recording, told):
        world = World()
        world.table.update_volume(RESTORE_ID, 0, {"recording": recording})
        say(world, "ready", ready_details())
        lines = world.messages.sent[0]["text"].splitlines()
        assert told in lines if told else not any("recording" in line for line in lines)

    def test_names_what_an_earlier_plan_left_behind(self):
        world = World()
        account = {"removed": [], "kept": ["volume vol-1 (its tag rewarm:stack is gone)"], "goesOn": True}
        world.table.update_volume(RESTORE_ID, 0, {"cleanUp": account})
        say(world, "ready", ready_details())
        message = world.messages.sent[0]
        assert "Left behind: volume vol-1 (its tag rewarm:stack is gone)." in message["text"]
        assert message["severity"] == "warning"

    def test_says_that_the_deadline_was_missed(self):
        world = World()
        say(world, "ready", ready_details(deadlineAt="2026-11-21T03:05:00Z"))
        assert world.messages.sent[0]["severity"] == "warning"
        assert {"name": "Deadline", "value": "2026-11-21 03:05 UTC (missed)"} in world.messages.sent[0][
            "fields"
        ]

    def test_says_why_nothing_was_measured(self):
        world = World()
        unmeasured = VerifyVolumeResult(
            finished=True, wait_seconds=1, verdict="unmeasured", reason="the request says verify.samples 0"
        )
        say(world, "ready", ready_details(before=None, after=unmeasured.to_json()))
        assert "was not measured: the request says verify.samples 0." in world.messages.sent[0]["text"]

    def test_a_volume_without_an_instance_is_not_measured(self):
        world = World()
        say(world, "ready", ready_details(before=None, after=None))
        assert "there is no instance to measure it on" in world.messages.sent[0]["text"]


class TestExpectation:
    def test_says_what_the_volume_promises(self):
        world = World()
        details = ready_details()
        details["after"]["expected"] = {"p50Ms": 1.0, "p99Ms": 20.0, "iops": 1000.0, "limitedBy": "gp3"}
        say(world, "ready", details)
        assert (
            "20 ms, set by the volume's type and IOPS; the volume promises at most 1.0 ms (p99 20.0 ms)."
            in world.messages.sent[0]["text"]
        )

    def test_names_the_limit_of_the_request(self):
        world = World()
        say(world, "ready", ready_details(), request(verify={"maxP99Ms": 50}))
        assert "The limit of p99 is 50 ms, set by the request." in world.messages.sent[0]["text"]

    def test_says_that_it_was_warmed_up_again(self):
        world = World()
        say(world, "ready", ready_details(warmUps=1))
        assert "The warm-up agent read it once more" in world.messages.sent[0]["text"]


class TestBoost:
    def details(self, state, reason=""):
        boost = {"state": state, "boosted": "gp3 with 4,000 IOPS", "target": "gp3", "reason": reason}
        boost |= {"usdPerHour": "0.05", "command": "aws ec2 modify-volume"} if state == "not-lowered" else {}
        released = {"released": [], "finished": True, "waitSeconds": 1, "firstTriedAt": NOW.isoformat()}
        the_plan = boosted_plan().to_json()
        return ready_details(
            plan=the_plan, released={**released, "boost": boost}, readyAt="2026-11-21T03:04:00Z"
        )

    def test_says_that_it_is_lowered_and_counts_the_time_without_it(self):
        world = World()
        say(world, "ready", self.details("lowered"))
        message = world.messages.sent[0]
        assert (
            "It was boosted to gp3 with 4,000 IOPS for the warm-up and is lowered to gp3." in message["text"]
        )
        assert "is at full speed, 4 min 00 s after the request arrived." in message["text"]
        assert (message["severity"], message["nextSteps"]) == ("good", [])
        fields = {field["name"]: field["value"] for field in message["fields"]}
        assert fields["How"] == "boosted-warm-up as gp3 with 4,000 IOPS and 1,000 MiB/s"

    def test_warns_where_it_goes_on_costing_money(self):
        world = World()
        say(world, "ready", self.details("not-lowered", "ec2:ModifyVolume"))
        message = world.messages.sent[0]
        assert (
            "It is still boosted to gp3 with 4,000 IOPS and still costs $0.05 an hour: ec2:ModifyVolume."
            in message["text"]
        )
        assert message["severity"] == "warning"
        lower = f"If it stays boosted, lower {VOLUME_ID} to gp3: aws ec2 modify-volume"
        assert message["nextSteps"] == [lower]

    @pytest.mark.parametrize(
        ("state", "sentence"),
        [
            ("not-raised", "It was not boosted to gp3 with 4,000 IOPS: EC2 refused it."),
            (
                "left-alone",
                "It was boosted to gp3 with 4,000 IOPS, and is not lowered to gp3: EC2 refused it.",
            ),
        ],
    )
    def test_says_what_did_not_come_of_it_and_costs_nothing(self, state, sentence):
        world = World()
        say(world, "ready", self.details(state, "EC2 refused it"))
        message = world.messages.sent[0]
        assert sentence in message["text"]
        assert (message["severity"], message["nextSteps"]) == ("good", [])


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


class TestUnreleased:
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
        assert f"aws ec2 modify-volume --volume-id {VOLUME_ID} --iops 3000" in message["nextSteps"][0]

    def test_says_nothing_of_it_where_the_plan_left_nothing_on(self, world):
        message = say_ready(world, plan(Strategy.PROVISIONED_RATE))
        assert "may still be on" not in message["text"]
        assert message["severity"] == "good"


class TestReportOfUnreleased:
    def test_names_what_goes_on_and_knows_no_bill_for_it(self):
        result, page = reported(Strategy.FAST_SNAPSHOT_RESTORE)
        (volume,) = result.volumes
        assert (result.verdict, result.billed_usd) == ("ready", None)
        assert volume.release_failure.error == "AccessDeniedError"
        assert volume.release_failure.cause == "DisableFastSnapshotRestores: not authorized."
        assert "which may still be on (DisableFastSnapshotRestores: not authorized)" in page

    def test_leaves_it_out_where_the_plan_left_nothing_on(self):
        result, page = reported(Strategy.PROVISIONED_RATE)
        assert result.volumes[0].release_failure is None
        assert "may still be on" not in page


class TestSweepOfUnreleased:
    def enable(self, world):
        event = PrepareSnapshotEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            volume=assignment(),
            plan=plan(Strategy.FAST_SNAPSHOT_RESTORE),
        )
        prepare_snapshot(
            event,
            wired(PrepareSnapshotPorts, world, stack_name="rewarm"),
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
