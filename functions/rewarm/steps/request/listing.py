"""GET /restores, /runbooks, /rules and /fleets: newest first, a page at a time.

The table lists restores by status. A list of all restores merges the lists of the statuses by time. A filter
by instance or alarm is applied to a part of the list. So a page may be short or even empty and still name a
next page, as pages of AWS's own lists may.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rewarm.contracts.answers import RestoresQuery, StoredQuery
from rewarm.contracts.base import MOST_ON_A_PAGE, parsed
from rewarm.contracts.fleets import FleetsQuery
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.fleets import FleetStatus, status_of_fleet
from rewarm.domain.units import iso, shown
from rewarm.ports import JsonObject
from rewarm.ports.restores import FIRST, LAST, RULE, RUNBOOK, Listed, RestoreTable
from rewarm.steps.record.restore import KnownRestore, Status
from rewarm.steps.request.runbooks import written_by

MOST_LOOKED_AT = 1_000
"""The most entries that are read for a page: some hundred milliseconds of DynamoDB."""
OF_VOLUME = "volume"
"""Stands for a status where the list is of one volume's restores."""
LONGEST_PLACE = 1_200
"""Bytes: a time, and an alarm's name of 255 characters."""
Place = tuple[str, str]
Places = dict[str, Place | None]
"""Status -> where its list continues, None for its beginning; without statuses whose list has ended."""


@dataclass
class _Lane:
    """The list of one status, read in parts."""

    status: str
    after: Place | None
    read: Callable[[str, Place | None], tuple[list[Listed], bool]]
    waiting: list[Listed] = field(default_factory=list)
    has_more: bool = True

    def head(self) -> Listed | None:
        """The newest entry that was not taken yet."""
        if not self.waiting and self.has_more:
            found, self.has_more = self.read(self.status, self.after)
            self.waiting = found[::-1]
        return self.waiting[-1] if self.waiting else None

    def take(self) -> Listed:
        """Takes the head, for the page or because the filter leaves it out."""
        entry = self.waiting.pop()
        self.after = entry.place
        return entry

    @property
    def is_over(self) -> bool:
        return not self.waiting and not self.has_more


def list_restores(query: JsonObject, table: RestoreTable) -> JsonObject:
    """Returns one page. Raises InvalidRequestError."""
    asked = parsed(RestoresQuery, query)
    since, until = _bounds(asked)
    # A filter may leave out all of a small page, and each page of the table is a call.
    size = MOST_ON_A_PAGE if asked.instance_id or asked.alarm_name or asked.drill else asked.limit
    statuses = [asked.status] if asked.status else [status.value for status in Status]
    places = _places(asked.next_token, [OF_VOLUME] if asked.volume_id else statuses, since, until)

    def read(status: str, after: Place | None) -> tuple[list[Listed], bool]:
        if asked.volume_id:
            found = table.restores_of(asked.volume_id)  # They are few.
            return [entry for entry in found if after is None or entry.place < after], False
        return table.listed(status, since=since, until=until, after=after, limit=size)

    lanes = [_Lane(status, after, read) for status, after in places.items()]
    page = []
    for count, entry in enumerate(_merged(lanes), 1):
        if _fits(entry, asked):
            page.append(_summary(entry))
        if len(page) == asked.limit or count == MOST_LOOKED_AT:
            break
    return {"restores": page, "nextToken": _token(lanes)}


def _bounds(asked: RestoresQuery) -> tuple[str, str]:
    """The first and the last time as text, which the table compares.

    Only some times have milliseconds, and `.` comes before `Z`. So both bounds are whole seconds, and `_fits`
    leaves out the rest of these seconds. DynamoDB refuses bounds in the wrong order.
    """
    if asked.since and asked.until and asked.since > asked.until:
        raise InvalidRequestError(
            f"found {shown(iso(asked.until))}; allowed is since, or what is later", field="until"
        )
    since = iso(asked.since.replace(microsecond=0)).replace("Z", ".000Z") if asked.since else FIRST
    until = iso(asked.until.replace(microsecond=0)) if asked.until else LAST
    return since, until


def list_runbooks(query: JsonObject, table: RestoreTable) -> JsonObject:
    """Returns one page, the latest written first. Raises InvalidRequestError."""
    return _stored(RUNBOOK, "alarmName", query, table)


def list_rules(query: JsonObject, table: RestoreTable) -> JsonObject:
    """Returns one page, the latest written first. Raises InvalidRequestError."""
    return _stored(RULE, "name", query, table)


