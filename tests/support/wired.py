"""Ports in memory for a step, and for a handler in place of those that it wired at its import."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any, TypeVar

import pytest

Bundle = TypeVar("Bundle")


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
