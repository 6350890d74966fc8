"""State `Announce Application`: the application is back on its instance, or it is not."""

from __future__ import annotations

from rewarm.contracts.after import Application, HookPart
from rewarm.contracts.base import Contract, Instant
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import Failure
from rewarm.domain.words import application as words
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.steps.record.application import end
from rewarm.steps.record.restore import Change, KnownRestore, RestoreNotes, nothing


class ApplicationDetails(Contract):
    """Details of `application`; `failure` is there if the state Run Hook failed itself."""

    started_at: Instant
    volume_id: str
    index: int
    failure: Failure | None = None
    page_key: str | None = None


def announce_application(event: AnnounceEvent, record: KnownRestore) -> tuple[Message, Change]:
    """The message; the record gets what became of the application if Run Hook could not write it."""
    details = ApplicationDetails.model_validate(event.details)
    found = record.application
    ended = found if found is not None and found.is_over else _given_up(event, details, found)
    after = event.request.after if event.request else None
    count = len(record.indexes)
    message = words.ended(
        event.restore_id,
        words.ApplicationEnd(
            instance_id=ended.instance_id,
            is_back=ended.state == "back",
            is_unknown=ended.state == "unknown",
            reason=ended.reason,
            seconds=((ended.back_at or ended.finished_at or event.now) - details.started_at).total_seconds(),
            parts=[_part(part) for part in ended.parts],
            at_full_speed=after is None or after.when == "ready",
            volumes=f"{count} volumes" if count > 1 else details.volume_id,
        ),
    )

    def change(restore: RestoreNotes) -> None:
        end(ended, restore)

    is_ours = found is None or found.index == details.index
    return message, nothing if ended is found or not is_ours else change


def _given_up(event: AnnounceEvent, details: ApplicationDetails, found: Application | None) -> Application:
    failure = details.failure
    why = explain(failure.error, failure.cause).sentence if failure else "its record is gone"
    target = event.request.target if event.request else None
    base = found or Application(
        state="unknown",
        index=details.index,
        instance_id=(target and target.instance_id) or "",
        started_at=event.now,
        parts=[],
    )
    return base.model_copy(update={"state": "unknown", "reason": why, "finished_at": event.now})


def _part(part: HookPart) -> words.PartEnd:
    is_over = part.ended_at is not None and part.since is not None
    seconds = (part.ended_at - part.since).total_seconds() if is_over else None  # type: ignore[operator]
    return words.PartEnd(part.title, part.state, part.reason, seconds)
