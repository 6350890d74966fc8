"""Clocks that disagree, tags removed or copied, lost items, fast restores of others: one at a time."""

from __future__ import annotations

import random
from functools import partial

import pytest

from local.aws.region import ApiError
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import VOLUME, Ending
from local.soak.lab.lab import ClockSkew, FastLab
from local.soak.trouble import outside_hands
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.outside_hands import ACTS, OutsideHands
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.paths.interrupted_paths import stop
from local.soak.trouble.paths.paths import FAST_INSTANCE, in_state, request, restored
from local.soak.trouble.scenarios import Plan
from tests.support.amount import LONG

ZONE = "us-east-1a"
SEEDS = range(200 if LONG else 4)
WARMING = ("Poll Initialization", "Wait For Initialization")


def played(lab: FastLab, asked: dict, act: str, *, stops: bool = True) -> list[str]:
    """A restore to which somebody does something while it is warmed up, and which is stopped then."""
    hands = OutsideHands(random.Random(1))

    def meddle(restore_id: str) -> None:
        in_state(lab, restore_id, *WARMING)
        assert ACTS[act](hands, lab, Plan(1, requests=[asked]))
        if stops:
            stop(lab, restore_id)

    ending = restored(lab, asked, meddle)
    lab.pass_time(SWEPT_SECONDS)
    return [*hands.wrong, *Auditor(lab).findings(ending)]


@pytest.mark.parametrize(("functions", "states"), [(10.0, -10.0), (-10.0, 10.0), (3.0, 0.0)])
@pytest.mark.parametrize("path", ["fast-snapshot-restore", "fast-restore-stopped"])
def test_fast_snapshot_restore_is_ended_whatever_the_clocks_say(path, functions, states):
    with FastLab(1) as lab:
        lab.set_skew(ClockSkew(functions, states))
        ending = PATHS[path].play(lab)
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []


def test_a_mounted_volume_that_cannot_be_detached_has_a_reason_to_stay_once_people_know():
    with FastLab(1) as lab:

        def mount(restore_id: str) -> None:
            assert lab.run(lambda: lab.data_plane.volumes, most_seconds=60)
            in_state(lab, restore_id, "Rewind")
            lab.data_plane.mounted.update({volume_id: ["/data"] for volume_id in lab.data_plane.volumes})

        ending = restored(lab, request(lab, "direct-write"), mount)
        lab.pass_time(SWEPT_SECONDS)
        assert ending.status == "failed"
        assert Auditor(lab).findings(ending) == []
        lab.events.sent.clear()
        (finding,) = [one for one in Auditor(lab).findings(ending) if "stays without a reason" in one]
        assert finding.startswith("volume vol-")


@pytest.mark.parametrize("act", sorted(ACTS))
@pytest.mark.parametrize("stops", [True, False])
def test_nothing_is_left_untold_and_nothing_of_others_is_touched(act, stops):
    with FastLab(1) as lab:
        asked = request(lab, "boosted-warm-up", volume={"throughputMibS": 125})
        asked["target"] = {"instanceId": lab.region.add_instance(instance_type=FAST_INSTANCE)}
        assert played(lab, asked, act, stops=stops) == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *(("cancelled-before-attaching", kind) for kind in outside_hands.LOST_KINDS),
        # Its claim is given back within seconds.
        *(("fast-restore-stopped", kind) for kind in outside_hands.LOST_KINDS if kind != "fsr#"),
    ],
)
def test_fast_snapshot_restore_is_ended_though_an_item_is_lost(path, kind, monkeypatch):
    """After a minute, or as soon as there is one of its kind."""
    with FastLab(1) as lab:
        monkeypatch.setattr(outside_hands, "LOST_KINDS", (kind,))
        hands = OutsideHands(random.Random(1), acts=[(60.0, "deletes an item of the table")])
        hands.arrange(lab, Plan(1))
        ending = PATHS[path].play(lab)
        lab.pass_time(SWEPT_SECONDS)
        assert lab.outside.lost
        assert Auditor(lab).findings(ending) == []


@pytest.mark.parametrize("seconds", [30.0, 1_211.0])
def test_an_instance_that_does_not_come_up_is_stopped_again_though_its_restore_is_lost(seconds, monkeypatch):
    """While it boots; just before it is given up. The executions of its volumes have seen the start."""
    with FastLab(1) as lab:
        monkeypatch.setattr(outside_hands, "LOST_KINDS", ("restore#",))
        hands = OutsideHands(random.Random(1), acts=[(seconds, "deletes an item of the table")])
        hands.arrange(lab, Plan(1))
        ending = PATHS["whole-instance-that-never-comes-up"].play(lab)
        lab.pass_time(SWEPT_SECONDS)
        assert lab.outside.lost
        assert Auditor(lab).findings(ending) == []
        (instance_id,) = {one.input["volume"]["instanceId"] for one in lab.executions(VOLUME)}
        shown = lab.region.call("ec2", "DescribeInstances", {"InstanceIds": [instance_id]})
        assert shown["Reservations"][0]["Instances"][0]["State"]["Name"] == "stopped"
        assert f"{instance_id} was not started" not in ending.cause


@pytest.mark.parametrize("seed", SEEDS)
def test_fast_snapshot_restore_stays_enabled_only_where_others_have_enabled_it_last(seed):
    """They switch that of the same snapshot beside a restore."""
    chance = random.Random(seed)
    with FastLab(seed) as lab:
        asked = request(lab, "fast-snapshot-restore")
        snapshot_id, done = asked["source"]["snapshotId"], list[str]()

        def call(name: str) -> None:
            where = {"AvailabilityZones": [ZONE], "SourceSnapshotIds": [snapshot_id]}
            try:
                answer = lab.region.call("ec2", f"{name}FastSnapshotRestores", where)
            except ApiError:
                return
            if answer["Successful"]:
                done.append(name)

        for _ in range(chance.choice((1, 2, 3, 6))):
            name, seconds = chance.choice(("Enable", "Disable")), chance.choice((120, 2_000))
            lab.scheduler.after(chance.uniform(0, seconds), partial(call, name))
        restored(lab, asked)
        lab.pass_time(SWEPT_SECONDS)
        of_snapshot = {"Filters": [{"Name": "snapshot-id", "Values": [snapshot_id]}]}
        found = lab.region.call("ec2", "DescribeFastSnapshotRestores", of_snapshot)["FastSnapshotRestores"]
    is_on = any(one["State"] in ("enabling", "optimizing", "enabled") for one in found)
    assert not is_on or done[-1:] == ["Enable"]


class TestAuditor:
    def test_a_copy_that_was_deleted(self):
        with FastLab(1) as lab:
            PATHS["provisioned-rate"].play(lab)
            assert ACTS["copies all tags to a volume of the same snapshot"](
                OutsideHands(random.Random(1)), lab, Plan(1)
            )
            (copy,) = lab.outside.copies
            lab.pass_time(60)
            lab.region.call("ec2", "DeleteVolume", {"VolumeId": copy})
            assert "somebody else's, with copied tags" in str(Auditor(lab).findings(Ending("ready")))

    def test_a_volume_without_tags_of_which_nobody_was_told(self):
        with FastLab(1) as lab:
            name = lab.region.add_volume(size_gib=8)
            lab.outside.untagged[name] = {"rewarm:stack", "rewarm:restore-id"}
            assert "stays and nobody was told" in str(Auditor(lab).findings(Ending("ready")))
