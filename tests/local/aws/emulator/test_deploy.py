"""A template reaches the emulator as SAM would deploy it (local/aws/emulator/deploy.py, compat_*.py)."""

from __future__ import annotations

import json
import platform
import shutil
import urllib.error
import urllib.request
import zipfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local.aws.emulator.deploy import DeploymentError, Source, deploy, zip_folder
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from local.aws.host import Host

SMALL_STACK = Path(__file__).with_name("small_stack")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Source:
    root = tmp_path_factory.mktemp("small") / "stack"
    shutil.copytree(SMALL_STACK, root)
    agent = root / "agent"
    agent.write_bytes(b"an agent")
    return Source(root, agent)


@pytest.fixture(scope="module")
def outputs(host: Host, source: Source) -> dict[str, str]:
    return deploy(host.client, source, "small")


def call(host: Host, outputs: dict[str, str], method: str, path: str, body: Any = None) -> tuple[int, Any]:
    url = f"https://{outputs['ApiId']}.execute-api.{host.addresses.region}.{host.addresses.domain}/v1{path}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.loads(refusal.read())


def test_outputs_hold_what_a_custom_resource_answered(outputs):
    assert outputs["PublishedText"] == "HELLO"


def test_the_agent_layer_holds_this_machines_binary(host: Host, outputs):
    _status, seen = call(host, outputs, "POST", "/orders?page=1", {"size": 1})
    machine = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    assert seen["layer"] == ["README", f"warmer-linux-{machine}"]


class TestRestApi:
    def test_status_path_and_query_reach_the_function_and_its_caller(self, host: Host, outputs):
        status, seen = call(host, outputs, "GET", "/orders/one?page=3")
        assert (status, seen["method"], seen["query"]) == (200, "GET", {"page": "3"})
        assert seen["path"] == {"id": "one"}
        assert call(host, outputs, "POST", "/orders?page=1", {"size": 1})[0] == 202
        assert call(host, outputs, "DELETE", "/orders/missing") == (404, {"error": "no such order"})

    def test_what_the_api_refuses_itself_has_the_form_that_the_template_gives_it(self, host: Host, outputs):
        unknown = call(host, outputs, "GET", "/elsewhere")
        assert unknown == (403, {"refused": "MISSING_AUTHENTICATION_TOKEN"})
        assert call(host, outputs, "PATCH", "/orders/one") == unknown

    def test_a_function_that_fails_has_the_form_that_the_template_gives_it(self, host: Host, outputs):
        status, answer = call(host, outputs, "GET", "/orders/broken")
        assert (status, answer["failed"]) == (502, "DEFAULT_5XX")
        assert len(answer["request"]) == 36
        assert call(host, outputs, "GET", "/orders/one")[0] == 200

    def test_a_path_is_decoded_but_for_its_per_cent_signs(self, host: Host, outputs):
        assert call(host, outputs, "GET", "/orders/a%20b%2525")[1]["path"] == {"id": "a b%2525"}


def test_an_event_of_aws_starts_the_state_machine(host: Host, outputs):
    host.emulator.put_event("CloudWatch Alarm State Change", "aws.cloudwatch", {"alarmName": "other"}, [])
    host.emulator.put_event("CloudWatch Alarm State Change", "aws.cloudwatch", {"alarmName": "small-1"}, [])
    states = host.client("stepfunctions")
    wanted = {"stateMachineArn": outputs["MachineArn"], "statusFilter": "SUCCEEDED"}
    wait_until(lambda: states.list_executions(**wanted)["executions"])
    (ended,) = states.list_executions(**wanted)["executions"]
    output = json.loads(states.describe_execution(executionArn=ended["executionArn"])["output"])
    assert json.loads(output["body"])["detail"] == {"alarmName": "small-1"}


def test_an_alarm_whose_state_is_set_is_an_event_of_aws(host: Host, outputs):
    alarm = {"AlarmName": "small-1", "Namespace": "N", "MetricName": "M", "Statistic": "Sum",
             "Threshold": 1.0, "Period": 60, "EvaluationPeriods": 1,
             "ComparisonOperator": "LessThanThreshold"}  # fmt: skip
    cloudwatch, states = host.client("cloudwatch"), host.client("stepfunctions")
    cloudwatch.put_metric_alarm(**alarm, AlarmDescription="it is gone", ActionsEnabled=False)
    before = started(states, outputs)
    cloudwatch.set_alarm_state(AlarmName="small-1", StateValue="ALARM", StateReason="tried")
    wait_until(lambda: started(states, outputs) > before)
    (arn,) = started(states, outputs) - before
    wait_until(lambda: states.describe_execution(executionArn=arn)["status"] == "SUCCEEDED")
    detail = json.loads(json.loads(states.describe_execution(executionArn=arn)["output"])["body"])["detail"]
    assert detail["configuration"]["description"] == "it is gone"
    assert (detail["state"]["value"], detail["state"]["reason"]) == ("ALARM", "tried")
    cloudwatch.set_alarm_state(AlarmName="small-1", StateValue="ALARM", StateReason="again")
    assert len(started(states, outputs) - before) == 1


