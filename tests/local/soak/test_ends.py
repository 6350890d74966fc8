"""What happens in the moments in which a restore or a fleet ends: people hear of one end, and it is true.

Somebody stops the restore, cancels the fleet, or deletes the volume.
"""

from __future__ import annotations

from random import Random

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import RESTORE, VOLUME
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.fleet_paths import fleeted, items
from local.soak.trouble.paths.interrupted_paths import whole_instance
from local.soak.trouble.paths.paths import request, restored
from local.soak.trouble.wire_faults import CallFault, Kind
from tests.support.amount import LONG

STOPPED = range(200) if LONG else (2, 22, 42, 55)
CANCELLED = range(200 if LONG else 3)
OF_RESTORES = {"Filters": [{"Name": "tag-key", "Values": ["rewarm:restore-id"]}]}
ENABLE = ("Prepare Snapshot", "ec2", "EnableFastSnapshotRestores")
LAST_STATES = ("Report", "Report", "Confirm Readiness", "Release Target")


@pytest.mark.parametrize("seed", STOPPED)
def test_a_restore_that_is_stopped_at_its_end_is_ready_or_has_failed_and_not_both(seed: int) -> None:
    chance = Random(seed)
    with FastLab(seed) as lab:

        def stop(restore_id: str) -> None:
            state = chance.choice(LAST_STATES)
            lab.run(lambda: _is_at(lab, restore_id, state), most_seconds=3_600)
            lab.pass_time(chance.choice((0, 0.01, 0.1, 0.3)))
            found = lab.execution(RESTORE, restore_id)
            if found is not None and found.status == "RUNNING":
                lab.states.stop(found.arn)

        ending = restored(
            lab, request(lab, chance.choice(("warm-up-agent", "provisioned-rate"))), during=stop
        )
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []


@pytest.mark.parametrize("state", ["Keep Result", "Report"])
def test_a_restore_that_is_stopped_with_all_volumes_at_full_speed_and_redriven_has_not_failed(
    state: str,
) -> None:
    with FastLab(1) as lab:

        def redrive(restore_id: str) -> None:
            lab.run(lambda: _is_at(lab, restore_id, state), most_seconds=3_600)
            found = lab.execution(RESTORE, restore_id)
            assert found is not None
            lab.states.stop(found.arn)
            lab.pass_time(SWEPT_SECONDS)
            lab.states.redrive(found.arn)

        ending = restored(lab, request(lab, "warm-up-agent"), during=redrive)
        lab.pass_time(SWEPT_SECONDS)
        assert ending.status == "ready"
        assert not [posted for posted in lab.slack if "Restore failed" in posted["text"]]
        assert Auditor(lab).findings(ending) == []


def _is_at(lab: FastLab, restore_id: str, state: str) -> bool:
    found = lab.execution(RESTORE, restore_id)
    return found is not None and (found.state == state or found.status != "RUNNING")


def test_a_restore_that_is_stopped_while_ec2_enables_nothing_leaves_no_claim() -> None:
    """Else the stack would take a fast snapshot restore that somebody enables later for its own."""
    with FastLab(1, interference=CallFault(ENABLE, Kind.THROTTLED_FOR_EVER)) as lab:

        def stop(restore_id: str) -> None:
            lab.pass_time(60)
            for found in (lab.execution(VOLUME, f"{restore_id}-0"), lab.execution(RESTORE, restore_id)):
                assert found is not None
                lab.states.stop(found.arn)

        asked = request(lab, "fast-snapshot-restore")
        ending = restored(lab, asked, during=stop)
        lab.pass_time(SWEPT_SECONDS)
        assert ending.status == "aborted"
        assert lab.calls[ENABLE]
        assert Auditor(lab).findings(ending) == []


@pytest.mark.parametrize("state", ["Wait For Initialization", "Release"])
def test_a_volume_that_is_deleted_before_its_message_is_never_called_ready(state: str) -> None:
    with FastLab(1) as lab:

        def delete(restore_id: str) -> None:
            name = f"{restore_id}-0"
            lab.run(lambda: getattr(lab.execution(VOLUME, name), "state", "") == state, most_seconds=3_600)
            (made,) = lab.region.call("ec2", "DescribeVolumes", OF_RESTORES)["Volumes"]
            lab.region.call("ec2", "DeleteVolume", {"VolumeId": made["VolumeId"]})

        target = {"availabilityZone": "us-east-1a"}
        ending = restored(lab, request(lab, "provisioned-rate", target=target), during=delete)
        lab.pass_time(SWEPT_SECONDS)
        assert ending.status == "failed"
        assert not [posted for posted in lab.slack if "is at full speed" in posted["text"]]
        assert Auditor(lab).findings(ending) == []


def test_a_root_volume_may_go_with_its_instance_once_it_was_called_ready() -> None:
    """EC2 deletes it, as its attachment says. No function may, and its message has to come before."""
    with FastLab(1) as lab:
        asked = whole_instance(lab, "warm-up-agent")
        ending = restored(lab, asked)
        lab.region.call("ec2", "TerminateInstances", {"InstanceIds": [asked["target"]["instanceId"]]})
        lab.pass_time(SWEPT_SECONDS)
        (root,) = set(ending.ready) & lab.region._tables.gone_volumes.keys()
        assert Auditor(lab).findings(ending) == []
        gone = f"volume {root} is reported as ready and does not exist"
        lab.removals.volume_ids.add(root)
        assert gone in Auditor(lab).findings(ending)
        lab.removals.volume_ids.clear()
        lab.region._tables.gone_volumes[root].delete_time = 0
        assert gone in Auditor(lab).findings(ending)


@pytest.mark.parametrize("seed", CANCELLED)
def test_a_fleet_that_is_cancelled_at_any_moment_leaves_nobody_untold(seed: int) -> None:
    """Some wait for an approval, which comes at the same moment."""
    chance = Random(seed)
    waits = chance.random() < 0.4
    seconds = chance.uniform(0, chance.choice((10, 60, 200)))
    with FastLab(seed) as lab:

        def cancel(fleet_id: str) -> None:
            _call_after(lab, seconds, "DELETE", f"/fleets/{fleet_id}")
            if waits:
                near = max(0, seconds + chance.choice((-0.5, -0.1, 0, 0.1, 0.5)))
                _call_after(lab, near, "POST", f"/restores/{fleet_id}/approve")

        parts = {"objective": {"approveAboveUsd": 0}} if waits else {}
        ending = fleeted(lab, items(lab) + items(lab), cancel, **parts)
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []


def _call_after(lab: FastLab, seconds: float, method: str, path: str) -> None:
    def call() -> None:
        lab.begin_api(method, path)

    lab.scheduler.after(seconds, call)
