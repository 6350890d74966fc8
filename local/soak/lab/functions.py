"""Lambda: the real handlers, imported once with clients that end in the process, invoked in virtual time."""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import logging
import os
import random
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol
from unittest import mock

import rewarm
from local import Json
from local.soak.lab.endpoints import AtOnce, no_metric
from local.soak.lab.scheduler import Fiber, FiberEnded, Scheduler
from local.soak.lab.states.errors import LAMBDA_SILENT, StateError, lambda_failure, of_lambda
from local.soak.lab.states.execution import Execution
from local.soak.lab.template import AGENTS, DEFAULT_TIMEOUT_SECONDS, FunctionResource, Stack, stack
from local.soak.lab.transport import Call, Desk, Refusal, Switchboard
from rewarm import observability
from rewarm.adapters import artifacts
from rewarm.adapters.blocks import side_by_side
from rewarm.adapters.blocks.snapshot_blocks import REQUESTS_PER_SECOND, Pacer
from rewarm.settings import Settings

Handler = Callable[[Any, Any], Any]
SWITCHBOARD = Switchboard()
START_SECONDS = (0.02, 0.4)
"""From the state's order to the function's first line, and back; a cold start takes longer."""
TIMED_OUT, NO_ANSWER = "Sandbox.Timedout", "Runtime.ExitError"
"""How current runtimes call Lambda's own failures; earlier ones had `Lambda.Unknown` for both."""
BUSY = Refusal("TooManyRequestsException", "Rate Exceeded.", 429)
"""Lambda API reference, Invoke: the account's concurrency is used up."""
_OWN = ("rewarm.handlers", "rewarm.runtime", "rewarm.wiring")
"""What keeps clients: the lab imports it apart from the process's other imports of it."""
PAGE = "<!doctype html><title>A restore of the fast lab</title>"
_AS_IMPORTED: list[tuple[Any, Json]] = []
"""What adapters keep while they are warm (prices, for an hour), as it was at first: each lab starts cold."""


@dataclass(slots=True)
class Scope:
    """Whose code a fiber runs."""

    place: str
    function: str
    execution: str
    pacer: Pacer | None = None


@dataclass(frozen=True, slots=True)
class Mishap:
    """What befalls an invocation: `timeout`, `memory` or `crash`; before its work, or after it."""

    kind: str
    after_work: bool = False


class Account(Desk, Protocol):
    """The open lab, as Lambda sees it."""

    def invocation(self, place: str) -> Mishap | None:
        """What goes wrong with one invocation in a state (or of a function that no state calls)."""

    def noted(self, place: str, service: str, operation: str) -> Call:
        """A call that the service makes itself, noted."""


@cache
def handlers(**parameters: str) -> dict[str, Handler]:
    """Every function's handler by its name, in a stack with these parameters."""
    deployed = stack(**parameters)
    kept = _without_own()
    try:
        environment = mock.patch.dict(os.environ, _environment(deployed))
        # A real page takes half a second of this machine; tests of the page look at what is drawn.
        page = mock.patch("rewarm.restore_page.drawn", _page)
        agents = mock.patch.object(Settings, "agents", AGENTS)
        with SWITCHBOARD.in_force(), environment, mock.patch("uuid.uuid4", _new_id), page, agents:
            found = {function.handler: _handler(function) for function in deployed.functions.values()}
            for name, module in list(sys.modules.items()):
                if name.startswith(_OWN):
                    _into_virtual_time(module)
    finally:
        _without_own()
        sys.modules.update(kept)
        vars(rewarm).update({name.partition(".")[2]: kept[name] for name in kept if name.count(".") == 1})
    # Hundreds of thousands of objects that live as long as the process: collecting garbage passes them by.
    gc.freeze()
    return found


def _without_own() -> dict[str, ModuleType]:
    """Takes the modules out, also as attributes of their package, where `from rewarm import` looks."""
    for name in _OWN:
        vars(rewarm).pop(name.partition(".")[2], None)
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(_OWN)}


def _handler(function: FunctionResource) -> Handler:
    """What Lambda gets from the module; the ports of a state are moved into virtual time on their way."""
    runtime: Any = importlib.import_module(function.module)
    name = function.handler.rpartition(".")[2]
    try:
        ports = runtime.ports_of(runtime.registration(name).step, {})
    except AttributeError:
        handler: Handler = getattr(runtime, name)
        return handler
    _move(ports, set())
    moved: Handler = runtime.state_function(name, **ports)
    return moved


