"""SSM Run Command: SendCommand and CancelCommand (botocore ssm; SSM user guide, "Run Command")."""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import dataclass
from typing import Any

from local import Json
from local.aws.region.commands import scripts
from local.aws.region.commands.documents import Documents, platforms
from local.aws.region.commands.invocations import Invocation, OutputSink, Runner, StepRun
from local.aws.region.core import Core, iso, stamp
from local.aws.region.errors import ApiError
from local.aws.region.faults import Faults
from local.aws.region.operations import operation
from local.aws.region.resources import Instance
from local.aws.region.tables import Tables

MAX_INSTANCES = 50
DELIVERY_SECONDS = (30, 2_592_000)


@dataclass(slots=True)
class Command:
    """One SendCommand."""

    command_id: str
    request: Json
    document: str
    version: str
    requested: float
    expires: float
    invocations: list[Invocation]
    announced: str = ""

    def status(self) -> tuple[str, str]:
        """(Status, StatusDetails) of the whole command, from its invocations."""
        states = [invocation.status for invocation in self.invocations]
        for first in ("Cancelling", "InProgress", "Pending"):
            if first in states:
                details = {invocation.detail for invocation in self.invocations if invocation.status == first}
                return first, details.pop() if len(details) == 1 else first
        for worst in ("Failed", "TimedOut", "Cancelled"):
            if worst in states:
                return worst, next(
                    invocation.detail for invocation in self.invocations if invocation.status == worst
                )
        return "Success", "Success"


