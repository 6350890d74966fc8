"""What is asked about commands and managed instances (botocore ssm)."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from local import Json
from local.aws.region.commands.commands import Command, Commands, output_key
from local.aws.region.commands.invocations import Invocation, StepRun
from local.aws.region.core import Core, iso, optional_stamp, stamp
from local.aws.region.errors import ApiError
from local.aws.region.filters import page
from local.aws.region.operations import operation
from local.aws.region.resources import Instance
from local.aws.region.settings import partition_of
from local.aws.region.tables import Tables

Row = TypeVar("Row")


class CommandReads:
    """GetCommandInvocation, the lists, and the instances that Systems Manager knows."""

    def __init__(self, core: Core, tables: Tables, commands: Commands) -> None:
        self._core = core
        self._tables = tables
        self._commands = commands

    @operation("ssm", "GetCommandInvocation")
    def get_command_invocation(self, params: Json) -> Json:
        """One step of a command on one instance; right after SendCommand it does not exist yet."""
        command = self._commands.known.get(params["CommandId"])
        one = self._invocation(command, params["InstanceId"])
        if command is None or one is None or not self._commands.visible(command):
            raise ApiError(
                "InvocationDoesNotExist",
                "The command ID and managed node ID you specified did not match any invocations.",
            )
        run = _chosen(one, params.get("PluginName"))
        settings = self._core.settings.command
        over = run.end is not None
        return {
            "CommandId": command.command_id,
            "InstanceId": one.instance.instance_id,
            "Comment": command.request.get("Comment", ""),
            "DocumentName": command.document,
            "DocumentVersion": command.version,
            "PluginName": run.step.name,
            "ResponseCode": run.code,
            "ExecutionStartDateTime": _precise(run.start),
            "ExecutionElapsedTime": _elapsed(run),
            "ExecutionEndDateTime": _precise(run.end),
            "Status": _step_status(one, run)[0],
            "StatusDetails": _step_status(one, run)[1],
            "StandardOutputContent": self._cut(run.stdout, settings.stdout_chars) if over else "",
            "StandardErrorContent": self._cut(run.stderr, settings.stderr_chars) if over else "",
            "StandardOutputUrl": self._url(command, one, run, "stdout"),
            "StandardErrorUrl": self._url(command, one, run, "stderr"),
            "CloudWatchOutputConfig": command.request.get("CloudWatchOutputConfig"),
        }

    @operation("ssm", "ListCommands")
    def list_commands(self, params: Json) -> Json:
        """Commands, the newest first."""
        rows = [one for one in self._selected(params) if _mentions(one, params.get("InstanceId"))]
        rows, token = self._page(rows, params, "commands")
        return {"Commands": [self._commands.describe(row) for row in rows], "NextToken": token}

    @operation("ssm", "ListCommandInvocations")
    def list_command_invocations(self, params: Json) -> Json:
        """Invocations, the newest first; with Details, their steps with up to 2,500 characters of output."""
        pairs = [
            (command, invocation)
            for command in self._selected(params)
            for invocation in command.invocations
            if params.get("InstanceId") in (None, invocation.instance.instance_id)
        ]
        rows, token = self._page(pairs, params, "invocations")
        details = bool(params.get("Details"))
        return {
            "CommandInvocations": [self._describe(*row, details=details) for row in rows],
            "NextToken": token,
        }

    @operation("ssm", "DescribeInstanceInformation")
    def describe_instance_information(self, params: Json) -> Json:
        """Instances with a running SSM agent; others are absent."""
        tests = [(one["Key"], one["Values"]) for one in params.get("Filters") or ()]
        tests += [(one["key"], one["valueSet"]) for one in params.get("InstanceInformationFilterList") or ()]
        rows = [
            instance
            for instance in self._tables.instances.values()
            if instance.managed and instance.state != "terminated"
        ]
        now = self._core.now()
        rows = [row for row in rows if all(_fits(row, key, values, now) for key, values in tests)]
        rows, token = self._page(rows, params, "instance-information")
        return {"InstanceInformationList": [self._information(row) for row in rows], "NextToken": token}

    def _invocation(self, command: Command | None, instance_id: str) -> Invocation | None:
        invocations = command.invocations if command else []
        return next(
            (invocation for invocation in invocations if invocation.instance.instance_id == instance_id), None
        )

    def _selected(self, params: Json) -> list[Command]:
        wanted = params.get("CommandId")
        known = self._commands.known
        rows = list(known.values()) if wanted is None else [known[wanted]] if wanted in known else []
        rows = [row for row in rows if self._commands.visible(row)]
        for test in params.get("Filters") or ():
            rows = [row for row in rows if _passes(row, test["key"], test["value"])]
        return sorted(rows, key=lambda one: one.requested, reverse=True)

    def _page(self, rows: list[Row], params: Json, scope: str) -> tuple[list[Row], str | None]:
        try:
            return page(rows, params, scope=scope, high=50)
        except ApiError as error:
            raise ApiError("InvalidNextToken", "The specified token isn't valid.") from error

    def _cut(self, text: str, chars: int) -> str:
        return text if len(text) <= chars else text[:chars] + self._core.settings.command.truncated_suffix

    def _url(self, command: Command, one: Invocation, run: StepRun, name: str) -> str:
        bucket = command.request.get("OutputS3BucketName")
        if not bucket:
            return ""
        region = self._core.settings.region
        host = f"https://s3.{region}.{partition_of(region)[1]}"
        return f"{host}/{bucket}/{output_key(command, one, run, name)}"

    def _describe(self, command: Command, one: Invocation, *, details: bool) -> Json:
        return {
            "CommandId": command.command_id,
            "InstanceId": one.instance.instance_id,
            "InstanceName": one.instance.tags.get("Name", ""),
            "Comment": command.request.get("Comment", ""),
            "DocumentName": command.document,
            "DocumentVersion": command.version,
            "RequestedDateTime": stamp(one.requested),
            "Status": one.status,
            "StatusDetails": one.detail,
            "StandardOutputUrl": "",
            "StandardErrorUrl": "",
            "CommandPlugins": [self._plugin(command, one, run) for run in one.runs] if details else [],
            "CloudWatchOutputConfig": command.request.get("CloudWatchOutputConfig"),
        }

    def _plugin(self, command: Command, one: Invocation, run: StepRun) -> Json:
        chars = self._core.settings.command.plugin_output_chars
        return {
            "Name": run.step.name,
            "Status": _step_status(one, run)[0],
            "StatusDetails": _step_status(one, run)[1],
            "ResponseCode": run.code,
            "ResponseStartDateTime": optional_stamp(run.start),
            "ResponseFinishDateTime": optional_stamp(run.end),
            "Output": self._cut(run.stdout, chars) if run.end is not None else "",
            "StandardOutputUrl": self._url(command, one, run, "stdout"),
            "StandardErrorUrl": self._url(command, one, run, "stderr"),
        }

    def _information(self, one: Instance) -> Json:
        listening = one.listens(self._core.now())
        return {
            "InstanceId": one.instance_id,
            "PingStatus": "Online" if listening else "ConnectionLost",
            "LastPingDateTime": stamp(self._core.now() if listening else one.launch_time),
            "AgentVersion": "3.3.0.0",
            "IsLatestVersion": True,
            "PlatformType": one.platform,
            "ResourceType": "EC2Instance",
            "IPAddress": one.private_ip,
            "PlatformName": "Microsoft Windows Server" if one.platform == "Windows" else "Amazon Linux",
            "ComputerName": f"ip-{one.private_ip.replace('.', '-')}",
        }


def _chosen(one: Invocation, name: str | None) -> StepRun:
    if name is None:
        return one.runs[0] if len(one.runs) == 1 else one.runs[min(one.current, len(one.runs) - 1)]
    for run in one.runs:
        if run.step.name == name:
            return run
    raise ApiError("InvalidPluginName", f"The plugin name {name} isn't valid.")


def _step_status(one: Invocation, run: StepRun) -> tuple[str, str]:
    """A step that never ran shows what became of its invocation."""
    if run.end is None and (one.over or one.status in ("Pending", "Cancelling")):
        return one.status, one.detail
    return run.status, run.detail


def _mentions(command: Command, instance_id: str | None) -> bool:
    return instance_id is None or any(
        invocation.instance.instance_id == instance_id for invocation in command.invocations
    )


def _passes(command: Command, key: str, value: str) -> bool:
    if key in ("InvokedAfter", "InvokedBefore"):
        instant = datetime.fromisoformat(value).timestamp()
        return command.requested >= instant if key == "InvokedAfter" else command.requested <= instant
    if key == "ExecutionStage":
        executing = any(not invocation.over for invocation in command.invocations)
        return executing == (value == "Executing")
    return value == (command.status()[0] if key == "Status" else command.document)


def _fits(one: Instance, key: str, values: list[str], now: float) -> bool:
    listening = "Online" if one.listens(now) else "ConnectionLost"
    shown = {
        "InstanceIds": one.instance_id,
        "PingStatus": listening,
        "PlatformTypes": one.platform,
        "ResourceType": "EC2Instance",
    }
    if key.startswith("tag:"):
        return one.tags.get(key[4:]) in values
    if key not in shown:
        raise ApiError("InvalidFilterKey", f"The filter key {key} isn't valid.")
    return shown[key] in values


def _precise(instant: float | None) -> str:
    """ISO 8601 with milliseconds; empty while there is no instant (botocore GetCommandInvocationResult)."""
    return "" if instant is None else iso(instant)[:-1] + f".{int(instant * 1000) % 1000:03d}Z"


def _elapsed(run: StepRun) -> str:
    """An ISO 8601 duration."""
    if run.start is None or run.end is None:
        return ""
    return f"PT{run.end - run.start:.3f}S"
