"""How far a capability is spread over the house: limits that only go down.

A question of kind is a condition that asks which strategy, or what kind of restore, it deals with. The aims
stand beside the limits. A number far above what it limits fails as well, so that it is lowered.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from local.state_machines import definitions
from tests.lint.test_sizes import check
from tests.support.tree import ROOT, files

PACKAGE = ROOT / "functions" / "rewarm"
SEAMS = ("domain/ways/", "domain/cases/")
"""Rooms whose modules answer; they may ask."""
KINDS = {
    "strategy": re.compile(r"^(Strategy|strategy|strategies|chosen_strategy)$|_strategy$"),
    "adoption": re.compile(r"adopt", re.IGNORECASE),
    "drill": re.compile(r"drill", re.IGNORECASE),
    "rewind": re.compile(r"rewind|undo(?!c)", re.IGNORECASE),
    "replacement": re.compile(
        r"^(replaces?|replacing|replaced|replacement|is_replac\w*)$|_replac", re.IGNORECASE
    ),
    "fleet": re.compile(r"fleet", re.IGNORECASE),
    "root swap": re.compile(r"root_(swap|volume|device)|swaps_root|is_root|rooted", re.IGNORECASE),
}
"""Kind -> the names, attributes and texts that ask for it. A module whose path says the kind may ask."""
MOST_QUESTIONS = {
    "strategy": (80, 8),
    "adoption": (36, 6),
    "drill": (45, 6),
    "rewind": (59, 6),
    "replacement": (34, 6),
    "fleet": (12, 4),
    "root swap": (21, 4),
}
"""Kind -> conditions outside ways, cases and the kind's own modules; and the aim."""
PARTS = re.compile(
    r"adopt|drill|rewind|undo|replac|swap|fleet|benchmark|recordings?\b|rules\b|boost|performance|hook|observ"
    r"|first_reads"
)
"""In the path of a module: an optional part, without which restores work."""
MOST_IMPORTS_OF_PARTS = (112, 15)
MOST_FIELDS_OF_AN_ASSIGNMENT = (43, 18)
MOST_VARIABLES_OF_A_VOLUME = (42, 15)
"""That the state `Take Input` sets."""
MOST_METHODS = {"record/restore.py": (36, 15), "record/volume.py": (42, 15)}
"""Of the largest class of a module of steps/."""
MOST_CLASSES_WITH_PRICES = (72, 5)


def _conditions(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.Match):
            yield node.subject
        elif isinstance(node, ast.Return) and isinstance(node.value, (ast.Compare, ast.BoolOp)):
            yield node.value


def _words(node: ast.AST) -> set[str]:
    """Names, attributes and short texts; `str.replace` asks nothing."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute) and part.attr != "replace":
            found.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) < 40:
            found.add(part.value)
    return found


def kinds_asked(name: str, text: str) -> Counter[str]:
    """How many conditions of the module ask for each kind, that is not the module's own."""
    if any(seam in name for seam in SEAMS):
        return Counter()
    foreign = {
        kind: pattern
        for kind, pattern in KINDS.items()
        if not any(pattern.search(word) for word in re.split(r"[/.]", name))
    }
    return Counter(
        kind
        for words in map(_words, _conditions(ast.parse(text)))
        for kind, pattern in foreign.items()
        if any(pattern.search(word) for word in words)
    )


@cache
def modules() -> dict[str, str]:
    """Path below functions/ -> text."""
    folder = ROOT / "functions"
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in files("*.py", below="functions")
    }


def _class(path: Path, name: str) -> ast.ClassDef:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def test_the_core_seldom_asks_what_kind_of_restore_it_deals_with():
    asked = sum((kinds_asked(name, text) for name, text in modules().items()), Counter())
    assert set(MOST_QUESTIONS) == set(KINDS)
    for kind, (most, _aim) in MOST_QUESTIONS.items():
        check(f"conditions that ask for {kind}", asked[kind], most)


def test_a_question_of_kind_is_counted_where_it_is_foreign():
    text = "if volume.adopts: pass\nkept = [one for one in all if one.strategy is wanted]\n"
    assert kinds_asked("rewarm/steps/clean_up/clean_up.py", text) == {"adoption": 1, "strategy": 1}
    assert kinds_asked("rewarm/steps/adopt/look.py", text) == {"strategy": 1}
    assert kinds_asked("rewarm/domain/ways/clone.py", text) == {}


def test_no_aim_is_above_its_limit():
    limits = [
        *MOST_QUESTIONS.values(),
        *MOST_METHODS.values(),
        MOST_IMPORTS_OF_PARTS,
        MOST_FIELDS_OF_AN_ASSIGNMENT,
        MOST_VARIABLES_OF_A_VOLUME,
        MOST_CLASSES_WITH_PRICES,
    ]
    assert all(aim <= limit for limit, aim in limits)


def test_the_core_imports_few_optional_parts():
    dotted = {name.removesuffix(".py").replace("/", "."): name for name in modules()}
    pairs = {
        (name, imported)
        for name, text in modules().items()
        if not PARTS.search(name)
        for imported in _imports(text)
        if imported in dotted and PARTS.search(dotted[imported]) and not imported.endswith("__init__")
    }
    check("imports of optional parts by the core", len(pairs), MOST_IMPORTS_OF_PARTS[0])


def _imports(text: str) -> set[str]:
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.module]
    whole = {str(node.module) for node in found}
    return whole | {f"{node.module}.{name.name}" for node in found for name in node.names}


def test_an_assignment_has_few_fields():
    body = _class(PACKAGE / "contracts" / "values.py", "VolumeAssignment").body
    fields = [node for node in body if isinstance(node, ast.AnnAssign)]
    check("fields of VolumeAssignment", len(fields), MOST_FIELDS_OF_AN_ASSIGNMENT[0])


def test_a_volumes_state_machine_has_few_variables():
    variables = definitions()["RestoreVolumeStateMachine"]["States"]["Take Input"]["Assign"]
    check("variables that Take Input sets", len(variables), MOST_VARIABLES_OF_A_VOLUME[0])


@pytest.mark.parametrize("name", MOST_METHODS)
def test_a_module_of_the_record_has_few_methods(name):
    tree = ast.parse((PACKAGE / "steps" / name).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = max(sum(isinstance(part, ast.FunctionDef) for part in node.body) for node in classes)
    check(f"methods of {name}", methods, MOST_METHODS[name][0])


def test_few_classes_hold_a_price():
    found = [
        node.name
        for text in modules().values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and any(_is_price(part) for part in node.body)
    ]
    check("classes with a price", len(found), MOST_CLASSES_WITH_PRICES[0])


def _is_price(node: ast.stmt) -> bool:
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return False
    return "usd" in node.target.id or "Decimal" in ast.unparse(node.annotation)
