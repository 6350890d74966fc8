"""SSM command documents with their versions (botocore ssm; SSM user guide, "Data elements")."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import yaml

from local import Json
from local.aws.region.commands.scripts import POWERSHELL
from local.aws.region.core import Core, stamp
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation

TIMEOUT_PATTERN = "([1-9][0-9]{0,4})|(1[0-6][0-9]{4})|(17[0-1][0-9]{3})|(172[0-7][0-9]{2})|(172800)"

RUN_SHELL_SCRIPT: Json = {
    "schemaVersion": "2.2",
    "description": "Run a shell script or specify the commands to run.",
    "parameters": {
        "commands": {"type": "StringList", "description": "The commands to run.", "minItems": 1},
        "workingDirectory": {"type": "String", "default": "", "maxChars": 4096},
        "executionTimeout": {
            "type": "String",
            "default": "3600",
            "allowedPattern": TIMEOUT_PATTERN,
        },
    },
    "mainSteps": [
        {
            "action": "aws:runShellScript",
            "name": "aws:runShellScript",
            "precondition": {"StringEquals": ["platformType", "Linux"]},
            "inputs": {
                "timeoutSeconds": "{{ executionTimeout }}",
                "runCommand": "{{ commands }}",
                "workingDirectory": "{{ workingDirectory }}",
            },
        }
    ],
}
"""AWS-RunShellScript as AWS publishes it."""

MAX_VERSIONS = 1_000


@dataclass(slots=True)
class Document:
    """A command document with all its versions; contents are kept as they were given."""

    name: str
    owner: str
    created: float
    form: str
    versions: list[str] = field(default_factory=list)
    default_version: int = 1
    target_type: str | None = None
    tags: list[Json] = field(default_factory=list)

    def parsed(self, version: int) -> Json:
        """The content of a version as data."""
        return parse(self.versions[version - 1], self.form)


class Documents:
    """Documents by name; AWS-RunShellScript is always there."""

    def __init__(self, core: Core) -> None:
        self._core = core
        builtin = Document("AWS-RunShellScript", "Amazon", core.now(), "JSON", [json.dumps(RUN_SHELL_SCRIPT)])
        self._known = {builtin.name: builtin}

    def find(self, name: str, version: str | None = None) -> tuple[Document, int]:
        """The document by name or ARN, and the version asked for; the default version when none is."""
        document = self._known.get(name.rsplit("/", 1)[-1] if name.startswith("arn:") else name)
        if document is None:
            raise ApiError("InvalidDocument", f"Document with name {name} does not exist.")
        return document, _version(document, version)

    @operation("ssm", "CreateDocument")
    def create_document(self, params: Json) -> Json:
        """A new document; only command documents of schema 2.2 are modelled."""
        name, form = params["Name"], params.get("DocumentFormat") or "JSON"
        if name in self._known:
            raise ApiError("DocumentAlreadyExists", f"Document with same name {name} already exists")
        if name.lower().startswith(("aws", "amazon", "amzn")):
            raise ApiError("ValidationException", f"Document name {name} is reserved")
        if params.get("DocumentType", "Command") != "Command":
            raise ApiError("InvalidDocumentContent", "Only documents of type Command are modelled")
        self._check(params["Content"], form)
        document = Document(name, self._core.settings.account_id, self._core.now(), form, [params["Content"]])
        document.target_type, document.tags = params.get("TargetType"), params.get("Tags") or []
        self._known[name] = document
        return {"DocumentDescription": self._describe(document, 1)}

    @operation("ssm", "UpdateDocument")
    def update_document(self, params: Json) -> Json:
        """A new version of a document; the default version stays."""
        document, _ = self.find(params["Name"], params.get("DocumentVersion") or "$LATEST")
        form = params.get("DocumentFormat") or document.form
        self._check(params["Content"], form)
        if params["Content"] in document.versions:
            raise ApiError(
                "DuplicateDocumentContent", "The content of the association document matches another document"
            )
        if len(document.versions) >= MAX_VERSIONS:
            raise ApiError("DocumentVersionLimitExceeded", f"A document has at most {MAX_VERSIONS} versions")
        document.form = form
        document.versions.append(params["Content"])
        return {"DocumentDescription": self._describe(document, len(document.versions))}

    @operation("ssm", "UpdateDocumentDefaultVersion")
    def update_document_default_version(self, params: Json) -> Json:
        """Make a version the one that SendCommand takes."""
        document, version = self.find(params["Name"], params["DocumentVersion"])
        document.default_version = version
        return {"Description": {"Name": document.name, "DefaultVersion": str(version)}}

    @operation("ssm", "GetDocument")
    def get_document(self, params: Json) -> Json:
        """A document's content, in the format asked for."""
        document, version = self.find(params["Name"], params.get("DocumentVersion"))
        form = params.get("DocumentFormat") or document.form
        content = document.versions[version - 1]
        if form != document.form:
            data = parse(content, document.form)
            content = json.dumps(data, indent=2) if form == "JSON" else yaml.safe_dump(data, sort_keys=False)
        return {
            "Name": document.name,
            "CreatedDate": stamp(document.created),
            "DocumentVersion": str(version),
            "Status": "Active",
            "Content": content,
            "DocumentType": "Command",
            "DocumentFormat": form,
        }

    @operation("ssm", "DescribeDocument")
    def describe_document(self, params: Json) -> Json:
        """A document's description."""
        document, version = self.find(params["Name"], params.get("DocumentVersion"))
        return {"Document": self._describe(document, version)}

    @operation("ssm", "ListTagsForResource")
    def list_tags_for_resource(self, params: Json) -> Json:
        """The tags of a document; no other resource is modelled."""
        document = self._known.get(params["ResourceId"])
        if params["ResourceType"] != "Document" or document is None:
            raise ApiError("InvalidResourceId", f"The resource {params['ResourceId']} does not exist.")
        return {"TagList": document.tags}

    @operation("ssm", "AddTagsToResource")
    def add_tags_to_resource(self, params: Json) -> Json:
        """Add tags to a document, or replace the values of tags that are there."""
        document, _ = self.find(params["ResourceId"])
        added = {tag["Key"] for tag in params["Tags"]}
        document.tags = [tag for tag in document.tags if tag["Key"] not in added] + list(params["Tags"])
        return {}

    def tags(self, name: str) -> dict[str, str]:
        """The tags of a document; none where there is no such document."""
        document = self._known.get(name)
        return {} if document is None else {tag["Key"]: tag["Value"] for tag in document.tags}

    def check_hash(self, document: Document, version: int, wanted: str | None) -> None:
        """UNVERIFIED: with which error SendCommand refuses a version that has another DocumentHash."""
        if wanted is not None and wanted != _hash(document.versions[version - 1]):
            raise ApiError("InvalidDocument", f"The hash of {document.name} is not {wanted}.")

    @operation("ssm", "DeleteDocument")
    def delete_document(self, params: Json) -> Json:
        """Delete a document with all its versions."""
        document, _ = self.find(params["Name"])
        if document.owner == "Amazon":
            raise ApiError("InvalidDocumentOperation", "You can't delete an AWS owned document")
        del self._known[document.name]
        return {}

    def _check(self, content: str, form: str) -> None:
        limit = self._core.settings.command.max_document_bytes
        if len(content.encode()) > limit:
            raise ApiError("MaxDocumentSizeExceeded", f"The size limit of a document is {limit // 1024} KB.")
        data = parse(content, form)
        if data.get("schemaVersion") != "2.2":
            raise ApiError(
                "InvalidDocumentSchemaVersion", f"Schema version {data.get('schemaVersion')} is not supported"
            )
        steps = data.get("mainSteps")
        if not isinstance(steps, list) or not steps:
            raise ApiError("InvalidDocumentContent", "mainSteps must have at least one step")
        names = [step.get("name") for step in steps]
        if len(set(names)) != len(names):
            raise ApiError("InvalidDocumentContent", "The names of steps must be unique")
        for step in steps:
            _check_step(step)

    def _describe(self, document: Document, version: int) -> Json:
        data = document.parsed(version)
        digest = _hash(document.versions[version - 1])
        return {
            "Name": document.name,
            "Owner": document.owner,
            "CreatedDate": stamp(document.created),
            "Status": "Active",
            "DocumentVersion": str(version),
            "LatestVersion": str(len(document.versions)),
            "DefaultVersion": str(document.default_version),
            "Description": data.get("description"),
            "Hash": digest,
            "HashType": "Sha256",
            "PlatformTypes": platforms(data),
            "DocumentType": "Command",
            "SchemaVersion": "2.2",
            "DocumentFormat": document.form,
            "TargetType": document.target_type,
            "Tags": document.tags,
            "Parameters": [
                _describe_parameter(name, one) for name, one in (data.get("parameters") or {}).items()
            ],
        }


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def parse(content: str, form: str) -> Json:
    """A document's content as data; YAML includes JSON."""
    try:
        data: Any = json.loads(content) if form == "JSON" else yaml.safe_load(content)
    except (ValueError, yaml.YAMLError) as error:
        raise ApiError("InvalidDocumentContent", f"{form} not well-formed. {error}") from error
    if not isinstance(data, dict):
        raise ApiError("InvalidDocumentContent", "The document must be an object")
    return data


