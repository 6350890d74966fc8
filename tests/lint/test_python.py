"""Python is clean for ruff and for mypy --strict, and quotes names in commands that it shows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tree import BIN, ROOT, complaints, files

COMMAND = re.compile(r"\b(?:rewarm|aws|sudo|make|curl) [a-z0-9-]+[^.;:]*$")
"""The end of a text in which a command has begun."""
QUOTED = re.compile(r"shlex\.(quote|join)\(|words\.(aws|command)\(")
IDS = re.compile(
    r"\b(\w*_id|held_by|root_of|owner|old|old_id|zone|iops|throughput|delete|more|attempt|position|approve|kind"
    r"|[A-Z_]+|place\[[01]\])$"
)
"""Ids that AWS or Rewarm has made, numbers, constants, and parts that were quoted where they were made."""
OTHERS = {
    "functions/rewarm/domain/words/ended.py: name",  # quoted above, or a volume's id
    "functions/rewarm/domain/words/rule.py: name",  # a rule's name: letters, digits and . _ - only
    "functions/rewarm/domain/volume/performance.py: name",  # a volume's id
    "functions/rewarm/domain/volume/proof.py: name",  # a volume's id
    "functions/rewarm/steps/clean_up/sweep_unproven.py: name",  # a volume's id
}


def test_ruff_check():
    assert complaints([BIN / "ruff", "check", "--output-format", "concise", "."]) == ""


def test_ruff_format():
    assert complaints([BIN / "ruff", "format", "--check", "."]) == ""


def joined_assignments(tree: ast.AST) -> Iterator[ast.Assign]:
    """Statements such as `a, b = f(x), g(y)`. A swap, or constants that belong together, may be joined."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
            continue
        if all(isinstance(value, ast.Constant | ast.List | ast.Dict) for value in node.value.elts):
            continue
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else []
        used = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.expr)}
        if targets and used.isdisjoint(ast.unparse(target) for target in targets):
            yield node


@pytest.mark.parametrize("folder", ["functions", "cli"])
def test_a_line_assigns_one_value(folder):
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
        for path in files("*.py", below=folder)
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for node in joined_assignments(function)
    ]
    assert sorted(set(found)) == []


def test_a_joined_assignment_is_seen():
    joined = [
        ast.unparse(node)
        for node in joined_assignments(ast.parse("a, b = f(), g()\nb, a = a, b\nx, y = 1, 2"))
    ]
    assert joined == ["a, b = (f(), g())"]


@pytest.mark.slow
def test_mypy_strict():
    assert (
        complaints(
            [BIN / "mypy", "-p", "rewarm", "-p", "rewarm_cli", "-p", "local"], MYPYPATH="functions:cli:."
        )
        == ""
    )


def test_no_docstring_of_the_ports_and_their_adapters_is_said_twice():
    """What a method does stands at its port; an adapter says only what is its own."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    found = Counter(
        ast.get_docstring(node)
        for layer in ("ports", "adapters")
        for path in files("*.py", below=f"functions/rewarm/{layer}")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, documented) and ast.get_docstring(node)
    )
    assert [text for text, times in found.items() if times > 1] == []


@pytest.mark.parametrize("folder", ["functions", "cli"])
def test_a_loop_variable_has_the_name_of_the_thing(folder):
    """A reader of `for volume in volumes` need not look up what is listed."""
    found = [
        str(path)
        for path in files("*.py", below=folder)
        if re.search(r"\b(for|lambda) one( in\b|:)", path.read_text(encoding="utf-8"))
    ]
    assert found == []


def parts_of_commands(path: Path) -> Iterator[str]:
    """Yields what a file puts into the text of a command."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = ""
        for value in node.values if isinstance(node, ast.JoinedStr) else ():
            if isinstance(value, ast.Constant):
                text += str(value.value)
            elif isinstance(value, ast.FormattedValue):
                if COMMAND.search(text):
                    yield ast.unparse(value.value)
                text += "X"


@pytest.mark.parametrize("folder", ["cli/rewarm_cli", "functions/rewarm"])
def test_a_command_for_pasting_quotes_what_comes_from_outside(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {part}"
        for path in files("*.py", below=folder)
        for part in parts_of_commands(path)
        if not QUOTED.search(part) and not IDS.search(part)
    }
    assert found - OTHERS == set()
    assert {name for name in OTHERS if name.startswith(folder)} <= found


def test_a_name_in_a_command_is_found(tmp_path: Path) -> None:
    file = tmp_path / "told.py"
    file.write_text('f"start it: rewarm restore --alarm {name}; see {other}"', encoding="utf-8")
    assert [*parts_of_commands(file)] == ["name"]
