"""What the record of a restore says, and each change of it: nothing else knows the names in a restore's item.

Each concern has one attribute, so that writers never collide. Each volume has its own item (volume.py). Only
the marks `attached` and `settled` are on the restore's item, because they compete with a cancellation.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, field_validator

from rewarm.contracts.after import Application
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Failure, PlanSummary, Trigger, VolumePlan
from rewarm.domain.errors import RestoreCancelledError
from rewarm.domain.fleets import RestoreStanding
from rewarm.domain.model import Caller, OnFailure
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.restores import VOLUME_COUNT, RestoreTable
from rewarm.steps.record.volume import Item, KnownReplaced, KnownVolume, VolumeNotes

if TYPE_CHECKING:
    from rewarm.contracts.results import ReportResult


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
    {Status.READY, Status.FAILED, Status.CANCELLED, Status.REFUSED, Status.DUPLICATE, Status.SUPPRESSED}
)

SWEPT = "the restore had already been ended and cleaned up, because its execution was stopped or timed out"
ENDED = "the restore had already been ended: somebody cancelled it, or its execution was stopped"
"""For a step that only learns that the restore has ended."""
RULE_PREFIX = "rule-"
"""The prefix of the ids of restores that a rule has started; template.yaml has it, too."""
REFUSALS = frozenset({"TargetBusyError", "TooManyRestoresError", "NotAttachedError"})
"""Errors of a restore that never began, because of others: nothing was created."""
_NEVER = datetime.min.replace(tzinfo=UTC)
_ATTACHED, _SETTLED = "attached", "settled"
_END = ("status", "finishedAt", "failure", "reportKey", "pageKey", "toldAt")
_WRITING = "writing"
"""Mark of a rewind that is about to write blocks: from then on it cannot be cancelled."""
_INSTANCE = "instance"
_MOST_AT_ONCE = 100
"""DynamoDB developer guide, "Constraints": an expression has up to 300 operators."""


class KnownTarget(Item):
    """Where the request wants the volumes."""

    instance_id: str | None = None
    mode: str | None = None
    reboot: bool = False
    start: bool = False
    unmount: bool = False


class KnownSource(Item):
    """What the request wants to be restored."""

    keep_copy: bool = False
    undo_of: str | None = None
    existing: JsonObject | None = None


class KnownDrill(Item):
    """Which drill the restore is."""

    runbook: str | None = None


class KnownRequest(Item):
    """The parts of a request that later steps need; they can be read of another version's request, too."""

    source: KnownSource = Field(default_factory=KnownSource)
    target: KnownTarget = Field(default_factory=KnownTarget)
    drill: KnownDrill = Field(default_factory=KnownDrill)
    dry_run: bool = False
    on_failure: OnFailure = OnFailure.CLEAN_UP

    @property
    def is_adoption(self) -> bool:
        """Whether its volumes belong to others, and so stay whatever happens."""
        return self.source.existing is not None

    @field_validator("on_failure", mode="wrap")
    @classmethod
    def _keeps_in_doubt(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> OnFailure:
        try:
            found: OnFailure = handler(value)
        except ValidationError:
            return OnFailure.KEEP
        return found


class KnownFailure(Item):
    """Why the restore failed."""

    state: str | None = None
    error: str | None = None
    cause: str = ""

    @property
    def named(self) -> Failure | None:
        """None if no error is known."""
        return None if self.error is None else Failure(state=self.state, error=self.error, cause=self.cause)


class KnownInstance(Item):
    """The instance that is started with its new volumes; see steps/replace/started."""

    instance_id: str | None = None
    state: str | None = None
    reason: str | None = None
    started_at: datetime | None = None
    asked_at: datetime | None = None
    """When EC2 had accepted the start; `started_at` was noted before that."""
    up_at: datetime | None = None
    checked_at: datetime | None = None


class AttachedMark(Item):
    """The volume was announced as usable: from then on it is never deleted."""

    volume_id: str | None = None
    mount_points: list[str] = []


class KnownSlack(Item):
    """Where Slack shows the restore."""

    channel: str | None = None


class KnownRestore(Item):
    """The record of a restore, or what is left of it: each part is empty if it is missing."""

    status: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    request: KnownRequest = Field(default_factory=KnownRequest)
    trigger: Trigger | None = None
    alarm_held_until: datetime | None = None
    """Until this time the alarm that started it starts no other restore."""
    volume_count: int = 0
    summary: JsonObject | None = None
    events: list[JsonObject] = []
    """News of the whole restore."""
    failure: KnownFailure = Field(default_factory=KnownFailure)
    report_key: str | None = None
    page_key: str | None = None
    cancel_requested: bool = False
    cancelled_by: Caller | None = None
    cancel_asked: bool = False
    """Somebody had asked to cancel it before the sweeper did."""
    swept_at: datetime | None = None
    message_sent_at: datetime | None = Field(None, alias="toldAt")
    """When at least one channel had accepted the message about its end."""
    recovered: bool = False
    """Its item was lost, and made again."""
    instance: KnownInstance = Field(default_factory=KnownInstance)
    slack: KnownSlack = Field(default_factory=KnownSlack)
    application: Application | None = None
    """None before anything was begun, and if somebody has changed it."""
    volumes: Mapping[int, KnownVolume] = {}
    """Only the volumes that were read."""

    @field_validator("status", mode="before")
    @classmethod
    def _is_text(cls, value: object) -> str:
        """A status that somebody has changed counts as unknown, not as missing."""
        return str(value)

    @property
    def request_json(self) -> JsonObject | None:
        """The request as it was written; None if it is lost."""
        return self.request.raw if "request" in self.model_fields_set else None

    @property
    def trigger_json(self) -> JsonObject | None:
        """The trigger as it was written; None if it is lost."""
        found: JsonObject | None = self.raw["trigger"] if self.trigger else None
        return found

    def whole_request(self) -> RestoreRequest:
        """The request. Raises ValueError if another version wrote it."""
        return RestoreRequest.model_validate(self.raw.get("request"))

    @property
    def is_finished(self) -> bool:
        """Whether it has ended."""
        return self.status in FINISHED

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended; a dry run ends with its plan."""
        return not self.is_finished and not (self.request.dry_run and self.status == Status.PLANNED)

    @property
    def asked_by(self) -> Caller | None:
        """Who asked for it, where that is known."""
        return self.trigger.asked_by if self.trigger else None

    def stop_if_cancelled(self) -> None:
        """Raises RestoreCancelledError."""
        if self.cancel_requested:
            raise _cancelled(was_swept=self.raw.get("cancelAsked") is False)

    @property
    def price_usd(self) -> Decimal:
        """By its report, or as it was planned; nothing before there is a plan."""
        planned = (self.summary or {}).get("totalCostUsd")
        return Decimal(str(self.raw.get("costUsd") or planned or 0))

    @property
    def is_drill(self) -> bool:
        """Nobody keeps data on its volumes."""
        return bool(self.request.drill.runbook)

    @property
    def instance_id(self) -> str | None:
        """The instance that has its devices; the request of an adoption may name just volumes or tags."""
        volumes = (self.volume(index) for index in self.indexes)
        of_volumes = (volume.command.dispatch or volume.made for volume in volumes)
        return self.request.target.instance_id or next(
            (found.instance_id for found in of_volumes if found.instance_id), None
        )

    @property
    def indexes(self) -> list[int]:
        """The indexes of its volumes; empty before their number is known."""
        return list(range(self.volume_count))

    def volume(self, index: int) -> KnownVolume:
        """The record of one volume; empty if it was not read or is lost."""
        return self.volumes.get(index) or KnownVolume()

    def settled(self, index: int) -> bool:
        """Whether the volume is at full speed, after which it cannot be cancelled."""
        return bool(self.raw.get(f"{_SETTLED}{index}"))

    @property
    def is_at_full_speed(self) -> bool:
        """Whether all of its volumes are at full speed and stay. A drill deletes its volumes then."""
        return bool(self.indexes) and all(map(self.settled, self.indexes)) and not self.is_drill

    def attached(self, index: int) -> AttachedMark:
        """The mark of a usable volume; empty if it has none."""
        return AttachedMark.model_validate(self.raw.get(f"{_ATTACHED}{index}") or {})

    def last_volume(self, index: int) -> str | None:
        """The latest volume of this index, from what is left of the record: an item may be lost."""
        volume = self.volume(index)
        polled = volume.initialization.volume_id if volume.initialization else None
        return self.attached(index).volume_id or polled or volume.volume_id

    def way_back(self) -> tuple[str | None, str]:
        """(mark after which the restore cannot be cancelled, why); no mark if it always can."""
        target = self.request.target
        if target.mode == "rewind":
            return _WRITING, (
                "writes the blocks of its snapshot, so that a volume would be mixed; wait until it has "
                "ended. The snapshot that it has made of the volume undoes it"
            )
        if target.reboot:
            return f"{_ATTACHED}0", (
                f"has asked EC2 to swap the root volume of {target.instance_id}; wait until it has ended. "
                "The old volume is kept, and can be swapped in again"
            )
        return None, ""

    @property
    def version(self) -> str:
        """A hash that differs after every write that changed anything."""
        items = [self.raw, {index: volume.raw for index, volume in self.volumes.items()}]
        text = json.dumps(items, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def plans(self) -> list[JsonObject]:
        """The plans of all volumes that have one."""
        known = [volume.plan for _, volume in sorted(self.volumes.items())]
        return [plan for plan in known if plan]

    @property
    def all_events(self) -> list[JsonObject]:
        """The news of the restore and its volumes by time; of one time, the plan first and the end last."""
        first = [news for news in self.events if news.get("event") == "plan"]
        last = [news for news in self.events if news.get("event") != "plan"]
        between = [news for _, volume in sorted(self.volumes.items()) for news in volume.events]
        return sorted([*first, *between, *last], key=lambda news: parsed_time(news.get("at")) or _NEVER)

    @property
    def is_change(self) -> bool:
        """It is of a change of performance, which is listed among the restores."""
        return "acceptedAt" in self.raw

    def listed(self) -> JsonObject:
        """As a list of restores shows it; times as they were written."""
        return {
            "finishedAt": self.raw.get("finishedAt"),
            "deadlineAt": self.raw.get("deadlineAt"),
            "trigger": self.trigger_json,
            "instanceId": self.request.target.instance_id
            or (self.request.source.existing or {}).get("instanceId"),
            "volumeCount": self.raw.get(VOLUME_COUNT),
            "step": self.failure.state,
        }

    def public(self) -> JsonObject:
        """As GET /restores/{id} shows it, with what is known of each volume under its index."""
        general: JsonObject = {}
        found: dict[int, JsonObject] = {}
        for name, value in self.raw.items():
            concern, index = _concern_and_index(name)
            if index is None:
                general[name] = value
            elif isinstance(value, dict):
                found.setdefault(index, {})[concern] = value
            elif concern == _SETTLED and value:
                found.setdefault(index, {})["proven"] = True
        for at, volume in self.volumes.items():
            known = {name: part for name, part in volume.raw.items() if name not in {"plan", "creations"}}
            parts = {name: part for name, part in known.items() if isinstance(part, dict)}
            if parts:
                found[at] = {**found.get(at, {}), **parts}
        volumes = [{"index": index, **parts} for index, parts in found.items()]
        return {**general, "plans": self.plans, "events": self.all_events, "volumes": volumes}


LookAtWaysBack = Callable[[KnownRestore], KnownRestore]
"""Returns the record with what EC2 and S3 show now of what undoes the restore (way_back.py)."""


class RestoreNotes(Value):
    """The items of one restore."""

    table: RestoreTable
    restore_id: str

    def read(self) -> KnownRestore:
        """The restore's own item, with the marks of its volumes."""
        return _known(self.table.get(self.restore_id))

    def read_whole(self) -> KnownRestore:
        """The restore's item and those of all its volumes."""
        own, volumes = self.table.get_whole(self.restore_id)
        return _known(own, {at: KnownVolume.model_validate(item) for at, item in volumes.items()})

    def read_with(self, index: int) -> KnownRestore:
        """The restore's item and that of one volume."""
        return _known(self.table.get(self.restore_id), {index: self.volume(index).read()})

    def volume(self, index: int) -> VolumeNotes:
        """The item of one volume."""
        return VolumeNotes(self.table, self.restore_id, index)

    # --------------------------------------------------------------------------------------- how it begins
    def note_accepted(self, request: JsonObject, trigger: JsonObject, now: datetime) -> None:
        """The API has accepted it."""
        record = {"status": Status.ACCEPTED.value, "startedAt": iso(now), "request": request}
        record["trigger"] = trigger
        if not self.table.put_new(self.restore_id, record):
            self._set(**record)

    def note_not_started(self, cause: str) -> None:
        """Its execution could not be started."""
        self._set(status=Status.FAILED.value, failure={"cause": cause})

    def put_begun(self, started_at: datetime, trigger: Trigger, held_until: datetime | None = None) -> None:
        """Who started it; written also if it ends at once, because what follows depends on that."""
        self.table.put_new(self.restore_id, _begun(started_at, trigger, held_until))

    def note_begun(
        self,
        started_at: datetime,
        trigger: Trigger,
        held_until: datetime | None,
        *,
        request: JsonObject,
        deadline_at: datetime | None,
    ) -> None:
        """It begins with this request."""
        asked = {"deadlineAt": iso(deadline_at) if deadline_at else None, "request": request, "waiting": None}
        record = {**_begun(started_at, trigger, held_until), **asked, **_not_back(request, iso(started_at))}
        existing = request.get("source", {}).get("existing") or {}
        for volume_id in existing.get("volumeIds") or []:
            self.note_volume(volume_id)
        if not self.table.put_new(self.restore_id, record):
            del record["status"]
            self._set(**record)
            self.advance(Status.PLANNING)

    def put_ignored(
        self, outcome: str, started_at: datetime, trigger: Trigger, *, owner_id: str | None, reason: str
    ) -> None:
        """The event starts nothing; whoever looks for it finds the restore that it belongs to."""
        begun = {"startedAt": iso(started_at), "trigger": trigger.to_json()}
        ignored = {"status": outcome, "duplicateOf": owner_id, "reason": reason}
        self.table.put_new(self.restore_id, {**begun, **ignored})

    def note_suppressed(self, owner_id: str, reason: str, at: datetime) -> None:
        """It has ended without having begun, because this other restore works on the device.

        Its alarm may start the next one at once.
        """
        ended = {"finishedAt": iso(at), "alarmHeldUntil": iso(at)}
        self._set(status=Status.SUPPRESSED.value, duplicateOf=owner_id, reason=reason, **ended)

    def note_volume(self, volume_id: str) -> None:
        """It makes, adopts or rewinds this volume, by which it can be found."""
        self.table.note_volume(volume_id, self.restore_id)

    def note_waiting(self, reason: str | None) -> None:
        """The stack has no room for it yet, or its volumes are not attached; None once it continues."""
        self._set(waiting=reason)

    def note_held_by(self, restore_id: str | None) -> None:
        """Another restore has the device."""
        self._set(heldBy=restore_id)

    def note_request(self, request: JsonObject) -> None:
        """What is carried out of the request; a record that has lost it must not look whole."""
        if self.read().request_json is not None:
            self._set(request=request)

    def note_volume_count(self, count: int) -> None:
        """Written before anything is made, so that every reader knows which volumes there may be."""
        self._set(**{VOLUME_COUNT: count})

    def note_planned(self, summary: PlanSummary, plans: Sequence[VolumePlan]) -> None:
        """How its volumes are to be restored."""
        for each in plans:
            self.volume(each.volume.index).note_planned(each.volume, each.plan)
        self._set(summary=summary.to_json())
        self.advance(Status.PLANNED)

    def advance(self, status: Status) -> None:
        """Sets the status unless the restore has ended."""
        self.table.advance(self.restore_id, status.value)

    # ------------------------------------------------------------------------------- marks, and the instance
    def mark_attached(self, index: int, mark: JsonObject | None) -> bool:
        """Marks the volume as usable (None removes the mark); False if the restore was cancelled first."""
        return self.table.set_unless_cancelled(self.restore_id, f"{_ATTACHED}{index}", mark)

    def mark_settled(self, index: int) -> bool:
        """Marks the volume as at full speed; False if the restore was cancelled first."""
        return self.table.set_unless_cancelled(self.restore_id, f"{_SETTLED}{index}", True)

    def note_unreleased(self, index: int, kept: list[str], replaced: KnownReplaced | None) -> None:
        """Notes what sweeps must still give back, and marks the volume as at full speed, not as failed."""
        self.volume(index).note_unreleased(kept, replaced)
        self._set(**{f"{_SETTLED}{index}": True})

    def mark_writing(self) -> bool:
        """Marks that blocks are about to be written; False if the restore was cancelled first."""
        return self.table.set_unless_cancelled(self.restore_id, _WRITING, True)

    def replace_instance(self, noted: JsonObject, known: KnownInstance) -> bool:
        """What became of the instance; False if somebody else wrote first or the restore is cancelled."""
        now = {**known.raw, **noted}
        return self.table.replace_value(self.restore_id, _INSTANCE, now, was=known.raw or None)

    def cancel(self, by: Caller | None = None) -> bool:
        """False if all volumes are at full speed, a rewind writes, or EC2 swaps a root volume.

        Whoever asked first stays in the record.
        One write checks a hundred volumes that are not at full speed. If all of these get there at that
        moment, the next hundred are checked.
        """
        while True:
            known = self.read()
            first = None if by is None or known.cancel_requested else asdict(by)
            mark, _ = known.way_back()
            if mark is not None:
                return not known.raw.get(mark) and self.table.request_cancel(
                    self.restore_id, by=first, unless=[mark]
                )
            open_ones = [f"{_SETTLED}{index}" for index in known.indexes if not known.settled(index)]
            if known.indexes and not open_ones:
                return False
            if self.table.request_cancel(self.restore_id, by=first, unless=open_ones[:_MOST_AT_ONCE]):
                return True

    # ----------------------------------------------------------------------------------------- how it ends
    def append_event(self, news: JsonObject) -> None:
        """Adds news of the restore."""
        self.table.append_event(self.restore_id, news)

    def note_report(
        self, result: "ReportResult", status: Status, finished_at: datetime, left: list[JsonObject]
    ) -> None:
        """Where the report is, and what it says."""
        drill = {"drill": result.drill.to_json()} if result.drill else {}
        self._set(
            reportKey=result.report_key,
            pageKey=result.page_key,
            left=left,
            status=status.value,
            finishedAt=iso(finished_at),
            costUsd=str(result.cost_usd),
            billedUsd=None if result.billed_usd is None else str(result.billed_usd),
            failure=result.failure.to_json() if result.failure else None,
            **drill,
        )

    def note_failed(self, status: Status, failure: Failure, finished_at: datetime) -> None:
        """It failed or was cancelled."""
        self._set(finishedAt=iso(finished_at), failure=failure.to_json(), status=status.value)

    def note_unreported(self, why: Failure, finished_at: datetime) -> None:
        """It is ready, and its report is missing."""
        ready = {"status": Status.READY.value, "finishedAt": iso(finished_at), "failure": None}
        self._set(**ready, reportFailure=why.to_json())

    def note_ready(self, finished_at: datetime) -> None:
        """It is ready; from now on its devices are free, even if the report fails."""
        self._set(status=Status.READY.value, finishedAt=iso(finished_at))

    def note_late_report(self) -> None:
        """The report that was missing is written."""
        self._set(reportFailure=None)

    def note_message_sent(self, at: datetime) -> None:
        """A message has said how it ended."""
        self._set(toldAt=iso(at))

    def end(self) -> JsonObject:
        """How it ended, which the bucket keeps as well: the table may be put back."""
        known = self.table.get(self.restore_id) or {}
        return {name: known.get(name) for name in _END}

    def recall(self, settled: Collection[int], end: JsonObject) -> None:
        """Writes again what a table that was put back has lost: its end, and the volumes at full speed."""
        self._set(**marks_of_settled(settled), **{name: end[name] for name in _END if name in end})

    def note_recovered(self, known: JsonObject) -> None:
        """Adds what is missing in an item that was lost."""
        own = self.table.get(self.restore_id) or {}
        missing = {name: value for name, value in known.items() if name not in own}
        self._set(**missing, recovered=True)

    def note_swept(self, at: datetime, *, was_asked: bool) -> None:
        """The sweeper ends it; `was_asked` if somebody had asked to cancel it before."""
        self._set(sweptAt=at.isoformat(), cancelAsked=was_asked)

    def note_end(self, status: Status) -> None:
        """Corrects the status after the message about the end was sent."""
        self._set(status=status.value)

    def _set(self, **values: object) -> None:
        self.table.update(self.restore_id, values)


Change = Callable[[RestoreNotes], None]


def nothing(_record: RestoreNotes) -> None:
    """Changes nothing."""


def asked_through_api(by: Caller) -> JsonObject:
    """The trigger of what this caller asked for."""
    return {"kind": "api", "askedBy": asdict(by)}


def cancelled_news(by: Caller, now: datetime) -> JsonObject:
    """The news that somebody has asked to cancel a restore or a fleet."""
    title = f"Cancelled by {by.name}"
    return {"event": "cancel-requested", "at": iso(now), "title": title, "text": f"{title}. It stops soon."}


def marks_of_settled(indexes: Collection[int]) -> JsonObject:
    """The marks of the volumes at full speed."""
    return {f"{_SETTLED}{index}": True for index in indexes}


def _begun(started_at: datetime, trigger: Trigger, held_until: datetime | None) -> JsonObject:
    held = {"alarmHeldUntil": iso(held_until)} if held_until else {}
    begun = {"status": Status.PLANNING.value, "startedAt": iso(started_at), "trigger": trigger.to_json()}
    return {**begun, **held}


def _not_back(request: JsonObject, at: str) -> JsonObject:
    """The application, where it is known from the beginning that nothing brings it back."""
    left_out = request.get("leftOut") or []
    why = next((left["because"] for left in left_out if left["field"] == "after"), None)
    if why is None:
        return {}
    ended: JsonObject = {"state": "failed", "reason": why, "startedAt": at, "finishedAt": at}
    place = {"index": 0, "instanceId": request["target"]["instanceId"], "parts": []}
    return {"application": {**place, **ended}}


def _concern_and_index(name: str) -> tuple[str, int | None]:
    """The name and the volume of an attribute; None for attributes of the whole restore."""
    concern = name.rstrip("0123456789")
    is_mark = concern in (_ATTACHED, _SETTLED) and concern != name
    return (concern, int(name.removeprefix(concern))) if is_mark else (name, None)


def _known(own: JsonObject | None, volumes: Mapping[int, KnownVolume] | None = None) -> KnownRestore:
    known = KnownRestore.model_validate(own or {})
    return known.model_copy(update={"volumes": volumes}) if volumes else known


def standings(
    restore_ids: Sequence[str], volume_count: int, table: RestoreTable
) -> dict[str, RestoreStanding]:
    """What a fleet needs to know of each recorded restore; none has more than `volume_count` volumes."""
    indexes = range(volume_count)
    names = ("status", "startedAt", "failure", *(f"{_SETTLED}{index}" for index in indexes))
    found = {name: _known(item) for name, item in table.get_each(restore_ids, names).items()}
    return {
        name: RestoreStanding(
            status=record.status,
            started_at=record.started_at,
            cause=record.failure.cause or None,
            settled=frozenset(index for index in indexes if record.settled(index)),
        )
        for name, record in found.items()
    }


def billed_of_restores(restore_ids: Sequence[str], table: RestoreTable) -> list[Decimal | None]:
    """What each recorded restore has cost; None if that is not known."""
    found = (item.get("billedUsd") for item in table.get_each(restore_ids, ("billedUsd",)).values())
    return [None if usd is None else Decimal(usd) for usd in found]


def left_by_restores(restore_ids: Sequence[str], table: RestoreTable) -> list[JsonObject]:
    """What each recorded restore has left that costs money, by their order."""
    found = table.get_each(restore_ids, ("left",))
    return [thing for name in restore_ids for thing in found.get(name, {}).get("left") or []]


def statuses(restore_ids: Sequence[str], table: RestoreTable) -> dict[str, str]:
    """The status of each restore that has one."""
    found = table.get_each(restore_ids, ("status",)) if restore_ids else {}
    return {name: str(item["status"]) for name, item in found.items() if "status" in item}


def stop_if_cancelled(table: RestoreTable, restore_id: str) -> str | None:
    """Returns the restore's status. Raises RestoreCancelledError."""
    standing = table.standing(restore_id)
    if standing.is_cancelled:
        raise _cancelled(was_swept=standing.was_swept)
    return standing.status


def _cancelled(*, was_swept: bool) -> RestoreCancelledError:
    return RestoreCancelledError(SWEPT if was_swept else "the restore was cancelled, as asked for")


def parsed_time(value: object) -> datetime | None:
    """The time of a text that names its zone; None without one."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
