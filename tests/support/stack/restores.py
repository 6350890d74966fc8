"""Restores on the embedded AWS as a user makes them: over HTTP or by an alarm, watched until they end."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from local.aws.emulator import seam
from local.aws.host import Host
from local.aws.machines.dataplane import SnapshotImage, VolumeCounters
from local.aws.machines.instances import link_names
from local.tools.run.history import visits
from local.tools.run.recording import StateVisit
from rewarm.adapters.executions import execution_arn
from rewarm.domain.model import Strategy
from rewarm.ports.executions import LOOK_PREFIX
from rewarm_cli.api import Answer, Api
from tests.support.waiting import wait_until

Json = dict[str, Any]
ALARM_SOURCE, ALARM_DETAIL_TYPE = "aws.cloudwatch", "CloudWatch Alarm State Change"
PATIENT: Json = {"maxP99Ms": 2_000}
"""A busy machine makes some reads slow; that a volume is warm is proved by the blocks that were read."""
_DETACH_SECONDS = 30.0
NO_FALLBACK = ["Choose Fallback", "Which Fallback?", "No Fallback", "Clean Up", "Volume Failed"]
"""The last states of a volume for which no other plan may take over."""


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution that has ended, with the states that it visited."""

    arn: str
    status: str
    error: str
    cause: str
    output: Any
    visits: tuple[StateVisit, ...]

    @property
    def states(self) -> list[str]:
        """The states' names, in the order of entry."""
        return [visit.state for visit in self.visits]

    def answers(self, state: str) -> list[Json]:
        """What the Lambda of the state answered, at each visit that it answered."""
        return [visit.payload for visit in self.visits if visit.state == state and visit.payload is not None]

    def answer(self, state: str) -> Json:
        """What the Lambda of the state answered last."""
        return self.answers(state)[-1]


@dataclass(frozen=True, slots=True)
class Restore:
    """A restore that has ended."""

    restore_id: str
    main: Execution
    volumes: tuple[Execution, ...]
    """Executions of restore-volume, by index; those that never started are missing."""
    record: Json
    """GET /restores/{id}."""

    @property
    def why(self) -> str:
        """How it ended, for the message of an assertion."""
        ends = [self.main, *self.volumes]
        return "; ".join(
            f"{one.status} after {one.states[-3:]}: {one.error} {one.cause[:600]}" for one in ends
        )


