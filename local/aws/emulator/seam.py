"""Replace a private name of the pinned emulator, only where it is the one we know, and put it back later.

The names are private, so another release may move them at any time: the release is pinned by hash in
requirements/dev.txt, checked here, and each patch names a fragment of the source that it relies on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, MutableMapping
from functools import cache
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

from local.aws.emulator import partitions

PINNED_VERSION = "1.5.33"

_undo: list[Callable[[], None]] = []


class EmulatorChangedError(RuntimeError):
    """The installed emulator isn't the one that the patches were written for."""


def check_version() -> None:
    """Refuse to patch any release but the pinned one."""
    found = version("ministack")
    if found != PINNED_VERSION:
        raise EmulatorChangedError(
            f"ministack {found} is installed, but local/emulator mends {PINNED_VERSION}: install "
            "the packages of requirements/dev.txt, or go through compat_*.py and their tests for the new one"
        )


def settle_in(region: str) -> None:
    """Read the modules for this Region, if they are not yet: each keeps the one of its first import."""
    if partitions.region_read() != region:
        restore_all()
        partitions.read_for(region)
        module.cache_clear()


@cache
def module(name: str) -> ModuleType:
    """A module of the emulator, by its name below `ministack`."""
    check_version()
    return import_module(f"ministack.{name}")


def known(owner: Any, name: str, *fragments: str) -> Any:
    """The attribute `name` of `owner`, when its source still holds every fragment."""
    found = getattr(owner, name, None)
    if found is None:
        raise EmulatorChangedError(f"{owner.__name__} has no {name} any more")
    text = found if isinstance(found, str) else inspect.getsource(inspect.unwrap(found))
    for fragment in fragments:
        if fragment not in text:
            raise EmulatorChangedError(f"{owner.__name__}.{name} no longer contains {fragment!r}")
    return found


def replace(owner: Any, name: str, new: Any) -> None:
    """Put `new` in the place of `owner.name` until `restore_all`."""
    old = getattr(owner, name)
    setattr(owner, name, new)
    _undo.append(lambda: setattr(owner, name, old))


def add_entry(table: MutableMapping[str, Any], key: str, value: Any) -> None:
    """Set `table[key]` until `restore_all`."""
    if key in table:
        old = table[key]
        _undo.append(lambda: table.__setitem__(key, old))
    else:
        _undo.append(lambda: table.pop(key, None))
    table[key] = value


def restore_all() -> None:
    """Take back every replacement, newest first."""
    while _undo:
        _undo.pop()()
