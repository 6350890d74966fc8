"""The state machine of docs/restore-testing on the embedded AWS, and its verdicts for AWS Backup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from local import yaml_text
from local.aws.region.faults import FaultRule
from tests.support.stack import state_machines
from tests.support.stack.endings import break_blocks
from tests.support.stack.restores import RestoreUser, unique

Json = dict[str, Any]
TAG = {"restore-testing": "yes"}
TEMPLATE = yaml_text.template(name="docs/restore-testing/template.yaml")
VALIDATION = TEMPLATE["Resources"]["Validation"]["Properties"]
Start = Callable[[Json], str]


def resolved(value: Any, values: Json) -> Any:
    """With every Ref and Fn::Sub replaced."""
    if isinstance(value, list):
        return [resolved(one, values) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"Ref"}:
        return values[value["Ref"]]
    if set(value) == {"Fn::Sub"}:
        return re.sub(r"\$\{([^}]+)\}", lambda found: str(values[found[1]]), value["Fn::Sub"])
    return {name: resolved(one, values) for name, one in value.items()}


@pytest.fixture
def begin(user: RestoreUser) -> Start:
    """Starts an execution for an event of AWS Backup, as the template's role may; its ARN."""
    where = user.lab.addresses
    values = {
        "AWS::Partition": where.partition,
        "AWS::Region": where.region,
        "AWS::AccountId": user.region.settings.account_id,
        "RestoreStateMachineArn": user.lab.outputs["RestoreStateMachineArn"],
        "LimitMinutes": 240,
    }
    given = resolved(VALIDATION["DefinitionSubstitutions"], values)
    definition = re.sub(
        r"\$\{(\w+)\}", lambda found: str(given[found[1]]), json.dumps(VALIDATION["Definition"])
    )
    iam, name = user.lab.client("iam"), unique("restore-testing")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps({"Statement": []}))
    (policy,) = resolved(VALIDATION["Policies"], values)
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=json.dumps(policy))
    states = user.lab.client("stepfunctions")
    machine = states.create_state_machine(
        name=name, definition=definition, roleArn=f"arn:{where.partition}:iam::123456789012:role/{name}"
    )["stateMachineArn"]

    def started(detail: Json) -> str:
        return state_machines.start(
            user.lab, machine, {"detail-type": "Restore Job State Change", "detail": detail}
        )

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


def ended(user: RestoreUser, execution: str) -> Json:
    described = state_machines.wait(user.lab, execution)
    assert described["status"] == "SUCCEEDED", described.get("cause")
    output: Json = json.loads(described["output"])
    return output


def test_a_test_is_warmed_measured_detached_and_judged_once(user: RestoreUser, begin: Start) -> None:
    instance_id, other = user.instance(tags=TAG), user.instance()
    volume_id = restored_by_backup(user)
    detail = user.region.restore_jobs.add(volume_id)
    first, doubled = begin(detail), begin(detail)
    outputs = [ended(user, execution) for execution in (first, doubled)]
    job = job_of(user, detail)
    assert job["ValidationStatus"] == "SUCCESSFUL", job
    assert re.fullmatch(
        rf"{volume_id} is at full speed \d+ minutes after the restore began; p99 of random reads: .* ms.*",
        job["ValidationStatusMessage"],
    )
    assert "SUCCESSFUL" in {output["verdict"] for output in outputs}
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
    assert [job_of(user, detail)["ValidationStatus"] for detail in details] == ["SUCCESSFUL"] * 3


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


@pytest.mark.parametrize("plan", [None, "nightly"])
def test_a_volume_of_a_person_is_never_touched(user: RestoreUser, begin: Start, plan: str | None) -> None:
    """Neither a person's restore by AWS Backup, nor a volume that is attached."""
    instance_id = user.instance(tags=TAG)
    volume_id = restored_by_backup(user)
    if plan is not None:
        user.lab.client("ec2").attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device="/dev/sdk")
    detail = {**user.region.restore_jobs.add(volume_id, plan), "restoreTestingPlanArn": "arn:of:somebody"}
    before = user.region.inventory()
    assert ended(user, begin(detail)) == {"verdict": None}
    assert "ValidationStatus" not in job_of(user, detail)
    assert user.region.inventory() == before
