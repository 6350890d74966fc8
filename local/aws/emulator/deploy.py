"""Deploy the real template.yaml to the emulator, with boto3 alone.

`sam deploy` would do it too, but polls for 10 s and needs its own packages. Local folders and files are
packaged here as SAM does it, with two differences, because the emulator's Lambdas are processes on this
machine: the layers of packages are empty, since their Python already has the same pinned packages, and the
agent layer holds the binary that was built for this machine.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import agents, dashboard, documents, state_machines, yaml_text

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.client import CloudFormationClient

ARTIFACTS_BUCKET = "rewarm-local-deployment"
PACKAGES_LAYERS = {"DependenciesLayer", "ChartsLayer"}
AGENT_LAYER = "AgentLayer"
TIMEOUT_SECONDS = 180.0
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_ARCHITECTURES = {"aarch64": "arm64"}
MakeClient = Callable[[str], Any]
"""A boto3 client of a service, for whoever deploys."""


class DeploymentError(RuntimeError):
    """The stack could not be made; the message names the resource and the reason."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is deployed from this working tree."""

    root: Path
    """The folder of template.yaml."""
    agent: Path
    """The warm-up agent built for this machine."""
    template: str = "template.yaml"


def deploy(
    client: MakeClient, source: Source, stack: str = "rewarm", parameters: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Create or update the stack and return its outputs."""
    upload = Uploader(client)
    template = package(source, upload)
    cloudformation = client("cloudformation")
    # As `sam deploy` does: a template of more than 51,200 bytes is taken from S3 only.
    url = upload.url(json.dumps(template, default=str).encode(), ".json")
    change_set = _create_change_set(cloudformation, stack, url, parameters or {})
    if change_set is not None:
        cloudformation.execute_change_set(StackName=stack, ChangeSetName=change_set)
        _wait_for_stack(cloudformation, stack)
    described = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}


def package(source: Source, upload: Uploader) -> dict[str, Any]:
    """The template with every local folder and file replaced by its place in S3."""
    template = yaml_text.template(source.root, source.template)
    allowed = agents.hashes(_agents(source))
    made = documents.contents(source.root, allowed) | dashboard.included(source.root)
    made |= state_machines.definitions(source.root)
    zipped = cache(partial(zip_folder, more=agents.packaged(allowed)))  # most functions are in one folder
    for name, resource in template["Resources"].items():
        properties = resource.setdefault("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function" and isinstance(properties.get("CodeUri"), str):
            properties["CodeUri"] = upload.put(zipped(source.root / properties["CodeUri"]), ".zip")
        elif resource["Type"] == "AWS::Serverless::LayerVersion":
            properties["ContentUri"] = upload.put(_layer(source, name, properties["ContentUri"]), ".zip")
        elif resource["Type"] == "AWS::Serverless::StateMachine" and "DefinitionUri" in properties:
            definition = _content(source.root, properties["DefinitionUri"], made.get(name))
            properties["DefinitionUri"] = upload.put(definition, ".json")
        elif "Fn::Transform" in properties.get("DefinitionBody", {}):
            properties["DefinitionBody"] = included(source.root, properties["DefinitionBody"])
        elif "Fn::Transform" in (including := properties.get("Content", properties)):
            file = including["Fn::Transform"]["Parameters"]
            content = _content(source.root, file["Location"], made.get(name))
            file["Location"] = upload.put(content, ".json")
    return template


def _content(root: Path, location: str, made: Any) -> bytes:
    """What a build would write there; the file itself, where people write it."""
    return (root / location).read_bytes() if made is None else json.dumps(made).encode()


def included(root: Path, value: dict[str, Any]) -> Any:
    """What AWS::Include puts there, before SAM sees it (CloudFormation user guide, "Evaluation order")."""
    location = value["Fn::Transform"]["Parameters"]["Location"]
    return json.loads((root / location).read_text(encoding="utf-8"))


def zip_folder(folder: Path, more: Mapping[str, bytes] | None = None) -> bytes:
    """The folder, with `more` files in their places, as a zip file that depends on these contents only."""
    if not folder.is_dir():
        raise DeploymentError(f"template.yaml packages {folder}, which is not a folder")
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    own = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return zip_files(dict(sorted({**own, **(more or {})}.items())))


def _layer(source: Source, name: str, content_uri: str) -> bytes:
    if name in PACKAGES_LAYERS:
        return zip_files({"README": b"The emulator's Python has the packages of functions/ itself.\n"})
    if name == AGENT_LAYER:
        if not source.agent.is_file():
            raise DeploymentError(f"the warm-up agent {source.agent} is not built: run make -C warmer")
        return zip_files(_agents(source))
    return zip_folder(source.root / content_uri)


def _agents(source: Source) -> dict[str, bytes]:
    """The agent of this machine, under the name of its release binary; none if it is not built."""
    if not source.agent.is_file():
        return {}
    machine = platform.machine()
    return {f"warmer-linux-{_ARCHITECTURES.get(machine, machine)}": source.agent.read_bytes()}


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """A zip file of these contents by name, in their order, that anybody may read and run."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _FIXED_TIME)
            info.external_attr = 0o755 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


class Uploader:
    """Puts artifacts in a bucket, each once, under the hash of its bytes."""

    def __init__(self, client: MakeClient) -> None:
        self._s3 = client("s3")
        self._put: set[str] = set()
        region = self._s3.meta.region_name
        # S3 takes no LocationConstraint for us-east-1, and asks for one in every other Region.
        place: Any = {"LocationConstraint": region} if region != "us-east-1" else {}
        with suppress(self._s3.exceptions.BucketAlreadyOwnedByYou):
            self._s3.create_bucket(Bucket=ARTIFACTS_BUCKET, CreateBucketConfiguration=place)

    def put(self, content: bytes, suffix: str) -> str:
        """Its address as SAM writes it."""
        key = hashlib.sha256(content).hexdigest() + suffix
        if key not in self._put:
            self._s3.put_object(Bucket=ARTIFACTS_BUCKET, Key=key, Body=content)
            self._put.add(key)
        return f"s3://{ARTIFACTS_BUCKET}/{key}"

    def url(self, content: bytes, suffix: str) -> str:
        """The same, named as CloudFormation wants a template."""
        return self.put(content, suffix).replace("s3://", f"{self._s3.meta.endpoint_url}/")


def _create_change_set(
    cloudformation: CloudFormationClient, stack: str, template_url: str, parameters: Mapping[str, str]
) -> str | None:
    name = f"deploy-{time.time_ns()}"
    try:
        cloudformation.create_change_set(
            StackName=stack,
            ChangeSetName=name,
            ChangeSetType="UPDATE" if _exists(cloudformation, stack) else "CREATE",
            TemplateURL=template_url,
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        )
    except cloudformation.exceptions.ClientError as refusal:
        raise DeploymentError(f"CloudFormation refused the template: {refusal}") from refusal
    give_up = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < give_up:
        described = cloudformation.describe_change_set(StackName=stack, ChangeSetName=name)
        if described["Status"] == "CREATE_COMPLETE":
            return name
        if described["Status"] == "FAILED":
            reason = described.get("StatusReason", "")
            if "didn't contain changes" in reason or "No updates" in reason:
                return None
            raise DeploymentError(f"CloudFormation refused the template: {reason}")
        time.sleep(0.05)
    raise DeploymentError(f"the change set {name} was not ready within {TIMEOUT_SECONDS:.0f} s")


def _exists(cloudformation: CloudFormationClient, stack: str) -> bool:
    try:
        stacks = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except cloudformation.exceptions.ClientError:
        return False
    return stacks[0]["StackStatus"] != "REVIEW_IN_PROGRESS"


def _wait_for_stack(cloudformation: CloudFormationClient, stack: str) -> None:
    give_up = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < give_up:
        status = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
        if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return
        if not status.endswith("IN_PROGRESS"):
            raise DeploymentError(f"the stack {stack} ended as {status}: {_reasons(cloudformation, stack)}")
        time.sleep(0.05)
    unready = _unready(cloudformation, stack)
    raise DeploymentError(f"the stack {stack} was not ready within {TIMEOUT_SECONDS:.0f} s: {unready}")


def _unready(cloudformation: CloudFormationClient, stack: str) -> str:
    resources = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    waiting = [resource for resource in resources if not resource["ResourceStatus"].endswith("COMPLETE")]
    return ", ".join(f"{one['LogicalResourceId']} is {one['ResourceStatus']}" for one in waiting)


def _reasons(cloudformation: CloudFormationClient, stack: str) -> str:
    events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
    failed = [event for event in reversed(events) if event["ResourceStatus"].endswith("FAILED")]
    return "; ".join(
        f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', 'no reason given')}"
        for event in failed
    )
