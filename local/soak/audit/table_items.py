"""What restores claim in the tables: places, a fast snapshot restore, an event, an alarm, a key.

All of it would expire some day. What is to be given back at a restore's end and is not keeps others out until
then; what is claimed for a restore that there never was makes an event or a call come to nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from typing import Any

from local import Json
from local.soak.lab.endings import RESTORE
from rewarm.adapters.table.table_items import from_item

API_SECONDS = 30
"""The time limit of ApiFunction at most: API Gateway waits no longer."""
IGNORED = frozenset({"duplicate", "suppressed"})
"""Statuses of executions that began no restore: an alarm that is theirs would start none for an hour."""


class TableItems:
    """Looks at both tables once the restores are over."""

    def __init__(self, lab: Any) -> None:
        self._lab = lab
        restores = lab.executions(RESTORE)
        self._names = {restore.name for restore in restores}
        self._running = {restore.name for restore in restores if restore.status == "RUNNING"}
        self._lost = lab.outside.lost
        self._rows = {row["pk"]: row for row in _rows(lab, "RestoresTable")}

    def findings(self) -> list[str]:
        """Every claim that is not as it should be."""
        found = []
        for key, row in self._rows.items():
            kind, _, name = key.partition("#")
            check = getattr(self, f"_of_{kind}", None)
            if check is not None:
                found += [f"row {key}: {reason}: {_text(row)}" for reason in check(name, row)]
        return [*found, *self._keys()]

    def _of_target(self, _name: str, row: Json) -> Iterator[str]:
        """Nobody may restore to the device meanwhile."""
        holders = {str(one["restoreId"]) for one in row.get("holds", [])}
        if not holders or holders - self._running:
            yield "held by nobody that runs"

    def _of_fsr(self, name: str, row: Json) -> Iterator[str]:
        """Whoever enables it next must not be taken for us, so the sweeper would disable what is not ours.

        Where the table was put back, the times in it are of the past, and tell the two apart.
        """
        if name.endswith("#credits"):
            return
        if "expiresAt" not in row:
            yield "nothing ever takes it away"
        elif {"askedAt", "enablingTimes"} & row.keys() and row["pk"] not in self._lost:
            yield "it still says that we enabled it"

    def _of_event(self, name: str, row: Json) -> Iterator[str]:
        """It is delivered again and never restores."""
        if not name.startswith("sweep ") and row.get("restoreId") not in self._names:
            yield "claimed for a restore that never was"

    def _of_alarm(self, _name: str, row: Json) -> Iterator[str]:
        """It is suppressed for the sake of a restore, so there must be one."""
        restore_id = str(row.get("restoreId"))
        record = self._rows.get(f"restore#{restore_id}", {})
        if restore_id not in self._names:
            yield "claimed for a restore that never was"
        elif record.get("status") in IGNORED:
            yield f"claimed for a start that was ignored as {record['status']}"

    def _keys(self) -> Iterator[str]:
        """Powertools refuses who sends a key that is in progress, up to its time limit where it has one.

        Without one that is a day. Powertools' clock is this machine's, not the lab's.
        """
        latest_ms = (time.time() + API_SECONDS) * 1_000
        for row in _rows(self._lab, "IdempotencyTable"):
            if row["status"] == "INPROGRESS" and row.get("in_progress_expiration", math.inf) > latest_ms:
                yield f"Idempotency-Key {row['id']} stays in progress: {_text(row)}"
            elif row["status"] == "COMPLETED":
                restore_id = json.loads(row["data"]).get("restoreId")
                if restore_id not in self._names:
                    yield f"Idempotency-Key {row['id']} is of {restore_id}, which never was"


def records(lab: Any) -> dict[str, Json]:
    """Of every restore that was accepted, also where none of its executions could be started."""
    rows = {row["pk"].partition("#"): row for row in _rows(lab, "RestoresTable")}
    return {name: row for (kind, _, name), row in rows.items() if kind == "restore" and "request" in row}


def _rows(lab: Any, table: str) -> list[Json]:
    return [from_item(item) for item in lab.table(table).items()]


def _text(row: Json) -> str:
    return json.dumps(row, default=str)[:200]
