"""Python is clean for ruff and for mypy --strict."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from tests.support.tree import BIN, complaints, files


def test_ruff_check():
    assert complaints([BIN / "ruff", "check", "--output-format", "concise", "."]) == ""


def test_ruff_format():
    assert complaints([BIN / "ruff", "format", "--check", "."]) == ""


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
