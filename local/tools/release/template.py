"""The template that deploys from a bucket: CloudFormation needs its address, and no tool of SAM's.

SAM's own translator has expanded it, so it names no macro. StackSets with service-managed permissions refuse
macros, AWS::Serverless and AWS::Include among them (botocore, CreateStackSet, Capabilities). The functions,
layers and state machines are files beside it, each named by the hash of its bytes. So another version never
overwrites what a deployed stack may go back to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from local import ROOT, Json, agents, dashboard, documents, state_machines, yaml_text
from local.aws.emulator.deploy import included, zip_folder
from local.aws.permissions.roles import transformed
from local.tools.release import versions

BUCKET, PER_REGION, PREFIX = "CodeBucket", "CodeBucketPerRegion", "CodePrefix"
MOST_BYTES = 1_000_000
"""Of a template in S3 (CloudFormation user guide, "CloudFormation quotas")."""
_IS_PER_REGION = "HasCodeBucketPerRegion"
EXPANDED_IN = "cn-north-1"
"""The policies that SAM gives functions and state machines here exist in every partition. In the partition
aws it takes AWSXrayWriteOnlyAccess, which allows the same as AWSXRayDaemonWriteAccess."""
_OWN_PARTITION = "arn:aws-cn:"


@dataclass(slots=True)
class Package:
    """The template, and the files that it names by the hash of their bytes."""

    name: str
    """Of the folder and of the template in it."""
    template: Json = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)
    """Logical id of a layer in template.yaml -> the name of its file."""

    def put(self, content: bytes, suffix: str) -> Json:
        """Where CloudFormation finds the content, as SAM writes it."""
        name = hashlib.sha256(content).hexdigest() + suffix
        self.files[name] = content
        of_region = {"Fn::Sub": f"${{{BUCKET}}}-${{AWS::Region}}"}
        bucket = {"Fn::If": [_IS_PER_REGION, of_region, {"Ref": BUCKET}]}
        return {"Bucket": bucket, "Key": {"Fn::Sub": f"${{{PREFIX}}}{name}"}}

    def text(self) -> bytes:
        """The template as YAML."""
        shown: str = yaml.dump(self.template, Dumper=_Plain, sort_keys=False, width=110, allow_unicode=True)
        return shown.encode()

    def write(self, folder: Path) -> None:
        """Fill `folder`/NAME, which `aws s3 sync` copies to a bucket."""
        target = folder / self.name
        target.mkdir(parents=True)
        for name, content in {**self.files, f"{self.name}.yaml": self.text()}.items():
            (target / name).write_bytes(content)


class _Plain(yaml.SafeDumper):
    """Repeats what is repeated: CloudFormation takes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _several_lines(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """A script as it is read."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _several_lines)


def package(layers: Mapping[str, bytes], allowed: Mapping[str, str], root: Path = ROOT) -> Package:
    """The package of a working tree. `layers` has the zip file of each layer, by logical id.

    `allowed` has the hashes of the agents that it runs (agents.hashes).
    """
    made = Package(f"rewarm-{versions.current(root)}")
    source: Json = yaml_text.template(root)
    contents, definitions = documents.contents(root, allowed), state_machines.definitions(root)
    zipped = cache(partial(zip_folder, more=agents.packaged(allowed)))
    for name, resource in source["Resources"].items():
        properties = resource.get("Properties", {})
        if "CodeUri" in properties:
            properties["CodeUri"] = made.put(zipped(root / properties["CodeUri"]), ".zip")
        elif "ContentUri" in properties:
            properties["ContentUri"] = made.put(layers[name], ".zip")
            made.layers[name] = properties["ContentUri"]["Key"]["Fn::Sub"].partition("}")[2]
        elif "DefinitionUri" in properties:
            properties["DefinitionUri"] = made.put(json.dumps(definitions[name]).encode(), ".json")
        elif "Fn::Transform" in properties.get("DefinitionBody", {}):
            properties["DefinitionBody"] = included(root, properties["DefinitionBody"])
        elif resource["Type"] == "AWS::SSM::Document":
            properties["Content"] = contents[name]
        elif properties.pop("Fn::Transform", None):
            properties |= dashboard.included(root)[name]
    _add_parameters(source, made.name)
    made.template = expanded(source)
    return made


def expanded(source: Json, region: str = EXPANDED_IN) -> Json:
    """What SAM makes of a template, for every partition and without what only tools read."""
    order = {section: list(source[section]) for section in ("Parameters", "Resources")}
    template = json.loads(json.dumps(transformed(source, region)))
    for resource in template["Resources"].values():
        resource.pop("Metadata", None)
    template.get("Metadata", {}).pop("cfn-lint", None)
    for section, names in order.items():
        template[section] = _in_order(template[section], names)
    result: Json = _for_every_partition(template)
    return result


def _in_order(section: Json, names: list[str]) -> Json:
    """As in template.yaml, because SAM keeps no order; what SAM adds, such as roles, comes last."""
    known = [name for name in names if name in section]
    return {name: section[name] for name in [*known, *sorted(section.keys() - set(known))]}


def _for_every_partition(value: Any) -> Any:
    """Names of AWS's own policies, with the partition of whoever deploys."""
    if isinstance(value, dict):
        return {key: _for_every_partition(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_for_every_partition(item) for item in value]
    if isinstance(value, str) and value.startswith(_OWN_PARTITION):
        return {"Fn::Sub": "arn:${AWS::Partition}:" + value.removeprefix(_OWN_PARTITION)}
    return value


def _add_parameters(source: Json, name: str) -> None:
    """Where the files are, as the first question of the console's form."""
    bucket = {
        "Description": "The bucket with the files of the release. It must be in the Region of the stack.",
        "Type": "String",
        "AllowedPattern": "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
    }
    per_region = {
        "Description": (
            "Whether each Region has a bucket of its own, named CodeBucket, a hyphen and the Region. Then "
            "the same parameters do for every Region."
        ),
        "Type": "String",
        "Default": "no",
        "AllowedValues": ["no", "yes"],
    }
    prefix = {
        "Description": "What the keys of the files begin with: empty, or a folder with a slash at its end.",
        "Type": "String",
        "Default": f"{name}/",
        "AllowedPattern": "^([A-Za-z0-9._/-]+/)?$",
    }
    source["Parameters"] = {BUCKET: bucket, PER_REGION: per_region, PREFIX: prefix, **source["Parameters"]}
    source["Conditions"][_IS_PER_REGION] = {"Fn::Equals": [{"Ref": PER_REGION}, "yes"]}
    form = source["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    form.insert(0, {"Label": {"default": "Where the release is"}, "Parameters": [BUCKET, PER_REGION, PREFIX]})