def _page(_account: Json) -> str:
    return PAGE


def _environment(deployed: Stack) -> dict[str, str]:
    """Of all functions together: no name stands for two values."""
    found: dict[str, str] = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    for function in deployed.functions.values():
        found.update(function.environment)
    return found


def _now() -> float:
    """By Lambda's clock."""
    desk: Any = SWITCHBOARD.desk
    return float(desk.scheduler.now + desk.skew.functions)


class _Ids:
    """uuid.uuid4 by the seed of the lab that is open: what is kept by name at import must follow it too."""

    chance = random.Random(0)


_IDS = _Ids()


def _new_id() -> uuid.UUID:
    return uuid.UUID(int=_IDS.chance.getrandbits(128), version=4)


def _sleep(seconds: float) -> None:
    assert SWITCHBOARD.desk is not None
    SWITCHBOARD.desk.sleep(seconds)


class _Webhook:
    """urllib3's part of a Slack webhook; the lab keeps what was posted."""

    def request(self, _method: str, _url: str, *, json: Json) -> Any:
        """Slack answers ok."""
        desk: Any = SWITCHBOARD.desk
        return desk.post_to_slack(json)


def _own_copy(value: Any) -> Any:
    """What is remembered in a dictionary or a list is forgotten too."""
    return value.copy() if isinstance(value, dict | list | set) else value


class _OwnPacer:
    """On AWS functions that run at once are separate processes, and none knows the others' pace."""

    def wait(self) -> float:
        """As Pacer."""
        return self._pacer().wait()

    def slow_down(self, turn: float) -> None:
        """As Pacer."""
        self._pacer().slow_down(turn)

    def _pacer(self) -> Pacer:
        desk: Any = SWITCHBOARD.desk
        scope: Scope = desk.scheduler.current.scope
        if scope.pacer is None:
            scope.pacer = Pacer(REQUESTS_PER_SECOND, _now, _sleep)
        return scope.pacer


def _into_virtual_time(module: ModuleType) -> None:
    """Adapters keep their own clock, pause and webhook; all of them are the lab's from here on."""
    seen: set[int] = set()
    if getattr(module, "time", None) is time:
        module.time = SimpleNamespace(time=_now, sleep=_sleep, monotonic=_now)  # type: ignore[attr-defined]
    for value in vars(module).values():
        # What a handler makes at its first use is made now, while clients are the lab's.
        is_made_later = hasattr(value, "cache_info") and not inspect.signature(value).parameters
        _move(value() if is_made_later else value, seen)


def _move(value: Any, seen: set[int]) -> None:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            _move(item, seen)
    if not type(value).__module__.startswith("rewarm.") or not hasattr(value, "__dict__"):
        return
    own = vars(value)
    ours = {"_clock": _now, "_sleep": _sleep, "_http": _Webhook(), "_pacer": _OwnPacer()}
    for name in own.keys() & ours.keys():
        object.__setattr__(value, name, ours[name])
    _AS_IMPORTED.append((value, {name: _own_copy(item) for name, item in own.items()}))
    for item in list(own.values()):
        _move(item, seen)


@contextmanager
def lambda_environment(deployed: Stack, chance: random.Random) -> Iterator[None]:
    """What the handlers find around them while a lab is open."""
    handlers(**deployed.parameters)
    for value, own in _AS_IMPORTED:
        vars(value).clear()
        vars(value).update({name: _own_copy(item) for name, item in own.items()})
    state, threads, silenced = random.getstate(), artifacts.UPLOAD.use_threads, logging.root.manager.disable
    with ExitStack() as patches:
        patches.enter_context(mock.patch.dict(os.environ, _environment(deployed)))
        patches.enter_context(mock.patch("uuid.uuid4", _new_id))
        patches.enter_context(mock.patch.object(_IDS, "chance", chance))
        patches.enter_context(SWITCHBOARD.in_force())
        patches.enter_context(mock.patch.object(side_by_side, "ThreadPoolExecutor", AtOnce))
        patches.enter_context(mock.patch.object(observability, "single_metric", no_metric))
        random.seed(chance.getrandbits(64))
        artifacts.UPLOAD.use_threads = False
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(silenced)
            artifacts.UPLOAD.use_threads = threads
            random.setstate(state)