def _stored(kind: str, name: str, query: JsonObject, table: RestoreTable) -> JsonObject:
    asked = parsed(StoredQuery, query)
    places = _places(asked.next_token, [kind], FIRST, LAST)

    def read(status: str, after: Place | None) -> tuple[list[Listed], bool]:
        return table.listed(status, since=FIRST, until=LAST, after=after, limit=asked.limit)

    lanes = [_Lane(status, after, read) for status, after in places.items()]
    page = [
        {
            name: entry.name,
            "updatedAt": entry.at,
            "writtenBy": written_by(entry.record),
            kind: entry.record.get("request") or {},
        }
        for entry in itertools.islice(_merged(lanes), asked.limit)
    ]
    return {f"{kind}s": page, "nextToken": _token(lanes)}


def list_fleets(query: JsonObject, table: RestoreTable) -> JsonObject:
    """Returns one page. Raises InvalidRequestError."""
    asked = parsed(FleetsQuery, query)
    statuses = [FleetStatus(asked.status)] if asked.status else [*FleetStatus]
    places = _places(asked.next_token, [status.recorded for status in statuses], FIRST, LAST)

    def read(status: str, after: Place | None) -> tuple[list[Listed], bool]:
        return table.listed(status, since=FIRST, until=LAST, after=after, limit=asked.limit)

    lanes = [_Lane(status, after, read) for status, after in places.items()]
    page = [_fleet(entry) for entry in itertools.islice(_merged(lanes), asked.limit)]
    return {"fleets": page, "nextToken": _token(lanes)}


def _fleet(entry: Listed) -> JsonObject:
    shown = KnownRestore.model_validate(entry.record).listed()
    status = status_of_fleet(entry.record["status"])
    dates = {name: shown[name] for name in ("finishedAt", "deadlineAt", "trigger", "volumeCount")}
    return {"fleetId": entry.name, "status": status, "startedAt": entry.at, **dates}


def _merged(lanes: Sequence[_Lane]) -> Iterator[Listed]:
    """The entries of all lanes, newest first."""
    while True:
        heads = [(head.place, lane) for lane in lanes if (head := lane.head()) is not None]
        if not heads:
            return
        _, lane = max(heads, key=lambda pair: pair[0])
        yield lane.take()


def _fits(entry: Listed, asked: RestoresQuery) -> bool:
    record = KnownRestore.model_validate(entry.record)
    at = datetime.fromisoformat(entry.at)
    alarm_name = record.trigger.alarm_name if record.trigger else None
    return (
        not record.is_change
        and (asked.since or at) <= at <= (asked.until or at)
        and asked.status in (None, entry.record["status"])
        and asked.instance_id in (None, record.request.target.instance_id)
        and asked.alarm_name in (None, alarm_name)
        and asked.drill in (None, record.request.drill.runbook)
    )


def _summary(entry: Listed) -> JsonObject:
    record = KnownRestore.model_validate(entry.record)
    return {
        "restoreId": entry.name,
        "status": entry.record["status"],
        "startedAt": entry.at,
        **record.listed(),
    }


def _token(lanes: Sequence[_Lane]) -> str | None:
    """The token of the next page; None if there is none."""
    left = {lane.status: lane.after for lane in lanes if not lane.is_over}
    text = json.dumps(left, ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode() if left else None


def _places(token: str | None, statuses: Sequence[str], since: str, until: str) -> Places:
    """Where the lists continue, by the token that the previous page gave for the same query."""
    if token is None:
        return dict.fromkeys(statuses)
    try:
        places = {str(status): _place(found) for status, found in json.loads(_decoded(token)).items()}
    except (AttributeError, TypeError, ValueError, binascii.Error, RecursionError):
        raise _wrong_token(token) from None
    times = [place[0] for place in places.values() if place is not None]
    if not set(places) <= set(statuses) or any(not since <= time <= until for time in times):
        raise _wrong_token(token)
    return places


def _decoded(token: str) -> bytes:
    return base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)


def _place(found: Any) -> Place | None:
    if found is None:
        return None
    at, name = found
    datetime.fromisoformat(at)
    if not (isinstance(at, str) and isinstance(name, str)) or len((at + name).encode()) > LONGEST_PLACE:
        raise ValueError("no place")
    return at, name


def _wrong_token(token: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"found {shown(token)}; allowed is the nextToken of the page before, with the same filters",
        field="nextToken",
    )
