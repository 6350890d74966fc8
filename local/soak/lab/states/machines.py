"""Step Functions in the process: state machines, executions, task tokens, and its events."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from local import Json
from local.aws.region.errors import ApiError
from local.soak.lab.objects import Buckets
from local.soak.lab.scheduler import Fiber, Future, Process, Scheduler
from local.soak.lab.states.errors import START, START_SILENT, TIMEOUT, StateError, of_service, of_start
from local.soak.lab.states.execution import EVENTS, Execution, Interpreter, Visit, limit, stamp
from local.soak.lab.transport import Call, Interference, Refusal
from rewarm.adapters.executions import execution_arn

Steps = Generator[Future, Any, Any]
INVOKE, INVOKE_AND_WAIT = "lambda:invoke", "lambda:invoke.waitForTaskToken"
RUN_EXECUTION = "states:startExecution.sync:2"
RESOURCES = frozenset({INVOKE, INVOKE_AND_WAIT, RUN_EXECUTION})
SERVICE_CALL = "aws-sdk:"
"""Begins the resource of a state that calls an operation of the Region itself."""
CAUSE_CHARS = 32_768
"""botocore StopExecution: a cause has at most so many characters."""
STATUS_CHANGE = "Step Functions Execution Status Change"


class Functions(Protocol):
    """Lambda."""

    def invoke(self, arn: str, payload: Any, execution: Execution, state: str) -> Fiber:
        """The function's answer as the fiber's result: (payload, None) or (None, StateError)."""


class Roles(Protocol):
    """What the roles of state machines allow."""

    def invoked(self, machine_arn: str, function_arn: str) -> str | None:
        """Why a function may not be invoked."""

    def child(self, machine_arn: str, child_arn: str, name: str) -> str | None:
        """Why another state machine may not be run."""

    def mapped(self, machine_arn: str, items: str, results: str) -> str | None:
        """Why a Distributed Map may not run over these items."""

    def asked(self, machine_arn: str, call: Call, params: Json) -> Refusal | None:
        """AWS's answer where the machine's role does not allow a call."""


class Account(Protocol):
    """The open lab, as Step Functions sees it."""

    interference: Interference
    buckets: Buckets

    @property
    def permissions(self) -> Roles:
        """What the roles of state machines allow."""

    def noted(self, place: str, service: str, operation: str) -> Call:
        """A call that a state makes without a function, noted."""

    def ask(self, service: str, operation: str, params: Json) -> Json:
        """The Region's answer, in botocore's shapes; raises ApiError."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A state machine with its substitutions made."""

    arn: str
    name: str
    definition: Json
    clock_ahead: float = 0.0
    """Seconds by which Step Functions' clock is ahead of EC2's."""

    def __post_init__(self) -> None:
        """Refuses what the interpreter does not know."""
        if self.definition.get("QueryLanguage") != "JSONata":
            raise ValueError(f"{self.name}: only JSONata is interpreted")
        self._check_states(self.definition)

    def integration(self, resource: str) -> str:
        """The service integration that a Task names, by an ARN of the machine's own partition."""
        return resource.removeprefix(f"arn:{self.arn.split(':')[1]}:states:::")

    def _check_states(self, part: Json) -> None:
        for name, state in part["States"].items():
            if state["Type"] not in EVENTS:
                raise ValueError(f"{self.name}, {name}: the type {state['Type']} is not interpreted")
            resource = self.integration(state.get("Resource", ""))
            is_known = resource in RESOURCES or resource.startswith(SERVICE_CALL)
            if state["Type"] == "Task" and not is_known:
                raise ValueError(f"{self.name}, {name}: the resource {state['Resource']} is not interpreted")
            if state["Type"] == "Map":
                self._check_states(state["ItemProcessor"])


