"""AWS::SSM::Document in a template reaches the SSM that runs commands.

Why: the emulator's CloudFormation refuses the type, and its SSM runs no commands; the Region simulator's
does. So the resource becomes CreateDocument, UpdateDocument and DeleteDocument calls, as CloudFormation makes
them (AWS documentation, AWS::SSM::Document; botocore shapes of ssm).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from local.aws.emulator import seam

if TYPE_CHECKING:
    from mypy_boto3_ssm.client import SSMClient

Client = Callable[[], "SSMClient"]
_REPLACING = ("Name", "DocumentType", "DocumentFormat", "TargetType", "VersionName")


def apply(ssm: Client) -> None:
    """Mend the emulator's CloudFormation. The client is asked for at each call."""
    provisioners = seam.module("services.cloudformation.provisioners")
    seam.known(provisioners, "_provision_resource", 'handler["create"](logical_id, props, stack_name)')
    seam.known(provisioners, "_delete_resource", 'handler["delete"](physical_id, props)')
    handlers = {
        "create": partial(_create, ssm), "update": partial(_update, ssm), "delete": partial(_delete, ssm),
    }  # fmt: skip
    seam.add_entry(provisioners._RESOURCE_HANDLERS, "AWS::SSM::Document", handlers)


def _content(properties: dict[str, Any]) -> str:
    content = properties["Content"]
    return content if isinstance(content, str) else json.dumps(content)


def _create(
    ssm: Client, logical_id: str, properties: dict[str, Any], stack_name: str
) -> tuple[str, dict[str, Any]]:
    name = properties.get("Name") or f"{stack_name}-{logical_id}-{uuid.uuid4().hex[:12]}"
    optional = {
        key: properties[key]
        for key in ("Attachments", "Requires", "Tags", "TargetType", "VersionName")
        if key in properties
    }
    ssm().create_document(
        Name=name,
        Content=_content(properties),
        DocumentType=properties.get("DocumentType", "Command"),
        DocumentFormat=properties.get("DocumentFormat", "JSON"),
        **optional,
    )
    return name, {"Arn": name}


def _update(
    ssm: Client, physical_id: str, old: dict[str, Any], new: dict[str, Any], stack_name: str
) -> tuple[str, dict[str, Any]]:
    if any(old.get(key) != new.get(key) for key in _REPLACING):
        created = _create(ssm, "Document", new, stack_name)
        _delete(ssm, physical_id, old)
        return created
    if _content(old) != _content(new):
        answer = ssm().update_document(
            Name=physical_id,
            Content=_content(new),
            DocumentVersion="$LATEST",
            DocumentFormat=new.get("DocumentFormat", "JSON"),
        )
        version = answer["DocumentDescription"]["DocumentVersion"]
        ssm().update_document_default_version(Name=physical_id, DocumentVersion=version)
    return physical_id, {"Arn": physical_id}


def _delete(ssm: Client, physical_id: str, _properties: dict[str, Any]) -> None:
    ssm().delete_document(Name=physical_id)
