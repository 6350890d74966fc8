"""A restore's attributes in the table: one per concern and volume, so that writers never collide.

Those of a volume have its index behind their name, and are kept apart from the restore's own
(ports/restores.py); only the marks `attached` and `settled` are on the restore, where a cancel meets them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from rewarm.contracts.results import PollInitializationResult
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import RestoreCancelledError
from rewarm.domain.fleets import status_of_fleet
from rewarm.domain.model import Strategy
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.restores import VOLUME_COUNT, VOLUME_EVENTS, RestoreTable


class Status(StrEnum):
    """Where a restore is."""

    ACCEPTED = "accepted"
    PLANNING = "planning"
    PLANNED = "planned"
    AWAITING_APPROVAL = "awaiting-approval"
    RESTORING = "restoring"
    INITIALIZING = "initializing"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    DUPLICATE = "duplicate"
    SUPPRESSED = "suppressed"


FINISHED = frozenset(
    {
        Status.READY,
        Status.FAILED,
        Status.CANCELLED,
        Status.REFUSED,
        Status.DUPLICATE,
        Status.SUPPRESSED,
    }
)

SWEPT = "the restore had already been ended and cleaned up, because its execution was stopped or timed out"
ENDED = "the restore had already been ended: somebody cancelled it, or its execution was stopped"
"""Where a step learns only that it came too late."""
NEVER = datetime.min.replace(tzinfo=UTC)
ALARM_HELD_UNTIL = "alarmHeldUntil"
"""Attribute of a restore that an alarm started: until this time the alarm starts no other restore."""
REFUSALS = frozenset({"TargetBusyError", "TooManyRestoresError"})
"""Errors of a restore that another one was in the way of: nothing was created."""


VOLUME_ATTRIBUTES = (
    "plan", "volume", "command", "fastSnapshotRestore", "snapshotCopy", "boost", "initialization",
    "measurement", "fallback", "measured", "replaced", "rewind", "copying", "cleanUp", "story", "report",
    "sending", "told", VOLUME_EVENTS,
)  # fmt: skip
MARKS = ("attached", "settled")
WRITING = "writing"
"""Mark of a restore that rewinds volumes: a block is about to be written, so it cannot be cancelled."""
INSTANCE = "instance"
"""The instance that is started with its new volumes: instanceId, state, times; see steps/replace/started."""


def plan_attribute(index: int) -> str:
    """How the volume is to be restored: index, snapshotId, plan."""
    return f"plan{index}"


def planned(volume: VolumeAssignment, plan: Plan) -> JsonObject:
    """What the volume's record says of the plan."""
    return {"index": volume.index, "snapshotId": volume.snapshot_id, "plan": plan.to_json()}


def volume_attribute(index: int) -> str:
    """The volume made: volumeId, snapshotId, strategy, createdAt; volumeIds has one for each attempt."""
    return f"volume{index}"


def made_volumes(record: JsonObject, index: int) -> dict[str, str]:
    """Every volume that was made for this index, by the attempt that made it; from the volume's record."""
    latest = record.get(volume_attribute(index)) or {}
    first = {"0": latest["volumeId"]} if latest.get("volumeId") else {}
    return {str(attempt): str(volume_id) for attempt, volume_id in (latest.get("volumeIds") or first).items()}


def last_volume(record: JsonObject, index: int) -> str | None:
    """The volume of this index, by whatever is left of the record: an item of the table may be lost."""
    attributes = attached_attribute, initialization_attribute, volume_attribute
    known = [(record.get(attribute(index)) or {}).get("volumeId") for attribute in attributes]
    return next((str(volume_id) for volume_id in known if volume_id), None)


def knows_volumes(record: JsonObject, index: int) -> bool:
    """Whether the volume's record was never lost: it has the plan, or what was made by it."""
    return plan_attribute(index) in record or volume_attribute(index) in record


def command_attribute(index: int) -> str:
    """The warm-up command: what dispatch_warmer answered, and for which volume."""
    return f"command{index}"


def preparation_attribute(index: int) -> str:
    """Fast snapshot restore: enabledByUs, since, its place; enablingTime where this stack enabled it."""
    return f"fastSnapshotRestore{index}"


def copy_attribute(index: int) -> str:
    """The copy of another Region's snapshot: askedAt, of, region; snapshotId once EC2 has answered."""
    return f"snapshotCopy{index}"


def boost_attribute(index: int) -> str:
    """A volume created with more performance than it will have: with what, and whether it is lowered."""
    return f"boost{index}"


def initialization_attribute(index: int) -> str:
    """How far the initialization was at the last poll."""
    return f"initialization{index}"


def initialization_record(
    told: PollInitializationResult,
    volume_id: str,
    strategy: Strategy,
    progress_key: str | None,
    now: datetime,
) -> JsonObject:
    """What it says; `progress_key` is where the agent's own account is."""
    return {
        "volumeId": volume_id,
        "strategy": strategy.value,
        "ready": told.ready,
        "progressPercent": told.progress_percent,
        "bytesDone": told.bytes_done,
        "bytesTotal": told.bytes_total,
        "etaSeconds": told.eta_seconds,
        "reasons": told.reasons,
        "progressKey": progress_key,
        "at": iso(now),
    }


def measured_attribute(index: int) -> str:
    """Estimate against actual, phase by phase."""
    return f"measured{index}"