class RestoreUser:
    """Somebody who has an account, the stack's API, and a Slack channel.

    `before` is what there was before they came, and stays when they leave; default: what there is now.
    """

    def __init__(self, lab: Host, image: SnapshotImage, before: dict[str, list[str]] | None = None) -> None:
        self.lab = lab
        self.region = lab.region
        self.image = image
        self._api = Api(
            url=lab.api_url,
            region=lab.addresses.region,
            access_key_id=lab.environment["AWS_ACCESS_KEY_ID"],
            secret_access_key=lab.environment["AWS_SECRET_ACCESS_KEY"],
        )
        self._states = lab.client("stepfunctions")
        self._machines = lab.outputs["RestoreStateMachineArn"], lab.outputs["RestoreVolumeStateMachineArn"]
        self._marked = self.region.inventory()
        self._before = self._marked if before is None else before
        self._alarms: list[str] = []

    # ------------------------------------------------------------------------------------ what there is
    @property
    def zone(self) -> str:
        """The Region's first Availability Zone."""
        return self.region.settings.zones[0]

    @property
    def other_zone(self) -> str:
        """Another Availability Zone than the first."""
        return self.region.settings.zones[1]

    @property
    def to_zone(self) -> Json:
        """The target of a restore without an instance: nothing is measured, so it is the quickest."""
        return {"target": {"availabilityZone": self.zone}}

    def snapshot(self, **fields: Any) -> str:
        """A snapshot of the small ext4 file system."""
        fields.setdefault("size_gib", self.image.size_gib)
        return self.region.add_snapshot(extents=self.image.extents, path=self.image.path, **fields)

    def instance(self, **fields: Any) -> str:
        """A running instance, online in Systems Manager unless told otherwise."""
        return self.region.add_instance(**fields)

    def runbook(self, alarm: str, request: Json) -> None:
        """What to restore when the alarm goes off, until the user leaves."""
        self._alarms.append(alarm)
        answer = self.call("PUT", f"/runbooks/{alarm}", request)
        assert answer.status == 200, answer

    # ---------------------------------------------------------------------------------- what a user does
    def call(self, method: str, path: str, body: Json | None = None, **headers: str) -> Answer:
        """One HTTP request; header names have underscores for dashes."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._api.call(method, path, body, names)

    def start(self, request: Json, **headers: str) -> str:
        """POST /restores, which must be accepted; the restore's id. A busy machine may read slowly."""
        answer = self.call("POST", "/restores", {"verify": PATIENT, **request}, **headers)
        assert answer.status == 202, answer
        return str(answer.body["restoreId"])

    def restore(self, request: Json) -> Restore:
        """POST /restores and wait for the end."""
        return self.finished(self.start(request))

    def start_execution(self, data: Json) -> str:
        """Start the state machine restore as a schedule does; the restore's id."""
        name = unique("scheduled")
        self._states.start_execution(stateMachineArn=self._machines[0], name=name, input=json.dumps(data))
        return name

    def alarm(self, name: str, state: str = "ALARM") -> list[str]:
        """Let CloudWatch tell EventBridge of the alarm; names of the executions that this started."""
        before = set(self.executions())
        detail = {
            "alarmName": name,
            "state": {
                "value": state,
                "reason": "Threshold Crossed",
                "timestamp": "2026-11-21T10:00:00.000+0000",
            },
            "previousState": {"value": "OK" if state == "ALARM" else "ALARM"},
            "configuration": {"metrics": []},
        }
        arn = self.region.arn(f"alarm:{name}", "cloudwatch")
        self.lab.emulator.put_event(ALARM_DETAIL_TYPE, ALARM_SOURCE, detail, [arn])
        return [one for one in self.executions() if one not in before]

    def deliver_again(self) -> list[str]:
        """Deliver the last alarm once more, as EventBridge may (at least once); what this started."""
        before = set(self.executions())
        events = seam.module("services.eventbridge")

        def dispatch() -> None:
            alarms = [one for one in events._events_log_list() if one["Source"] == ALARM_SOURCE]
            events._dispatch_event(alarms[-1])

        self.lab.emulator._as_account(dispatch)
        return [one for one in self.executions() if one not in before]

    # -------------------------------------------------------------------------------- what became of it
    def finished(self, restore_id: str) -> Restore:
        """Wait for the restore's end."""
        main = self._execution(0, restore_id)
        names = [name for name in self.executions(1) if name.startswith(f"{restore_id}-")]
        volumes = tuple(self._execution(1, name) for name in sorted(names))
        return Restore(restore_id, main, volumes, self.call("GET", f"/restores/{restore_id}").body)

    def wait_for_state(self, restore_id: str, state: str) -> None:
        """Until the first volume's execution has entered the state."""
        arn = self.arn(1, f"{restore_id}-0")
        self.wait_until(lambda: state in self._entered(arn), lambda: f"{restore_id} never came to {state}")

    def wait_until(self, holds: Callable[[], bool], what: Callable[[], str]) -> None:
        """Until it holds; fail with `what` once no execution has moved for long."""
        wait_until(holds, what, self.lab.emulator.events_written)

    def wait_for_end(self, arn: str) -> None:
        """Until the execution has ended."""
        self.wait_until(
            lambda: self.lab.emulator.history(arn)[0] not in ("", "RUNNING"),
            lambda: f"{arn} still runs, in {self._entered(arn)[-5:]}",
        )

    def arn(self, machine: int, name: str) -> str:
        """The ARN of an execution of restore (0) or restore-volume (1)."""
        return execution_arn(self._machines[machine], name)

    def executions(self, machine: int = 0) -> list[str]:
        """Names of the executions of restore (0) or restore-volume (1), without looks of rules."""
        pages = self._states.get_paginator("list_executions").paginate(
            stateMachineArn=self._machines[machine]
        )
        names = [one["name"] for page in pages for one in page["executions"]]
        return [name for name in names if not name.startswith(LOOK_PREFIX)]

    def messages(self, restore_id: str) -> list[Json]:
        """What Slack has of the restore."""
        return [one for one in self.lab.slack.messages if restore_id in json.dumps(one)]

    def report(self, restore_id: str) -> Json:
        """The report in the bucket."""
        key = f"restores/{restore_id}/report.json"
        found = self.lab.client("s3").get_object(Bucket=self.lab.outputs["ArtifactsBucket"], Key=key)
        return dict(json.loads(found["Body"].read()))

    def volume(self, volume_id: str) -> Json:
        """The volume as EC2 describes it."""
        found: Json = self.lab.client("ec2").describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
        return found | {"Tags": {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}}

    def volumes_of(self, restore_id: str) -> list[str]:
        """Ids of the volumes that carry the restore's tag."""
        wanted = [{"Name": "tag:rewarm:restore-id", "Values": [restore_id]}]
        found = self.lab.client("ec2").describe_volumes(Filters=wanted)["Volumes"]
        return [one["VolumeId"] for one in found if one["State"] not in ("deleting", "deleted")]

    def counters(self, volume_id: str) -> VolumeCounters:
        """What the first-touch file system counted."""
        return self.lab.machine.counters(volume_id)

    def checksum(self, instance_id: str, volume_id: str) -> str:
        """Of the whole device on its instance; read past the page cache, which takes half the time."""
        device = f"/dev/disk/by-id/{link_names(volume_id)[0]}"
        script = f"dd if={device} bs=1M iflag=direct status=none | cksum"
        command: Any = self.lab.machine.run_command(instance_id, script, environment={})
        assert command.wait(300) == 0, command.output()
        checksum, size_bytes = command.output()[0].split()
        assert int(size_bytes) == self.image.size_gib * 1_024**3, command.output()
        return str(checksum)

    # --------------------------------------------------------------------------------------- the end
    def forget(self) -> None:
        """What other tests' restores have taught: how fast they read is the machine's."""
        table = self.lab.outputs["RestoresTable"]
        for strategy in Strategy:
            key = {"pk": {"S": f"history#{strategy}"}}
            self.lab.client("dynamodb").delete_item(TableName=table, Key=key)

    def leave(self) -> None:
        """End the faults, what runs, and everything that was not there before."""
        self.region.faults.clear()
        for machine in (0, 1):
            self._stop_executions(self._machines[machine])
        self._end_commands()
        self._remove_volumes()
        self._end_fast_restores()
        self._forget_runbooks()

    def _forget_runbooks(self) -> None:
        """A runbook whose instance is gone is a problem for whoever checks all of them."""
        for alarm in self._alarms:
            key = {"pk": {"S": f"runbook#{alarm}"}}
            self.lab.client("dynamodb").delete_item(TableName=self.lab.outputs["RestoresTable"], Key=key)

    def mark(self) -> None:
        """Remember what there is now, for `left`."""
        self._marked = self.region.inventory()

    def left(self) -> dict[str, list[str]]:
        """What there is now and was not at the mark: it costs money. Empty where there is nothing."""
        found = self.region.inventory()
        since = {kind: [one for one in ids if one not in self._marked[kind]] for kind, ids in found.items()}
        return {kind: ids for kind, ids in since.items() if ids}

    def new(self, kind: str) -> list[str]:
        """What there is now of this kind of the inventory and was not when the user came."""
        return [one for one in self.region.inventory()[kind] if one not in self._before[kind]]

    def _stop_executions(self, machine: str) -> None:
        running = self._states.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
        for one in running:
            # It may have ended since the list; the embedded AWS refuses to stop what does not run.
            with suppress(self._states.exceptions.ValidationException):
                self._states.stop_execution(executionArn=one["executionArn"])

    def _end_commands(self) -> None:
        ssm = self.lab.client("ssm")
        for one in self.new("commands"):
            ssm.cancel_command(CommandId=one.split(":")[0])

    def _remove_volumes(self) -> None:
        ec2 = self.lab.client("ec2")
        instances = {one.split(":")[1] for one in self.new("attachments")}
        if instances:
            ec2.terminate_instances(InstanceIds=sorted(instances))
        self.lab.clock.sleep(_DETACH_SECONDS)
        for volume_id in self.new("volumes"):
            ec2.delete_volume(VolumeId=volume_id)
        assert self.new("volumes") == []

    def _end_fast_restores(self) -> None:
        for one in self.new("fastRestores"):
            snapshot_id, zone = one.split(":")
            self.lab.client("ec2").disable_fast_snapshot_restores(
                AvailabilityZones=[zone], SourceSnapshotIds=[snapshot_id]
            )

    def _entered(self, arn: str) -> list[str]:
        """States that the execution has entered so far."""
        events = list(self.lab.emulator.history(arn)[1])
        return [
            one["stateEnteredEventDetails"]["name"] for one in events if "stateEnteredEventDetails" in one
        ]

    def _execution(self, machine: int, name: str) -> Execution:
        arn = self.arn(machine, name)
        self.wait_for_end(arn)
        described = self._states.describe_execution(executionArn=arn)
        return Execution(
            arn=arn,
            status=described["status"],
            error=described.get("error", ""),
            cause=described.get("cause", ""),
            output=json.loads(described.get("output") or "null"),
            visits=tuple(visits(name, self._history(arn))),
        )

    def _history(self, arn: str) -> Iterable[Json]:
        pages = self._states.get_paginator("get_execution_history").paginate(executionArn=arn)
        return [event for page in pages for event in page["events"]]


