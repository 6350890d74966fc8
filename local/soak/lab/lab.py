"""The fast lab: everything of the stack in one process, on virtual time that jumps from event to event."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from botocore.awsrequest import AWSPreparedRequest

from local import Json
from local.aws.clock import ManualClock
from local.aws.machines.dataplane import SnapshotImage
from local.aws.region import Region, RegionSettings
from local.aws.wire.protocol import Protocol
from local.soak.lab.endpoints import Objects, Posted, http_event
from local.soak.lab.functions import SWITCHBOARD, Functions, Mishap, lambda_environment
from local.soak.lab.instances.data_plane import MemoryDataPlane
from local.soak.lab.objects import Buckets
from local.soak.lab.permissions import Permissions
from local.soak.lab.scheduler import Fiber, Future, Scheduler
from local.soak.lab.services import (
    MOTO,
    CloudWatch,
    EventBridge,
    Moto,
    StepFunctionsApi,
    json_answer,
)
from local.soak.lab.services import backend as moto_backend
from local.soak.lab.states.execution import Execution
from local.soak.lab.states.machines import Machine, StepFunctions
from local.soak.lab.tables import Table, Tables
from local.soak.lab.template import AGENT_BINARY, AGENTS, Rule, stack
from local.soak.lab.transport import Call, Interference, NoInterference, Refusal, Removals
from rewarm.adapters.artifacts import agent_key
from rewarm.adapters.executions import execution_arn
from rewarm.ports.executions import LOOK_PREFIX

MINUTE_SECONDS = 60
RETRY_SECONDS = (60.0, 120.0)
QUEUE_SECONDS, MOST_QUEUE_PAUSE_SECONDS = 21_600.0, 300.0
"""Lambda developer guide, "How Lambda handles errors and retries with asynchronous invocation".

A function that fails is tried twice more. An event that Lambda cannot run waits up to 6 hours, with pauses of
1 s to 5 min."""


@dataclass(frozen=True, slots=True)
class ClockSkew:
    """How many seconds the clocks of Lambda and of Step Functions are ahead of those of EC2 and the rest."""

    functions: float = 0.0
    states: float = 0.0


@dataclass(slots=True)
class Outside:
    """What others have done to a restore's things, for the auditor."""

    untagged: dict[str, set[str]] = field(default_factory=dict)
    """Volumes of restores, and the tags that were taken off them."""
    unsnapped: set[str] = field(default_factory=set)
    """Snapshots that somebody deleted once no rewind needed them any more."""
    copies: dict[str, dict[str, str]] = field(default_factory=dict)
    """Volumes of others, with the tags of ours that they have got."""
    others: set[str] = field(default_factory=set)
    """Volumes, snapshots and instances of others, which somebody tags."""
    unconsented: set[str] = field(default_factory=set)
    """Volumes of others whose owners have allowed a boost, and do so no more."""
    silent: set[str] = field(default_factory=set)
    """Instances whose SSM agent was silent for a while."""
    lost: set[str] = field(default_factory=set)
    """Keys of items that were deleted from the table, or put back to an earlier moment."""