def _late(function: FunctionResource) -> StateError:
    cause = f"Task timed out after {function.timeout_seconds}.00 seconds"
    return StateError(TIMED_OUT, lambda_failure(TIMED_OUT, cause))


class Functions:
    """The service."""

    def __init__(
        self, scheduler: Scheduler, deployed: Stack, chance: random.Random, account: Account
    ) -> None:
        self.concurrency: int | None = None
        """So many functions may run at once; Lambda refuses further ones."""
        self.running = 0
        self.most_running = 0
        self.invocations = 0
        self.places: Counter[str] = Counter()
        """Invocations by state, or by function where no state calls."""
        self.troubled: set[tuple[str, str, str]] = set()
        """(execution, state, service) of calls without their own answer; or a mishap's kind."""
        self._scheduler = scheduler
        self._functions = deployed.functions
        self._handlers = handlers(**deployed.parameters)
        self._chance = chance
        self._account = account

    def invoke(self, arn: str, payload: Any, execution: Execution, state: str) -> Fiber:
        """For a state of an execution."""
        return self._begin(self._functions[arn], payload, state, execution.name)

    def call(self, arn: str, payload: Any) -> Fiber:
        """For a rule, a schedule or the API."""
        function = self._functions[arn]
        return self._begin(function, payload, function.logical_id, "")

    def note_trouble(self, caller: Fiber | None, service: str) -> None:
        """A call of this function did not get its own answer."""
        if caller is not None:
            self.troubled.add((caller.scope.execution, caller.scope.place, service))

    def _begin(self, function: FunctionResource, payload: Any, place: str, execution: str) -> Fiber:
        call = self._account.noted(place, "lambda", "Invoke")
        is_full = self.concurrency is not None and self.running >= self.concurrency
        refusal = BUSY if is_full else self._account.interference.before(call)
        if refusal is not None:
            self.troubled.add((execution, place, "lambda"))
            return self._refused(refusal, Scope(place, function.logical_id, execution))
        self.invocations += 1
        self.places[place] += 1
        handler = self._handlers[function.handler]
        mishap = self._account.invocation(place)
        if mishap is not None:
            self.troubled.add((execution, place, mishap.kind))
        text = json.dumps(payload)

        def work() -> tuple[Any, StateError | None]:
            _sleep(self._chance.uniform(*START_SECONDS))
            if mishap is not None and not mishap.after_work:
                return self._befall(mishap)
            try:
                answer = handler(json.loads(text), self._context(function))
            except FiberEnded:
                raise
            except Exception as error:
                failure = lambda_failure(type(error).__name__, str(error))
                return None, StateError(type(error).__name__, failure)
            if mishap is not None:
                return self._befall(mishap)
            if self._account.interference.after(call):
                self.troubled.add((execution, place, "lambda"))
                return None, StateError(LAMBDA_SILENT, "Invoke: no answer")
            return json.loads(json.dumps(answer)), None

        scope = Scope(place, function.logical_id, execution)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        fiber = self._scheduler.fiber(work, scope, function.timeout_seconds, (None, _late(function)))
        fiber.result.listen(self._over)
        return fiber

    def _over(self, _outcome: Any) -> None:
        self.running -= 1

    def _refused(self, refusal: Refusal, scope: Scope) -> Fiber:
        """Nothing runs; the caller hears it at once."""

        def work() -> tuple[Any, StateError]:
            _sleep(self._chance.uniform(*START_SECONDS))
            return None, of_lambda(refusal)

        return self._scheduler.fiber(work, scope, DEFAULT_TIMEOUT_SECONDS)

    def _befall(self, mishap: Mishap) -> tuple[Any, StateError]:
        if mishap.kind == "timeout":
            _sleep(float("inf"))
        message = "RequestId: 0 Error: Runtime exited with error: signal: killed"
        return None, StateError(NO_ANSWER, lambda_failure(NO_ANSWER, message))

    def _context(self, function: FunctionResource) -> Any:
        ends_at = self._scheduler.now + function.timeout_seconds
        return SimpleNamespace(
            function_name=function.arn.rpartition(":")[2],
            function_version="$LATEST",
            memory_limit_in_mb=512,
            invoked_function_arn=function.arn,
            aws_request_id=str(_new_id()),
            log_stream_name="fast-lab",
            get_remaining_time_in_millis=lambda: int(1_000 * max(0.0, ends_at - self._scheduler.now)),
        )
