"""One type for a fact: no two classes of functions/ have the same fields.

What a contract shares with a value of the domain is the value itself, or inherits from it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

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


def declared() -> dict[str, ast.ClassDef]:
    """Class of functions/ -> its definition; names are unique (test_imports.py)."""
    return {
        node.name: node
        for path in files("*.py", below="functions")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }


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
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    )


def twins() -> set[frozenset[str]]:
    classes = declared()
    same: dict[frozenset[str], set[str]] = {}
    for name in classes:
        if name.endswith("Ports"):  # a state and its drill may need the same of the world
            continue
        fields = fields_of(name, classes)
        if len(fields) >= FEWEST_FIELDS:
            same.setdefault(fields, set()).add(name)
    groups = set()
    for names in same.values():
        inherited = {base for name in names for base in list(ancestors(name, classes))[1:]}
        if len(names - inherited) > 1 or (len(names) > 1 and not names & inherited):
            groups.add(frozenset(names))
    return groups


def test_no_two_classes_have_the_same_fields():
    assert twins() == set(SAME_FIELDS_FOR_A_REASON)
