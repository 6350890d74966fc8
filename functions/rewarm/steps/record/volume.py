"""What the record of one volume says, and each change of it; only this module knows its names.

Each volume has a separate item, with one writer at a time (ports/restores.py). Its marks are on the
restore's item, where a cancel meets them (restore.py).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from rewarm.contracts.values import DispatchWarmerResult, Plan, VolumeAssignment
from rewarm.domain.model import Snapshot, Strategy, Volume
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import BoostOutcome
from rewarm.domain.volume.proof import Creation, is_evidence, proven
from rewarm.domain.words.way_back import PRESENT, LogSize, Presence
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable

if TYPE_CHECKING:
    from rewarm.contracts.results import PollInitializationResult


class Item(BaseModel):
    """A part of an item, as far as it is read. What is None there counts as missing."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )

    raw: JsonObject = Field(default_factory=dict, repr=False)
    """The whole part as it is stored; only steps/record reads it."""

    def __deepcopy__(self, memo: Any = None) -> Self:
        """Returns itself: nobody changes it. pydantic would copy each default of each item that is read."""
        return self

    @property
    def is_known(self) -> bool:
        """Whether there is anything."""
        return bool(self.raw)

    @model_validator(mode="wrap")
    @classmethod
    def _known(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """A value that somebody has changed to another type counts as missing, so no item stops a sweep."""
        if isinstance(values, cls):
            return values
        raw = dict(values) if isinstance(values, Mapping) else {}
        known = {name: value for name, value in raw.items() if value is not None}
        try:
            return handler({**known, "raw": raw})
        except ValidationError as error:
            changed = {problem["loc"][0] for problem in error.errors()}
            sound = {name: value for name, value in known.items() if name not in changed}
            return handler({**sound, "raw": raw})


class MadeVolume(Item):
    """The volume that the latest plan made."""

    volume_id: str | None = None
    volume_ids: dict[str, str] = {}
    """The volume that each attempt made, by the attempt's number."""
    snapshot_id: str | None = None
    availability_zone: str | None = None
    instance_id: str | None = None
    created_at: datetime | None = None


class KnownCreation(Item):
    """The note about a volume, written before EC2 is asked for it."""

    asked_at: datetime | None = None
    key: str = ""
    origin: str | None = None
    zone: str = ""
    boost_target: str | None = None

    @property
    def proof(self) -> Creation | None:
        """None where somebody has changed it."""
        if self.asked_at is None or not self.key:
            return None
        return Creation(self.asked_at, self.key, self.origin, self.zone, self.boost_target)


class Dispatch(Item):
    """A command that was sent to the agent, and where the agent reports its progress."""

    command_id: str | None = None
    instance_id: str | None = None
    progress_key: str | None = None


class KnownCommand(Item):
    """The agent's latest command, and for which volume or attempt it was sent."""

    volume_id: str | None = None
    attempt: int | None = None
    warm_ups: int = 0
    restarts: int = 0
    interrupted_at: datetime | None = None
    dispatch: Dispatch | None = None

    @property
    def result(self) -> DispatchWarmerResult | None:
        """The command as the step that sent it has returned it."""
        return None if self.dispatch is None else DispatchWarmerResult.model_validate(self.dispatch.raw)


class KnownFastRestore(Item):
    """The fast snapshot restore that the volume relies on."""

    enabled_by_us: bool = False
    since: datetime | None = None
    snapshot_id: str | None = None
    availability_zone: str | None = None
    enabling_time: datetime | None = None
    """None unless this stack enabled it."""

    @property
    def place(self) -> tuple[str | None, str | None]:
        """Snapshot and Availability Zone."""
        return self.snapshot_id, self.availability_zone


class SnapshotCopy(Item):
    """The copy of another Region's snapshot."""

    asked_at: datetime | None = None
    of: str = ""
    region: str = ""
    snapshot_id: str | None = None
    """None until EC2 has answered."""
    unanswered: int = 0
    """How many times EC2 was asked and may not have made a copy."""


class BoostedVolume(Item):
    """A volume that was created with more performance than it will have."""

    volume_id: str | None = None
    state: str | None = None
    target_settings: str | None = None


class Initialization(Item):
    """The initialization at the last poll."""

    volume_id: str | None = None


class MeasuringCommand(Item):
    """The latest command that measures the volume."""

    command_id: str | None = None
    instance_id: str | None = None


class KnownRecording(Item):
    """The command that records what is read of the volume, or why there is none."""

    volume_id: str | None = None
    command_id: str | None = None
    instance_id: str | None = None
    key: str | None = None
    problem: str | None = None
    """Why nothing, or not all, was recorded."""
    state: str | None = None
    """When the volume was reported: running, recorded or failed."""
    blocks: int | None = None
    cold_blocks: int | None = None
    """How many of the blocks that were read until the volume was warm were cold."""

    @property
    def first_reads(self) -> tuple[int, int] | None:
        """How many blocks an application has read until the volume was warm, and how many cold at most."""
        return None if self.blocks is None or self.cold_blocks is None else (self.blocks, self.cold_blocks)

    @property
    def sentence(self) -> str:
        """For people; empty where nothing was to be recorded, or nothing went wrong."""
        if self.problem:
            return f"The recording of its reads failed: {self.problem.rstrip('.')}."
        return "The recording of its reads still runs." if self.state == "running" else ""


class PendingLook(Item):
    """A question to the instance about a volume, which it has not answered yet."""

    volume_id: str | None = None
    command_id: str = ""
    asked_at: datetime | None = None


class KnownReplaced(Item):
    """The volume whose place the new one takes."""

    volume_id: str | None = None
    new_volume_id: str | None = None
    state: str | None = None
    reason: str | None = None
    unmounted: list[str] = []
    presence: Presence = PRESENT
    """What a look has found of the volume (way_back.py); it is not stored."""
    detached_at: datetime | None = None
    instance_id: str | None = None
    device: str | None = None
    delete_on_termination: bool | None = None
    card: int | None = None
    look: PendingLook = Field(default_factory=PendingLook)
    started_at: datetime | None = None
    """For a root volume only, as the three below: when EC2 was about to be asked to swap it."""
    tasks_before: list[str] = []
    task_id: str | None = None
    asked_at: datetime | None = None

    @property
    def is_swapped(self) -> bool:
        """Whether EC2 was asked to swap a root volume."""
        return self.state not in {None, "in-place"}


class UndoLogNote(Item):
    """The restore that may have an undo log of the volume."""

    restore_id: str = ""
    usd_per_month: Decimal | None = None
    size_bytes: int | None = Field(None, alias="bytes")
    expires_at: datetime | None = None

    @property
    def size(self) -> LogSize | None:
        """What it has and costs; None if its rewind was stopped before somebody counted that."""
        if self.size_bytes is None or self.usd_per_month is None or self.expires_at is None:
            return None
        return LogSize(self.size_bytes, self.usd_per_month, self.expires_at)


class Rewinding(Item):
    """The volume that goes back to a snapshot."""

    volume_id: str | None = None
    state: str | None = None
    evidence: str | None = None
    """The snapshot to which a rewind would undo this one."""
    evidence_state: str = "completed"
    equal: str | None = None
    """A snapshot that the volume still equalled; this rewind has not made it."""
    others: list[str] = []
    """Snapshots of further attempts, made only to find what still differs."""
    asked_at: dict[str, datetime | None] = {}
    """When EC2 was asked for the snapshot of each attempt."""
    undo_log: UndoLogNote | None = None
    found: str | None = None
    presence: Presence = PRESENT
    """What a look has found of the log or the evidence (way_back.py); it is not stored."""

    @property
    def snapshots(self) -> list[str]:
        """The evidence, and then the snapshots of further attempts."""
        return [snapshot_id for snapshot_id in (self.evidence, *self.others) if snapshot_id]

    @property
    def has_written(self) -> bool:
        """Whether blocks of the volume may have been overwritten."""
        return self.state in {"writing", "done"}

    def besides(self, evidence_id: str | None) -> list[str]:
        """The snapshots that are not the way back."""
        return [made for made in self.snapshots if made not in (evidence_id, self.equal)]


class LeftBehind(Item):
    """A volume that stays, and its place where it has one."""

    volume_id: str
    device: str | None = None
    instance_id: str | None = None


class CleanedUp(Item):
    """What clean-up removed and kept."""

    removed: list[str] = []
    kept: list[str] = []
    kept_volumes: list[str] = []
    stays: list[LeftBehind] = []
    boost: BoostOutcome | None = None
    """The boost of an adopted volume that was raised and is not lowered."""
    unfinished: bool = False
    goes_on: bool = False
    """True for the clean-up of an earlier plan, which did not touch the last plan's volume."""


class ReportKeys(Item):
    """Where the report and the page are."""

    report_key: str | None = None
    page_key: str | None = None


class Sending(Item):
    """A command that was about to be sent, until its id is noted."""

    comment: str = ""
    instance_id: str = ""
    platform: str = ""
    since: datetime | None = None
    until: datetime | None = None


class KnownVolume(Item):
    """The record of one volume; each part is empty if it is missing."""

    plan: JsonObject | None = None
    made: MadeVolume = Field(default_factory=MadeVolume, alias="volume")
    noted_creations: dict[str, KnownCreation] = Field(default_factory=dict, alias="creations")
    command: KnownCommand = Field(default_factory=KnownCommand)
    fast_restore: KnownFastRestore = Field(default_factory=KnownFastRestore, alias="fastSnapshotRestore")
    snapshot_copy: SnapshotCopy = Field(default_factory=SnapshotCopy)
    boost: BoostedVolume = Field(default_factory=BoostedVolume)
    raised: JsonObject | None = None
    """The note of an adopted volume's boost (boosts.py)."""
    initialization: Initialization | None = None
    measurement: MeasuringCommand = Field(default_factory=MeasuringCommand)
    recording: KnownRecording = Field(default_factory=KnownRecording)
    replaced: KnownReplaced = Field(default_factory=KnownReplaced)
    rewind: Rewinding | None = None
    clean_up: CleanedUp | None = None
    story: JsonObject = {}
    """What was known of a volume that failed."""
    report: ReportKeys = Field(default_factory=ReportKeys)
    sending: Sending = Field(default_factory=Sending)
    message_sent: JsonObject | None = Field(None, alias="told")
    """There once a message has said that the volume is at full speed."""
    events: list[JsonObject] = []

    @property
    def made_volumes(self) -> dict[str, str]:
        """Every volume that was made for this index, by the attempt that made it."""
        first = {"0": self.made.volume_id} if self.made.volume_id else {}
        return self.made.volume_ids or first

    @property
    def creations(self) -> dict[str, Creation]:
        """What was noted of each volume before it was made, by the attempt that makes it."""
        proofs = {attempt: noted.proof for attempt, noted in self.noted_creations.items()}
        return {attempt: proof for attempt, proof in proofs.items() if proof is not None}

    @property
    def adopted(self) -> str | None:
        """The adopted volume, which belongs to others."""
        found = (self.plan or {}).get("adopts")
        return found if isinstance(found, str) else None

    @property
    def volume_id(self) -> str | None:
        """The volume that the latest plan made, or the adopted one."""
        return self.made.volume_id or self.adopted

    def own_volumes(self, volumes: Iterable[Volume]) -> list[Volume]:
        """Those of the volumes that were made for this index."""
        return list(proven(volumes, self.made_volumes, self.creations).values())

    def boost_target(self, volume: Volume) -> str | None:
        """What a volume of this index goes back to; None where it has no boost, or has gone back."""
        is_noted = self.boost.volume_id == volume.volume_id
        if is_noted and self.boost.state == "lowered":
            return None
        targets = [
            (self.boost.target_settings if is_noted else None)
            or (self.creations[attempt].boost_target if attempt in self.creations else None)
            for attempt in proven([volume], self.made_volumes, self.creations)
        ]
        return next(iter(targets), None)

    @property
    def story_of_failure(self) -> JsonObject:
        """The parts of a failed volume's result: its execution returns only an error."""
        sent = self.command.dispatch
        known: JsonObject = {
            "volumeId": self.volume_id,
            "initialization": self.initialization and self.initialization.raw,
            "dispatch": sent and sent.raw,
            **{name: value for name, value in self.story.items() if value is not None},
        }
        return {name: value for name, value in known.items() if value is not None}


def planned(volume: VolumeAssignment, plan: Plan) -> JsonObject:
    """What the volume's record says of the plan."""
    adopted = {} if volume.adopts is None else {"adopts": volume.adopts}
    return {"index": volume.index, "snapshotId": volume.snapshot_id, **adopted, "plan": plan.to_json()}


def fast_restore_user(restore_id: str, index: int) -> str:
    """The name of a volume as a user of a fast snapshot restore."""
    return f"{restore_id}/{index}"


class VolumeNotes(Value):
    """The item of one volume."""

    table: RestoreTable
    restore_id: str
    index: int

    def read(self) -> KnownVolume:
        """As it is now."""
        return KnownVolume.model_validate(self.table.get_volume(self.restore_id, self.index))

    def append_event(self, news: JsonObject) -> None:
        """Adds news of the volume."""
        self.table.append_volume_event(self.restore_id, self.index, news)

    def note_planned(self, volume: VolumeAssignment, plan: Plan) -> None:
        """How it is to be restored."""
        self._set(plan=planned(volume, plan))

    def begin_creation(self, attempt: int, creation: JsonObject) -> KnownVolume:
        """EC2 is about to be asked for the volume of this attempt. The first note of an attempt counts."""
        noted = self.table.begin_creation(self.restore_id, self.index, attempt, creation)
        return KnownVolume.model_validate(noted)

    def note_made(self, made: JsonObject, boost: JsonObject | None) -> None:
        """The volume, and the performance above its own with which it was made."""
        self._set(volume=made, **({} if boost is None else {"boost": boost}))

    def note_boost(self, boost: JsonObject) -> None:
        """What became of the performance above its own."""
        self._set(boost=boost)

    def note_raise(self, noted: JsonObject) -> None:
        """EC2 is about to be asked to raise the adopted volume, or has refused that."""
        self._set(raised=noted)

    def note_fast_restore(self, noted: JsonObject | None) -> None:
        """The fast snapshot restore that it relies on; None once it does not."""
        self._set(fastSnapshotRestore=noted)

    def note_snapshot_copy(self, noted: JsonObject) -> None:
        """The copy of another Region's snapshot: that it is asked for, and its id."""
        self._set(snapshotCopy=noted)

    def note_copy_refused(self, before: SnapshotCopy) -> None:
        """EC2 has refused to make one, so what was known before is known again."""
        self._set(snapshotCopy=before.raw)

    def note_sending(self, noted: JsonObject | None) -> None:
        """A command is about to be sent; None if it was not."""
        self._set(sending=noted)

    def note_sent(self, sent: DispatchWarmerResult, **why: str | int) -> None:
        """The agent's command, and the attempt or the volume, warm-up and restart that it is for."""
        self._set(command={**why, "dispatch": sent.to_json()}, sending=None)

    def note_interrupted(self, known: KnownCommand, since: datetime) -> None:
        """The instance of the command is away since then."""
        self._set(command={**known.raw, "interruptedAt": iso(since)})

    def note_measuring(self, command_id: str, instance_id: str | None, volume_id: str) -> None:
        """The command that measures."""
        noted = {"commandId": command_id, "instanceId": instance_id, "volumeId": volume_id}
        self._set(measurement=noted, sending=None)

    def note_recording(
        self, volume_id: str, command_id: str = "", instance_id: str = "", problem: str = "", key: str = ""
    ) -> None:
        """The command that records what is read, and where to, or why there is none."""
        noted = {"volumeId": volume_id, "commandId": command_id, "instanceId": instance_id, "key": key}
        sent = {"sending": None} if command_id else {}
        self._set(recording={**noted, "problem": problem}, **sent)

    def note_recorded(self, known: KnownRecording, noted: JsonObject) -> None:
        """What became of the recording, and how many blocks were read, and how many cold."""
        self._change("recording", known, **noted)

    def note_initialization(
        self,
        polled: "PollInitializationResult | None",
        volume_id: str,
        strategy: Strategy,
        progress_key: str | None,
        now: datetime,
        *,
        rewind: JsonObject | None = None,
    ) -> None:
        """How far it is, and how far a rewind; `progress_key` is where the agent's own account is."""
        noted: JsonObject = {}
        if rewind is not None:
            noted["rewind"] = {**self._rewind().raw, **rewind}
        if polled is not None:
            noted["initialization"] = {
                "volumeId": volume_id,
                "strategy": strategy.value,
                "ready": polled.ready,
                "progressPercent": polled.progress_percent,
                "bytesDone": polled.bytes_done,
                "bytesTotal": polled.bytes_total,
                "etaSeconds": polled.eta_seconds,
                "reasons": polled.reasons,
                "hotSeconds": polled.hot_seconds,
                "progressKey": progress_key,
                "at": iso(now),
            }
        if noted:
            self._set(**noted)

    def note_fallback(self, decision: JsonObject) -> None:
        """What was decided after the latest failure, and why."""
        self._set(fallback=decision)

    def note_out_of_place(self, noted: JsonObject) -> None:
        """Where the replaced volume was, before it is detached."""
        self._set(replaced=noted)

    def note_place(self, state: str, **more: str | None) -> None:
        """What became of the replaced volume."""
        self._change("replaced", self.read().replaced, state=state, **more)

    def note_look(self, volume_id: str | None, command_id: str | None, asked_at: datetime | None) -> None:
        """The instance is asked what uses a volume; None if it has answered."""
        look = {"volumeId": volume_id, "commandId": command_id, "askedAt": asked_at and iso(asked_at)}
        self._change("replaced", self.read().replaced, look=look if volume_id else None)

    def note_swap(self, swap: JsonObject) -> None:
        """EC2 is about to be asked to swap a root volume."""
        self._change("replaced", self.read().replaced, **swap)

    def note_swap_task(self, task_id: str, asked_at: datetime) -> None:
        """EC2 swaps it in this task."""
        self._change("replaced", self.read().replaced, taskId=task_id, askedAt=iso(asked_at))

    def note_replaced(self, known: KnownReplaced) -> None:
        """The new volume is in the place of the replaced one."""
        self._change("replaced", known, state="replaced")

    def note_unreleased(self, kept: list[str], replaced: KnownReplaced | None) -> None:
        """What a sweep must still give back of a volume at full speed, and that it has its place."""
        place = {} if replaced is None else {"replaced": {**replaced.raw, "state": "replaced"}}
        self._set(**place, cleanUp={"removed": [], "kept": kept, "unfinished": True})

    def note_rewind(self, volume_id: str, state: str) -> None:
        """Whether blocks of the volume may be written now."""
        self._change("rewind", self._rewind(), volumeId=volume_id, state=state)

    def note_rewound(self, found: str, blocks_written: int) -> None:
        """What became of a volume whose rewind failed."""
        self._change("rewind", self._rewind(), found=found, written=blocks_written)

    def note_evidence_asked(self, known: Rewinding, attempt: int, at: datetime | None) -> Rewinding:
        """EC2 is about to be asked for a snapshot (None: it has refused). Returns what is known now."""
        asked = {**known.raw.get("askedAt", {}), str(attempt): at and iso(at)}
        self._change("rewind", known, askedAt=asked)
        return Rewinding.model_validate({**known.raw, "askedAt": asked})

    def note_evidence(self, volume_id: str, snapshot_id: str, state: str | None) -> None:
        """Notes a new snapshot at once, because it costs storage whatever becomes of the rewind.

        With a state it is the evidence; without one an earlier snapshot remains the evidence.
        """
        known = self._rewind()
        changes: JsonObject = {"volumeId": volume_id}
        if state is not None:
            others = known.besides(snapshot_id)
            changes |= {"evidence": snapshot_id, "evidenceState": state, "others": others}
        elif snapshot_id not in known.snapshots:
            first = next(iter(known.snapshots), None)
            changes |= {"evidence": first, "others": [*known.snapshots[1:], snapshot_id]}
        if {**known.raw, **changes} != known.raw:
            self._change("rewind", known, **changes)

    def note_way_back(self, volume_id: str, **known: str | None) -> None:
        """Which snapshot undoes the rewind; also where somebody has deleted the record meanwhile."""
        self._change("rewind", self._rewind(), volumeId=volume_id, **known)

    def note_snapshots(self, tagged: Iterable[Snapshot]) -> Rewinding:
        """Notes the rewind's snapshots that the record does not name, because they cost money.

        The item may have been lost, or EC2's answer was. `tagged` is what EC2 shows with the rewind's tags.
        None of them becomes the evidence. Returns what is known now.
        """
        known = self._rewind()
        made = (snapshot for snapshot in tagged if is_evidence(snapshot, self.restore_id, self.index))
        lost = {each.snapshot_id: each.volume_id for each in made if each.snapshot_id not in known.snapshots}
        if not lost:
            return known
        volume_id = known.volume_id or next(iter(lost.values()))
        changes = {"volumeId": volume_id, "others": [*known.others, *lost]}
        self._change("rewind", known, **changes)
        return Rewinding.model_validate({**known.raw, **changes})

    def note_undo_log(self, log: JsonObject | None) -> None:
        """What the undo log has."""
        self._change("rewind", self._rewind(), undoLog=log)

    def begin_undo_log(self) -> None:
        """There may be an undo log from now on, because blocks are about to be overwritten."""
        known = self._rewind()
        self._change("rewind", known, undoLog=known.raw.get("undoLog") or {"restoreId": self.restore_id})

    def _rewind(self) -> Rewinding:
        return self.read().rewind or Rewinding()

    def note_copying(self, listed: JsonObject) -> None:
        """The blocks that are copied for the volume."""
        self._set(copying=listed)

    def note_story(self, story: JsonObject) -> None:
        """What the execution knew when it failed."""
        self._set(story=story)

    def note_cleaned_up(self, account: JsonObject) -> None:
        """What was removed and what stays."""
        self._set(cleanUp=account)

    def note_report(self, report_key: str, page_key: str | None) -> None:
        """Where the report of the volume is."""
        self._set(report={"reportKey": report_key, "pageKey": page_key})

    def note_measured(self, phases: JsonObject) -> None:
        """Estimate against actual, phase by phase."""
        self._set(measured=phases)

    def note_message_sent(self, at: datetime) -> None:
        """A message has said that it is at full speed."""
        self._set(told={"at": iso(at)})

    def _change(self, name: str, known: Item, **changes: object) -> None:
        self._set(**{name: {**known.raw, **changes}})

    def _set(self, **values: object) -> None:
        self.table.update_volume(self.restore_id, self.index, values)
