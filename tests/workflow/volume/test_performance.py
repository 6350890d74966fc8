"""Changes of performance on their own, and the sweeper's boosts, on the embedded AWS."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from local.tools.run.history import visits
from rewarm.adapters.executions import execution_arn
from rewarm_cli.api import Answer
from tests.support.stack.restores import RestoreUser, request_for, texts

Json = dict[str, Any]
SentEvents = Callable[[str], list[Json]]
SIZE_GIB = 4
COMPLETED_SECONDS = 200.0
"""Lab time in which a change of so small a volume is completed: 30 s and 84 s."""
FAST_INSTANCE = "m5.4xlarge"


def volume(user: RestoreUser, **fields: Any) -> str:
    """An io2 volume of the account, given to the stack by its tag."""
    fields = {"volume_type": "io2", "iops": 1_000, "tags": {"rewarm:managed": "true"}, **fields}
    return user.region.add_volume(size_gib=SIZE_GIB, has_data=False, **fields)


def ask(user: RestoreUser, volume_id: str, **body: Any) -> Answer:
    return user.call("POST", f"/volumes/{volume_id}/performance", body)


def change(user: RestoreUser, volume_id: str, **body: Any) -> tuple[str, Json]:
    """A change that is accepted, until its execution has ended: its id, and the execution with its states."""
    answer = ask(user, volume_id, **body)
    assert answer.status == 202, answer
    change_id = str(answer.body["changeId"])
    return change_id, ended(user, change_id)


def ended(user: RestoreUser, name: str) -> Json:
    states = user.lab.client("stepfunctions")
    machine = user.lab.outputs["ChangePerformanceStateMachineArn"]
    arn = execution_arn(machine, name)
    user.wait_for_end(arn)
    found = states.describe_execution(executionArn=arn)
    events = states.get_execution_history(executionArn=arn)["events"]
    return {**found, "states": [visit.state for visit in visits(name, events)]}


def shown(user: RestoreUser, volume_id: str) -> Json:
    """GET /volumes/{volumeId}/performance."""
    answer = user.call("GET", f"/volumes/{volume_id}/performance")
    assert answer.status == 200, answer
    return answer.body


def let_it_complete(user: RestoreUser) -> None:
    user.lab.clock.sleep(COMPLETED_SECONDS)


@pytest.mark.parametrize("iops", [2_000, pytest.param(100, marks=pytest.mark.long)])
def test_raised_or_lowered_and_told(user: RestoreUser, sent_events: SentEvents, iops: int) -> None:
    volume_id = volume(user)
    change_id, execution = change(user, volume_id, iops=iops)
    assert execution["status"] == "SUCCEEDED", execution
    assert execution["states"][:3] == ["Take Input", "Change Performance", "Wait For Change"]
    assert execution["states"][-3:] == ["Is In Effect?", "Announce Change", "Performance Changed"]
    assert user.volume(volume_id)["Iops"] == iops
    told = shown(user, volume_id)
    assert told["performance"]["iops"] == iops
    assert (told["change"]["changeId"], told["change"]["status"]) == (change_id, "changed")
    assert told["change"]["knownBy"] == "modification"
    assert len(told["slots"]["startedWithin24Hours"]) == 1
    (message,) = user.messages(change_id)
    assert f"{volume_id} is io2 with {iops:,} IOPS" in texts(message)
    assert f"Change `{change_id}`" in texts(message)
    assert [one["detail-type"] for one in sent_events(change_id)] == ["Rewarm Performance Changed"]
    user.lab.clock.sleep(user.region.settings.trail_delay_seconds + 1)
    assert shown(user, volume_id)["change"]["requestedFrom"] == "cloudtrail"


def publish_load(user: RestoreUser, volume_id: str) -> None:
    """The published load, as CloudWatch has it: 1,053 writes a second, and 2,016 from the next minute on."""
    this = int(user.lab.clock.now() // 60)
    for minute in range(this - 3, this + 30):
        writes = 63_213 if minute <= this else 120_972
        values = (("VolumeReadOps", 0), ("VolumeWriteOps", writes), ("VolumeWriteBytes", writes * 16_384))
        data = [
            {
                "MetricName": name, "Value": float(value), "Timestamp": minute * 60,
                "Dimensions": [{"Name": "VolumeId", "Value": volume_id}],
            }
            for name, value in values
        ]  # fmt: skip
        user.lab.emulator.put_metrics("AWS/EBS", data)


def test_under_load_cloudwatch_shows_the_new_limit(user: RestoreUser) -> None:
    volume_id = volume(user)
    publish_load(user, volume_id)
    change_id, execution = change(user, volume_id, iops=2_000)
    assert execution["status"] == "SUCCEEDED", execution
    told = shown(user, volume_id)["change"]
    assert (told["knownBy"], told["unit"], told["rate"], told["rateBefore"]) == (
        "cloudwatch",
        "IOPS",
        2_016.2,
        1_053.5,
    )
    (message,) = user.messages(change_id)
    assert "CloudWatch shows 2,016 IOPS in the minute of" in texts(message)


def test_another_type(user: RestoreUser) -> None:
    volume_id = volume(user)
    change(user, volume_id, volumeType="gp3", throughputMibS=500)
    made = user.volume(volume_id)
    assert (made["VolumeType"], made["Iops"], made["Throughput"]) == ("gp3", 3_000, 500)


def test_the_fifth_change_of_a_day_is_refused_with_the_time(user: RestoreUser) -> None:
    volume_id = volume(user)
    for iops in (1_100, 1_200, 1_300, 1_400):
        assert change(user, volume_id, iops=iops)[1]["status"] == "SUCCEEDED"
        let_it_complete(user)
    answer = ask(user, volume_id, iops=1_500)
    assert (answer.status, answer.body["error"]) == (409, "ModificationPostponedError")
    slots = shown(user, volume_id)["slots"]
    assert slots["nextFreeAt"] in answer.body["message"]
    assert (len(slots["startedWithin24Hours"]), slots["limit"]) == (4, 4)
    assert user.volume(volume_id)["Iops"] == 1_400


def test_refused_while_the_earlier_one_is_under_way(user: RestoreUser) -> None:
    volume_id = volume(user)
    change(user, volume_id, iops=2_000)
    user.lab.client("ec2").describe_volumes_modifications(VolumeIds=[volume_id])
    state = shown(user, volume_id)["modification"]["state"]
    answer = ask(user, volume_id, iops=3_000)
    if state == "completed":
        assert answer.status == 202
        return
    assert (answer.status, state) == (409, "optimizing")
    assert "is optimizing" in answer.body["message"]


@pytest.mark.long
def test_a_change_that_ec2_gives_up_is_told(user: RestoreUser) -> None:
    volume_id = volume(user)
    user.region.faults.inject("modification-fails")
    change_id, execution = change(user, volume_id, iops=2_000)
    assert (execution["status"], execution["error"]) == ("FAILED", "ModificationFailedError")
    assert execution["states"][-2:] == ["Announce Failure", "Performance Not Changed"]
    assert user.volume(volume_id)["Iops"] == 1_000
    assert shown(user, volume_id)["change"]["status"] == "failed"
    (message,) = user.messages(change_id)
    assert "EC2 gave up the change" in texts(message)


@pytest.mark.long
def test_a_lost_answer_makes_one_change(user: RestoreUser) -> None:
    volume_id = volume(user)
    user.region.faults.inject("modification-answer-lost")
    _, execution = change(user, volume_id, iops=2_000)
    assert execution["status"] == "SUCCEEDED", execution
    assert len(user.region._tables.volumes[volume_id].modifications) == 1


def test_where_cloudtrail_is_silent_ec2_still_has_the_last_word(user: RestoreUser) -> None:
    volume_id = volume(user)
    user.region.faults.inject("trail-unavailable")
    user.region.faults.inject("modification-rate-exceeded")
    change_id, execution = change(user, volume_id, iops=2_000)
    assert (execution["status"], execution["error"]) == ("FAILED", "ModificationPostponedError")
    (message,) = user.messages(change_id)
    assert "VolumeModificationRateExceeded" in texts(message)
    assert shown(user, volume_id)["slots"]["startedWithin24Hours"] == []


@pytest.mark.parametrize(
    ("fields", "body", "status", "says"),
    [
        ({}, {"iops": 90}, 400, "iops"),
        ({}, {"iops": 5_000}, 400, "100 to 4000"),
        ({}, {}, 400, "at least one of"),
        ({"tags": {}}, {"iops": 2_000}, 422, "rewarm:managed=true"),
    ],
)
def test_refused_at_once(user: RestoreUser, fields: Json, body: Json, status: int, says: str) -> None:
    volume_id = volume(user, **fields)
    answer = ask(user, volume_id, **body)
    assert (answer.status, says in answer.body["message"]) == (status, True), answer
    assert shown(user, volume_id)["change"] is None


# ----------------------------------------------------------------------------------------------- sweeper
def sweep(user: RestoreUser, volume_id: str) -> list[str]:
    """What the schedule's function does now, with this volume."""
    name = user.lab.outputs["SweepFunctionName"]
    answer = user.lab.client("lambda").invoke(FunctionName=name, Payload=b"{}")
    payload = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, payload
    return [one["state"] for one in payload["swept"] if one["resource"] == volume_id]


