"""States `Announce …`: writes what happened to the record first, then sends the messages.

The message of a volume at full speed is sent even if the record cannot be written. If no channel takes it, or
this step never runs, the sweeper sends it later (clean_up/missing_reports.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from types import MappingProxyType
from typing import cast

from pydantic import Field

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.domain.fleets import is_fleet
from rewarm.domain.units import iso
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.messages import LinkedPage, Messages, PageLinks
from rewarm.ports.restores import RestoreTable
from rewarm.steps.announce import ended, usable
from rewarm.steps.announce.claims import claimed
from rewarm.steps.record.bucket import report_keys, sent_key
from rewarm.steps.record.payloads import read_if_kept, with_plans
from rewarm.steps.record.restore import Change, KnownRestore, LookAtWaysBack, RestoreNotes
from rewarm.steps.registration import Metric, state

Composer = Callable[[AnnounceEvent, KnownRestore], tuple[Message, Change]]
"""From the event and the record to the message and what changes in the record."""

COMPOSERS = MappingProxyType(
    {
        "plan": "plan.announce_plan",
        "approval": "plan.announce_approval",
        "fallback": "plan.announce_fallback",
        "attached": "usable.announce_attached",
        "available": "usable.announce_available",
        "hot": "usable.announce_hot",
        "ready": "ready.announce_ready",
        "confirmed": "ready.announce_confirmation",
        "application": "application.announce_application",
        "drill": "ended.announce_drill",
        "unreported": "ended.announce_unreported",
        "failed": "ended.announce_failure",
        "performance-changed": "performance.announce_change",
        "performance-failed": "performance.announce_change_failure",
        "fleet-planned": "fleet.announce_fleet_plan",
        "fleet-progress": "fleet.announce_fleet_progress",
        "fleet-ended": "fleet.announce_fleet_end",
    }
)
"""Event -> module and function; a cold start imports the module of its own event."""
OF_ONE_VOLUME = usable.USABLE | {"fallback", "hot", "ready"}
TRANSIENT = (ServiceUnavailableError, ThrottledError)
"""Errors after which `Announce Ready` is retried, so that the record gets its news in the end."""
MUST_ARRIVE = frozenset({"ready", "failed"})
"""Messages that are sent until a channel accepts them, which the record then notes."""
MUST_BE_TAKEN = MUST_ARRIVE | {"approval", "fleet-ended"}
"""The state is retried until a channel accepts such a message: somebody must learn of it."""
NAMES_WAY_BACK = frozenset({"ready", "failed"})
FAILURES = MappingProxyType({"failed": "RestoresFailed", "fallback": "FallBacks"})
"""Event -> the metric that counts it."""
NOTIFY_ALL = {"slack": True, "email": True}
WITHOUT_PAGE = ("performance-", "fleet-planned", "fleet-progress")
"""Events that begin so link no page: a fleet gets its page when it ends."""
LINK_LASTS = timedelta(days=7)
"""Long enough that the link still works after a holiday."""


class AnnounceResult(Contract):
    """The channels that accepted the message."""

    channels: list[str]
    repeated: bool = Field(default=False, description="It had been said before, so nothing was sent.")


def _metrics(event: AnnounceEvent, result: AnnounceResult) -> Iterator[Metric]:
    """Counts failures and fallbacks by their reason, also where there is no report.

    A restore whose report could not be written counts as finished.
    """
    if event.event == "unreported" and not result.repeated:
        yield Metric("RestoresFinished", dimensions={"verdict": "ready"})
    failure = event.details.get("failure")
    metric = FAILURES.get(event.event)
    if metric is not None and isinstance(failure, dict):
        why = explain(str(failure.get("error") or ""), str(failure.get("cause") or ""))
        yield Metric(metric, dimensions={"reason": why.error})


@state(
    "Announce Plan", "Announce Approval", "Announce Fallback", "Announce Available", "Announce Attached",
    "Announce Hot", "Announce Ready", "Announce Application", "Announce Confirmation", "Announce Drill",
    "Announce Unreported", "Announce Failure", "Announce Fleet Plan", "Announce Fleet End", "Announce Change",
    metrics=_metrics,
)  # fmt: skip
def announce(  # noqa: PLR0913 - a port each
    event: AnnounceEvent,
    *,
    table: RestoreTable,
    messages: Messages,
    artifacts: Artifacts | None = None,
    links: PageLinks | None = None,
    wait: Callable[[float], None] | None = None,
    way_back: LookAtWaysBack | None = None,
) -> AnnounceResult:
    """Writes the news to the record, which has them even if no channel accepts the message, and sends it.

    `wait` waits so many seconds, where another sender has the message (claims.py).
    Raises RestoreCancelledError, ServiceUnavailableError.
    """
    if ended.is_untrue(event, table):
        return AnnounceResult(channels=[], repeated=True)
    if artifacts is not None and "plansKey" in event.details:
        event = with_plans(event, artifacts)
    if event.event == "failed" and artifacts and (end := read_if_kept(sent_key(event.restore_id), artifacts)):
        # A redrive comes here again, and the record may have lost that the message was sent.
        RestoreNotes(table, event.restore_id).recall((), end)
    if event.event in usable.USABLE:
        usable.note_usable(event, table)
    if event.event == "approval":
        from rewarm.steps.announce.plan import note_asked  # noqa: PLC0415 - see COMPOSERS

        note_asked(event, table)
    claim = claimed(event, _index(event), table, wait=wait, goes_without=_is_sent_unrecorded)
    with claim if event.event in MUST_ARRIVE else nullcontext():
        return _sent(event, table, messages, artifacts, links, way_back)


def _sent(
    event: AnnounceEvent,
    table: RestoreTable,
    messages: Messages,
    artifacts: Artifacts | None,
    links: PageLinks | None,
    way_back: LookAtWaysBack | None,
) -> AnnounceResult:
    """Writes and sends the news unless they were sent before, and notes that where they must arrive."""
    message = record_news(event, composer(event.event), table, way_back)
    if message is None:
        return AnnounceResult(channels=[], repeated=True)
    asked = {"approval": event.details["question"]} if event.event == "approval" else {}
    channels = messages.send({**_as_json(message, event), **asked, **_link(event, links)})
    if event.event in MUST_BE_TAKEN and not channels:
        raise ServiceUnavailableError(f"no channel took the message {event.event}")
    if event.event in MUST_ARRIVE:
        _note_sent(event, table, artifacts)
    return AnnounceResult(channels=channels)


def composer(kind: str) -> Composer:
    """Returns what makes the message of this event."""
    module, name = COMPOSERS[kind].split(".")
    return cast("Composer", getattr(import_module(f"rewarm.steps.announce.{module}"), name))


def _link(event: AnnounceEvent, links: PageLinks | None) -> JsonObject:
    """The link to the page of the restore, or to the volume's own page, and when the link expires."""
    until = event.now + LINK_LASTS
    with suppress(RestoreError):
        if links is not None and _has_page(event):
            return {"reportUrl": links.link(_page(event), until=until), "reportUntil": iso(until)}
    return {}


