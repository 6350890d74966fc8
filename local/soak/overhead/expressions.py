"""Update expressions: parsed once a text, copied as trees, and walked through with one look a node.

Why: moto parses an expression twice for each call and copies it before it changes anything. On each of ten
walks through it, it asks for the map of processors twice for each node, makes it anew, and compares by
abstract base classes. Which classes a processor knows is the same as long as it lives.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import moto.dynamodb.parsing.validators
from moto.dynamodb.parsing import ast_nodes, expressions

_NODES: Any = ast_nodes
_PARSER: Any = expressions
_MAKE = _PARSER.UpdateExpressionParser.make
_ATOMS = frozenset({str, int, type(None)})


@cache
def _is_node(kind: Any) -> bool:
    return bool(issubclass(kind, _NODES.Node))


@cache
def _has_clauses(kind: Any) -> bool:
    return bool(issubclass(kind, (_NODES.Expression, _NODES.UpdateExpressionFunction)))


@cache
def _first(kind: Any, known: tuple[type, ...]) -> type | None:
    return next((one for one in known if issubclass(kind, one)), None)


def _traverse(self: Any, node: Any) -> Any:
    """DepthFirstTraverser.traverse."""
    processors: dict[type, Any] = self._processing_map()
    return _walked(self, node, -1, processors, tuple(processors))


def _walked(walker: Any, node: Any, child_id: int, processors: dict[type, Any], known: Any) -> Any:
    kind: Any = type(node)
    if not _is_node(kind):
        return node
    parent = node.parent
    if node.children is not None:
        for index, child in enumerate(node.children):
            walker.pre_processing_of_child(node, index)
            _walked(walker, child, index, processors, known)
    found = _first(kind, known)
    if found is not None:
        node = processors[found](node)
        node.parent = parent
        if parent:
            parent.children[child_id] = node
    return node


def _clauses(self: Any, clause_types: Any) -> list[Any]:
    """Node.find_clauses."""
    found: list[Any] = []
    for child in self.children or ():
        kind: Any = type(child)
        if kind in clause_types:
            found.append(child)
        elif _has_clauses(kind):
            found += child.find_clauses(clause_types)
    return found


@cache
def _parsed(text: str) -> Any:
    """UpdateExpressionParser.make; who changes a tree works on a copy."""
    return _MAKE(text)


def _copied(value: Any) -> Any:
    """The function deepcopy."""
    kind: Any = type(value)
    if _is_node(kind) and value.parent is None:
        return _tree(value, None)
    return copy.deepcopy(value)


def _tree(node: Any, parent: Any) -> Any:
    made = object.__new__(type(node))
    vars(made).update(vars(node))
    made.parent = parent
    if node.children is not None:
        made.children = [_child(one, made) for one in node.children]
    return made


def _child(value: Any, parent: Any) -> Any:
    kind: Any = type(value)
    if _is_node(kind):
        return _tree(value, parent)
    return value if kind in _ATOMS else copy.deepcopy(value)


PATCHES: tuple[tuple[Any, str, Any], ...] = (
    (_NODES.DepthFirstTraverser, "traverse", _traverse),
    (_NODES.Node, "find_clauses", _clauses),
    (_PARSER.UpdateExpressionParser, "make", _parsed),
    (moto.dynamodb.parsing.validators, "deepcopy", _copied),
)
