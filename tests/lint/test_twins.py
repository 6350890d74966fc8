"""One type for a fact: no two classes of functions/ have the same fields.

What a contract shares with a value of the domain is the value itself, or inherits from it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.support.tree import files

FEWEST_FIELDS = 2
SAME_FIELDS_FOR_A_REASON = {
    frozenset({"Boost", "PerformanceSettings"}): "A boost always has IOPS; other settings may have none.",
    frozenset({"Extent", "FirstExtent"}): "A request is checked as a contract, so its errors name the field.",
    frozenset({"VolumeRequest", "WantedVolume"}): "A request is checked as a contract, with limits.",
    frozenset({"FleetMembers", "ListedItem"}): "Their sources differ: that of a fleet, and that of one item.",
    frozenset({"LatestModification", "VolumeModification"}): "An answer has every field, and times in UTC.",
}
"""Classes with the same fields -> why they are two."""


def declared(texts: Iterable[str]) -> dict[str, ast.ClassDef]:
    """Class -> its definition; names are unique (test_imports.py)."""
    nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def ancestors(name: str, classes: dict[str, ast.ClassDef]) -> Iterator[str]:
    """The class and all that it inherits from, of functions/."""
    if name in classes:
        yield name
        for base in classes[name].bases:
            if isinstance(base, ast.Name):
                yield from ancestors(base.id, classes)


def fields_of(name: str, classes: dict[str, ast.ClassDef]) -> frozenset[str]:
    """The names of the fields, inherited ones too."""
    return frozenset(
        statement.target.id
        for one in ancestors(name, classes)
        for statement in classes[one].body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and not statement.target.id.startswith("__")
    )


def twins(classes: dict[str, ast.ClassDef]) -> set[frozenset[str]]:
    """Groups of classes with the same fields, of which none inherits them from another one."""
    same: dict[frozenset[str], set[str]] = {}
    for name in classes:
        if name.endswith("Ports"):  # a state and its drill may need the same of the world
            continue
        fields = fields_of(name, classes)
        if len(fields) >= FEWEST_FIELDS:
            same.setdefault(fields, set()).add(name)
    bases = {base for name in classes for base in list(ancestors(name, classes))[1:]}
    return {frozenset(names) for names in same.values() if len(names - bases) > 1}


def test_no_two_classes_have_the_same_fields():
    texts = (path.read_text(encoding="utf-8") for path in files("*.py", below="functions"))
    assert twins(declared(texts)) == set(SAME_FIELDS_FOR_A_REASON)


def test_two_classes_with_the_same_fields_are_found_and_an_heir_is_none():
    first = "class Price:\n    item: str\n    usd: Decimal"
    second = "class Cost(Contract):\n    usd: Usd\n    item: str"
    assert twins(declared([first, second])) == {frozenset({"Price", "Cost"})}
    assert twins(declared([first, "class Cost(Price):\n    usd: Usd"])) == set()
