"""The fault matrix for tests: what the paths do, once a process, and the rows of each place."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from functools import cache
from pathlib import Path

from local.soak.trouble import matrix
from local.soak.trouble.call_table import name_of, need
from local.soak.trouble.matrix import CallRow, MishapRow, Recorded, Result
from local.soak.trouble.wire_faults import Kind
from tests.support.amount import LONG

TABLE = Path(__file__).resolve().parents[1] / "workflow" / "fault_matrix.json"
"""Place -> call -> `needed` or `optional`: whether a restore can do without it."""
SHARE = 1 if LONG else 30
"""Of so many rows one is played: all of them take ten minutes of processor time (`make test-long`)."""


@cache
def recorded() -> dict[str, Recorded]:
    """Every path without faults."""
    return matrix.record()


@cache
def rows_by_place() -> dict[str, list[CallRow | MishapRow]]:
    """All rows."""
    found: dict[str, list[CallRow | MishapRow]] = defaultdict(list)
    for row in matrix.call_rows(recorded()):
        found[row.key[0]].append(row)
    for row in matrix.mishap_rows(recorded()):
        found[row.place].append(row)
    return dict(found)


def table() -> dict[str, dict[str, str]]:
    """The calls that are known."""
    known: dict[str, dict[str, str]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return known


def calls() -> dict[str, list[str]]:
    """The calls that the paths make, by place."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in recorded().values():
        for place, service, operation in one.calls:
            found[place].add(f"{service} {operation}")
    return {place: sorted(names) for place, names in sorted(found.items())}


def chosen(place: str) -> list[CallRow | MishapRow]:
    """The same ones every time, by what they are: a new row does not move the others."""
    rows = rows_by_place().get(place, [])
    return [
        row for number, row in enumerate(rows) if number == 0 or zlib.crc32(str(row).encode()) % SHARE == 0
    ]


def played(place: str) -> tuple[int, list[str]]:
    """(how many rows of the place were played, what is wrong with them)."""
    wrong = []
    rows = chosen(place)
    for row in rows:
        result = matrix.play(row)
        told = matrix.complaints(row, result, recorded()[row.path]) + _of_table(row, result)
        if told:
            wrong.append(f"{row}\n    " + "\n    ".join(told))
    return len(rows), wrong


def _of_table(row: CallRow | MishapRow, result: Result) -> list[str]:
    if not isinstance(row, CallRow) or row.kind is not Kind.ACCESS_DENIED:
        return []
    expected = table().get(row.key[0], {}).get(name_of(row))
    found = need(recorded()[row.path], result)
    if expected == found:
        return []
    return [
        f"fault_matrix.json says {expected}, it is {found}: {result.ending.kind} {result.ending.cause[:200]}"
    ]


def places(half: str) -> list[str]:
    """The places of one of two halves, by the table: a test must not run every path to be collected."""
    known = sorted(table(), key=lambda place: (-len(table()[place]), place))
    return sorted(known[0::2] if half == "a" else known[1::2])
