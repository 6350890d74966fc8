"""A value is what the standard library's decorator makes of the same class."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace

import pytest

from rewarm.domain.value import Value
from tests.support.tree import ROOT


class Way(Value):
    """A way."""

    name: str
    hours: int = 2
    tags: tuple[str, ...] = field(default_factory=tuple)


class Detour(Way, kw_only=True):
    """A longer one."""

    miles: int

    def __post_init__(self) -> None:
        if self.miles < 0:
            raise ValueError(self.miles)


@dataclass(frozen=True)
class Given:
    """The same by the standard library."""

    name: str
    hours: int = 2
    tags: tuple[str, ...] = field(default_factory=tuple)


def refused(kind, *given, **named):
    with pytest.raises(TypeError) as caught:
        kind(*given, **named)
    return str(caught.value).replace(kind.__name__, "")


def test_it_is_made_and_shown_as_the_standard_library_s():
    one, theirs = Way("a", tags=("b",)), Given("a", tags=("b",))
    assert repr(one) == repr(theirs).replace("Given", "Way")
    assert (asdict(one), Way.__match_args__) == (asdict(theirs), Given.__match_args__)
    assert asdict(replace(one, hours=3)) == asdict(replace(theirs, hours=3))
    assert refused(Way) == refused(Given)
    assert refused(Way, "a", wrong=1) == refused(Given, "a", wrong=1)


def test_it_equals_another_of_its_class_with_equal_fields():
    one, same, longer = Way("a"), Way("a", 2), Detour("a", miles=1)
    assert (one, hash(one)) == (same, hash(same))
    assert one not in (Way("b"), longer, Given("a"))
    assert {one: 1}[same] == 1


def test_a_class_compiles_its_own_init_also_after_its_base_has():
    assert Way("a").hours == 2
    assert (Detour("a", miles=1).miles, Detour("a", 3, miles=1).hours) == (1, 3)
    with pytest.raises(ValueError, match="-1"):
        Detour("a", miles=-1)


def test_nobody_can_change_it():
    one = Way("a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'hours'"):
        one.hours = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    assert one == Way("a")


def test_a_copy_is_equal():
    one = Detour("a", miles=1)
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.is_dataclass(one)


@pytest.mark.parametrize("option", ["init", "repr", "compare", "hash"])
def test_a_field_that_is_left_out_somewhere_is_refused(option):
    hidden = field(default=1, **{option: False})
    with pytest.raises(TypeError, match=r"Partial\.hidden is not compared"):
        type("Partial", (Value,), {"__annotations__": {"hidden": int}, "hidden": hidden})


def test_every_value_of_functions_has_fields_that_a_dataclass_may_have():
    """Python reads the fields of a class at its first use, so nothing else would look at a rare one."""
    for room in ("adapters", "domain", "ports", "steps"):
        for file in (ROOT / "functions/rewarm" / room).rglob("*.py"):
            module = ".".join(file.relative_to(ROOT / "functions").with_suffix("").parts)
            importlib.import_module(module.removesuffix(".__init__"))
    kinds = [Value]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert len(kinds) > 150
    assert all(dataclasses.is_dataclass(kind) for kind in kinds[1:] if kind.__name__ != "Partial")


def test_nobody_reads_the_fields_of_a_class_before_it_is_used():
    class Unused(Value):
        """Nobody makes one."""

        name: str = field(default="a")

    assert "__match_args__" not in vars(Unused)
    assert Unused().name == "a"
    assert Unused.__match_args__ == ("name",)


def test_many_threads_may_use_a_class_for_the_first_time_at_once():
    """One that began to read the fields again would find no defaults: the first reading takes them away."""
    between = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(100):
                tags = {"__annotations__": {"tags": list}, "tags": field(default_factory=list)}
                kind = type("New", (Value,), tags)
                made = [threads.submit(kind) for _ in range(4)]
                assert [one.result().tags for one in made] == [[]] * 4
    finally:
        sys.setswitchinterval(between)


def test_value_itself_has_no_fields():
    assert not dataclasses.is_dataclass(Value)
