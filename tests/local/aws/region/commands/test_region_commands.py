"""SSM: documents, and the life of a command from SendCommand to its output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local.aws.clock import LabClock
from local.aws.region import ApiError, CommandSettings, RegionSettings
from tests.local.aws.machines.fake_dataplane import FakeCommand, FakeDataPlane
from tests.local.aws.region.region_lab import INSTANCE, Lab


def document(*steps: dict[str, Any], **parameters: Any) -> str:
    return json.dumps({"schemaVersion": "2.2", "parameters": parameters, "mainSteps": list(steps)})


def step(name: str, *commands: str, **fields: Any) -> dict[str, Any]:
    inputs = {"runCommand": list(commands), **fields.pop("inputs", {})}
    return {"action": "aws:runShellScript", "name": name, "inputs": inputs} | fields


def waiting_lab(**settings: Any) -> Lab:
    """A lab whose commands run until the test ends them."""
    lab = Lab(RegionSettings(command=CommandSettings(**settings)), FakeDataPlane(lambda _script: None))
    lab.instance()
    return lab


def send(lab: Lab, name: str = "AWS-RunShellScript", **params: Any) -> str:
    if name == "AWS-RunShellScript":
        params.setdefault("Parameters", {"commands": ["true"]})
    answer = lab.ssm("SendCommand", DocumentName=name, **{"InstanceIds": [INSTANCE], **params})
    command_id: str = answer["Command"]["CommandId"]
    return command_id


def seen(lab: Lab, command_id: str, **params: Any) -> dict[str, Any]:
    return lab.ssm("GetCommandInvocation", CommandId=command_id, InstanceId=INSTANCE, **params)


def last(lab: Lab) -> FakeCommand:
    return lab.plane.commands[-1]


def refused(lab: Lab, operation: str, **params: Any) -> str:
    with pytest.raises(ApiError) as error:
        lab.ssm(operation, **params)
    return error.value.code


def test_a_command_runs_and_its_output_comes_at_the_end() -> None:
    lab = waiting_lab()
    command = send(lab, Parameters={"commands": ["echo one", "echo two"], "workingDirectory": ["/tmp"]})
    assert (
        refused(lab, "GetCommandInvocation", CommandId=command, InstanceId=INSTANCE)
        == "InvocationDoesNotExist"
    )
    lab.wait(1)
    assert last(lab).script == "cd '/tmp' || exit 1\necho one\necho two\n"
    assert last(lab).environment["AWS_SSM_INSTANCE_ID"] == INSTANCE
    last(lab).stdout = "one\n"
    lab.wait(1)
    assert (seen(lab, command)["Status"], seen(lab, command)["StandardOutputContent"]) == ("InProgress", "")
    last(lab).end(0, "one\ntwo\n", "warned\n")
    lab.wait(1)
    over = seen(lab, command)
    assert (over["Status"], over["ResponseCode"]) == ("Success", 0)
    assert (over["StandardOutputContent"], over["StandardErrorContent"]) == ("one\ntwo\n", "warned\n")
    assert over["ExecutionElapsedTime"] == "PT2.000S"
    kinds = lab.named_events("EC2 Command Invocation Status-change Notification")
    assert [one["status"] for one in kinds] == ["InProgress", "Success"]
    assert [one["status"] for one in lab.named_events("EC2 Command Status-change Notification")] == [
        "Pending",
        "InProgress",
        "Success",
    ]


def test_output_is_cut_where_aws_cuts_it() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(1)
    last(lab).end(3, "o" * 30_000, "e" * 9_000)
    lab.wait(1)
    over = seen(lab, command)
    assert (over["Status"], over["StatusDetails"], over["ResponseCode"]) == ("Failed", "Failed", 3)
    assert (
        over["StandardOutputContent"].count("o") - over["StandardOutputContent"][24_000:].count("o") == 24_000
    )
    assert over["StandardErrorContent"].startswith("e" * 8_000 + "\n")
    listed = lab.ssm("ListCommandInvocations", CommandId=command, Details=True)["CommandInvocations"][0]
    assert listed["CommandPlugins"][0]["Output"].startswith("o" * 2_500 + "\n")


def test_a_silent_instance_times_out_at_delivery() -> None:
    lab = waiting_lab()
    lab.region.change_instance(INSTANCE, reachable=False)
    command = send(lab, TimeoutSeconds=30)
    lab.wait(10)
    assert seen(lab, command)["StatusDetails"] == "Delayed"
    lab.wait(20)
    assert (seen(lab, command)["Status"], seen(lab, command)["StatusDetails"]) == (
        "TimedOut",
        "DeliveryTimedOut",
    )
    assert lab.plane.commands == []


def test_an_instance_that_comes_back_in_time_runs_the_command() -> None:
    lab = waiting_lab()
    lab.region.change_instance(INSTANCE, reachable=False)
    command = send(lab)
    lab.wait(60)
    lab.region.change_instance(INSTANCE, reachable=True)
    lab.wait(10)
    last(lab).end(0)
    lab.wait(1)
    assert seen(lab, command)["Status"] == "Success"


def test_a_command_that_takes_too_long_is_ended() -> None:
    lab = waiting_lab()
    command = send(lab, Parameters={"commands": ["sleep 99"], "executionTimeout": ["60"]})
    lab.wait(1)
    lab.wait(61)
    assert (seen(lab, command)["Status"], seen(lab, command)["StatusDetails"]) == (
        "TimedOut",
        "ExecutionTimedOut",
    )
    assert last(lab).cancelled


@pytest.mark.parametrize(("given", "seconds"), [("60", 60), ("4", 3_600), ("172801", 3_600), ("soon", 3_600)])
def test_a_timeout_out_of_range_silently_becomes_an_hour(given: str, seconds: int) -> None:
    lab = waiting_lab()
    body = document(
        step("run", "sleep 1", inputs={"timeoutSeconds": "{{ limit }}"}), limit={"type": "String"}
    )
    lab.ssm("CreateDocument", Name="Warm", Content=body, DocumentType="Command")
    command = send(lab, "Warm", Parameters={"limit": [given]})
    lab.wait(1)
    lab.wait(seconds)
    assert seen(lab, command)["Status"] == "InProgress"
    lab.wait(1)
    assert seen(lab, command)["StatusDetails"] == "ExecutionTimedOut"


def test_cancel_before_and_after_delivery() -> None:
    lab = waiting_lab()
    early = send(lab)
    lab.ssm("CancelCommand", CommandId=early)
    lab.wait(2)
    assert seen(lab, early)["Status"] == "Cancelled"
    assert lab.plane.commands == []
    late = send(lab)
    lab.wait(1)
    lab.ssm("CancelCommand", CommandId=late, InstanceIds=[INSTANCE])
    lab.wait(1)
    assert last(lab).cancelled
    assert seen(lab, late)["StatusDetails"] == "Cancelled"
    assert refused(lab, "CancelCommand", CommandId="0" * 36) == "InvalidCommandId"


def test_parameters_are_checked_and_filled_in() -> None:
    lab = Lab()
    lab.instance()
    body = document(
        step("run", "warm {{device}} --depth {{ depth }}", "{{ more }}"),
        device={"type": "String", "allowedPattern": "^vol-[0-9a-f]+$"},
        depth={"type": "String", "default": "auto", "allowedValues": ["auto", "8"]},
        more={"type": "StringList", "default": ["a", "b"]},
    )
    lab.ssm("CreateDocument", Name="Warm", Content=body, DocumentType="Command")
    send(lab, "Warm", Parameters={"device": ["vol-1"]})
    lab.wait(1)
    assert last(lab).script == "warm vol-1 --depth auto\na\nb\n"
    for wrong in (
        {},
        {"device": ["; rm"]},
        {"device": ["vol-1"], "depth": ["9"]},
        {"device": ["vol-1"], "x": ["1"]},
    ):
        params = {"DocumentName": "Warm", "InstanceIds": [INSTANCE], "Parameters": wrong}
        assert refused(lab, "SendCommand", **params) == "InvalidParameters"


def test_steps_run_one_after_another_and_a_failed_one_may_end_them() -> None:
    lab = Lab(plane=FakeDataPlane(lambda script: (1, "") if "false" in script else (0, script)))
    lab.instance()
    windows = {"StringEquals": ["platformType", "Windows"]}
    body = document(
        step("other", "no", precondition=windows),
        step("first", "false"),
        step("second", "true"),
        step("third", "false", onFailure="exit"),
        step("fourth", "true"),
        step("tidy", "true", finallyStep=True),
    )
    lab.ssm("CreateDocument", Name="Steps", Content=body, DocumentType="Command")
    command = send(lab, "Steps")
    for _ in range(6):
        lab.wait(1)
    assert [one.script for one in lab.plane.commands] == ["false\n", "true\n", "false\n", "true\n"]
    details = lab.ssm("ListCommandInvocations", CommandId=command, Details=True)["CommandInvocations"][0]
    assert [one["Status"] for one in details["CommandPlugins"]] == [
        "Success", "Failed", "Success", "Failed", "Failed", "Success",
    ]  # fmt: skip
    assert "skipped" in seen(lab, command, PluginName="other")["StandardOutputContent"]
    assert (
        refused(lab, "GetCommandInvocation", CommandId=command, InstanceId=INSTANCE, PluginName="fifth")
        == "InvalidPluginName"
    )


def test_who_can_be_sent_commands() -> None:
    lab = Lab()
    lab.instance(tags={"role": "db"})
    unmanaged = lab.region.add_instance(managed=False)
    parameters = {"commands": ["true"]}

    def code(**params: Any) -> str:
        return refused(lab, "SendCommand", DocumentName="AWS-RunShellScript", Parameters=parameters, **params)

    assert code(InstanceIds=[unmanaged]) == "InvalidInstanceId"
    assert code(InstanceIds=["i-0000000000000dead"]) == "InvalidInstanceId"
    assert code(InstanceIds=[INSTANCE, INSTANCE]) == "DuplicateInstanceId"
    assert code() == "InvalidInstanceId"
    known = lab.ssm("DescribeInstanceInformation")["InstanceInformationList"]
    assert [one["InstanceId"] for one in known] == [INSTANCE]
    assert known[0]["PingStatus"] == "Online"
    send(lab, InstanceIds=None, Targets=[{"Key": "tag:role", "Values": ["db"]}])
    lab.wait(1)
    assert len(lab.plane.commands) == 1
    lab.region.change_instance(INSTANCE, platform="Windows")
    assert code(InstanceIds=[INSTANCE]) == "UnsupportedPlatformType"


def test_powershell_steps_are_kept_and_fail_on_windows() -> None:
    lab = Lab(plane=FakeDataPlane(lambda script: (0, script)))
    lab.instance()
    lab.region.change_instance(INSTANCE, platform="Windows")
    body = document(step("warm", "Get-Disk", action="aws:runPowerShellScript"))
    lab.ssm("CreateDocument", Name="Warm", Content=body, DocumentType="Command")
    command = send(lab, "Warm")
    lab.wait(1)
    shown = seen(lab, command)
    assert (shown["Status"], shown["ResponseCode"]) == ("Failed", 1)
    assert "no PowerShell" in shown["StandardErrorContent"]
    assert lab.plane.commands == []


def test_documents_have_versions() -> None:
    lab = Lab()
    first, second = document(step("run", "one")), document(step("run", "two"))
    made = lab.ssm("CreateDocument", Name="Warm", Content=first, DocumentType="Command")[
        "DocumentDescription"
    ]
    assert (made["DocumentVersion"], made["PlatformTypes"], made["HashType"]) == (
        "1",
        ["Linux", "MacOS"],
        "Sha256",
    )
    assert refused(lab, "CreateDocument", Name="Warm", Content=first) == "DocumentAlreadyExists"
    assert refused(lab, "UpdateDocument", Name="Warm", Content=first) == "DuplicateDocumentContent"
    lab.ssm("UpdateDocument", Name="Warm", Content=second, DocumentVersion="$LATEST")
    assert lab.ssm("GetDocument", Name="Warm")["Content"] == first
    assert lab.ssm("GetDocument", Name="Warm", DocumentVersion="2")["Content"] == second
    lab.ssm("UpdateDocumentDefaultVersion", Name="Warm", DocumentVersion="2")
    assert lab.ssm("DescribeDocument", Name="Warm")["Document"]["DefaultVersion"] == "2"
    yaml = lab.ssm("GetDocument", Name="Warm", DocumentFormat="YAML")["Content"]
    assert "schemaVersion: '2.2'" in yaml
    lab.ssm("DeleteDocument", Name="Warm")
    assert refused(lab, "GetDocument", Name="Warm") == "InvalidDocument"
    assert (
        refused(lab, "GetDocument", Name="AWS-RunShellScript", DocumentVersion="9")
        == "InvalidDocumentVersion"
    )


def test_documents_have_tags_and_are_sent_only_with_their_hash() -> None:
    lab = Lab()
    lab.instance()
    tag = {"Key": "rewarm:hooks", "Value": "rewarm"}
    lab.ssm("CreateDocument", Name="Warm", Content=document(step("run", "one")), Tags=[tag])
    wanted = {"ResourceType": "Document", "ResourceId": "Warm"}
    assert lab.ssm("ListTagsForResource", **wanted)["TagList"] == [tag]
    lab.ssm("AddTagsToResource", **wanted, Tags=[{**tag, "Value": "other"}])
    assert lab.ssm("ListTagsForResource", **wanted)["TagList"] == [{**tag, "Value": "other"}]
    assert refused(lab, "ListTagsForResource", **{**wanted, "ResourceId": "None"}) == "InvalidResourceId"
    sent = {"DocumentName": "Warm", "InstanceIds": [INSTANCE], "DocumentHashType": "Sha256"}
    assert refused(lab, "SendCommand", **sent, DocumentHash="0" * 64) == "InvalidDocument"
    digest = lab.ssm("DescribeDocument", Name="Warm")["Document"]["Hash"]
    assert lab.ssm("SendCommand", **sent, DocumentHash=digest)["Command"]["DocumentVersion"] == "1"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "InvalidDocumentContent"),
        ("[]", "InvalidDocumentContent"),
        ('{"schemaVersion": "0.3"}', "InvalidDocumentSchemaVersion"),
        ('{"schemaVersion": "2.2", "mainSteps": []}', "InvalidDocumentContent"),
        (document({"action": "aws:downloadContent", "name": "x", "inputs": {}}), "InvalidDocumentContent"),
        (document(step("run", "x" * 70_000)), "MaxDocumentSizeExceeded"),
    ],
)
def test_documents_that_are_refused(content: str, code: str) -> None:
    assert refused(Lab(), "CreateDocument", Name="Warm", Content=content) == code


def test_a_document_and_its_parameters_share_64_kb() -> None:
    lab = Lab()
    lab.instance()
    params = {"DocumentName": "AWS-RunShellScript", "InstanceIds": [INSTANCE]}
    assert (
        refused(lab, "SendCommand", Parameters={"commands": ["x" * 65_000]}, **params)
        == "MaxDocumentSizeExceeded"
    )


def test_lists_show_the_newest_first_and_filter() -> None:
    lab = Lab()
    lab.instance()
    commands = []
    for _ in range(3):
        commands.append(send(lab))
        lab.wait(5)
    assert [one["CommandId"] for one in lab.ssm("ListCommands")["Commands"]] == commands[::-1]
    first = lab.ssm("ListCommands", MaxResults=2)
    rest = lab.ssm("ListCommands", MaxResults=2, NextToken=first["NextToken"])["Commands"]
    assert [one["CommandId"] for one in rest] == commands[:1]
    assert refused(lab, "ListCommands", NextToken="?") == "InvalidNextToken"
    done = [{"key": "Status", "value": "Success"}, {"key": "DocumentName", "value": "AWS-RunShellScript"}]
    assert len(lab.ssm("ListCommandInvocations", Filters=done)["CommandInvocations"]) == 3
    assert (
        lab.ssm("ListCommands", Filters=[{"key": "ExecutionStage", "value": "Executing"}])["Commands"] == []
    )


def test_output_goes_to_the_bucket_and_the_log_group() -> None:
    stored: dict[str, bytes] = {}
    logged: list[tuple[str, str, list[str]]] = []

    class Sink:
        def put_object(self, bucket: str, key: str, body: bytes) -> None:
            stored[f"{bucket}/{key}"] = body

        def put_log_events(self, group: str, stream: str, lines: list[str]) -> None:
            logged.append((group, stream, lines))

    lab = waiting_lab()
    lab.region._commands._output = Sink()
    config = {"CloudWatchOutputEnabled": True, "CloudWatchLogGroupName": "/rewarm"}
    command = send(lab, OutputS3BucketName="out", OutputS3KeyPrefix="p", CloudWatchOutputConfig=config)
    lab.wait(1)
    last(lab).stdout = "one\ntw"
    lab.wait(1)
    last(lab).end(0, "one\ntwo\nthr")
    lab.wait(1)
    assert [lines for _, _, lines in logged] == [["one"], ["two"], ["thr"]]
    assert logged[0][:2] == ("/rewarm", f"{command}/{INSTANCE}/aws-runShellScript/stdout")
    key = f"p/{command}/{INSTANCE}/awsrunShellScript/aws:runShellScript/stdout"
    assert stored == {f"out/{key}": b"one\ntwo\nthr"}
    assert seen(lab, command)["StandardOutputUrl"] == f"https://s3.us-east-1.amazonaws.com/out/{key}"


def test_a_running_command_holds_lab_time() -> None:
    clock = LabClock()
    lab = Lab(RegionSettings(), FakeDataPlane(lambda _script: None), clock)  # type: ignore[arg-type]
    lab.instance()
    send(lab)
    assert len(clock._busy) == 1
    lab.region.close()
    assert not clock._busy


def test_a_command_the_data_plane_cannot_start_fails() -> None:
    lab = Lab()
    lab.instance()
    lab.plane.broken.add("run_command")
    command = send(lab)
    lab.wait(2)
    assert seen(lab, command)["Status"] == "Failed"
    assert "told to fail" in seen(lab, command)["StandardErrorContent"]


def test_parameters_of_parameter_store() -> None:
    lab = Lab()
    lab.region.add_parameter("/rewarm/url", "https://example.com", "SecureString")
    assert (
        lab.ssm("GetParameter", Name="/rewarm/url", WithDecryption=True)["Parameter"]["Value"]
        == "https://example.com"
    )
    assert lab.ssm("GetParameter", Name="/rewarm/url")["Parameter"]["Value"] != "https://example.com"
    several = lab.ssm("GetParameters", Names=["/rewarm/url", "/none"], WithDecryption=True)
    assert several["InvalidParameters"] == ["/none"]
    assert refused(lab, "GetParameter", Name="/none") == "ParameterNotFound"


def test_an_instance_that_restarts_is_away_for_a_while() -> None:
    lab = waiting_lab()
    lab.ec2("RebootInstances", InstanceIds=[INSTANCE])
    lab.wait(1)
    (known,) = lab.ssm("DescribeInstanceInformation")["InstanceInformationList"]
    assert known["PingStatus"] == "ConnectionLost"
    assert INSTANCE not in lab.plane.instances
    after = send(lab)
    lab.wait(30)
    assert seen(lab, after)["StatusDetails"] == "Delayed"
    lab.wait(40)
    assert INSTANCE in lab.plane.instances
    assert seen(lab, after)["Status"] == "InProgress"
    (known,) = lab.ssm("DescribeInstanceInformation")["InstanceInformationList"]
    assert known["PingStatus"] == "Online"


def test_exit_status_137_is_taken_for_the_end_of_the_time_limit() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(2)
    last(lab).end(137)
    lab.wait(1)
    shown = seen(lab, command)
    assert (shown["Status"], shown["StatusDetails"]) == ("TimedOut", "ExecutionTimedOut")
    assert shown["ResponseCode"] == 137


def test_a_script_that_a_signal_ended_has_failed() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(2)
    last(lab).end(-1)
    lab.wait(1)
    assert (seen(lab, command)["Status"], seen(lab, command)["ResponseCode"]) == ("Failed", -1)


def reboot(lab: Lab) -> None:
    """What runs on the instance is killed, and it is back after a while."""
    lab.ec2("RebootInstances", InstanceIds=[INSTANCE])
    last(lab).end(137)
    lab.wait(1)


def test_a_document_in_progress_at_a_reboot_is_run_again() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(2)
    reboot(lab)
    assert (seen(lab, command)["Status"], len(lab.plane.commands)) == ("InProgress", 1)
    lab.wait(lab.settings.boot_seconds)
    assert (seen(lab, command)["Status"], len(lab.plane.commands)) == ("InProgress", 2)
    last(lab).end(0, "done\n")
    lab.wait(1)
    assert seen(lab, command)["Status"] == "Success"
    assert seen(lab, command)["StandardOutputContent"] == "done\n"


def test_its_time_limit_begins_anew_with_each_run() -> None:
    lab = waiting_lab()
    command = send(lab, Parameters={"commands": ["true"], "executionTimeout": ["90"]})
    lab.wait(60)
    reboot(lab)
    lab.wait(lab.settings.boot_seconds + 60)
    assert seen(lab, command)["Status"] == "InProgress"
    lab.wait(60)
    assert seen(lab, command)["StatusDetails"] == "ExecutionTimedOut"


def test_a_document_is_run_again_fifteen_times_and_then_left() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(2)
    for times in range(1, 17):
        reboot(lab)
        lab.wait(lab.settings.boot_seconds)
        assert len(lab.plane.commands) == min(times + 1, 16)
    assert seen(lab, command)["Status"] == "InProgress"


def test_a_command_that_ends_before_the_reboot_is_not_run_again() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(2)
    last(lab).end(0)
    lab.ec2("RebootInstances", InstanceIds=[INSTANCE])
    lab.wait(lab.settings.boot_seconds + 5)
    assert (seen(lab, command)["Status"], len(lab.plane.commands)) == ("Success", 1)


def test_a_command_that_was_cancelled_while_its_instance_was_away_ends_when_it_is_back() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(2)
    reboot(lab)
    lab.ssm("CancelCommand", CommandId=command)
    lab.wait(1)
    assert seen(lab, command)["Status"] == "Cancelling"
    assert lab.region.inventory()["commands"] == [], "nothing of it runs, and nothing will"
    lab.wait(lab.settings.boot_seconds)
    assert (seen(lab, command)["Status"], len(lab.plane.commands)) == ("Cancelled", 1)


@pytest.mark.parametrize("operation", ["StopInstances", "TerminateInstances"])
def test_a_command_of_an_instance_that_stays_away_ends_with_its_time(operation: str) -> None:
    lab = waiting_lab()
    command = send(lab, TimeoutSeconds=30, Parameters={"commands": ["true"], "executionTimeout": ["600"]})
    lab.wait(2)
    lab.ec2(operation, InstanceIds=[INSTANCE])
    last(lab).end(137)
    lab.wait(600)
    assert seen(lab, command)["Status"] == "InProgress"
    lab.wait(60)
    shown = seen(lab, command)
    assert (shown["Status"], shown["StatusDetails"]) == ("TimedOut", "ExecutionTimedOut")


def test_a_stopped_instance_runs_it_again_once_it_is_started() -> None:
    lab = waiting_lab()
    command = send(lab)
    lab.wait(2)
    lab.ec2("StopInstances", InstanceIds=[INSTANCE])
    last(lab).end(137)
    lab.wait(200)
    lab.ec2("StartInstances", InstanceIds=[INSTANCE])
    lab.wait(lab.settings.boot_seconds + 20)
    assert (seen(lab, command)["Status"], len(lab.plane.commands)) == ("InProgress", 2)