class Commands:
    """All commands of the Region, and the runner that carries them out."""

    def __init__(
        self, core: Core, tables: Tables, documents: Documents, faults: Faults, output: OutputSink | None
    ) -> None:
        self._core = core
        self._tables = tables
        self._documents = documents
        self._faults = faults
        self._output = output
        self._polling = threading.Lock()
        self._runner = Runner(core, self._changed, self._log)
        self.known: dict[str, Command] = {}

    @operation("ssm", "SendCommand")
    def send_command(self, params: Json) -> Json:
        """Run a document on instances. There is no client token: sent twice means run twice."""
        document, version = self._documents.find(params["DocumentName"], params.get("DocumentVersion"))
        self._documents.check_hash(document, version, params.get("DocumentHash"))
        data = document.parsed(version)
        values = scripts.read_parameters(data, params.get("Parameters") or {})
        self._check_size(document.versions[version - 1], params)
        instances = self._targets(params, platforms(data))
        now, delivery = self._core.now(), self._delivery_seconds(params)
        command_id = str(uuid.uuid4())
        runs = [(instance, scripts.steps(data, values, instance.platform)) for instance in instances]
        longest = max((sum(step.timeout_seconds for step in plan) for _, plan in runs), default=0)
        invocations = [
            Invocation(command_id, document.name, one, now, [StepRun(step) for step in plan])
            for one, plan in runs
        ]
        command = Command(
            command_id, dict(params), document.name, str(version), now, now + delivery + longest, invocations
        )
        self.known[command_id] = command
        self._announce(command)
        for one in invocations:
            lost = self._faults.take("command:delivery", {"InstanceId": one.instance.instance_id}) is not None
            self._runner.accept(one, delivery, lost=lost)
        return {"Command": self.describe(command)}

    @operation("ssm", "CancelCommand")
    def cancel_command(self, params: Json) -> Json:
        """Ask for an end; it is not guaranteed that the command had not already done its work."""
        command = self._find(params["CommandId"])
        wanted = params.get("InstanceIds")
        for invocation in command.invocations:
            if not wanted or invocation.instance.instance_id in wanted:
                self._runner.cancel(invocation)
        return {}

    def poll(self) -> None:
        """Look after everything that runs; called outside the lock, by one thread at a time."""
        if not self._polling.acquire(blocking=False):
            return
        try:
            self._runner.poll()
        finally:
            self._polling.release()

    def running(self) -> list[Invocation]:
        """Invocations that run, or will: one that was cancelled while its instance was away does neither."""
        return [
            invocation
            for command in self.known.values()
            for invocation in command.invocations
            if not invocation.over and not invocation.is_given_up
        ]

    def visible(self, command: Command) -> bool:
        """Whether the command is already shown: right after SendCommand it is not."""
        return self._core.now() >= command.requested + self._core.settings.command.visible_after_seconds

    def describe(self, command: Command) -> Json:
        """Shape Command of botocore."""
        status, detail = command.status()
        request = command.request
        done = [invocation for invocation in command.invocations if invocation.over]
        return {
            "CommandId": command.command_id,
            "DocumentName": command.document,
            "DocumentVersion": command.version,
            "Comment": request.get("Comment", ""),
            "ExpiresAfter": stamp(command.expires),
            "Parameters": request.get("Parameters") or {},
            "InstanceIds": request.get("InstanceIds") or [],
            "Targets": request.get("Targets") or [],
            "RequestedDateTime": stamp(command.requested),
            "Status": status,
            "StatusDetails": detail,
            "OutputS3BucketName": request.get("OutputS3BucketName", ""),
            "OutputS3KeyPrefix": request.get("OutputS3KeyPrefix", ""),
            "OutputS3Region": self._core.settings.region,
            "MaxConcurrency": request.get("MaxConcurrency", "50"),
            "MaxErrors": request.get("MaxErrors", "0"),
            "TargetCount": len(command.invocations),
            "CompletedCount": len(done),
            "ErrorCount": sum(one.status in ("Failed", "TimedOut") for one in done),
            "DeliveryTimedOutCount": sum(one.detail == "DeliveryTimedOut" for one in done),
            "CloudWatchOutputConfig": request.get("CloudWatchOutputConfig"),
            "TimeoutSeconds": self._delivery_seconds(request),
        }

    def _find(self, command_id: str) -> Command:
        if command_id not in self.known:
            raise ApiError("InvalidCommandId", f"The command {command_id} does not exist")
        return self.known[command_id]

    def _delivery_seconds(self, params: Json) -> int:
        seconds = int(
            params.get("TimeoutSeconds") or self._core.settings.command.default_delivery_timeout_seconds
        )
        if not DELIVERY_SECONDS[0] <= seconds <= DELIVERY_SECONDS[1]:
            raise ApiError(
                "ValidationException", f"TimeoutSeconds {seconds} is invalid: it must be 30 to 2592000"
            )
        return seconds

    def _check_size(self, content: str, params: Json) -> None:
        """A document may have 64 KB together with the parameters of the run."""
        size = len(content.encode()) + len(json.dumps(params.get("Parameters") or {}).encode())
        limit = self._core.settings.command.max_document_bytes
        if size > limit:
            raise ApiError("MaxDocumentSizeExceeded", f"The size limit of a document is {limit // 1024} KB.")

    def _targets(self, params: Json, supported: list[str]) -> list[Instance]:
        ids, targets = params.get("InstanceIds"), params.get("Targets")
        if ids and targets:
            raise ApiError("ValidationException", "InstanceIds and Targets must not be specified together")
        if not ids and not targets:
            raise ApiError("InvalidInstanceId", "InstanceIds or Targets must be specified")
        if ids and len(ids) > MAX_INSTANCES:
            raise ApiError("ValidationException", f"At most {MAX_INSTANCES} instance ids can be specified")
        if ids and len(set(ids)) != len(ids):
            raise ApiError("DuplicateInstanceId", "An instance id is listed more than once")
        found = [self._managed(one) for one in ids] if ids else self._matching(targets or [])
        for one in found:
            if one.platform not in supported and not (one.platform == "Linux" and "Linux" in supported):
                raise ApiError("UnsupportedPlatformType", f"The document does not support {one.platform}")
        return found

    def _managed(self, instance_id: str) -> Instance:
        one = self._tables.instances.get(instance_id)
        if one is None or not one.managed or one.state != "running":
            raise ApiError(
                "InvalidInstanceId",
                f"Instances [[{instance_id}]] not in a valid state for account "
                f"{self._core.settings.account_id}",
            )
        return one

    def _matching(self, targets: list[Json]) -> list[Instance]:
        managed = [
            instance
            for instance in self._tables.instances.values()
            if instance.managed and instance.state == "running"
        ]
        for target in targets:
            key, wanted = target.get("Key", ""), target.get("Values") or []
            if key.startswith("tag:"):
                managed = [one for one in managed if one.tags.get(key[4:]) in wanted]
            elif key == "InstanceIds":
                managed = [one for one in managed if one.instance_id in wanted]
            else:
                raise ApiError("ValidationException", f"The target key {key} is not valid")
        return managed

    def _changed(self, one: Invocation) -> None:
        command = self.known.get(one.command_id)
        if command is None:
            return
        self._core.emit(
            "EC2 Command Invocation Status-change Notification",
            {
                "command-id": one.command_id,
                "document-name": one.document,
                "instance-id": one.instance.instance_id,
                "requested-date-time": iso(one.requested),
                "status": one.status,
            },
            [self._core.arn(f"instance/{one.instance.instance_id}")],
            "aws.ssm",
        )
        self._announce(command)
        if one.over:
            self._core.later(lambda: self._store(command, one))

    def _announce(self, command: Command) -> None:
        status, _ = command.status()
        if status == command.announced:
            return
        command.announced = status
        self._core.emit(
            "EC2 Command Status-change Notification",
            {
                "command-id": command.command_id,
                "document-name": command.document,
                "expire-after": iso(command.expires),
                "parameters": command.request.get("Parameters") or {},
                "requested-date-time": iso(command.requested),
                "status": status,
            },
            [
                self._core.arn(f"instance/{invocation.instance.instance_id}")
                for invocation in command.invocations
            ],
            "aws.ssm",
        )

    def _log(self, one: Invocation, run: StepRun) -> None:
        """Stream whole lines to the log group; what is left goes when the step is over."""
        config: Any = self.known[one.command_id].request.get("CloudWatchOutputConfig") or {}
        if self._output is None or not config.get("CloudWatchOutputEnabled"):
            return
        fresh = run.stdout[run.logged_chars :]
        whole = fresh if run.end is not None else fresh[: fresh.rfind("\n") + 1]
        if not whole:
            return
        run.logged_chars += len(whole)
        group = config.get("CloudWatchLogGroupName") or f"/aws/ssm/{one.document}"
        stream = f"{one.command_id}/{one.instance.instance_id}/{run.step.name.replace(':', '-')}/stdout"
        self._output.put_log_events(group, stream, whole.splitlines())

    def _store(self, command: Command, one: Invocation) -> None:
        bucket = command.request.get("OutputS3BucketName")
        if self._output is None or not bucket:
            return
        for run in one.runs:
            for name, text in (("stdout", run.stdout), ("stderr", run.stderr)):
                if text:
                    self._output.put_object(bucket, output_key(command, one, run, name), text.encode())


def output_key(command: Command, one: Invocation, run: StepRun, name: str) -> str:
    """The key under which the SSM agent stores a step's output."""
    prefix = command.request.get("OutputS3KeyPrefix")
    parts = [prefix] if prefix else []
    return "/".join(
        [*parts, command.command_id, one.instance.instance_id, "awsrunShellScript", run.step.name, name]
    )
