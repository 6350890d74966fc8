"""Frozen dataclasses that share their methods.

`@dataclass(frozen=True)` reads the fields of each class and compiles six methods. A function imports nearly
two hundred such classes and makes objects of few. The compiling took a sixth of its cold start.
"""

from __future__ import annotations

import dataclasses
from threading import RLock
from typing import Any, ClassVar, dataclass_transform


class _Fields:
    """The fields of a class, which are read when somebody first asks for them; one thread at a time reads."""

    _reading = RLock()

    def __init__(self, *, keywords_only: bool = False) -> None:
        self._keywords_only = keywords_only

    def __get__(self, _one: object, cls: type[Value]) -> dict[str, dataclasses.Field[Any]]:
        with self._reading:
            if vars(cls)["__dataclass_fields__"] is self:
                dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self._keywords_only)(cls)
        return cls.__dataclass_fields__


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Value:
    """A class that inherits from this one is a frozen dataclass, and has no decorator.

    It becomes one when its first object is made, or when somebody asks for its fields. All its fields are
    compared, hashed and shown; a class with a field that is not raises TypeError.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        for name, own in vars(cls).items():
            is_field = isinstance(own, dataclasses.Field)
            if is_field and not (own.init and own.repr and own.compare and own.hash is not False):
                raise TypeError(f"{cls.__name__}.{name} is not compared, hashed or shown")
        setattr(cls, "__dataclass_fields__", _Fields(keywords_only=kw_only))  # noqa: B010 - not those of a base
        setattr(cls, "__init__", Value.__init__)  # noqa: B010 - not the compiled one of a base

    def __init__(self, *given: Any, **named: Any) -> None:
        cls = type(self)
        setattr(cls, "__init__", _compiled_init(cls))  # noqa: B010
        cls.__init__(self, *given, **named)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        fields = [f"{name}={own!r}" for name, own in self.__dict__.items()]
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _compiled_init(cls: type[Value]) -> Any:
    """The `__init__` of a class of the standard library that has the same fields."""
    fields = [(field.name, field.type, field) for field in dataclasses.fields(cls)]
    after = {name: getattr(cls, name) for name in ("__doc__", "__post_init__") if hasattr(cls, name)}
    made = dataclasses.make_dataclass(
        cls.__qualname__, fields, namespace=after, frozen=True, repr=False, eq=False
    )
    return vars(made)["__init__"]
