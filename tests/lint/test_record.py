"""Only the room of records knows the names in an item of the table: others read types and call changes."""

from __future__ import annotations

import ast

import pytest

from tests.support.tree import ROOT, files

STEPS = "functions/rewarm/steps"
RECORD = f"{STEPS}/record"
RAW_CALLS = frozenset(
    {
        "append_event",
        "append_volume_event",
        "get",
        "get_each",
        "get_volume",
        "get_whole",
        "put_new",
        "replace_value",
        "request_cancel",
        "set_unless_cancelled",
        "update",
        "update_volume",
    }
)
"""Methods of the port RestoreTable that name attributes, or return items as they are."""
OTHER_ITEMS = {
    f"{STEPS}/announce/fleet.py": "The record of a fleet has names of its own.",
    f"{STEPS}/announce/performance.py": "The record of a change of performance has names of its own.",
    f"{STEPS}/clean_up/sweep_fleets.py": "The record of a fleet has names of its own.",
    f"{STEPS}/fleet/prepare_fleet.py": "The record of a fleet has names of its own.",
    f"{STEPS}/fleet/report_fleet.py": "The record of a fleet has names of its own.",
    f"{STEPS}/fleet/routes.py": "The record of a fleet has names of its own.",
    f"{STEPS}/performance/change_performance.py": "The record of a change has names of its own.",
    f"{STEPS}/performance/check_performance.py": "The record of a change has names of its own.",
    f"{STEPS}/performance/routes.py": "The record of a change has names of its own.",
}
"""Module -> whose items it reads or writes; none of a restore."""


def raw_uses(text):
    """(line, code) of whatever reads or writes an item without a type."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr == "raw":
            yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            owner = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
            if owner == "table" and node.func.attr in RAW_CALLS:
                yield node.lineno, ast.unparse(node.func)


def found():
    """Module -> its uses of raw items, without the room of records."""
    for path in files("*.py", below=STEPS):
        name = path.relative_to(ROOT).as_posix()
        uses = [f"{line}: {code}" for line, code in raw_uses(path.read_text(encoding="utf-8"))]
        if uses and not name.startswith(f"{RECORD}/"):
            yield name, uses


def test_no_step_reads_or_writes_an_item_of_a_restore_without_its_type():
    assert {name: uses for name, uses in found() if name not in OTHER_ITEMS} == {}


def test_each_exception_is_one():
    assert {name for name, _ in found()} == set(OTHER_ITEMS)


@pytest.mark.parametrize(
    "code",
    [
        'table.get(restore_id)["status"]',
        'ports.table.update(restore_id, {"status": "ready"})',
        'record.volume(0).raw["plan"]',
    ],
)
def test_a_raw_use_is_found(code):
    assert list(raw_uses(code))


@pytest.mark.parametrize("code", ["record.read().status", "table.standing(restore_id)", 'event.get("name")'])
def test_a_typed_use_is_none(code):
    assert list(raw_uses(code)) == []
