"""The table of the fault matrix: which calls every state makes, and which of them are needed."""

from __future__ import annotations

from local.soak.trouble.matrix import CallRow, Recorded, Result, call_rows, play, record
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.wire_faults import Kind

NEEDED, OPTIONAL = "needed", "optional"


def need(recorded: Recorded, result: Result) -> str:
    """What a row with a denied call shows."""
    return OPTIONAL if result.ending.kind == recorded.ending.kind else NEEDED


def name_of(row: CallRow) -> str:
    """The call in the table."""
    _, service, operation = row.key
    return f"{service} {operation}"


def call_table() -> dict[str, dict[str, str]]:
    """Place -> call -> `needed` or `optional`, by denying each call once."""
    recorded = {name: record(name) for name in PATHS}
    table: dict[str, dict[str, str]] = {}
    for row in call_rows(recorded):
        if row.kind is Kind.ACCESS_DENIED:
            found = need(recorded[row.path], play(row))
            table.setdefault(row.key[0], {})[name_of(row)] = found
    return table