def platforms(data: Json) -> list[str]:
    """The platforms that a document's steps run on."""
    actions = {step.get("action") for step in data.get("mainSteps") or ()}
    return ["Windows"] if actions == {POWERSHELL} else ["Linux", "MacOS"]


def _check_step(step: Json) -> None:
    if step.get("action") not in ("aws:runShellScript", POWERSHELL):
        raise ApiError("InvalidDocumentContent", f"The action {step.get('action')} is not modelled")
    if not step.get("name") or not (step.get("inputs") or {}).get("runCommand"):
        raise ApiError("InvalidDocumentContent", "A step needs a name and inputs.runCommand")


def _version(document: Document, version: str | None) -> int:
    if version is None or version == "$DEFAULT":
        return document.default_version
    if version == "$LATEST":
        return len(document.versions)
    if not version.isdigit() or not 1 <= int(version) <= len(document.versions):
        raise ApiError(
            "InvalidDocumentVersion", f"Document version {version} does not exist for {document.name}"
        )
    return int(version)


def _describe_parameter(name: str, one: Json) -> Json:
    default = one.get("default")
    shown = default if isinstance(default, str) or default is None else json.dumps(default)
    kind = one.get("type") if one.get("type") in ("String", "StringList") else "String"
    return {"Name": name, "Type": kind, "Description": one.get("description"), "DefaultValue": shown}
