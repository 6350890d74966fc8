"""template.yaml is what CloudFormation and SAM accept, and `sam build` makes what is deployed of it."""

from __future__ import annotations

import json
import re
import sys

import pytest
import yaml

from local import built, dashboard, documents, state_machines, yaml_text
from local.aws.emulator.deploy import included
from local.aws.permissions import roles
from tests.support.tree import BIN, ROOT, complaints, files

SAM = ROOT / ".venv-sam" / "bin" / "sam"
QUIET = {"SAM_CLI_TELEMETRY": "0"}


DEPLOYED = [
    ROOT / "template.yaml",
    ROOT / "dashboard.yaml",
    *files("*.yaml", below="statemachine"),
    *files("*.yaml", "*.sh", "*.ps1", below="documents"),
]
PRINCIPALS_AND_CALLERS = {"apigateway", "events", "scheduler", "ec2.${AWS::Region}"}
"""Service principals have this domain in every partition; kms:ViaService may have it in China, too."""


@pytest.mark.parametrize("path", DEPLOYED, ids=lambda path: path.name)
def test_no_partition_is_written_into_what_is_deployed(path):
    """In aws-cn and aws-us-gov an ARN of another partition names nothing, and China has another domain."""
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"arn:aws[\w-]*:\S*", text) == []
    assert set(re.findall(r"([\w.${}:-]+)\.amazonaws\.com", text)) <= PRINCIPALS_AND_CALLERS


@pytest.mark.long
def test_cfn_lint():
    assert complaints([BIN / "cfn-lint", "template.yaml", "docs/region-switch/template.yaml"]) == ""


def test_what_has_a_name_stands_more_than_once():
    tokens = list(yaml.scan((ROOT / "template.yaml").read_text(encoding="utf-8")))
    named = [token.value for token in tokens if isinstance(token, yaml.AnchorToken)]
    repeated = {token.value for token in tokens if isinstance(token, yaml.AliasToken)}
    assert sorted(named) == sorted(repeated)


@pytest.fixture(scope="module")
def transformed():
    """What SAM makes of the template, and CloudFormation deploys."""
    template = yaml_text.template()
    for name, resource in template["Resources"].items():
        properties = resource["Properties"]
        packaged = {"CodeUri", "ContentUri", "DefinitionUri"} & set(properties)
        properties |= dict.fromkeys(packaged, "s3://bucket/key")
        if resource["Type"] == "AWS::SSM::Document":
            properties["Content"] = documents.contents()[name]
        if properties.pop("Fn::Transform", None):
            properties |= dashboard.included()[name]
        if "Fn::Transform" in properties.get("DefinitionBody", {}):
            properties["DefinitionBody"] = included(ROOT, properties["DefinitionBody"])
    return roles.transformed(template, "us-east-1")


def test_cfn_lint_of_what_sam_makes_of_it(transformed, tmp_path):
    """Some rules look only at the resources that SAM makes."""
    path = tmp_path / "transformed.json"
    path.write_text(json.dumps(transformed), encoding="utf-8")
    assert complaints([BIN / "cfn-lint", path]) == ""


def test_each_api_has_one_stage(transformed):
    """A deployment that names a stage makes one, without the throttling of the stage that is declared."""
    resources = transformed["Resources"].values()
    apis = [
        name for name, one in transformed["Resources"].items() if one["Type"] == "AWS::ApiGateway::RestApi"
    ]
    deployments = [one["Properties"] for one in resources if one["Type"] == "AWS::ApiGateway::Deployment"]
    assert sorted(one["RestApiId"]["Ref"] for one in deployments) == sorted(apis)
    assert not any("StageName" in one for one in deployments)
    stages = [one["Properties"] for one in resources if one["Type"] == "AWS::ApiGateway::Stage"]
    assert sorted(one["RestApiId"]["Ref"] for one in stages) == sorted(apis)
    assert {one["StageName"] for one in stages} == {"v1"}


def test_every_role_has_the_permissions_boundary(transformed):
    """Also the roles that SAM makes for functions, state machines, rules and schedules."""
    roles = {
        name: one["Properties"].get("PermissionsBoundary")
        for name, one in transformed["Resources"].items()
        if one["Type"] == "AWS::IAM::Role"
    }
    where_given = {
        "Fn::If": ["HasBoundary", {"Ref": "PermissionsBoundaryArn"}, {"Ref": "AWS::NoValue"}],
    }
    assert len(roles) > 30
    assert {name for name, boundary in roles.items() if boundary != where_given} == set()


@pytest.mark.parametrize(
    ("arn", "allowed"),
    [
        ("", True),
        ("arn:aws:iam::123456789012:policy/limit", True),
        ("arn:aws-cn:iam::123456789012:policy/teams/limit", True),
        ("arn:aws-us-gov:iam::123456789012:policy/limit", True),
        ("arn:aws:iam::aws:policy/PowerUserAccess", True),
        ("arn:aws:iam::123456789012:role/limit", False),
        ("limit", False),
    ],
)
def test_the_boundary_is_a_managed_policy_of_any_partition(transformed, arn, allowed):
    pattern = transformed["Parameters"]["PermissionsBoundaryArn"]["AllowedPattern"]
    assert (re.fullmatch(pattern, arn) is not None) is allowed


@pytest.mark.long
def test_sam_validate():
    assert complaints([SAM, "validate", "--lint"], **QUIET) == ""


@pytest.mark.network
@pytest.mark.slow
def test_sam_build(tmp_path):
    """The layers hold wheels for Lambda's Python and processor, whatever machine builds them."""
    built.build(ROOT, {})
    build = tmp_path / "build"
    assert complaints([SAM, "build", "--build-dir", build, "--base-dir", ROOT], **QUIET) == ""
    unpacked = 0
    for layer, package in (("DependenciesLayer", "aws_lambda_powertools"), ("ChartsLayer", "matplotlib")):
        packages = build / layer / "python"
        assert (packages / package).is_dir()
        compiled = [path for path in packages.rglob("*.so") if not path.parent.name.endswith(".libs")]
        assert compiled
        wrong = [
            path.name
            for path in compiled
            if "cpython-313-aarch64" not in path.name and "abi3" not in path.name
        ]
        assert wrong == []
        unpacked += sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    # A function with all its layers may have 250 MB (AWS Lambda developer guide, "Lambda quotas").
    assert unpacked < 220_000_000
    built_template = (build / "template.yaml").read_text(encoding="utf-8")
    assert "CodeUri: functions/" not in built_template, (
        "sam leaves a CodeUri in Globals as it is, so it would upload nothing"
    )
    assert re.findall(r"(?:^|\s)[&*]\w+", built_template) == [], (
        "CloudFormation knows no anchors and no aliases"
    )
    locations = re.findall(r"Location: (\S+)", built_template)
    assert len(locations) == len(documents.contents()) + 2, "and the API's definition, and the dashboard"
    machines = re.findall(r"DefinitionUri: (\S+)", built_template)
    assert len(machines) == len(state_machines.definitions())
    assert all((build / location).is_file() for location in locations + machines)


def test_a_build_needs_no_sam(monkeypatch):
    """`make build` fills `.venv` with what requirements/deploy.txt has, and SAM is elsewhere."""
    monkeypatch.setitem(sys.modules, "samtranslator", None)
    monkeypatch.setitem(sys.modules, "samtranslator.yaml_helper", None)
    assert documents.contents()
    assert state_machines.definitions()
    assert dashboard.included()
