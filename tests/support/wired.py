"""Ports in memory for a step and for a handler, and the ports that each Lambda function is made with."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, get_args

import pytest

from rewarm.steps.registration import REGISTRATIONS, Registration
from tests.support.tree import ROOT

Bundle = TypeVar("Bundle")
PACKAGE = ROOT / "functions/rewarm"


def wired(bundle: type[Bundle], world: Any, **others: Any) -> Bundle:
    """The step's bundle with the ports of a world that have its fields' names."""
    names = {field.name for field in dataclasses.fields(bundle)} - others.keys()  # type: ignore[arg-type]
    return bundle(**{name: getattr(world, name) for name in names if hasattr(world, name)}, **others)


def use(patch: pytest.MonkeyPatch, handler: ModuleType, **ports: Any) -> None:
    """Each port by its name in the handler's bundles, or as the handler's own `_NAME`.

    A bundle or a port may also be what a cached function without arguments makes at its first use.
    """
    unused = set(ports)
    for name, value in list(vars(handler).items()):
        late = hasattr(value, "cache_info") and value.__module__ == handler.__name__
        bundle = value() if late else value
        if dataclasses.is_dataclass(bundle) and not isinstance(bundle, type):
            fitting = {field.name for field in dataclasses.fields(bundle)} & ports.keys()
            others = {port: ports[port] for port in fitting}
            changed = dataclasses.replace(bundle, **others)
            patch.setattr(handler, name, (lambda made=changed: made) if late else changed)
            unused -= fitting
    for port, fake in ports.items():
        if hasattr(handler, f"_{port.upper()}"):
            patch.setattr(handler, f"_{port.upper()}", fake)
            unused.discard(port)
        if hasattr(handler, f"_{port}"):
            patch.setattr(handler, f"_{port}", lambda made=fake: made)
            unused.discard(port)
    assert not unused, f"{handler.__name__} needs no {unused}"


@cache
def steps() -> dict[str, Registration]:
    """Name of the step -> its registration, of all steps."""
    _modules()
    return dict(REGISTRATIONS)


@cache
def _modules() -> list[ModuleType]:
    return [
        import_module(f"rewarm.steps.{path.parent.name}.{path.stem}".removesuffix(".__init__"))
        for path in sorted(PACKAGE.glob("steps/*/*.py"))
    ]


def bare(kind: Any) -> Any:
    """A type without its `| None`."""
    return next((one for one in get_args(kind) if one is not type(None)), kind)


def ports(taker: Any, given: Collection[str] = ()) -> Iterator[tuple[str, Any, str]]:
    """(port, its type, the name of what makes it in wiring.py) of a step or a bundle and what is in it."""
    from rewarm import runtime  # noqa: PLC0415 - its clients' libraries take long to load

    for name, kind, owners in runtime.wanted(taker):
        make = runtime.maker(name, owners)
        if make is None:
            yield from () if name in given else ports(bare(kind))
        elif name not in given:
            yield name, bare(kind), make


def makers(function: str) -> set[str]:
    """The functions of wiring.py whose ports a Lambda function has."""
    if function in steps():
        return {make for _, _, make in ports(steps()[function].step)}
    files = PACKAGE.glob(f"handlers/{function}*.py")
    return {name for path in files for name in _makers_in(ast.parse(path.read_text(encoding="utf-8")))}


def _makers_in(tree: ast.Module) -> Iterator[str]:
    """Those that a handler's module calls itself, and those that fill a bundle, or what it inherits from."""
    nodes = list(ast.walk(tree))
    own = {
        node.name: [ast.unparse(base) for base in node.bases]
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        called = ast.unparse(call.func)
        if called.startswith("wiring."):
            yield called.removeprefix("wiring.")
        elif called == "filled":
            name, given = ast.unparse(call.args[0]), [str(keyword.arg) for keyword in call.keywords]
            for base in own.get(name, [name]):
                (bundle,) = {vars(module)[base] for module in _modules() if base in vars(module)}
                yield from (make for _, _, make in ports(bundle, given))