def request_for(
    user: RestoreUser, strategy: str, *, instance_type: str = "m5.large", **objective: Any
) -> Json:
    """A new snapshot onto a new instance; what there is then is marked."""
    source = {"snapshotId": user.snapshot()}
    target = {"instanceId": user.instance(instance_type=instance_type)}
    user.mark()
    return {
        "source": source,
        "target": target,
        "objective": {"strategy": strategy, **objective},
        "verify": PATIENT,
        "volume": {"tags": {"team": "orders"}},
    }


def start_slow_agent(user: RestoreUser) -> str:
    """The restore whose agent will not end by itself for long, while it reads."""
    request = request_for(user, "warm-up-agent") | {
        "verify": {"samples": 0},
        "warmUp": {"maxMibPerSecond": 1},
    }
    restore_id = user.start(request)
    user.wait_for_state(restore_id, "Wait For Initialization")
    assert len(user.new("commands")) == 1
    return restore_id


def unique(word: str) -> str:
    """A name that no other test has."""
    return f"{word}-{uuid.uuid4().hex[:8]}"


def texts(message: Json) -> str:
    """Everything that a person reads in a Slack message."""
    parts = [message.get("text", "")]
    for block in message.get("blocks", []):
        found = [block.get("text"), *block.get("fields", []), *block.get("elements", [])]
        parts += [one["text"] for one in found if one]
    return "\n".join(parts)
