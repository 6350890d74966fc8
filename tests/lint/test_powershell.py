"""PowerShell scripts are free of syntax errors; no PowerShell is to be had from the package registries."""

from __future__ import annotations

import pytest
import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

from tests.support.tree import files

PARSER = Parser(Language(tree_sitter_powershell.language()))


def errors(node: Node) -> list[str]:
    """Where the parser could not go on, as line and text."""
    if node.type == "ERROR" or node.is_missing:
        return [f"line {node.start_point.row + 1}: {(node.text or b'').decode()}"]
    return [error for child in node.children for error in errors(child)]


@pytest.mark.parametrize("path", files("*.ps1", below="documents"), ids=lambda path: path.name)
def test_it_can_be_read(path):
    assert errors(PARSER.parse(path.read_bytes()).root_node) == []


def test_an_error_is_found():
    assert errors(PARSER.parse(b"if ($answer { 1 }").root_node)
