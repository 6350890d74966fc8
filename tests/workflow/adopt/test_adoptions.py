"""Volumes of others in the fast lab: whatever befalls an adoption, none is moved, changed or deleted."""

from __future__ import annotations

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import RESTORE
from local.soak.lab.lab import FastLab
from local.soak.lab.transport import Call
from local.soak.trouble import matrix
from local.soak.trouble.paths.adopt_paths import PATHS, READS, adoption, detach, in_use
from local.soak.trouble.paths.paths import in_state, restored
from local.soak.trouble.wire_faults import Kind
from rewarm.domain.volume.adopting import WARM_SINCE_TAG

SWEPT_SECONDS = 4_000.0
SOON_SECONDS = 200.0
ENDINGS = {
    "adopted": "ready",
    "adopted-by-rule": "ready",
    "adopted-once-attached": "ready",
    "adopted-by-background": "ready",
    "adopted-though-warm": "ready",
    "adopted-though-empty": "ready",
    "adopted-without-its-snapshot": "ready",
    "adopted-and-cancelled": "failed RestoreCancelledError",
    "adopted-and-detached": "failed VolumeFailedError",
    "adopted-and-deleted": "failed VolumeFailedError",
    "adopted-on-a-stopped-instance": "ready",
}
CHANGES = (
    ("AttachVolume", {"InstanceId": "i-1", "Device": "/dev/sdg"}),
    ("DetachVolume", {}),
    ("DeleteVolume", {}),
    ("ModifyVolume", {"Iops": 4_000}),
)


def changes(lab):
    """What Rewarm has asked EC2 for, but for looking."""
    return {key for key in lab.calls if key[1] == "ec2" and not key[2].startswith("Describe")}


@pytest.mark.parametrize(("name", "kind"), ENDINGS.items())
def test_nothing_is_made_attached_detached_or_deleted(name, kind):
    with FastLab(1) as lab:
        ending = PATHS[name].play(lab)
        lab.pass_time(SWEPT_SECONDS)
        assert ending.kind == kind
        assert changes(lab) <= {("Release", "ec2", "CreateTags")}
        assert Auditor(lab).findings(ending) == []


def test_every_path_of_an_adoption_without_a_boost_is_looked_at():
    """Those with a boost have tests of their own (tests/local/soak/paths/test_adopted_boosts.py)."""
    assert set(ENDINGS) == {name for name in PATHS if name.startswith("adopted") and "boosted" not in name}


def test_a_rule_adopts_a_volume_soon_after_it_is_attached():
    """EBS has no event for an attachment, and the sweeps are a quarter of an hour apart."""
    with FastLab(1) as lab:
        began = lab.scheduler.now
        PATHS["adopted-by-rule"].play(lab)
        (adopted,) = lab.executions(RESTORE)
        assert adopted.started - began < SOON_SECONDS


def test_what_nobody_attaches_is_refused_once_its_time_is_over():
    with FastLab(1) as lab:
        volume_id = in_use(lab)
        detach(lab, volume_id)
        ending = restored(lab, adoption(volume_id, waitForAttachmentMinutes=10))
        _, record = lab.api("GET", f"/restores/{ending.restore_ids[0]}")
        assert (record["status"], record["failure"]["error"]) == ("refused", "NotAttachedError")
        (told,) = record["events"]
        assert told["title"].startswith(f"Warm-up failed: {volume_id} is attached to no instance")
        assert 600 <= lab.executions(RESTORE)[0].stopped - lab.executions(RESTORE)[0].started < 640
        assert Auditor(lab).findings(ending) == []


def test_only_one_tag_is_set_and_only_on_success():
    with FastLab(1) as lab:
        (volume_id,) = PATHS["adopted"].play(lab).ready
        assert lab.region._tables.volumes[volume_id].tags.keys() == {WARM_SINCE_TAG}


@pytest.mark.parametrize("name", ["adopted-though-warm", "adopted-though-empty"])
def test_a_warm_volume_is_not_read_and_its_message_says_how_that_is_known(name):
    with FastLab(1) as lab:
        ending = PATHS[name].play(lab)
        _, record = lab.api("GET", f"/restores/{ending.restore_ids[0]}")
        assert not [key for key in lab.calls if key[0] == "Dispatch Warmer"]
        (ready,) = [event for event in record["events"] if event["event"] == "ready"]
        assert ready["title"].endswith("is at full speed already")
        assert "a sample of its blocks" in ready["text"] or "it was made empty" in ready["text"]
        looked = record["volumes"][0]["initialization"]
        assert (looked["bytesDone"], looked["bytesTotal"], looked["progressPercent"]) == (0, 0, 100)


def test_a_volume_that_is_ready_before_its_start_is_answered_is_no_failure():
    """The answer is lost, and the execution has ended when it is asked for again."""
    key = ("Restore Volume", "stepfunctions", "StartExecution")
    result = matrix.play(matrix.CallRow(key, Kind.LOST_ANSWER, "adopted-though-empty"))
    assert (result.met, result.ending.kind, result.left) == (1, "ready", [])
    assert "is at full speed already" in result.told
    assert "Restore failed" not in result.told


def test_a_stopped_adoption_leaves_the_volume_to_its_owner():
    with FastLab(1) as lab:
        much = lab.region.add_snapshot(size_gib=40, extents=((0, 70_000),))
        volume_id = in_use(lab, SnapshotId=much)

        def stop(restore_id):
            assert in_state(lab, restore_id, *READS)
            lab.states.stop(lab.execution(RESTORE, restore_id).arn)

        ending = restored(lab, adoption(volume_id), stop)
        lab.pass_time(SWEPT_SECONDS)
        assert ending.status == "aborted"
        assert changes(lab) == set()
        assert Auditor(lab).findings(ending) == []
        assert lab.region._tables.volumes[volume_id].state == "in-use"


def test_no_role_may_move_or_delete_the_volume():
    with FastLab(1) as lab:
        volume_id = in_use(lab)
        for function in lab.stack.functions.values():
            for operation, params in CHANGES:
                call = Call("", "ec2", operation, lab.scheduler.now, function.logical_id)
                refused = lab.denied(call, {"VolumeId": volume_id, **params})
                assert refused is not None, (function.logical_id, operation)