@pytest.mark.long
def test_a_stopped_restore_stays_not_boosted(user: RestoreUser) -> None:
    """Its volume is in use, so it stays; the event of the stopped execution, or the schedule, lowers it."""
    with user.lab.clock.busy():
        restore_id = user.start(request_for(user, "boosted-warm-up", instance_type=FAST_INSTANCE))
        user.wait_for_state(restore_id, "Dispatch Warmer")
        (volume_id,) = user.volumes_of(restore_id)
        assert sweep(user, volume_id) == []
        boosted = user.volume(volume_id)
        assert boosted["Tags"]["rewarm:boost"] == "gp3 iops=3000 throughputMibS=125"
        assert boosted["Throughput"] > 125
        states = user.lab.client("stepfunctions")
        states.stop_execution(executionArn=user.arn(0, restore_id), cause=f"test {uuid.uuid4()}")
    for _ in range(10):
        user.lab.clock.sleep(60)
        sweep(user, volume_id)
        lowered = user.volume(volume_id)
        if "rewarm:boost" not in lowered["Tags"]:
            break
    assert (lowered["Iops"], lowered["Throughput"]) == (3_000, 125)
    assert "rewarm:boost" not in lowered["Tags"]
    assert lowered["Tags"]["rewarm:failed"] == restore_id
    assert sweep(user, volume_id) == []
    answer = user.call("GET", f"/restores/{restore_id}").body
    assert (answer["status"], answer["failure"]["error"]) == ("failed", "ExecutionAborted")
    (told,) = answer["volumes"]
    assert told["boost"]["state"] == "lowered"