def started(states, outputs):
    """The executions so far."""
    listed = states.list_executions(stateMachineArn=outputs["MachineArn"])["executions"]
    return {execution["executionArn"] for execution in listed}


def test_an_ssm_document_lives_in_the_region_that_runs_commands(host: Host, outputs):
    document = host.client("ssm").get_document(Name=outputs["DocumentName"])
    assert "echo hello" in document["Content"]


def test_an_update_changes_what_changed(host: Host, source: Source, outputs):
    updated = deploy(host.client, source, "small", {"Greeting": "salut"})
    assert updated["PublishedText"] == "SALUT"
    assert updated["ApiId"] == outputs["ApiId"]
    assert call(host, updated, "GET", "/orders/one?page=1")[1]["greeting"] == "salut"
    document = host.client("ssm").get_document(Name=updated["DocumentName"])
    assert "echo salut" in document["Content"]
    assert deploy(host.client, source, "small", {"Greeting": "salut"}) == updated
    host.client("cloudformation").delete_stack(StackName="small")
    ssm = host.client("ssm")

    def is_gone() -> bool:
        try:
            ssm.get_document(Name=updated["DocumentName"])
        except ssm.exceptions.InvalidDocument:
            return True
        return False

    wait_until(is_gone)


class TestRefusals:
    def test_a_failed_resource_is_named_with_its_reason(self, host: Host, source: Source):
        with pytest.raises(DeploymentError, match=r"Published: .*the text was refused by"):
            deploy(host.client, source, "refused", {"Greeting": "refuse"})

    def test_an_unknown_type_is_named(self, host: Host, tmp_path):
        text = "Resources: {Thing: {Type: AWS::No::Thing}}\n"
        (tmp_path / "template.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(DeploymentError, match=r"AWS::No::Thing"):
            deploy(host.client, Source(tmp_path, tmp_path / "agent"), "unknown")

    def test_a_rules_name_belongs_to_one_stack(self, host: Host, tmp_path):
        rule = "{Type: AWS::Events::Rule, Properties: {Name: only-one, EventPattern: {source: [rewarm]}}}"
        (tmp_path / "template.yaml").write_text(f"Resources: {{Rule: {rule}}}\n", encoding="utf-8")
        source = Source(tmp_path, tmp_path / "agent")
        deploy(host.client, source, "first")
        with pytest.raises(DeploymentError, match=r"Rule: .*only-one.*already exists"):
            deploy(host.client, source, "second")
        assert host.client("events").describe_rule(Name="only-one")["State"] == "ENABLED"

    def test_a_missing_agent_says_what_to_run(self, host: Host, source: Source):
        with pytest.raises(DeploymentError, match="make -C warmer"):
            deploy(host.client, Source(source.root, source.root / "nothing"), "no-agent")

    def test_a_missing_folder_is_named(self, tmp_path):
        with pytest.raises(DeploymentError, match="absent"):
            zip_folder(tmp_path / "absent")


def test_a_stack_is_deployed_whatever_a_test_before_left_in_the_environment(
    host: Host, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test-before")
    step = "{action: 'aws:runShellScript', name: one, inputs: {runCommand: ['true']}}"
    content = f"{{schemaVersion: '2.2', mainSteps: [{step}]}}"
    text = f"Resources: {{One: {{Type: AWS::SSM::Document, Properties: {{Content: {content}}}}}}}\n"
    (tmp_path / "template.yaml").write_text(text, encoding="utf-8")
    deploy(host.client, Source(tmp_path, tmp_path / "agent"), "late")


def test_a_zip_depends_on_the_contents_only(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "__pycache__").mkdir(parents=True)
        (tmp_path / name / "code.py").write_text("x = 1\n", encoding="utf-8")
        (tmp_path / name / "__pycache__" / "code.pyc").write_bytes(name.encode())
    first, second = zip_folder(tmp_path / "a"), zip_folder(tmp_path / "b")
    assert first == second
    assert zipfile.ZipFile(BytesIO(first)).namelist() == ["code.py"]