class StepFunctions:
    """The service. `tell` gets the events that it sends to EventBridge."""

    def __init__(
        self,
        scheduler: Scheduler,
        chance: random.Random,
        functions: Functions,
        tell: Callable[..., None],
        account: Account,
    ) -> None:
        self.scheduler = scheduler
        self.chance = chance
        self.machines: dict[str, Machine] = {}
        self.executions: dict[str, Execution] = {}
        self._functions = functions
        self._tell = tell
        self._account = account
        self._tokens: dict[str, Future] = {}

    @property
    def buckets(self) -> Buckets:
        """Where a Distributed Map has its items from."""
        return self._account.buckets

    def start(self, machine_arn: str, name: str, data: Any) -> Execution:
        """Start an execution. Raises ValueError where the name is taken."""
        machine = self.machines[machine_arn]
        arn = execution_arn(machine_arn, name)
        if arn in self.executions:
            raise ValueError(arn)
        return self._begun(Execution(arn, name, machine, data, self.scheduler.now))

    def start_child(self, machine: Machine, label: str, data: Any) -> Execution:
        """Start a child of a Distributed Map, whose state machine is `<machine>/<label>`."""
        name = f"{self.chance.getrandbits(96):024x}"
        arn = execution_arn(machine.arn, name).replace(f":{name}", f"/{label}:{name}")
        return self._begun(Execution(arn, name, machine, data, self.scheduler.now, is_child=True))

    def end_child(self, child: Execution) -> None:
        """Stop a child whose Map is over."""
        self._end(child, "ABORTED", "", "the Map Run was stopped")

    def may_map(self, machine_arn: str, items: str, results: str) -> None:
        """Raises StateError where the machine's role does not allow its Distributed Map."""
        _check_role(self._account.permissions.mapped(machine_arn, items, results))

    def _begun(self, execution: Execution) -> Execution:
        self.executions[execution.arn] = execution
        execution.process = self.scheduler.start(self._life(execution))
        self._changed(execution)
        self._limit_time(execution)
        return execution

    def redrive(self, arn: str) -> None:
        """RedriveExecution: continues at the unsuccessful state, with its input and variables as they were.

        Of a Map, only the items that did not come to their end. The time limit begins anew (Step Functions
        developer guide, "Restarting state machine executions with redrive"). Raises ValueError.
        """
        execution = self.executions[arn]
        if execution.status in ("RUNNING", "SUCCEEDED"):
            raise ValueError(f"{execution.name} is {execution.status}")
        execution.status, execution.error, execution.cause, execution.stopped = "RUNNING", "", "", None
        execution.redrives += 1
        execution.ended = Future()
        execution.inner.clear()
        execution.process = self.scheduler.start(self._life(execution))
        self._changed(execution)
        self._limit_time(execution)

    def _limit_time(self, execution: Execution) -> None:
        seconds, redrives = execution.machine.definition.get("TimeoutSeconds"), execution.redrives

        def end() -> None:
            if execution.redrives == redrives:
                self._end(execution, "TIMED_OUT", TIMEOUT, "")

        if seconds is not None:
            self.scheduler.after(seconds, end)

    def stop(self, arn: str, error: str = "", cause: str = "") -> None:
        """StopExecution: no Catch sees it."""
        self._end(self.executions[arn], "ABORTED", error, cause)

    def succeed(self, token: str, output: Any) -> bool:
        """SendTaskSuccess; False where nobody waits for it any more."""
        waiting = self._tokens.get(token)
        if waiting is None or waiting.done:
            return False
        waiting.settle((output, None))
        return True

    def running(self) -> list[Execution]:
        """Executions that have not ended."""
        return [execution for execution in self.executions.values() if execution.status == "RUNNING"]

    def describe(self, execution: Execution) -> Json:
        """As botocore's shape DescribeExecutionOutput."""
        found: Json = {
            "executionArn": execution.arn,
            "stateMachineArn": execution.machine.arn,
            "name": execution.name,
            "status": execution.status,
            "startDate": execution.started,
            "input": json.dumps(execution.input),
        }
        if execution.stopped is not None:
            found["stopDate"] = execution.stopped
        if execution.status == "SUCCEEDED":
            found["output"] = json.dumps(execution.output)
        elif execution.status != "RUNNING":
            told = {"error": execution.error, "cause": execution.cause[:CAUSE_CHARS]}
            found |= {name: text for name, text in told.items() if text}
        return found

    # -------------------------------------------------------------------------------------------- tasks
    def task(self, execution: Execution, visit: Visit, interpreter: Interpreter) -> Steps:
        """One try of a Task; raises StateError."""
        resource = execution.machine.integration(visit.state["Resource"])
        if resource == INVOKE_AND_WAIT:
            visit.token = f"token-{self.chance.getrandbits(96):024x}"
        arguments = interpreter.value(visit, visit.state["Arguments"])
        limit(f"the input of {visit.name}", arguments)
        seconds = interpreter.value(visit, visit.state.get("TimeoutSeconds"))
        if resource.startswith(SERVICE_CALL):
            return self._call(execution, visit, resource, arguments)
        if resource == RUN_EXECUTION:
            return (yield from self._run_child(execution, arguments, seconds))
        result = yield from self._invoke(execution, visit, arguments, seconds)
        return {"StatusCode": 200, "Payload": result} if resource == INVOKE else result

    def _call(self, execution: Execution, visit: Visit, resource: str, params: Json) -> Json:
        """The answer to an operation that a state calls with its machine's role."""
        _, service, name = resource.split(":")
        call = self._account.noted(visit.name, service, f"{name[0].upper()}{name[1:]}")
        interference, roles = self._account.interference, self._account.permissions
        refusal = interference.before(call) or roles.asked(execution.machine.arn, call, params)
        try:
            answer = {} if refusal else self._account.ask(service, call.operation, params)
        except ApiError as error:
            refusal = Refusal(error.code, error.message, error.status)
        if refusal is not None or interference.after(call):
            raise of_service(call, refusal)
        told: Json = json.loads(json.dumps(answer, default=datetime.isoformat))
        return told

    def _invoke(self, execution: Execution, visit: Visit, arguments: Json, seconds: float | None) -> Steps:
        _check_role(self._account.permissions.invoked(execution.machine.arn, arguments["FunctionName"]))
        fiber = self._functions.invoke(arguments["FunctionName"], arguments["Payload"], execution, visit.name)
        token = visit.token
        waiting = fiber.result if not token else self._awaited(token, fiber)
        try:
            answer, failure = yield self._with_limit(waiting, seconds)
        finally:
            self._tokens.pop(token, None)
        if failure is not None:
            raise failure
        execution.answers.append((visit.name, answer))
        return answer

    def _awaited(self, token: str, fiber: Fiber) -> Future:
        """The token's answer, whenever it comes; the function's only where it failed."""
        waiting = self._tokens[token] = Future()
        fiber.result.listen(lambda told: waiting.settle(told) if told[1] is not None else None)
        return waiting

    def _with_limit(self, waiting: Future, seconds: float | None) -> Future:
        if seconds is None:
            return waiting
        first = Future()
        waiting.listen(first.settle)
        late = (None, StateError(TIMEOUT, ""))
        self.scheduler.after(float(seconds), lambda: first.settle(late))
        return first

    def _run_child(self, execution: Execution, arguments: Json, seconds: float | None) -> Steps:
        """startExecution.sync:2; the child is stopped with its parent."""
        roles = self._account.permissions
        _check_role(roles.child(execution.machine.arn, arguments["StateMachineArn"], arguments["Name"]))
        child = self._child(execution.state, arguments)
        try:
            _, failure = yield self._with_limit(_pair(child.ended), seconds)
        except GeneratorExit:
            self._end(child, "ABORTED", "", "the parent was stopped")
            raise
        if failure is not None:
            self._end(child, "ABORTED", "", "the parent waited no longer")
            raise failure
        told = self._told(child)
        if child.status != "SUCCEEDED":
            raise StateError("States.TaskFailed", json.dumps(told)[:CAUSE_CHARS])
        execution.answers.append((execution.state, child.output))
        return told

    def _child(self, place: str, arguments: Json) -> Execution:
        """StartExecution answers the same execution for the same name and input while that runs."""
        call = self._account.noted(place, "stepfunctions", "StartExecution")
        refusal = self._account.interference.before(call)
        if refusal is not None:
            raise of_start(refusal)
        machine, name, data = (arguments[key] for key in ("StateMachineArn", "Name", "Input"))
        child = self.executions.get(execution_arn(machine, name))
        if child is None:
            child = self.start(machine, name, data)
        elif child.status != "RUNNING" or child.input != data:
            raise StateError(f"{START}.ExecutionAlreadyExistsException", child.arn)
        if self._account.interference.after(call):
            raise StateError(START_SILENT, "StartExecution: no answer")
        return child

    def _told(self, child: Execution) -> Json:
        """DescribeExecution as sync:2 hands it on: capital letters, the output parsed."""
        described = self.describe(child)
        told = {key[0].upper() + key[1:]: value for key, value in described.items()}
        if child.status == "SUCCEEDED":
            told["Output"] = child.output
        return told

    # ---------------------------------------------------------------------------------------------- life
    def _life(self, execution: Execution) -> Steps:
        try:
            output = yield from Interpreter(self, execution).run()
        except StateError as failure:
            self._end(execution, "FAILED", failure.error, failure.cause)
            return
        execution.output = output
        self._end(execution, "SUCCEEDED", "", "")

    def _end(self, execution: Execution, status: str, error: str, cause: str) -> None:
        if execution.status != "RUNNING":
            return
        execution.status, execution.error, execution.cause = status, error, cause
        execution.stopped = self.scheduler.now
        if status in ("ABORTED", "TIMED_OUT"):
            self._stop_steps(execution)
        self._changed(execution)
        execution.ended.settle(execution)

    def _stop_steps(self, execution: Execution) -> None:
        processes: list[Process | None] = [execution.process, *execution.inner]
        for process in processes:
            if process is not None:
                process.stop((0, None, None))

    def _changed(self, execution: Execution) -> None:
        """Step Functions developer guide, "Automating Step Functions event delivery with EventBridge".

        No rule of ours is about the children of a Distributed Map.
        """
        if execution.is_child:
            return
        detail = self.describe(execution)
        for name in ("startDate", "stopDate"):
            if name in detail:
                detail[name] = int(detail[name] * 1000)
        self._tell(STATUS_CHANGE, "aws.states", {"stopDate": None, **detail}, [execution.arn])


def _check_role(refused: str | None) -> None:
    """Step Functions developer guide, "Handling errors": States.Permissions."""
    if refused is not None:
        raise StateError("States.Permissions", refused)


def _pair(ended: Future) -> Future:
    """As `_with_limit` takes it: (value, failure)."""
    pair = Future()
    ended.listen(lambda execution: pair.settle((execution, None)))
    return pair


__all__ = ["Machine", "StepFunctions", "stamp"]