class FastLab:
    """One account with one deployed stack. Only one may be open in a process."""

    def __init__(
        self,
        seed: int = 0,
        settings: RegionSettings | None = None,
        interference: Interference | None = None,
        mishaps: Any = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        """`parameters` are those of the stack; without them it has all its parts."""
        self.seed = seed
        self.interference: Interference = interference or NoInterference()
        self.mishaps = mishaps
        self.calls: Counter[tuple[str, str, str]] = Counter()
        """Every request to AWS: (state or function, service, operation)."""
        self.slack: list[Json] = []
        self.removals = Removals()
        self.outside = Outside()
        self.skew = ClockSkew()
        self.undelivered: list[str] = []
        """Functions of rules that failed three times."""
        self.alarmed: list[str] = []
        """What functions of rules have failed with; an alarm leads to their log."""
        self.stack = stack(**(parameters or {}))
        self.scheduler = Scheduler(ManualClock(), random.Random(seed))
        self._settings = settings
        self._close = ExitStack()

    def __enter__(self) -> Self:
        assert SWITCHBOARD.desk is None, "another fast lab is open"
        try:
            self._open()
        except BaseException:
            self._close.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close.close()

    def _open(self) -> None:
        self._close.enter_context(lambda_environment(self.stack, random.Random(self.seed + 1)))
        SWITCHBOARD.desk = self
        self._close.callback(self._leave)
        self.cloudwatch = CloudWatch()
        self.moto = Moto()
        self.tables = Tables(self.stack.tables)
        self.buckets = Buckets(self.stack.buckets, lambda: self.scheduler.now)
        store = Objects(self.buckets, self.stack.buckets[0])
        self.data_plane = MemoryDataPlane(self.scheduler, store, random.Random(self.seed + 2), self._nudge)
        self.events = EventBridge(self.scheduler, self.stack.rules, self._deliver)
        self.region = Region(
            self.scheduler.clock,
            self.data_plane,
            self._settings,
            on_event=self.events.put,
            publish=self.cloudwatch.publish,
        )
        self.data_plane.known_image = self._known_image
        self.region.pause = self.sleep
        self.protocol = Protocol(self.region)
        self.permissions = Permissions(self.stack, self.region)
        store.allowed = self.permissions.signed
        self.functions = Functions(self.scheduler, self.stack, random.Random(self.seed + 3), self)
        self.states = StepFunctions(
            self.scheduler, random.Random(self.seed + 4), self.functions, self.events.put, self
        )
        self._states_api = StepFunctionsApi(self.states)
        self._deploy()

    def _known_image(self, snapshot_id: str) -> SnapshotImage:
        """What a snapshot of any Region holds, or held: blocks that are copied outlive their snapshot."""
        for region in (self.region, *self.region.neighbours.values()):
            if snapshot_id in region._tables.snapshots:
                return region._tables.snapshots[snapshot_id].image
        return self.data_plane.images[snapshot_id]

    def set_skew(self, skew: ClockSkew) -> None:
        """From now on Lambda's and Step Functions' clocks are ahead by so much."""
        self.skew = skew
        machines = self.states.machines
        machines.update({arn: replace(one, clock_ahead=skew.states) for arn, one in machines.items()})

    # --------------------------------------------------------------------------- what clients reach (Desk)
    def call_of(self, service: str, operation: str) -> Call:
        """Who calls, noted."""
        return self.noted(self._place(), service, operation, self.function())

    def noted(self, place: str, service: str, operation: str, function: str = "") -> Call:
        """A call of a state or function, noted; Step Functions' own as well."""
        call = Call(place, service, operation, self.scheduler.now, function)
        self.calls[call.key] += 1
        return call

    def ask(self, service: str, operation: str, params: Json) -> Json:
        """The Region's answer to a call that a state makes without a function."""
        return self.region.call(service, operation, params)

    def function(self) -> str:
        """The function that runs."""
        current = self.scheduler.current
        return current.scope.function if current is not None else ""

    def denied(self, call: Call, params: Json) -> Refusal | None:
        """What the caller's role does not allow."""
        return self.permissions.refusal(call, params)

    def unlisted(self, call: Call, params: Json) -> Refusal | None:
        """What S3 hides from the caller."""
        return self.permissions.unlisted(call, params)

    def note_trouble(self, service: str) -> None:
        """A call did not get its own answer."""
        self.functions.note_trouble(self.scheduler.current, service)

    def respond(
        self, region: str, service: str, operation: str, request: AWSPreparedRequest
    ) -> tuple[int, dict[str, str], bytes]:
        """The service's answer."""
        if service == "s3":
            return self.buckets.answer(operation, request)
        if service == "dynamodb":
            return self.tables.answer(operation, request)
        if service in MOTO:
            return self.moto.respond(service, request)
        if service == "stepfunctions":
            return json_answer(operation, request, self._states_api.answer)
        if service == "events":
            return json_answer(operation, request, self.events.answer)
        if service == "cloudwatch":
            self.region.tick()
            return json_answer(operation, request, self.cloudwatch.answer)
        if service == "ec2":
            self.removals.note(request.body)
        return self.protocol.reply(region, service, operation, request)

    def sleep(self, seconds: float) -> None:
        """The function that runs pauses."""
        assert self.scheduler.current is not None, "only a function can sleep"
        self.scheduler.current.sleep(seconds)

    def post_to_slack(self, message: Json) -> Any:
        """Slack takes it."""
        self.slack.append(message)
        return Posted()

    def invocation(self, place: str) -> Mishap | None:
        """What befalls a function."""
        found: Mishap | None = self.mishaps.invocation(place) if self.mishaps is not None else None
        return found

    # ------------------------------------------------------------------------------------- what a user does
    def start(self, request: Json, **headers: str) -> str:
        """POST /restores; the restore's id."""
        status, body = self.api("POST", "/restores", request, **headers)
        assert status == 202, (status, body)
        return str(body["restoreId"])

    def begin(self, name: str, data: Json) -> Execution:
        """Starts the state machine restore itself, as a schedule does, and returns the execution."""
        return self.states.start(self.machine("RestoreStateMachine"), name, data)

    def api(self, method: str, path: str, body: Json | None = None, **headers: str) -> tuple[int, Json]:
        """Sends one HTTP request, advances virtual time to its answer, and returns status and body."""
        fiber = self.begin_api(method, path, body, **headers)
        self.run(lambda: fiber.result.done)
        answer, failure = fiber.result.value
        if failure is not None:
            # API Gateway developer guide, "Handle Lambda errors": it could not be run, or it failed.
            return 500 if failure.error.startswith("Lambda.") else 502, {"message": str(failure)}
        return int(answer["statusCode"]), json.loads(answer["body"] or "null")

    def begin_api(self, method: str, path: str, body: Json | None = None, **headers: str) -> Fiber:
        """The same, without waiting for the answer."""
        function = self._function("ApiFunction")
        refused = self.permissions.called(function, self.stack.names["RestApi"], method, path)
        assert refused is None, refused
        return self.functions.call(function, http_event(method, path, body, headers))

    def public(self, method: str, path: str, body: str = "", **headers: str) -> Json:
        """Sends one HTTP request to the API without signatures, and returns the function's answer."""
        function = self._function("PublicFunction")
        refused = self.permissions.called(function, self.stack.names["PublicApi"], method, path)
        assert refused is None, refused
        event = {**http_event(method, path, None, headers), "body": body}
        fiber = self.functions.call(function, event)
        self.run(lambda: fiber.result.done)
        answer, failure = fiber.result.value
        assert failure is None, failure
        return dict(answer)

    def machine(self, logical_id: str) -> str:
        """A state machine's ARN."""
        return self.stack.names[logical_id]

    def table(self, logical_id: str) -> Table:
        """A table of the stack."""
        return self.tables.tables[self.stack.names[logical_id]]

    def execution(self, logical_id: str, name: str) -> Execution | None:
        """An execution, if it was ever started."""
        return self.states.executions.get(execution_arn(self.machine(logical_id), name))

    def executions(self, logical_id: str) -> list[Execution]:
        """All executions of a state machine, in the order in which they were started.

        Those that only wait for a look of rules restore nothing, and are left out.
        """
        machine = self.machine(logical_id)
        found = [one for one in self.states.executions.values() if one.machine.arn == machine]
        return [one for one in found if not one.name.startswith(LOOK_PREFIX)]

    # ---------------------------------------------------------------------------------------------- time
    def run(self, done: Callable[[], bool], *, most_seconds: float = math.inf) -> bool:
        """Let things happen until `done`; False where nothing more will, or the time is over."""
        until = self.scheduler.now + most_seconds
        while not done():
            if not self._step(until):
                return False
        return True

    def pass_time(self, seconds: float) -> None:
        """Let things happen for some time."""
        over = Future()
        self.scheduler.after(seconds, over.settle)
        self.run(lambda: over.done)

    def finish(self, execution: Execution, *, most_seconds: float = 1_209_600.0) -> Execution:
        """Until it has ended."""
        self.run(lambda: execution.status != "RUNNING", most_seconds=most_seconds)
        return execution

    def _step(self, until: float) -> bool:
        """The next thing: the Region's or anybody else's."""
        theirs, own = self.scheduler.next_due(), self._region_due()
        due = min(one for one in (theirs, own, math.inf) if one is not None)
        if due > until or due == math.inf:
            return False
        if own is not None and (theirs is None or own <= theirs):
            self.scheduler.clock.advance(max(0.0, own - self.scheduler.now))
            self.region.tick()
            return True
        return self.scheduler.step()

    def _region_due(self) -> float | None:
        """The Region's next timer, and every minute while something is read."""
        timers, now = self.region._core._timers, self.scheduler.now
        due = timers[0][0] if timers else None
        if now < self.data_plane.active:
            minute = (now // MINUTE_SECONDS + 1) * MINUTE_SECONDS
            due = minute if due is None else min(due, minute)
        return due

    def _nudge(self) -> None:
        """A command has ended: the Region looks at it."""
        self.scheduler.at(self.scheduler.now, self.region.tick)

    # ------------------------------------------------------------------------------------------- deployment
    def _deploy(self) -> None:
        sns, secrets = (moto_backend(name) for name in ("sns", "secretsmanager"))
        for topic in self.stack.topics:
            sns.create_topic(topic)
        for name, text in self.stack.secrets.items():
            secrets.create_secret(
                name, secret_string=text, secret_binary=None, description=None, tags=[], kms_key_id=None,
                client_request_token=None, replica_regions=[], force_overwrite=False,
            )  # fmt: skip
        for name, content in self.stack.documents.items():
            document = {"Name": name, "Content": json.dumps(content), "DocumentType": "Command"}
            self.region.call("ssm", "CreateDocument", {**document, "DocumentFormat": "JSON"})
        for arn, definition in self.stack.machines.items():
            self.states.machines[arn] = Machine(arn, arn.rpartition(":")[2], definition)
        self._publish_agent()
        for rule in self.stack.rules:
            if rule.every_seconds is not None:
                self._schedule(rule, rule.every_seconds)
        refused = list(self.permissions.deployed())
        assert not refused, refused

    def _publish_agent(self) -> None:
        for sha256 in AGENTS.values():
            self.buckets.put(self.stack.buckets[0], agent_key(sha256), AGENT_BINARY)

    def _schedule(self, rule: Rule, seconds: float) -> None:
        def beat() -> None:
            self._deliver(rule, {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}})
            self.scheduler.after(seconds, beat)

        self.scheduler.after(seconds * random.Random(self.seed + 5).random(), beat)

    def _deliver(self, rule: Rule, event: Json) -> None:
        """An event reaches a rule's target, if the rule may start it."""
        refused = self.permissions.triggered(rule)
        if refused is not None:
            self.undelivered.append(refused)
        elif ":stateMachine:" in rule.target:
            self.states.start(rule.target, f"event-{event['id']}", event)
        else:
            self.scheduler.start(self._asynchronous(rule.target, event))

    def _asynchronous(self, target: str, event: Json) -> Any:
        pauses, since, refused = iter(RETRY_SECONDS), self.scheduler.now, 0
        while True:
            fiber: Fiber = self.functions.call(target, event)
            _, failure = yield fiber.result
            if failure is None:
                return
            self.alarmed.append(str(failure))
            if failure.error.startswith("Lambda."):
                pause = min(2.0**refused, MOST_QUEUE_PAUSE_SECONDS)
                refused += 1
            else:
                pause = next(pauses, math.inf)
            if self.scheduler.now + pause > since + QUEUE_SECONDS:
                self.undelivered.append(f"{target.rpartition(':')[2]}: {failure}")
                return
            yield self.scheduler.sleep(pause)

    def _function(self, logical_id: str) -> str:
        return next(arn for arn, one in self.stack.functions.items() if one.logical_id == logical_id)

    def _place(self) -> str:
        current = self.scheduler.current
        return current.scope.place if current is not None else "outside"

    def _leave(self) -> None:
        self.scheduler.close()
        SWITCHBOARD.desk = None
