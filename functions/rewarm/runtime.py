"""The Lambda functions: `rewarm.runtime.create_volume` is that of the state Create Volume.

It is made when Lambda asks for it, and imports only the module of its step and the adapters of its ports.
A function that serves no state is a module of handlers/.
"""

# ruff: noqa: E402 - imports make a hundred thousand objects, of which none can be collected. Python would
# search them again and again, which takes a quarter of a cold start.
from __future__ import annotations

import gc

OBJECTS_BETWEEN_COLLECTIONS = 300_000
gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)

import dataclasses
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm import wiring
from rewarm.observability import logger, tracer, write
from rewarm.ports import JsonObject
from rewarm.steps.registration import REGISTRATIONS, Registration

Bundle = TypeVar("Bundle")
Handler = Callable[[JsonObject, LambdaContext], Any]
_PACKAGE = Path(__file__).parent


def __getattr__(name: str) -> Handler:
    """The Lambda function of this name."""
    if (_PACKAGE / "handlers" / f"{name}.py").is_file():
        handler: Handler = import_module(f"rewarm.handlers.{name}").lambda_handler
        return handler
    return state_function(name)


def registration(name: str) -> Registration:
    """Returns the registration of the step in `steps/<room>/<name>.py`. Raises AttributeError without one."""
    for module in (_PACKAGE / "steps").glob(f"*/{name}.py"):
        import_module(f"rewarm.steps.{module.parent.name}.{name}")
    try:
        return REGISTRATIONS[name]
    except KeyError as error:
        raise AttributeError(name) from error


def state_function(name: str, **given: Any) -> Handler:
    """Returns the Lambda function of a step's states, with its ports; those that are given win.

    It parses the event, names the restore in every log line, traces, and returns the result as JSON.
    """
    own = registration(name)
    ports = ports_of(own.step, given)
    model = next(iter(get_type_hints(own.step).values()))

    @tracer.capture_lambda_handler(capture_response=False)
    @logger.inject_lambda_context(clear_state=True)
    def lambda_handler(event: JsonObject, context: LambdaContext) -> JsonObject:
        parsed = model.model_validate(event).at_present(wiring.now())
        logger.append_keys(restore_id=parsed.restore_id, **_volume(event))
        tracer.put_annotation("restoreId", parsed.restore_id)
        result = own.step(parsed, **ports)
        write(own.metrics(parsed, result) if own.metrics else ())
        answer: JsonObject = result.to_json()
        return answer

    handler: Handler = lambda_handler
    return handler


def _volume(event: JsonObject) -> JsonObject:
    """The index of the volume that the event is about, if any."""
    volume = event.get("volume") or {}
    keys = {"volume_id": event.get("volumeId"), "snapshot_id": volume.get("snapshotId")}
    return {name: value for name, value in keys.items() if value}


def filled(bundle: type[Bundle], **given: Any) -> Bundle:
    """Returns a bundle with each port by its name: the given one, or the one that wiring.py makes."""
    return bundle(**ports_of(bundle, given))


def ports_of(taker: Any, given: JsonObject) -> JsonObject:
    """Returns by name the ports that a bundle takes, or that a step takes in addition to its event."""
    return {name: _port(name, kind, owners, given) for name, kind, owners in wanted(taker)}


def wanted(taker: Any) -> Iterator[tuple[str, Any, list[str]]]:
    """Yields the name of each port that a bundle or a step takes, its type, and which bundles may own it."""
    kinds = get_type_hints(taker)
    if not dataclasses.is_dataclass(taker):
        _event, *names = (name for name in kinds if name != "return")
        yield from ((name, kinds[name], [taker.__name__]) for name in names)
        return
    owners = [_snake(owner.__name__.removesuffix("Ports")) for owner in taker.__mro__]  # type: ignore[union-attr]
    yield from ((field.name, kinds[field.name], owners) for field in dataclasses.fields(taker))


def maker(name: str, owners: list[str]) -> str | None:
    """Returns the name of the function of wiring.py that makes a port; None if the port is a bundle itself.

    For the port `commands` of AgentPorts and bundles that inherit from it, that is `agent_commands`, if it is
    there, else `commands`; for the port `artifacts` of the step `announce`, `announce_artifacts`.
    """
    names = [*(f"{owner}_{name}" for owner in owners), name]
    return next((maker_name for maker_name in names if maker_name in vars(wiring)), None)


def _port(name: str, kind: Any, owners: list[str], given: JsonObject) -> Any:
    if name in given:
        return given[name]
    make = maker(name, owners)
    if make is not None:
        return vars(wiring)[make]()
    (bundle,) = (member for member in get_args(kind) or [kind] if member is not type(None))
    return filled(bundle, **given)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
