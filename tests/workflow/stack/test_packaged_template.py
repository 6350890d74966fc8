"""The template of a release is whole: it deploys from a bucket without SAM, and its API answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from local import ROOT
from local.agents import hashes
from local.aws.emulator.deploy import zip_files
from local.tools.release import template, versions
from rewarm_cli.main import run
from rewarm_cli.problems import DONE

if TYPE_CHECKING:
    from local.aws.host import Host

pytestmark = [pytest.mark.workflow, pytest.mark.long]
BUCKET, STACK = "acme-rewarm", "packaged"


@pytest.fixture(scope="module")
def package():
    """As `make release` makes it, but for the layers, which hold what functions need on this machine."""
    agent = (ROOT / "warmer" / "build" / "warmer").read_bytes()
    empty = zip_files({"README": b"This machine's Python has the packages itself.\n"})
    layers = {"DependenciesLayer": empty, "ChartsLayer": empty}
    agents = {"warmer-linux-x86_64": agent}
    return template.package({**layers, "AgentLayer": zip_files(agents)}, hashes(agents))


@pytest.fixture(scope="module")
def stack(host: Host, package):
    """The outputs of a stack that was made from the bucket of its Region."""
    region, s3 = host.addresses.region, host.client("s3")
    bucket = f"{BUCKET}-{region}"
    place = {"LocationConstraint": region} if region != "us-east-1" else {}
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration=place)
    for name, content in {**package.files, f"{package.name}.yaml": package.text()}.items():
        s3.put_object(Bucket=bucket, Key=f"{package.name}/{name}", Body=content)
    chosen = {"CodeBucket": BUCKET, "CodeBucketPerRegion": "yes", "AlarmNamePrefix": "packaged-"}
    cloudformation = host.client("cloudformation")
    cloudformation.create_stack(
        StackName=STACK,
        TemplateURL=f"{s3.meta.endpoint_url}/{bucket}/{package.name}/{package.name}.yaml",
        Capabilities=["CAPABILITY_IAM"],
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in chosen.items()],
    )
    cloudformation.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
    outputs = cloudformation.describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
    yield {output["OutputKey"]: output["OutputValue"] for output in outputs}
    cloudformation.delete_stack(StackName=STACK)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})


def test_a_stack_made_from_a_bucket_says_its_version_answers_and_has_the_agent(
    host: Host, stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert stack["Version"] == versions.current()
    held = host.client("s3").list_objects_v2(Bucket=stack["ArtifactsBucket"], Prefix="agents/")["Contents"]
    assert [one["Key"].rpartition("/")[2] for one in held] == ["warmer"]
    for name, value in host.aws_environment.items():
        monkeypatch.setenv(name, value)
    assert run(["list", "--stack", STACK, "--output", "json"]) == DONE
    answer = capsys.readouterr()
    assert json.loads(answer.out)["restores"] == []
    assert answer.err == "", "command and stack are of one version"
