"""News are in the record before they are told; those of a volume at full speed go out without it, too.

That a volume is at full speed is what everybody waits for, and nothing tells it later: a restore that is
ready is no sweeper's business.
"""

from __future__ import annotations

from collections.abc import Callable

from rewarm.contracts import AnnounceEvent, VolumeAssignment
from rewarm.contracts.base import JsonObject
from rewarm.domain.errors import RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.domain.units import iso
from rewarm.domain.words.message import Message
from rewarm.ports import RestoreTable
from rewarm.ports_records import VOLUME_EVENTS
from rewarm.steps.announce.usable import USABLE
from rewarm.steps.record.records import note

OF_ONE_VOLUME = USABLE | {"fallback", "ready"}
PASSING = (ServiceUnavailableError, ThrottledError)
"""What `Announce Ready` is tried again for, so that the news have their record in the end."""

Composer = Callable[[AnnounceEvent, JsonObject], tuple[Message, JsonObject]]


def recorded(event: AnnounceEvent, compose: Composer, table: RestoreTable) -> Message:
    """The message, once the record has it."""
    message: Message | None = None
    try:
        index = _index(event)
        record = _record(event, index, table)
        message, changes = compose(event, record)
        news = {"event": message.event, "at": iso(event.now), "title": message.title, "text": message.text}
        _keep(event.restore_id, index, news, record, table)
        note(table, event.restore_id, changes)
    except RestoreError as error:
        if not _is_told_all_the_same(event, error):
            raise
        # What was read is told, where only writing failed.
        return message or compose(event, {})[0]
    return message


def _is_told_all_the_same(event: AnnounceEvent, error: RestoreError) -> bool:
    """At the last try, or at once where no other try comes: never twice."""
    return event.event == "ready" and (event.details.get("lastTry") is True or not isinstance(error, PASSING))


def _index(event: AnnounceEvent) -> int | None:
    """The volume that the news are of; None for news of the whole restore."""
    if event.event not in OF_ONE_VOLUME:
        return None
    return VolumeAssignment.model_validate(event.details["volume"]).index


def _record(event: AnnounceEvent, index: int | None, table: RestoreTable) -> JsonObject:
    """As much of it as the news are about: only an end tells what became of every volume."""
    if index is not None:
        return table.get_volume(event.restore_id, index)
    found = table.get_whole(event.restore_id) if event.event == "failed" else table.get(event.restore_id)
    return found or {}


def _keep(
    restore_id: str, index: int | None, news: JsonObject, record: JsonObject, table: RestoreTable
) -> None:
    """A retried state does not write the same news twice."""
    name = "events" if index is None else f"{VOLUME_EVENTS}{index}"
    last = (record.get(name) or [{}])[-1]
    if (last.get("event"), last.get("text")) == (news["event"], news["text"]):
        return
    if index is None:
        table.append_event(restore_id, news)
    else:
        table.append_volume_event(restore_id, index, news)