def replaced_attribute(index: int) -> str:
    """The volume whose place this one takes: which, since when, and whether it is back."""
    return f"replaced{index}"


def rewind_attribute(index: int) -> str:
    """The volume that goes back: volumeId, state, evidence (the snapshot that undoes it), blocks."""
    return f"rewind{index}"


def copying_attribute(index: int) -> str:
    """The blocks that are copied for the volume: firstPart, shards, blocks, startedAt."""
    return f"copying{index}"


def fallback_attribute(index: int) -> str:
    """What was decided after the latest failure, and why: how, why, rejected."""
    return f"fallback{index}"


def clean_up_attribute(index: int) -> str:
    """What a failed restore removed and kept."""
    return f"cleanUp{index}"


def story_attribute(index: int) -> str:
    """What was known of a volume that failed, for the report."""
    return f"story{index}"


def report_attribute(index: int) -> str:
    """The keys of report and page of a volume that came to full speed."""
    return f"report{index}"


def attached_attribute(index: int) -> str:
    """The volume was announced as usable: volumeId, at, and its device, or its zone where it is attached to
    nothing. From then on it is never deleted.
    """
    return f"attached{index}"


def settled_attribute(index: int) -> str:
    """The volume is at full speed: it cannot be cancelled any more."""
    return f"settled{index}"


def measurement_attribute(index: int) -> str:
    """The latest command that measures: commandId, instanceId, volumeId."""
    return f"measurement{index}"


def sending_attribute(index: int) -> str:
    """A command that was about to be sent, until its id is noted: comment, instanceId, platform, since."""
    return f"sending{index}"


def name_and_index(name: str) -> tuple[str, int | None]:
    """Concern and volume of an attribute: 3 of `initialization3`, None of one of the whole restore."""
    prefix = name.rstrip("0123456789")
    known = prefix in VOLUME_ATTRIBUTES or prefix in MARKS
    return (prefix, int(name[len(prefix) :])) if known and name != prefix else (name, None)


def volume_of(name: str) -> int | None:
    """The volume whose item has the attribute; None where the restore's own item has it, as for marks."""
    concern, index = name_and_index(name)
    return None if concern in MARKS else index


def indexes(record: JsonObject) -> list[int]:
    """The indexes of the restore's volumes; empty before their number is known."""
    return list(range(int(record.get(VOLUME_COUNT) or 0)))


def plans(record: JsonObject) -> list[JsonObject]:
    """The plans of all volumes, from a whole record."""
    return _of_volumes(record, "plan")


def events(record: JsonObject) -> list[JsonObject]:
    """The news of the restore and of its volumes, by time; at the same time the plan first, the end last."""
    own = record.get("events") or []
    first = [news for news in own if news.get("event") == "plan"]
    last = [news for news in own if news.get("event") != "plan"]
    between = [news for of_volume in _of_volumes(record, VOLUME_EVENTS) for news in of_volume]
    return sorted([*first, *between, *last], key=lambda news: parsed_time(news.get("at")) or NEVER)


def _of_volumes(record: JsonObject, concern: str) -> list[Any]:
    """One attribute of each volume that has it."""
    found = {name_and_index(name): value for name, value in record.items() if value}
    return [found[key] for key in sorted(key for key in found if key[1] is not None and key[0] == concern)]


def fast_restore_user(restore_id: str, index: int) -> str:
    """The name of a volume as a user of a fast snapshot restore."""
    return f"{restore_id}/{index}"


def attribute(table: RestoreTable, restore_id: str, index: int, name: str) -> JsonObject:
    """One attribute of a volume; empty where it is missing."""
    value = table.get_volume(restore_id, index).get(name)
    return value if isinstance(value, dict) else {}


def with_volume(table: RestoreTable, restore_id: str, index: int) -> JsonObject:
    """The record of the restore and of one of its volumes, without the others."""
    return {**(table.get(restore_id) or {}), **table.get_volume(restore_id, index)}


def note(table: RestoreTable, restore_id: str, changes: JsonObject) -> None:
    """Sets attributes of the restore and of volumes. The status comes last, as it says what is done."""
    own: JsonObject = {}
    of_volumes: dict[int, JsonObject] = {}
    for name, value in changes.items():
        index = volume_of(name)
        (own if index is None else of_volumes.setdefault(index, {}))[name] = value
    for index, values in of_volumes.items():
        table.update_volume(restore_id, index, values)
    status = own.get("status")
    # What a fleet writes of its status is final: nothing of it goes on beside its execution.
    under_way = status is not None and status not in FINISHED and status_of_fleet(status) is None
    if under_way:
        del own["status"]
    if own:
        table.update(restore_id, own)
    if under_way:
        table.advance(restore_id, str(status))


def stop_if_cancelled(table: RestoreTable, restore_id: str) -> str | None:
    """Returns the restore's status. Raises RestoreCancelledError."""
    standing = table.standing(restore_id)
    if standing.is_cancelled:
        raise RestoreCancelledError(
            SWEPT if standing.was_swept else "the restore was cancelled, as asked for"
        )
    return standing.status


def told_attribute(index: int) -> str:
    """People were told that the volume is at full speed: at."""
    return f"told{index}"


def parsed_time(value: object) -> datetime | None:
    """The time that the record has as text; None where it has none."""
    return datetime.fromisoformat(value) if isinstance(value, str) else None
