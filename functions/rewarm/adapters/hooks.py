"""Run Command with documents of the account: what brings an application back after a restore."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.instances import SsmSender, exit_code_of
from rewarm.domain.model import CommandDocument, CommandStatus
from rewarm.domain.ready.agent_output import SentCommand
from rewarm.ports.instances import HookCall

if TYPE_CHECKING:
    from mypy_boto3_ssm.client import SSMClient
    from mypy_boto3_ssm.type_defs import CommandInvocationTypeDef, CommandPluginTypeDef

_NO_DOCUMENT = {"InvalidDocument", "InvalidDocumentVersion", "InvalidResourceId"}


class SsmDocuments:
    """The port CommandDocuments."""

    def __init__(self, ssm: SSMClient) -> None:
        self._ssm = ssm

    def find(self, name: str, version: str) -> CommandDocument | None:
        with naming_errors():
            try:
                found = self._ssm.describe_document(Name=name, DocumentVersion=version)["Document"]
                tags = self._ssm.list_tags_for_resource(ResourceType="Document", ResourceId=name)["TagList"]
            except ClientError as error:
                if code_of(error) in _NO_DOCUMENT:
                    return None
                raise
        return CommandDocument(
            kind=found.get("DocumentType", ""),
            version=found.get("DocumentVersion", version),
            default_version=found.get("DefaultVersion", ""),
            sha256=found.get("Hash", ""),
            platforms=frozenset(found.get("PlatformTypes", ())),
            tags={tag["Key"]: tag["Value"] for tag in tags},
        )


class SsmHooks(SsmSender):
    """The port Hooks."""

    def send(self, instance_id: str, call: HookCall, *, comment: str, timeout_seconds: int) -> str:
        named: Any = {"Parameters": call.parameters}
        if call.version is not None:
            named["DocumentVersion"] = call.version
        if call.sha256 is not None:
            named |= {"DocumentHash": call.sha256, "DocumentHashType": "Sha256"}
        return self._send(call.document, instance_id, comment, timeout_seconds, **named)

    def find(self, document: str, comment: str, *, since: datetime) -> list[SentCommand]:
        return self._find(document, comment, since)

    def outcome(self, command_id: str, instance_id: str) -> CommandStatus | None:
        """ListCommandInvocations has the status of all steps, and GetCommandInvocation more output of one."""
        with naming_errors():
            found = self._ssm.list_command_invocations(
                CommandId=command_id, InstanceId=instance_id, Details=True
            )["CommandInvocations"]
        if not found:
            return None
        status = CommandStatus(found[0]["Status"], found[0].get("StatusDetails", ""), None, "", "")
        return self._with_output(status, found[0], instance_id) if status.finished else status

    def _with_output(
        self, status: CommandStatus, invocation: CommandInvocationTypeDef, instance_id: str
    ) -> CommandStatus:
        plugins = invocation.get("CommandPlugins", [])
        if not plugins:
            return status
        failed = [plugin for plugin in plugins if plugin.get("Status") != "Success"]
        shown = (failed or plugins[-1:])[0]
        stdout, stderr = self._texts(invocation["CommandId"], instance_id, shown)
        ends = [plugin["ResponseFinishDateTime"] for plugin in plugins if "ResponseFinishDateTime" in plugin]
        return CommandStatus(
            status=status.status,
            status_details=status.status_details,
            exit_code=exit_code_of(shown.get("ResponseCode")),
            stdout=stdout,
            stderr=stderr,
            ended_at=max(ends, default=None),
        )

    def _texts(self, command_id: str, instance_id: str, plugin: CommandPluginTypeDef) -> tuple[str, str]:
        """What the step printed; the shorter text of the list where Run Command has no other."""
        try:
            answer = self._ssm.get_command_invocation(
                CommandId=command_id, InstanceId=instance_id, PluginName=plugin.get("Name", "")
            )
        except (ClientError, BotoCoreError):
            return plugin.get("Output", ""), ""
        return answer.get("StandardOutputContent", ""), answer.get("StandardErrorContent", "")
