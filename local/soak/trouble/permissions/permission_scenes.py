"""What roles are used for beside the paths of the fault matrix: other requests, other instances, keys.

These are no paths, because their calls and faults are the same as on the paths; only resources differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlencode

from local import Json
from local.aws.region.faults import FaultRule
from local.aws.region.resources import ImageDevice
from local.aws.slack_workspace import SlackWorkspace
from local.soak.lab.endings import RESTORE, ended
from local.soak.lab.lab import FastLab
from local.soak.lab.template import SLACK
from local.soak.trouble.paths.adopt_paths import (
    PATHS,
    adoption,
    boostable,
    in_use,
    lose_boosts,
    told_by_backup,
    volume_of_a_test,
)
from local.soak.trouble.paths.interrupted_paths import DEVICE, replacing, stop, whole_instance
from local.soak.trouble.paths.paths import FAST_INSTANCE, drilled, in_state, request, restored, snapshot
from local.soak.trouble.undoings import delete_snapshot
from local.soak.trouble.wire_faults import CallFault, Kind

KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
TWO_LOOKS_SECONDS = 1_900.0
"""In which rules look at everything that is new twice."""
SCENES: dict[str, Callable[[FastLab], None]] = {}


def scene(name: str) -> Callable[[Callable[[FastLab], None]], Callable[[FastLab], None]]:
    """Add a scene by name."""

    def add(play: Callable[[FastLab], None]) -> Callable[[FastLab], None]:
        SCENES[name] = play
        return play

    return add


@scene("plans and questions")
def _plans(lab: FastLab) -> None:
    asked = request(lab, "auto")
    lab.api("POST", "/plans", asked)
    restore_id = str(lab.api("POST", "/restores", asked, Idempotency_Key="once")[1].get("restoreId"))
    lab.api("POST", "/restores", asked, Idempotency_Key="once")
    lab.pass_time(1_800)
    lab.api("GET", f"/restores/{restore_id}")
    (listed,) = lab.api("GET", "/restores")[1]["restores"]
    assert (listed["restoreId"], listed["status"]) == (restore_id, "ready"), listed
    source = {"snapshotId": "snap-0123456789abcdef0"}
    lab.api("POST", "/plans", {**asked, "source": source})


@scene("what a rewind of an encrypted volume would take")
def _rewind(lab: FastLab) -> None:
    instance_id = lab.region.add_instance()
    volume_id = lab.region.add_volume(size_gib=8, attach_to=instance_id, device="/dev/sdf")
    good = snapshot(lab, volume_id=volume_id, encrypted=True, kms_key_id=KEY)
    snapshot(lab, volume_id=volume_id, encrypted=True, kms_key_id=KEY, start_time=lab.region.now() + 1)
    asked = {"source": {"snapshotId": good}, "target": {"instanceId": instance_id}}
    (plan,) = lab.api("POST", "/plans", asked)[1]["plans"]
    assert plan["rewind"]["possible"], plan["rewind"]


@scene("what a rewind has overwritten is listed and deleted")
def _undo_log(lab: FastLab) -> None:
    instance_id = lab.region.add_instance()
    volume_id = lab.region.add_volume(size_gib=1, attach_to=instance_id, device="/dev/sdf")
    good = lab.region.add_snapshot(size_gib=1, extents=((0, 20),), volume_id=volume_id)
    lab.data_plane.volume(volume_id).blocks_written = 40
    target = {"instanceId": instance_id, "mode": "rewind", "evidence": "undo-log"}
    (restore_id,) = restored(lab, {"source": {"snapshotId": good}, "target": target}).restore_ids
    (log,) = lab.api("GET", "/undo-logs")[1]["undoLogs"]
    assert (log["restoreId"], log["volumeId"]) == (restore_id, volume_id), log
    status, answer = lab.api("DELETE", f"/undo-logs/{restore_id}")
    assert (status, answer["deletedObjects"]) == (200, log["packs"] + 1), answer


@scene("the snapshot that undoes a rewind is deleted before the message")
def _no_way_back(lab: FastLab) -> None:
    instance_id = lab.region.add_instance()
    volume_id = lab.region.add_volume(size_gib=1, attach_to=instance_id, device="/dev/sdf")
    good = lab.region.add_snapshot(size_gib=1, extents=((0, 20),), volume_id=volume_id)
    lab.data_plane.volume(volume_id).blocks_written = 40
    target = {"instanceId": instance_id, "mode": "rewind", "evidence": "snapshot"}
    restore_id = lab.start({"source": {"snapshotId": good}, "target": target})
    machine = "RestoreVolumeStateMachine"
    lab.run(lambda: any("Verify Volume After" in one.visits for one in lab.executions(machine)))
    rewind = lab.api("GET", f"/restores/{restore_id}")[1]["volumes"][0]["rewind"]
    delete_snapshot(lab, rewind["evidence"], is_needed=False)
    lab.pass_time(1_800)
    (volume,) = lab.api("GET", f"/restores/{restore_id}")[1]["volumes"]
    assert volume["wayBack"].startswith("There is no way back"), volume


@scene("recordings of reads are listed, shown and deleted")
def _hot_sets(lab: FastLab) -> None:
    asked = request(lab, "warm-up-agent", warmUp={"learn": {"minutes": 1}})
    restored(lab, asked)
    lab.pass_time(120)
    (found,) = lab.api("GET", "/hot-sets")[1]["hotSets"]
    path = f"/hot-sets/{found['lineage']}"
    shown = lab.api("GET", path)[1]
    assert (shown["blocks"], shown["recordings"][0]["complete"]) == (48, True), shown
    assert lab.api("DELETE", path) == (200, {"lineage": found["lineage"], "deletedObjects": 1})


@scene("somebody opens the page of a restore")
def _page(lab: FastLab) -> None:
    restore_id = lab.start(request(lab, "warm-up-agent"))
    statuses = []
    for _ in range(40):
        lab.pass_time(5)
        path = str(lab.api("GET", f"/restores/{restore_id}")[1]["reportUrl"]).partition("/v1")[2]
        statuses.append(lab.public("GET", path)["statusCode"] if path else 302)
    assert statuses[0] == 200, statuses
    link = str(lab.events.sent[-1]["detail"]["reportUrl"])
    answer = lab.public("GET", link.partition("/v1")[2])
    assert answer["statusCode"] == 302, answer
    assert lab.data_plane.store.get(answer["headers"]["Location"])


@scene("somebody presses Approve in Slack, for which a restore waits")
def _button(lab: FastLab) -> None:
    objective = {"strategy": "provisioned-rate", "approveAboveUsd": 0}
    restore_id = lab.start({**request(lab, "provisioned-rate"), "objective": objective})
    lab.pass_time(60)
    slack = SlackWorkspace()
    slack.signing_secret = SLACK["SlackSigningSecret"]
    asked_at = lab.api("GET", f"/restores/{restore_id}")[1]["approval"]["askedAt"]
    value = json.dumps({"restoreId": restore_id, "askedAt": asked_at})
    action = {"action_id": "rewarm-approve", "value": value}
    payload = {"type": "block_actions", "user": {"id": "U1", "name": "ann"}, "actions": [action]}
    body = urlencode({"payload": json.dumps(payload)})
    answer = lab.public("POST", "/slack/interactions", body, **slack.signed(body, at=lab.scheduler.now))
    assert answer["statusCode"] == 200, answer
    lab.pass_time(1_800)
    found = lab.api("GET", f"/restores/{restore_id}")[1]
    assert (found["status"], found["approval"]["by"]) == ("ready", "Slack user U1 (ann)"), found


@scene("a fleet with a volume that fails, its redrive, and one that is cancelled")
def _fleet(lab: FastLab) -> None:
    refused = snapshot(lab)
    when = {"SnapshotId": refused}
    lab.region.faults.add(FaultRule("CreateVolume", code="UnauthorizedOperation", when=when, times=None))
    items = [_item(lab, snapshot(lab)), _item(lab, refused)]
    asked = {"source": {"items": items}, "objective": {"strategy": "warm-up-agent"}}
    fleet_id = str(lab.api("POST", "/fleets", asked, Idempotency_Key="fleet")[1]["fleetId"])
    lab.pass_time(3_600)
    lab.region.faults.clear()
    assert lab.api("POST", f"/fleets/{fleet_id}/redrive")[0] == 202
    lab.pass_time(3_600)
    assert lab.api("GET", f"/fleets/{fleet_id}")[1]["status"] == "ready"
    slow = lab.region.add_snapshot(size_gib=500, extents=((0, 900_000),))
    asked["source"] = {"items": [_item(lab, snapshot(lab)), _item(lab, slow)]}
    fleet_id = str(lab.api("POST", "/fleets", asked)[1]["fleetId"])
    lab.pass_time(1_800)
    assert lab.api("DELETE", f"/fleets/{fleet_id}")[0] == 202
    lab.pass_time(3_600)
    assert lab.api("GET", "/fleets")[1]["fleets"][0]["status"] == "cancelled"


@scene("a fleet that waits for its approval")
def _fleet_that_waits(lab: FastLab) -> None:
    place = {"availabilityZone": "us-east-1a"}
    items = [{"source": {"snapshotId": snapshot(lab)}, "target": place}]
    objective = {"strategy": "provisioned-rate", "approveAboveUsd": 0}
    asked = {"source": {"items": items}, "objective": objective}
    assert lab.api("POST", "/fleets/plans", asked)[1]["summary"]["needsApproval"]
    fleet_id = str(lab.api("POST", "/fleets", asked)[1]["fleetId"])
    lab.pass_time(60)
    assert lab.api("POST", f"/restores/{fleet_id}/approve")[0] == 202
    lab.pass_time(1_800)
    assert lab.api("GET", f"/fleets/{fleet_id}")[1]["status"] == "ready"


@scene("fleets of an instance, of an image, of an encrypted snapshot and of one that is gone")
def _sources_of_fleets(lab: FastLab) -> None:
    source = lab.region.add_instance()
    volume_id = lab.region.add_volume(size_gib=8, attach_to=source, device="/dev/sdf")
    snapshot(lab, volume_id=volume_id)
    image_id = lab.region.add_image(name="fleet", devices=[ImageDevice("/dev/sdf", snapshot(lab), 8)])
    encrypted = snapshot(lab, encrypted=True, kms_key_id=KEY)
    zone = {"availabilityZone": "us-east-1a"}
    for place, of in (
        (
            {"instanceId": lab.region.add_instance()},
            {"instance": {"instanceId": source, "devices": ["/dev/sdf"]}},
        ),
        (zone, {"image": {"imageId": image_id}}),
        (zone, {"items": [{"source": {"snapshotId": encrypted}}]}),
        (zone, {"items": [{"source": {"snapshotId": "snap-0ffffffffffffffff"}}]}),
        (zone, {"tags": {"volumes": {"app": "shop"}}}),
    ):
        assert lab.api("POST", "/fleets", {"source": of, "target": place})[0] == 202
    lab.pass_time(60)


def _item(lab: FastLab, snapshot_id: str) -> Json:
    return {"source": {"snapshotId": snapshot_id}, "target": {"instanceId": lab.region.add_instance()}}


@scene("a restore test of AWS Backup, of an encrypted volume")
def _restore_test(lab: FastLab) -> None:
    _, detail = volume_of_a_test(lab, encrypted=True, kms_key_id=KEY)
    told_by_backup(lab, detail)
    lab.pass_time(7_200)
    job = lab.region.call("backup", "DescribeRestoreJob", {"RestoreJobId": detail["restoreJobId"]})
    assert job["ValidationStatus"] == "SUCCESSFUL", job


@scene("an encrypted snapshot")
def _encrypted(lab: FastLab) -> None:
    encrypted = snapshot(lab, encrypted=True, kms_key_id=KEY)
    restored(lab, request(lab, "warm-up-agent", source={"snapshotId": encrypted}))
    lab.api("POST", "/plans", request(lab, "auto", source={"snapshotId": encrypted}))


@scene("encrypted volumes of an instance that is started")
def _starts_encrypted(lab: FastLab) -> None:
    restored(lab, whole_instance(lab, "warm-up-agent", encrypted=True, kms_key_id=KEY))


@scene("a volume that goes with its instance is replaced")
def _goes_with_its_instance(lab: FastLab) -> None:
    asked = replacing(lab, "warm-up-agent")
    instance_id = asked["target"]["instanceId"]
    mapping = [{"DeviceName": DEVICE, "Ebs": {"DeleteOnTermination": True}}]
    change = {"InstanceId": instance_id, "BlockDeviceMappings": mapping}
    lab.region.call("ec2", "ModifyInstanceAttribute", change)
    restored(lab, asked)


@scene("the performance of a volume that we made")
def _own_performance(lab: FastLab) -> None:
    tags = {"rewarm:stack": "rewarm", "rewarm:creation": "by the call that made it"}
    volume_id = lab.region.add_volume(size_gib=8, attach_to=lab.region.add_instance(), tags=tags)
    status, answer = lab.api("POST", f"/volumes/{volume_id}/performance", {"throughputMibS": 250})
    assert status == 202, answer
    lab.pass_time(600)


@scene("a volume is ready before the answer to its start, which was lost, comes again")
def _ended_before(lab: FastLab) -> None:
    start, look = ("Restore Volume", "stepfunctions", "StartExecution"), "DescribeExecution"
    for _ in range(20):
        lab.interference = CallFault(start, Kind.LOST_ANSWER)
        restored(lab, adoption(in_use(lab, SnapshotId=None, Size=8)))
        if ("Keep Result", "stepfunctions", look) in lab.calls:
            return
    raise AssertionError("the second try of StartExecution never came after the end")


@scene("a drill of an encrypted volume")
def _encrypted_drill(lab: FastLab) -> None:
    drilled(lab, "warm-up-agent", encrypted=True, key=KEY)


@scene("a drill with a boost")
def _boosted_drill(lab: FastLab) -> None:
    tags = {"rewarm:drills": "true"}
    target = {"instanceId": lab.region.add_instance(instance_type=FAST_INSTANCE, tags=tags)}
    drilled(lab, "boosted-warm-up", target, volume={"throughputMibS": 125})


@scene("a schedule starts a restore")
def _schedule(lab: FastLab) -> None:
    assert lab.permissions.drill() is None
    execution = lab.begin(
        "schedule", {"request": request(lab, "provisioned-rate"), "trigger": {"kind": "schedule"}}
    )
    lab.finish(execution)


@scene("the record of a rule's adoption that was stopped is lost before rules look again")
def _lost_adoption(lab: FastLab) -> None:
    PATHS["adopted-by-rule"].play(lab)
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "app", "Value": "orders"}]}]
    in_use(lab, TagSpecifications=tags)
    lab.run(lambda: len(lab.executions(RESTORE)) == 2, most_seconds=TWO_LOOKS_SECONDS)
    stopped = lab.executions(RESTORE)[1].name
    stop(lab, stopped)
    lab.pass_time(60)
    lab.table("RestoresTable").delete({"pk": {"S": f"restore#{stopped}"}})
    # An event makes rules look before the sweeper makes the record again.
    in_use(lab, TagSpecifications=tags)
    lab.pass_time(60)


@scene("the note of a boost is lost, and its adoption ends, or is cancelled")
def _lost_boosts(lab: FastLab) -> None:
    for cancels in (False, True):
        asked = adoption(boostable(lab), strategy="boosted-warm-up", boost=True)
        restore_id = str(lab.api("POST", "/restores", asked)[1]["restoreId"])
        in_state(lab, restore_id, "Poll Initialization", "Wait For Initialization")
        lose_boosts(lab)
        if cancels:
            lab.api("DELETE", f"/restores/{restore_id}")
        ended(lab, restore_id)
