"""`make soak`: the same seed gives the same scenario, and nothing is left after any of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer as KeyStore

from local.soak import __main__ as command
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import Ending
from local.soak.lab.lab import FastLab
from local.soak.lab.permissions import Permissions
from local.soak.lab.transport import NoInterference
from local.soak.options import parse
from local.soak.runner import Outcome, scenario
from local.soak.trouble.matrix import SETTLED_SECONDS
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.paths.paths import request
from local.soak.trouble.wire_faults import Kind, refusal_of
from rewarm.adapters.channels.messages import MessageFanOut
from rewarm.adapters.table.holds import DynamoHolds
from rewarm.adapters.table.restores import DynamoRestoreTable
from rewarm.domain.volume.performance import BOOST_TAG
from rewarm.domain.volume.replacing import REPLACED_TAG
from rewarm.steps.volume.extras import Lowering

OLD_EVENT_BESIDE_A_FLEET = 9237
REDRIVEN_AFTER_ITS_END = 195
BOTH_ITEMS_LOST = 8190023
LONG_SEEDS = (*range(5, 41), OLD_EVENT_BESIDE_A_FLEET, REDRIVEN_AFTER_ITS_END)
SEEDS = [*range(1, 5), *(pytest.param(seed, marks=pytest.mark.long) for seed in LONG_SEEDS)]
"""Some seventy restores."""
FLEET_SEED = 23
ADOPTED_SEED = 3
TROUBLED_ADOPTION = 78
TROUBLES = ("running event: 4252", "lost lambda Invoke", "was raised, then lowered")
UNDONE_SEED = 14


class Deaf(NoInterference):
    """Services that refuse whatever `Announce Ready` asks of them."""

    def __init__(self, services):
        self._services = services

    def before(self, call):
        if call.place == "Announce Ready" and call.service in self._services:
            return refusal_of(Kind.ACCESS_DENIED, call.service)
        return None


SEND, TABLE = "adapters.channels.messages.MessageFanOut.send", "adapters.table.restores.DynamoRestoreTable"


def nothing(*_arguments, **_ports):
    """What it should have done stays undone."""


def silent(_self, _message):
    return []


def only_untag(volume, _target, volumes, _modifications):
    volumes.untag(volume.volume_id, BOOST_TAG)
    return Lowering("lowered")


def for_somebody_else(claim):
    """What is claimed in the table is claimed for a restore that there is not."""

    def broken(self, name, *claimed):
        *before, last = claimed
        other = f"{last}-0" if isinstance(last, str) else replace(last, restore_id=f"{last.restore_id}-0")
        answer = claim(self, name, *before, other)
        return last if isinstance(last, str) else answer

    return broken


def unless_ready(send):
    return lambda self, message: [] if message["event"] == "ready" else send(self, message)


def twice(send):
    return lambda self, message: (send(self, message), send(self, message))[1]


def failing_too(send):
    """Who is at full speed is told to have failed as well."""

    def broken(self, message):
        if message["event"] == "ready":
            send(self, {**message, "event": "failed", "title": "Restore failed: at its end"})
        return send(self, message)

    return broken


def delete_replaced(remains, ports, _account, _now):
    tags = {REPLACED_TAG: remains.restore_id}
    for volume in ports.volumes.with_tags(tags) if ports else ():
        if not any(one.state != "detached" for one in volume.attachments):
            ports.volumes.delete(volume.volume_id)


def outcome(seed: int, **changes) -> Outcome:
    return Outcome(**{"seed": seed, "restores": 2, "ready": 2, "endings": ["ready", "ready"], **changes})


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_left_wrong_or_stuck(seed):
    found = scenario(seed)
    assert (found.leaks, found.wrong, found.stuck) == ([], [], []), (found.endings, found.told)


def test_a_fleet_that_is_stopped_and_redriven_is_whole():
    found = scenario(FLEET_SEED)
    assert any("a fleet of" in one and "redriven" in one for one in found.told), found.told
    assert (found.leaks, found.wrong, found.stuck) == ([], [], []), (found.endings, found.told)
    assert found.endings.count("ready") == 2


def test_a_rewind_is_undone_and_that_is_undone_too():
    found = scenario(UNDONE_SEED, rewinds=True)
    assert [one for one in found.told if " undoes " in one], found.told
    assert found.endings == ["ready", "ready", "ready"]
    assert found.good, (found.leaks, found.wrong, found.stuck)
    assert scenario(UNDONE_SEED, rewinds=True).to_json() == found.to_json()


@pytest.mark.long
def test_all_snapshots_of_a_rewind_are_named_though_both_its_items_are_deleted():
    found = scenario(BOTH_ITEMS_LOST, rewinds=True)
    assert found.good, (found.leaks, found.wrong, found.stuck)


def test_volumes_of_others_are_adopted_and_stay():
    found = scenario(ADOPTED_SEED, adoptions=True)
    assert "ready" in found.endings
    assert found.good, (found.leaks, found.wrong, found.stuck)
    assert scenario(ADOPTED_SEED, adoptions=True).to_json() == found.to_json()


def test_adoptions_stand_what_befalls_functions_events_and_boosts():
    found = scenario(TROUBLED_ADOPTION, adoptions=True)
    assert [one for one in TROUBLES if one not in str(found.told)] == [], found.told
    assert found.good, (found.leaks, found.wrong, found.stuck)


def test_a_scenario_follows_from_its_seed():
    assert scenario(3).to_json() == scenario(3).to_json()


@pytest.mark.parametrize("end", ["cancelled", "stopped", "stalled"])
def test_what_somebody_wrote_to_a_volume_in_a_zone_stays(end):
    """It was attached, written to and detached again while nobody looked; then the restore failed."""
    with FastLab(1) as lab:
        ending = PATHS[f"zone-only-used-and-{end}"].play(lab)
        lab.pass_time(SETTLED_SECONDS)
        (used,) = [one for one in lab.data_plane.volumes.values() if one.counters.write_ops]
        (shown,) = lab.region.call("ec2", "DescribeVolumes", {"VolumeIds": [used.volume_id]})["Volumes"]
        assert shown["State"] == "available"
        assert "rewarm:failed" in [tag["Key"] for tag in shown["Tags"]]
        assert f"Left behind: volume {used.volume_id}" in str(lab.slack[-1])
        assert Auditor(lab).findings(ending) == []


def test_a_stopped_instance_gets_its_old_volume_back():
    with FastLab(1) as lab:
        instance_id = lab.region.add_instance()
        volume_id = lab.region.add_volume(size_gib=8)
        lab.region.call("ec2", "StopInstances", {"InstanceIds": [instance_id]})
        lab.pass_time(300)
        place = {"InstanceId": instance_id, "VolumeId": volume_id, "Device": "/dev/sdm"}
        lab.region.call("ec2", "AttachVolume", place)
        lab.pass_time(60)
        (volume,) = lab.region.call("ec2", "DescribeVolumes", {"VolumeIds": [volume_id]})["Volumes"]
        assert [one["State"] for one in volume["Attachments"]] == ["attached"]


CLAIMED_EVENT = for_somebody_else(DynamoRestoreTable.claim_event)
CLAIMED_ALARM = for_somebody_else(DynamoHolds.keep_alarm)


class TestAuditor:
    """What it must find: a soak that sees nothing proves nothing."""

    def test_a_volume_that_nobody_ordered(self):
        with FastLab(1) as lab:
            lab.region.add_volume(size_gib=8, tags={"rewarm:restore-id": "r", "rewarm:volume-index": "0"})
            assert "stays without a reason" in Auditor(lab).findings(Ending("failed", "X"))[0]

    def test_a_fast_snapshot_restore_that_is_still_enabled(self):
        with FastLab(1) as lab:
            snapshot_id = request(lab, "auto")["source"]["snapshotId"]
            zones = {"AvailabilityZones": ["us-east-1a"], "SourceSnapshotIds": [snapshot_id]}
            lab.region.call("ec2", "EnableFastSnapshotRestores", zones)
            assert f"fast snapshot restore of {snapshot_id}" in Auditor(lab).findings(Ending("ready"))[0]

    def test_a_volume_that_is_called_ready_and_is_cold(self):
        with FastLab(1) as lab:
            snapshot_id = request(lab, "auto")["source"]["snapshotId"]
            tags = {"rewarm:restore-id": "r", "rewarm:volume-index": "0"}
            volume_id = lab.region.add_volume(
                size_gib=8, snapshot_id=snapshot_id, initialized=False, tags=tags
            )
            assert "of it is cold" in Auditor(lab).findings(Ending("ready", ready=[volume_id]))[0]

    @pytest.mark.parametrize(
        ("target", "broken", "path", "words"),
        [
            ("steps.clean_up.clean_up._put_back", nothing, "replace-stopped", "is not back in its place"),
            ("steps.clean_up.clean_up._put_back", delete_replaced, "replace-stopped", "not a restore's own"),
            (
                "steps.clean_up.clean_up._reason_to_keep",
                nothing,
                "cancelled-while-warming",
                "had been announced",
            ),
            ("steps.volume.extras._lower", only_untag, "boost-stopped", "still has its boost: it is"),
            ("adapters.table.holds.DynamoHolds.leave", nothing, "device-taken-meanwhile", "noted as running"),
            ("adapters.instances.SsmCommands.cancel", nothing, "cancelled-while-warming", "command"),
            (
                "steps.select.release_target._release",
                lambda *_arguments: (),
                "device-taken-meanwhile",
                "held by nobody",
            ),
            (
                f"{TABLE}.forget_fast_snapshot_restore",
                nothing,
                "fast-snapshot-restore",
                "we enabled it",
            ),
            (
                f"{TABLE}.forget_fast_snapshot_restore",
                nothing,
                "cancelled-before-attaching",
                "we enabled it",
            ),
            (f"{TABLE}.claim_event", CLAIMED_EVENT, "alarm-with-runbook", "for a restore that never was"),
            (
                "adapters.table.holds.DynamoHolds.keep_alarm",
                CLAIMED_ALARM,
                "alarm-with-runbook",
                "row alarm#",
            ),
            (SEND, silent, "device-taken-meanwhile", "nobody was told"),
            (SEND, unless_ready(MessageFanOut.send), "provisioned-rate", "full speed was told by no channel"),
            (
                "adapters.channels.slack.SlackWebhook.send",
                nothing,
                "provisioned-rate",
                "was not told by slack",
            ),
            (SEND, twice(MessageFanOut.send), "provisioned-rate", "full speed was told more than once"),
            (
                SEND,
                twice(MessageFanOut.send),
                "device-taken-meanwhile",
                "told more than once by",
            ),
            (SEND, failing_too(MessageFanOut.send), "provisioned-rate", "its failure was told by"),
        ],
    )
    def test_what_a_broken_clean_up_harms(self, target, broken, path, words, monkeypatch):
        monkeypatch.setattr(f"rewarm.{target}", broken)
        # Its role would refuse some of it; here the auditor has to see it.
        monkeypatch.setattr(Permissions, "refusal", nothing)
        with FastLab(1) as lab:
            ending = PATHS[path].play(lab)
            lab.pass_time(SETTLED_SECONDS)
            assert words in str(Auditor(lab).findings(ending))

    def test_channels_that_refuse_are_not_missed(self):
        with FastLab(1, interference=Deaf(("events", "sns"))) as lab:
            ending = PATHS["provisioned-rate"].play(lab)
            lab.pass_time(SETTLED_SECONDS)
            assert Auditor(lab).findings(ending) == []

    def test_a_volume_that_every_channel_refused_to_tell_of_is_missed(self):
        with FastLab(1, interference=Deaf(("events", "secretsmanager", "sns"))) as lab:
            ending = PATHS["provisioned-rate"].play(lab)
            lab.pass_time(SETTLED_SECONDS)
            assert "at full speed was told by no channel" in str(Auditor(lab).findings(ending))

    def test_nobody_is_told_because_of_something_else(self, monkeypatch):
        monkeypatch.setattr(
            "rewarm.adapters.channels.messages.MessageFanOut.send", unless_ready(MessageFanOut.send)
        )
        with FastLab(1, interference=Deaf(("dynamodb",))) as lab:
            ending = PATHS["provisioned-rate"].play(lab)
            lab.pass_time(SETTLED_SECONDS)
            assert "at full speed was told by no channel" in str(Auditor(lab).findings(ending))

    def test_a_key_that_stays_in_progress(self, monkeypatch):
        def for_a_day(self, data, remaining_time_in_millis=None):
            assert remaining_time_in_millis
            begun(self, data, 86_400_000)

        begun = KeyStore.save_inprogress
        monkeypatch.setattr(KeyStore, "save_inprogress", for_a_day)
        monkeypatch.setattr(KeyStore, "_update_record", nothing)
        assert "stays in progress" in self.restored_with_a_key()

    def test_a_key_of_a_restore_that_never_was(self, monkeypatch):
        monkeypatch.setattr("rewarm.adapters.executions.StepFunctionsExecutions.start", nothing)
        assert "which never was" in self.restored_with_a_key()

    def restored_with_a_key(self) -> str:
        with FastLab(1) as lab:
            status, body = lab.api(
                "POST", "/restores", request(lab, "provisioned-rate"), Idempotency_Key="orders"
            )
            assert status == 202, body
            lab.pass_time(4_000)
            return str(Auditor(lab).findings(Ending("ready")))

    def test_a_volume_deleted_with_what_somebody_wrote_to_it(self, monkeypatch):
        """Whatever the record says of it: here it was not even noted as announced."""
        monkeypatch.setattr("rewarm.steps.announce.usable.note_usable", nothing)
        monkeypatch.setattr("rewarm.steps.clean_up.clean_up._reason_to_keep", nothing)
        with FastLab(1) as lab:
            ending = PATHS["zone-only-used-and-cancelled"].play(lab)
            lab.pass_time(SETTLED_SECONDS)
            assert "with what somebody had written to it" in str(Auditor(lab).findings(ending))

    def test_an_execution_that_never_ends(self):
        with FastLab(1) as lab:
            lab.begin("lost", {"source": {"snapshotId": "snap-0123456789abcdef0"}})
            assert "is still in" in Auditor(lab).findings(Ending("stuck"))[0]


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ["--restores", "0"],
                "--restores: found 0; a whole number of restores from 1 to 1000000",
            ),
            (["--seed", "-1"], "--seed: found '-1'; a whole number, 0 or more is allowed"),
            (["--only", "abc"], "--only: found 'abc'; a whole number, 0 or more is allowed"),
        ],
    )
    def test_options_that_make_no_sense_are_refused(self, arguments, message, capsys):
        with pytest.raises(SystemExit, match="2"):
            parse(arguments)
        assert message in capsys.readouterr().err

    def test_it_goes_on_until_so_many_restores_are_made(self, monkeypatch, capsys):
        monkeypatch.setattr(command, "scenario", outcome)
        assert command.main(["--restores", "5", "--seed", "7", "--json"]) == 0
        told = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (told["restores"], told["firstSeed"], told["lastSeed"]) == (6, 7, 9)
        assert (told["leaks"], told["wrongVerdicts"], told["stuckExecutions"]) == (0, 0, 0)

    def test_a_failure_names_its_seed_and_how_to_see_it_again(self, monkeypatch, capsys):
        monkeypatch.setattr(command, "scenario", lambda seed: outcome(seed, leaks=["volume vol-1 stays"]))
        assert command.main(["--restores", "2", "--seed", "11"]) == 1
        out = capsys.readouterr().out
        assert 'again: make soak ARGS="--only 11"' in out
        assert "2 restores, 1 leaks, 0 wrong verdicts, 0 stuck executions" in out

    def test_an_interrupt_leaves_no_lab_open(self, monkeypatch, capsys):
        def interrupted(seed):
            with FastLab(seed):
                raise KeyboardInterrupt

        monkeypatch.setattr(command, "scenario", interrupted)
        assert command.main(["--only", "1"]) == 130
        assert "interrupted" in capsys.readouterr().out
        with FastLab(1):
            pass
