"""The template that deploys from a bucket is whole, and the same in every partition (template.py)."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch

import pytest
import yaml
from moto.iam.aws_managed_policies import aws_managed_policies_data

from local import ROOT, agents, yaml_text
from local.aws.permissions import roles
from local.tools.release import template
from tests.local.tools.release.conftest import AGENTS
from tests.support.tree import BIN, complaints

SHIPPED = (
    "functions", "statemachine", "documents", "template.yaml", "dashboard.yaml", "api.json", "pyproject.toml",
)  # fmt: skip
PROGRAM = """\
import sys
from pathlib import Path
from local.tools.release import template
layers = {name: b"" for name in ("DependenciesLayer", "ChartsLayer", "AgentLayer")}
template.package(layers, {"linux-arm64": "a" * 64}, Path(sys.argv[1])).write(Path(sys.argv[2]))
"""


def test_it_names_no_macro_and_only_files_that_are_there(package):
    text = package.text().decode()
    assert "Transform" not in text
    assert "Serverless" not in text
    named = set(re.findall(r"\$\{CodePrefix\}(\S+)", text))
    assert named == set(package.files)
    for name, content in package.files.items():
        assert name.partition(".")[0] == hashlib.sha256(content).hexdigest()


def test_documents_and_functions_name_the_agents_of_the_release(package):
    """Whatever an earlier build has left in the tree."""
    functions = package.template["Resources"]["ApiFunction"]["Properties"]["Code"]["S3Key"]["Fn::Sub"]
    with zipfile.ZipFile(io.BytesIO(package.files[functions.partition("}")[2]])) as archive:
        assert json.loads(archive.read(agents.PACKAGED)) == AGENTS
    documents = [
        one["Properties"]["Content"]["parameters"]
        for one in package.template["Resources"].values()
        if one["Type"] == "AWS::SSM::Document"
    ]
    pinned = [set(one[agents.PARAMETER]["allowedValues"]) for one in documents if agents.PARAMETER in one]
    assert len(pinned) >= 7
    assert set.union(*pinned) - {"none"} == set(AGENTS.values())


def test_cloudformation_takes_its_size_and_its_resources(package):
    assert len(package.text()) < template.MOST_BYTES
    # "Resources" and "Parameters" in the CloudFormation user guide, "CloudFormation quotas".
    assert len(package.template["Resources"]) <= 500
    assert len(package.template["Parameters"]) <= 200


@pytest.mark.long
def test_cfn_lint(package, tmp_path):
    path = tmp_path / "packaged.yaml"
    path.write_bytes(package.text())
    assert complaints([BIN / "cfn-lint", path]) == ""


def test_it_reads_as_it_was_made(package):
    assert yaml.load(package.text(), yaml.CSafeLoader) == json.loads(json.dumps(package.template))


def test_no_role_and_no_policy_has_a_name_of_its_own(package):
    """So CAPABILITY_IAM is enough. The name of an AWS::IAM::Policy is required, and its role's alone."""
    named = {"RoleName", "ManagedPolicyName", "UserName", "GroupName"}
    own = [one for one in package.template["Resources"].values() if one["Type"].startswith("AWS::IAM::")]
    assert [one for one in own if named & set(one["Properties"])] == []


@pytest.mark.parametrize("region", ["us-east-1", "us-gov-west-1"])
def test_sam_makes_the_same_of_it_in_every_partition(region):
    """But for the partition, and for the policy that lets functions write traces; both allow the same."""
    there = json.dumps(_expanded(region))
    here = json.dumps(_expanded(template.EXPANDED_IN))
    partition = "aws-us-gov" if "gov" in region else "aws"
    there = there.replace(f"arn:{partition}:iam", "arn:aws-cn:iam")
    assert there.replace("AWSXrayWriteOnlyAccess", "AWSXRayDaemonWriteAccess") == here
    policies = json.loads(aws_managed_policies_data)
    allowed = [
        sorted(policies[name]["Document"]["Statement"][0]["Action"])
        for name in ("AWSXrayWriteOnlyAccess", "AWSXRayDaemonWriteAccess")
    ]
    assert allowed[0] == allowed[1]


def _expanded(region):
    source = yaml_text.template()
    for resource in source["Resources"].values():
        packaged = {"CodeUri", "ContentUri", "DefinitionUri"} & set(resource.get("Properties", {}))
        resource.get("Properties", {}).update(dict.fromkeys(packaged, "s3://bucket/key"))
    made = roles.transformed(source, region)
    return {name: made["Resources"][name] for name in sorted(made["Resources"])}


def test_sam_writes_no_parameter_s_value_into_it(package, monkeypatch):
    """It is expanded before anybody has chosen one."""
    read = yaml_text.template

    def with_other_defaults(root):
        source = read(root)
        for parameter in source["Parameters"].values():
            if "Default" in parameter:
                parameter["Default"] = 4711 if parameter["Type"] == "Number" else "another"
        return source

    monkeypatch.setattr(yaml_text, "template", with_other_defaults)
    layers = {name: name.encode() for name in package.layers}
    assert template.package(layers, AGENTS).template["Resources"] == package.template["Resources"]


def test_a_stack_of_make_deploy_can_be_updated_with_it(package):
    """Its resources have the same logical ids, but for those that are made anew at each change."""
    renewed = ("AWS::Lambda::LayerVersion", "AWS::ApiGateway::Deployment")
    deployed, packaged = (
        {name: one["Type"] for name, one in made.items() if one["Type"] not in renewed}
        for made in (roles.resources(), package.template["Resources"])
    )
    assert deployed == packaged


def test_it_asks_first_where_the_files_are(package):
    assert list(package.template["Parameters"])[:3] == ["CodeBucket", "CodeBucketPerRegion", "CodePrefix"]
    source = yaml_text.template()
    assert list(package.template["Parameters"])[3:] == list(source["Parameters"])
    assert package.template["Outputs"].keys() == source["Outputs"].keys()


def test_two_clones_give_the_same_bytes(tmp_path):
    """At other paths, at another time, and with another seed of Python's hashes."""
    made = []
    for number in ("1", "2"):
        clone, folder = tmp_path / f"clone-{number}" / ("deep" * int(number)), tmp_path / f"dist-{number}"
        for name in SHIPPED:
            source, target = ROOT / name, clone / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, copy_function=shutil.copy, ignore=_not_ours)
            else:
                shutil.copy(source, target)
        environment = {**os.environ, "PYTHONHASHSEED": number}
        subprocess.run(
            [sys.executable, "-c", PROGRAM, clone, folder], cwd=ROOT, env=environment, check=True,
            capture_output=True,
        )  # fmt: skip
        made.append(
            {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        )
    assert made[0] == made[1]
    assert len(made[0]) > 5


def _not_ours(_folder, names):
    return [name for name in names if any(fnmatch(name, one) for one in ("__pycache__", "build"))]
