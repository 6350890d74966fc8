"""The part RestoreTesting on the embedded AWS: AWS Backup's events, and the verdicts on its restore tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.stack import state_machines
from tests.support.stack.endings import break_blocks
from tests.support.stack.restores import RestoreUser

Json = dict[str, Any]
TAG = {"restore-testing": "yes"}
Start = Callable[[Json], str]


@pytest.fixture
def begin(user: RestoreUser) -> Start:
    """Sends AWS Backup's event; the ARN of the execution that it starts."""
    states = user.lab.client("stepfunctions")
    machines = states.list_state_machines()["stateMachines"]
    (machine,) = (
        one["stateMachineArn"] for one in machines if "RestoreTestingStateMachine" in one["stateMachineArn"]
    )

    def known() -> set[str]:
        found = states.list_executions(stateMachineArn=machine, maxResults=1_000)["executions"]
        return {one["executionArn"] for one in found}

    def started(detail: Json) -> str:
        before = known()
        user.lab.emulator.put_event("Restore Job State Change", "aws.backup", detail, [])
        (execution,) = known() - before
        return execution

    return started


def restored_by_backup(user: RestoreUser, **fields: Any) -> str:
    """A volume as a restore test makes it: cold, attached to nothing, with AWS Backup's tag."""
    ec2: Any = user.lab.client("ec2")
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "awsbackup-restore-test", "Value": "nightly"}]}]
    made = ec2.create_volume(
        SnapshotId=user.snapshot(), VolumeType="gp3", TagSpecifications=tags,
        **{"AvailabilityZone": user.zone, **fields},
    )  # fmt: skip
    volume_id = str(made["VolumeId"])
    user.wait_until(lambda: user.volume(volume_id)["State"] == "available", lambda: "it is being made")
    return volume_id


def job_of(user: RestoreUser, detail: Json) -> Json:
    """What AWS Backup knows."""
    found: Json = user.lab.client("backup").describe_restore_job(RestoreJobId=detail["restoreJobId"])
    return found


def deserved(user: RestoreUser, detail: Json) -> str:
    """The verdict that the restore deserves; a volume fails where a busy machine reads it slowly."""
    record = user.call("GET", f"/restores/restore-testing-{detail['restoreJobId'].lower()}").body
    if record["status"] == "ready":
        return "SUCCESSFUL"
    assert record["failure"]["error"] == "VolumeNotFastError", record["failure"]
    return "FAILED"


def ended(user: RestoreUser, execution: str) -> Json:
    described = state_machines.wait(user.lab, execution)
    assert described["status"] == "SUCCEEDED", described.get("cause")
    output: Json = json.loads(described["output"])
    return output


@pytest.mark.usefixtures("cold_volumes")
def test_a_test_is_warmed_measured_detached_and_judged_once(user: RestoreUser, begin: Start) -> None:
    instance_id, other = user.instance(tags=TAG), user.instance()
    volume_id = restored_by_backup(user)
    detail = user.region.restore_jobs.add(volume_id)
    verdict = ended(user, begin(detail))["verdict"]
    job = job_of(user, detail)
    assert job["ValidationStatus"] == verdict == deserved(user, detail), job
    is_fast = (
        rf"{volume_id} is at full speed \d+ minutes after the restore began; p99 of random reads: .* ms.*"
    )
    is_slow = rf"{volume_id} did not become ready: .*VolumeNotFastError.*"
    assert re.fullmatch(is_fast if verdict == "SUCCESSFUL" else is_slow, job["ValidationStatusMessage"]), job
    user.wait_until(lambda: user.volume(volume_id)["State"] == "available", lambda: "it is detached")
    assert user.counters(volume_id).read_blocks > 0
    del instance_id, other
    again = ended(user, begin(detail))
    assert again["verdict"] is None, "an event that comes when the verdict is given"


def test_without_an_instance_in_its_zone_nobody_can_tell(user: RestoreUser, begin: Start) -> None:
    user.instance(tags=TAG)
    volume_id = restored_by_backup(user, AvailabilityZone=user.other_zone)
    detail = user.region.restore_jobs.add(volume_id)
    assert ended(user, begin(detail))["verdict"] == "TIMED_OUT"
    said = job_of(user, detail)["ValidationStatusMessage"]
    assert said == f"Not tested: no running instance in {user.other_zone} has the tag restore-testing=yes."


def test_where_aws_backup_does_not_answer_nobody_can_tell(user: RestoreUser, begin: Start) -> None:
    detail = user.region.restore_jobs.add(restored_by_backup(user))
    user.region.faults.add(FaultRule("DescribeRestoreJob", code="InternalError", status=500, times=None))
    execution = begin(detail)
    assert ended(user, execution)["verdict"] == "TIMED_OUT"
    user.region.faults.clear()
    assert job_of(user, detail)["ValidationStatusMessage"].startswith("Not tested: Look At Job: ")


def test_several_at_once_share_an_instance_and_each_has_its_verdict(user: RestoreUser, begin: Start) -> None:
    user.instance(tags=TAG)
    details = [user.region.restore_jobs.add(restored_by_backup(user)) for _ in range(3)]
    for execution in [begin(detail) for detail in details]:
        ended(user, execution)
    given = [job_of(user, detail)["ValidationStatus"] for detail in details]
    assert given == [deserved(user, detail) for detail in details]


@pytest.mark.long
@pytest.mark.parametrize("is_readable", [True, False])
def test_a_volume_that_cannot_be_read_has_failed_and_of_one_that_nobody_reads_nobody_can_tell(
    user: RestoreUser, begin: Start, monkeypatch: pytest.MonkeyPatch, *, is_readable: bool
) -> None:
    if not is_readable:
        start, count = max(user.image.extents, key=lambda extent: extent[1])
        break_blocks(user, monkeypatch, f"eio {start} {count}")
    user.instance(tags=TAG, managed=not is_readable)
    volume_id = restored_by_backup(user)
    detail = user.region.restore_jobs.add(volume_id)
    assert ended(user, begin(detail))["verdict"] == ("TIMED_OUT" if is_readable else "FAILED")
    said = job_of(user, detail)["ValidationStatusMessage"]
    assert f"{volume_id} did not become ready: " in said
    assert ("TargetNotUsableError" if is_readable else "VolumeUnreadableError") in said
    user.wait_until(lambda: user.volume(volume_id)["State"] == "available", lambda: "it is detached")


def test_a_restore_that_a_person_asked_for_is_never_touched(user: RestoreUser, begin: Start) -> None:
    """Whatever the event says."""
    user.instance(tags=TAG)
    volume_id = restored_by_backup(user)
    detail = {**user.region.restore_jobs.add(volume_id, None), "restoreTestingPlanArn": "arn:of:somebody"}
    before = user.region.inventory()
    assert ended(user, begin(detail)) == {"verdict": None}
    assert "ValidationStatus" not in job_of(user, detail)
    assert user.region.inventory() == before
