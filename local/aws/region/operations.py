"""How a method becomes an AWS operation: `@operation("ec2", "CreateVolume")`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from local import Json

Handler = Callable[[Json], Json]
Method = TypeVar("Method", bound=Callable[..., Json])

_MARK = "aws_operation"
UNLOCKED = frozenset({("ebs", "GetSnapshotBlock"), ("ebs", "ListChangedBlocks")})
"""Operations that read blocks: they take the Region's lock only to look things up."""


def operation(service: str, name: str) -> Callable[[Method], Method]:
    """Mark a method as the one that answers `name` of `service` (botocore's names)."""

    def mark(method: Method) -> Method:
        setattr(method, _MARK, (service, name))
        return method

    return mark


def collect(parts: Iterable[Any]) -> dict[tuple[str, str], Handler]:
    """Every operation that the parts answer."""
    found: dict[tuple[str, str], Handler] = {}
    for part in parts:
        for _, method in inspect.getmembers(part, inspect.ismethod):
            key = getattr(method, _MARK, None)
            if key is not None:
                found[key] = method
    return found
