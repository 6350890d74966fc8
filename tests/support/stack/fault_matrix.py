"""The fault matrix for tests: what the paths do, recorded once, and the rows of each place."""

from __future__ import annotations

import json
import os
import pickle
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from local.soak.trouble import matrix
from local.soak.trouble.call_table import name_of, need
from local.soak.trouble.matrix import CallRow, MishapRow, Recorded, Result
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.permissions.permission_scenes import SCENES
from local.soak.trouble.permissions.permission_use import Use, uses_of_scene
from local.soak.trouble.wire_faults import Kind
from tests.support.amount import LONG

Played = TypeVar("Played")
TABLE = Path(__file__).resolve().parents[2] / "workflow" / "faults" / "fault_matrix.json"
"""Place -> call -> `needed` or `optional`: whether a restore can do without it."""
SHARE = 1 if LONG else 180
"""Of so many rows one is played, and the first of each place: all take ten minutes of processor time."""


class FaultMatrix:
    """The rows of the paths as they were recorded, and what comes of them.

    What a worker has played the others read in `folder`, which all of them have.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        self._folder, self._worker = folder, worker

    @cached_property
    def recorded(self) -> dict[str, Recorded]:
        """Every path without faults."""
        return _shared(self._folder / "paths", self._worker, PATHS, matrix.record)

    @cached_property
    def uses_of_scenes(self) -> list[Use]:
        """The permissions that the scenes use, which are for those that no path needs."""
        found = _shared(self._folder / "scenes", self._worker, SCENES, uses_of_scene)
        return [use for uses in found.values() for use in uses]

    @cached_property
    def rows_by_place(self) -> dict[str, list[CallRow | MishapRow]]:
        """All rows."""
        found: dict[str, list[CallRow | MishapRow]] = defaultdict(list)
        for row in matrix.call_rows(self.recorded):
            found[row.key[0]].append(row)
        for row in matrix.mishap_rows(self.recorded):
            found[row.place].append(row)
        return dict(found)

    def calls(self) -> dict[str, list[str]]:
        """The calls that the paths make, by place."""
        found: dict[str, set[str]] = defaultdict(set)
        for recording in self.recorded.values():
            for place, service, operation in recording.calls:
                found[place].add(f"{service} {operation}")
        return {place: sorted(names) for place, names in sorted(found.items())}

    def played(self, place: str) -> tuple[int, list[str]]:
        """(how many rows of the place were played, what is wrong with them)."""
        wrong = []
        rows = self._chosen(place)
        for row in rows:
            result = matrix.play(row)
            complaints = matrix.complaints(row, result, self.recorded[row.path]) + self._of_table(row, result)
            if complaints:
                wrong.append(f"{row}\n    " + "\n    ".join(complaints))
        return len(rows), wrong

    def _chosen(self, place: str) -> list[CallRow | MishapRow]:
        """The same ones every time, by what they are: a new row does not move the others."""
        rows = self.rows_by_place.get(place, [])
        return [
            row
            for number, row in enumerate(rows)
            if number == 0 or zlib.crc32(str(row).encode()) % SHARE == 0
        ]

    def _of_table(self, row: CallRow | MishapRow, result: Result) -> list[str]:
        if not isinstance(row, CallRow) or row.kind is not Kind.ACCESS_DENIED:
            return []
        expected = table().get(row.key[0], {}).get(name_of(row))
        found = need(self.recorded[row.path], result)
        if expected == found:
            return []
        ending = f"{result.ending.kind} {result.ending.cause[:200]}"
        return [f"fault_matrix.json says {expected}, it is {found}: {ending}"]


def _shared(
    folder: Path, worker: str, names: Iterable[str], play: Callable[[str], Played]
) -> dict[str, Played]:
    """What comes of each: played by the worker that comes to it first, and read by the others.

    Each worker begins elsewhere, so that none waits for another.
    """
    folder.mkdir(parents=True, exist_ok=True)
    order = sorted(names, key=lambda name: zlib.crc32(f"{worker} {name}".encode()))
    found = {name: _kept(folder / name, lambda name=name: play(name)) for name in order}
    return {name: found[name] for name in names}


def _kept(file: Path, play: Callable[[], Played]) -> Played:
    if not file.exists():
        unfinished = file.with_name(f"{file.name}.{os.getpid()}")
        unfinished.write_bytes(pickle.dumps(play()))
        unfinished.rename(file)
    kept: Played = pickle.loads(file.read_bytes())
    return kept


def table() -> dict[str, dict[str, str]]:
    """The calls that are known."""
    known: dict[str, dict[str, str]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return known


def places(half: str) -> list[str]:
    """The places of one of two halves, by the table: a test must not run every path to be collected."""
    known = sorted(table(), key=lambda place: (-len(table()[place]), place))
    return sorted(known[0::2] if half == "a" else known[1::2])