def _has_page(event: AnnounceEvent) -> bool:
    is_before = event.event == "approval" and is_fleet(event.restore_id)
    return not (is_before or event.event.startswith(WITHOUT_PAGE))


def _page(event: AnnounceEvent) -> LinkedPage:
    index = _index(event)
    is_own = index is not None and event.details.get("pageKey") == report_keys(event.restore_id, index)[1]
    return LinkedPage(event.restore_id, index if is_own else None)


def record_news(
    event: AnnounceEvent, compose: Composer, table: RestoreTable, way_back: LookAtWaysBack | None = None
) -> Message | None:
    """Composes the message, writes it and its changes to the record, and returns it.

    Before a message that names a way back, EC2 and the bucket are asked whether it is still there.

    None if the record says that the message was sent.
    """
    message: Message | None = None
    try:
        index = _index(event)
        restore = RestoreNotes(table, event.restore_id)
        record = _record(event, index, restore)
        if _is_sent(event, index, record):
            return None
        if way_back is not None and event.event in NAMES_WAY_BACK:
            record = way_back(record)
        message, change = compose(event, record)
        message = _of_drill(event, message).of(record.asked_by)
        news = {"event": message.event, "at": iso(event.now), "title": message.title, "text": message.text}
        _append(restore, index, news, record)
        change(restore)
    except RestoreError as error:
        if not _is_sent_unrecorded(event, error):
            raise
        # If only a write failed, the message still says what was read.
        return message or _of_drill(event, compose(event, KnownRestore())[0])
    return message


def _of_drill(event: AnnounceEvent, message: Message) -> Message:
    """Says in every message of a drill that it is a drill, and that its volumes will be deleted."""
    if event.request is None or not event.request.is_drill or event.event == "drill":
        return message
    text = f"{message.text}\nThis is a drill: its volumes are deleted at its end."
    return replace(message, title=f"Drill: {message.title}", text=text)


def _is_sent(event: AnnounceEvent, index: int | None, record: KnownRestore) -> bool:
    """Whether an earlier try, the sweeper or an execution before a redrive has sent the message."""
    sent_at = record.message_sent_at if index is None else record.volume(index).message_sent
    return event.event in MUST_ARRIVE and sent_at is not None


def _is_sent_unrecorded(event: AnnounceEvent, error: RestoreError) -> bool:
    """Whether to send without a record: only at the last try, so that nobody gets the message twice."""
    return event.event == "ready" and (
        event.details.get("lastTry") is True or not isinstance(error, TRANSIENT)
    )


def _index(event: AnnounceEvent) -> int | None:
    """The volume that the news are about; None if they are about the whole restore."""
    if event.event not in OF_ONE_VOLUME:
        return None
    return VolumeAssignment.model_validate(event.details["volume"]).index


def _record(event: AnnounceEvent, index: int | None, restore: RestoreNotes) -> KnownRestore:
    """Reads only what the message needs of the record; the message of a failure needs every volume."""
    if index is not None:
        return restore.read_with(index)
    return restore.read_whole() if event.event == "failed" else restore.read()


def _append(restore: RestoreNotes, index: int | None, news: JsonObject, record: KnownRestore) -> None:
    """Adds the news unless they are the latest already, as in a retried state."""
    last = ((record if index is None else record.volume(index)).events or [{}])[-1]
    if (last.get("event"), last.get("text")) == (news["event"], news["text"]):
        return
    (restore if index is None else restore.volume(index)).append_event(news)


def _note_sent(event: AnnounceEvent, table: RestoreTable, artifacts: Artifacts | None) -> None:
    """Notes that a channel or the event bus accepted the message; until then the sweeper sends it.

    For a volume, a failed write is ignored: the state continues, and the sweeper may repeat the message.
    """
    index = _index(event)
    restore = RestoreNotes(table, event.restore_id)
    if index is None:
        restore.note_message_sent(event.now)
    with suppress(RestoreError):
        if index is not None:
            restore.volume(index).note_message_sent(event.now)
        elif artifacts is not None:
            artifacts.put_json(sent_key(event.restore_id), restore.end())


def _as_json(message: Message, event: AnnounceEvent) -> JsonObject:
    notify = event.request.notify.to_json() if event.request else event.details.get("notify") or NOTIFY_ALL
    return message.to_json(at=event.now, notify=notify, index=_index(event))
