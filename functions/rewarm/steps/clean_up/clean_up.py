"""States `Clean Up` and `Clean Up Attempt`: remove what a restore made, in the order of dependence.

A volume that was announced as usable (attached, or available in a zone) may hold new data, so it is never
deleted. Nor is a volume at full speed, for which the sweeper releases what `Release` could not. The sweeper
calls the same functions for a restore that was stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from rewarm.contracts.base import Contract, JsonObject, StepEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import DispatchWarmerResult, VolumeAssignment, VolumeFailure
from rewarm.domain.errors import (
    TEMPORARY,
    DeviceInUseError,
    IncompleteCleanUpError,
    RequestRefusedError,
    RestoreError,
    ServiceUnavailableError,
    VolumeNotFoundError,
)
from rewarm.domain.model import OnFailure, Volume
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import (
    DELETED,
    FAILED_TAG,
    INCOMPLETE_TAG,
    INDEX_TAG,
    SNAPSHOT_TAG,
    STACK_TAG,
    is_written_in_part,
    untouchable,
)
from rewarm.domain.volume.performance import parse_performance, performance_of
from rewarm.domain.volume.proof import could_be_of, unproven_volume
from rewarm.domain.words.failures import explain
from rewarm.ports.instances import Commands
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import EvidenceSnapshots, FastSnapshotRestores, SnapshotCopies
from rewarm.ports.volumes import VolumeModifications, VolumeStore
from rewarm.steps.clean_up.clean_up_account import UNPROVEN, CleanUpAccount, Remains
from rewarm.steps.record.boosts import boost_of
from rewarm.steps.record.leftovers import BOOST_OF
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.record.volume import CleanedUp, KnownRecording, KnownVolume, Rewinding, VolumeNotes
from rewarm.steps.registration import state
from rewarm.steps.replace.put_back import PutBackPorts, put_back
from rewarm.steps.replace.started import StartedPorts, Undone, stop_again
from rewarm.steps.replace.swap_root import may_be_root
from rewarm.steps.volume.adopted_boosts import in_words, lower_volume
from rewarm.steps.volume.extras import UNDER_WAY, delete_copies, lower, release_fast_restore
from rewarm.steps.warm.agent_command import sent_before

SWEPT_LATER = "the sweeper tries again every 15 minutes"
LAST_UPLOAD = timedelta(minutes=1)
"""The agent notices within seconds that the volume is detached, and then uploads what it has recorded."""
KEPT_BEFORE = "it was kept before, and is its owner's"
LOST_LOG = (
    "undo log of {}, if there is one (the record of this rewind is lost; rewarm undo-log list shows the logs)"
)
FAILED_VOLUME = "EC2 calls it failed (error), so its data are lost; it was announced, so its owner deletes it"
"""EBS user guide, "EBS volume lifecycle": the hardware has failed, and the data cannot be recovered."""


class CleanUpEvent(StepEvent):
    """Asks to remove what a failed restore made."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str | None = None
    dispatch: DispatchWarmerResult | None = None
    attached_announced: bool = False
    story: JsonObject = Field(
        default_factory=dict, description="What is known of the volume by now; kept for the report."
    )
    failure: VolumeFailure | None = Field(
        default=None, description="For the other volumes of an instance that is therefore not started."
    )
    fallback: Literal["same-volume", "new-volume"] | None = Field(
        default=None, description="Another plan takes over: on the volume that is there, or on a new one."
    )


class CleanUpResult(Contract):
    """What is gone, and what stays and why."""

    removed: list[str]
    kept: list[str]


class CleanUpPorts(Value, kw_only=True):
    """The ports that clean-up needs."""

    volumes: VolumeStore
    modifications: VolumeModifications
    commands: Commands
    fast_restores: FastSnapshotRestores
    copies: SnapshotCopies
    evidence: EvidenceSnapshots
    table: RestoreTable
    stack_name: str
    put_back: PutBackPorts | None = None
    started: StartedPorts | None = None


@state("Clean Up", "Clean Up Attempt", "Clean Up Drill")
def clean_up(event: CleanUpEvent, ports: CleanUpPorts) -> CleanUpResult:
    """Removes what the restore made, and returns what was removed and what is kept.

    Raises ServiceUnavailableError while something takes its time (the state is retried then), and
    IncompleteCleanUpError with the list of what stays and costs money.
    """
    unkept = _keep_story(event, ports.table)
    sent = event.dispatch
    is_done = event.request.is_drill and event.failure is None
    swap_began = event.volume.swaps_root and may_be_root(
        event.restore_id, event.volume.index, event.volume_id, ports.table
    )
    remains = Remains(
        restore_id=event.restore_id,
        index=event.volume.index,
        # A rewound or adopted volume is its owner's: it was there before the restore.
        volume_id=None if event.volume.rewinds or event.volume.adopts else event.volume_id,
        instance_id=event.volume.instance_id,
        place=None if event.volume.adopts else (event.volume.snapshot_id, event.volume.availability_zone),
        adopted=event.volume.adopts,
        rewinds=event.volume.rewinds is not None,
        # Nobody keeps data on a drill's volume, so it is deleted even if it is ready.
        announced=(event.attached_announced or swap_began) and not event.request.is_drill,
        # A failed plan's volume is of no use once the next plan makes its own.
        on_failure=OnFailure.CLEAN_UP if event.fallback else event.request.on_failure,
        fallback=event.fallback is not None,
        commands=frozenset({(sent.command_id, sent.instance_id)} if sent else ()),
        failed_by=_failed_by(event),
        starts_instance=event.volume.starts_instance,
        in_place=event.fallback == "same-volume",
        keeps_copy=event.fallback is not None or event.request.source.keep_copy,
        recording_until=event.now + LAST_UPLOAD if is_done else None,
    )
    # Only a plan that replaces a volume needs this call; the sweeper, which knows no plan, always makes it.
    if event.volume.replaces is None:
        ports = replace(ports, put_back=None)
    result = remove(remains, ports, now=event.now)
    if isinstance(unkept, TEMPORARY):
        raise unkept
    # A drill that is over promises that its volume is gone.
    stays = [kept for kept in result.kept if event.volume_id is not None and event.volume_id in kept]
    if is_done and stays:
        raise IncompleteCleanUpError("; ".join(stays))
    return result


def remove(remains: Remains, ports: CleanUpPorts, *, now: datetime) -> CleanUpResult:
    """Removes each thing, whether or not the others can be removed. Idempotent."""
    account = CleanUpAccount()
    noted = _noted(remains, ports.table, account)
    record = noted or KnownVolume()
    account.kept_volumes.update(record.clean_up.kept_volumes if record.clean_up else ())
    _cancel_commands(remains, record, ports, account)
    _lower_adopted(remains, record.adopted or remains.adopted, ports, account, now)
    undone = _stop_instance(remains, ports.started)
    if undone.state == "pending":
        account.busy.append(undone.reason)
    else:
        remains = replace(remains, announced=remains.announced or undone.state == "up")
        _exchange(remains, noted, ports, account, now)
    _release(remains, ports.fast_restores, ports.table, account)
    _delete_copies(remains, ports, account)
    account.kept += _lost_by_rewind(remains, record, ports, account)
    return _settle(remains, account, ports.table)


def _lost_by_rewind(
    remains: Remains, record: KnownVolume, ports: CleanUpPorts, account: CleanUpAccount
) -> list[str]:
    """Notes the snapshots that EC2 shows, because somebody may have deleted the record's item.

    What the record has is named once somebody has looked at it. Returns what no record may show.
    """
    if not remains.rewinds:
        return []
    restore_id = remains.restore_id
    index = remains.index
    rewind = record.rewind or Rewinding()
    with account.trying(f"snapshots that {restore_id} made of its volume"):
        made = ports.evidence.of_restore(restore_id, index)
        rewind = VolumeNotes(ports.table, restore_id, index).note_snapshots(made)
    is_lost = record.plan is None and not rewind.snapshots and rewind.undo_log is None
    return [LOST_LOG.format(restore_id)] if is_lost else []


def _stop_instance(remains: Remains, ports: StartedPorts | None) -> Undone:
    """Stops an instance that was started and is not up; if it is up, its volumes stay."""
    if ports is None or remains.instance_id is None or not remains.starts_instance or remains.fallback:
        return Undone("down")
    why = (
        f"volume {remains.index} of this restore has failed{remains.failed_by}, and an instance gets all of "
        f"its volumes or none; so {remains.instance_id} was not started, or was stopped again"
    )
    return stop_again(remains.restore_id, remains.instance_id, why, ports)


def _exchange(
    remains: Remains, noted: KnownVolume | None, ports: CleanUpPorts, account: CleanUpAccount, now: datetime
) -> None:
    """Removes the volumes that were made, and puts the replaced volume back into its place."""
    for volume in _volumes_made(remains, noted, ports, account, now):
        if not _remove_volume(remains, volume, ports.volumes, account):
            _lower_boost(volume, (noted or KnownVolume()).boost_target(volume), ports, account)
    _put_back(remains, ports.put_back, account, now)


def _failed_by(event: CleanUpEvent) -> str:
    if event.failure is None:
        return ""
    reason = explain(event.failure.error, event.failure.model_dump_json(by_alias=True))
    return f" ({reason.error}: {reason.sentence})"


def _noted(remains: Remains, table: RestoreTable, account: CleanUpAccount) -> KnownVolume | None:
    """The record; None if it cannot be read: clean-up still removes what the execution itself knows of."""
    try:
        return VolumeNotes(table, remains.restore_id, remains.index).read()
    except RestoreError as error:
        (account.busy if isinstance(error, TEMPORARY) else account.left).append(f"commands: {error}")
        return None


def _keep_story(event: CleanUpEvent, table: RestoreTable) -> RestoreError | None:
    """Saves what the execution knows. Returns the error if saving failed; clean-up continues."""
    try:
        if event.story:
            VolumeNotes(table, event.restore_id, event.volume.index).note_story(event.story)
    except RestoreError as error:
        return error
    return None


def _put_back(remains: Remains, ports: PutBackPorts | None, account: CleanUpAccount, now: datetime) -> None:
    """Puts back the volume whose place the new one took, or was to take."""
    if ports is None or remains.in_place:
        return
    lists = {"back": account.kept, "stays-out": account.kept, "pending": account.busy, "left": account.left}
    for place in put_back(remains.restore_id, remains.index, ports, now=now):
        lists[place.state].append(f"volume {place.volume_id}: {place.reason}")
        account.moved |= place.state == "back"


def _cancel_commands(
    remains: Remains, record: KnownVolume, ports: CleanUpPorts, account: CleanUpAccount
) -> None:
    """Cancels what runs on the instance; the record has each command, even if the answers were lost."""
    noted = {
        (command.command_id, command.instance_id)
        for command in (record.command.dispatch, record.measurement, record.recording)
        if command and command.command_id and command.instance_id
    }
    if _is_ending(remains, record.recording, ports, account):
        account.busy.append("recording of reads: it ends once its volume is detached")
        noted.discard((str(record.recording.command_id), str(record.recording.instance_id)))
    with account.trying("commands"):
        # One whose function ended before it could record the command's id.
        sent_before(record.sending, None, ports.commands)
    for command_id, instance_id in sorted(noted | remains.commands):
        with account.trying(f"command {command_id}"):
            ports.commands.cancel(command_id, instance_id)


def _is_ending(remains: Remains, known: KnownRecording, ports: CleanUpPorts, account: CleanUpAccount) -> bool:
    """Whether a recording still ends by itself: a command that is cancelled uploads nothing more."""
    until = remains.recording_until
    status = None
    if until is not None and known.command_id and known.instance_id and ports.commands.time() < until:
        with account.trying("recording of reads"):
            status = ports.commands.status(known.command_id, known.instance_id)
    return status is not None and not status.finished


def _volumes_made(
    event: Remains, noted: KnownVolume | None, ports: CleanUpPorts, account: CleanUpAccount, now: datetime
) -> list[Volume]:
    """The volumes that the record or the execution names, and those for which EC2's answer was lost.

    Without the stack's tag nobody here may change a volume. Without a proof no tag says that a volume is
    ours. Such volumes are kept, and named.
    """
    record = noted or KnownVolume()
    known = {*record.made_volumes.values()} | ({event.volume_id} if event.volume_id is not None else set())
    found: dict[str, Volume] = {}
    unproven: list[Volume] = []
    try:
        tagged = [] if noted is None else ports.volumes.created_by(event.restore_id)
        of_index = [volume for volume in tagged if volume.settings.tags.get(INDEX_TAG) == str(event.index)]
        found = {volume.volume_id: volume for volume in record.own_volumes(of_index)}
        for volume_id in sorted(known - found.keys()):
            found |= _existing(volume_id, record, ports.volumes)
        others = [volume for volume in of_index if volume.volume_id not in found]
        unproven = _plausible(others, event.restore_id, ports, now) if others else []
    except TEMPORARY as error:
        account.busy.append("".join(f"volume {name}: " for name in sorted(known)) + str(error))
    except RestoreError as error:
        account.left.append(f"volumes of this restore could not be listed: {error}")
    for volume in unproven:
        account.kept.append(f"volume {volume.volume_id} ({unproven_volume(volume, UNPROVEN)})")
    there = [volume for volume in found.values() if volume.state not in DELETED]
    ours = [volume for volume in there if volume.settings.tags.get(STACK_TAG) == ports.stack_name]
    for volume in there:
        if volume not in ours:
            account.keep(volume, _out_of_reach(volume, record), tagged=True)
    return ours


def _plausible(others: Sequence[Volume], restore_id: str, ports: CleanUpPorts, now: datetime) -> list[Volume]:
    """Volumes with the stack's tag whose time of creation fits the restore."""
    record = RestoreNotes(ports.table, restore_id).read()
    since = record.started_at
    until = record.finished_at or now
    return [
        volume
        for volume in others
        if volume.settings.tags.get(STACK_TAG) == ports.stack_name
        and volume.state not in DELETED
        and (since is None or could_be_of(volume.created_at, since, until))
    ]


def _existing(volume_id: str, record: KnownVolume, volumes: VolumeStore) -> dict[str, Volume]:
    """Leaves out a volume that was there before the restore asked EC2 for one."""
    try:
        volume = volumes.get(volume_id)
    except VolumeNotFoundError:
        return {}
    is_recorded = volume_id in record.made_volumes.values()
    return {} if is_recorded and not record.own_volumes([volume]) else {volume_id: volume}


def _out_of_reach(volume: Volume, record: KnownVolume) -> str:
    """Why a volume without the stack's tag stays, and what it still costs."""
    target = record.boost_target(volume)
    is_lowered = target is None or parse_performance(target).fits(volume.settings)
    boost = "" if is_lowered else f", and it has its boost: {performance_of(volume.settings).in_words}"
    return f"its tag {STACK_TAG} is gone, without which Rewarm may not change it{boost}"


def _remove_volume(event: Remains, volume: Volume, volumes: VolumeStore, account: CleanUpAccount) -> bool:
    """Returns False if the volume stays."""
    reason = _reason_to_keep(event, volume, account.kept_volumes)
    try:
        if reason is None:
            _delete_volume(volume, volumes, account)
        elif event.fallback or reason == KEPT_BEFORE:
            account.keep(volume, reason)
        else:
            tags, incomplete = _marks(event, volume)
            volumes.tag(volume.volume_id, tags)
            account.keep(volume, f"{reason}; {incomplete}tagged {' and '.join(tags)}", tagged=True)
    except VolumeNotFoundError:
        account.removed.append(f"volume {volume.volume_id}")
    except (*TEMPORARY, RequestRefusedError, DeviceInUseError) as error:
        account.busy.append(f"volume {volume.volume_id}: {error}")
    except RestoreError as error:
        name = f"volume {volume.volume_id}"
        # An earlier call may have deleted it and lost its answer. IAM then denies this call: the tag is gone.
        if _is_gone(volume.volume_id, volumes):
            account.removed.append(name)
        else:
            account.left.append(f"{name}: {error}")
    return reason is None


def _marks(event: Remains, volume: Volume) -> tuple[dict[str, str], str]:
    """The tags for a volume that stays, and the words for a volume that is only partly written."""
    tags = {FAILED_TAG: event.restore_id}
    if not is_written_in_part(volume, announced=event.announced):
        return tags, ""
    snapshot_id = volume.settings.tags.get(SNAPSHOT_TAG, "its snapshot")
    incomplete = f"it is written in part only, and does not hold all of {snapshot_id}; "
    return {**tags, INCOMPLETE_TAG: snapshot_id}, incomplete


def _is_gone(volume_id: str, volumes: VolumeStore) -> bool:
    try:
        return volumes.get(volume_id).state in DELETED
    except RestoreError as error:
        return isinstance(error, VolumeNotFoundError)


def _delete_volume(volume: Volume, volumes: VolumeStore, account: CleanUpAccount) -> None:
    name = volume.volume_id
    if any(place.state != "detached" for place in volume.attachments):
        for attachment in volume.attachments:
            volumes.detach(name, attachment.instance_id)
        volume = volumes.get(name)
    if volume.state == "creating" or any(place.state != "detached" for place in volume.attachments):
        account.busy.append(f"{name} is still being {'detached' if volume.attachments else 'created'}")
        return
    volumes.delete(name)
    account.removed.append(f"volume {name}")


def _lower_boost(volume: Volume, target: str | None, ports: CleanUpPorts, account: CleanUpAccount) -> None:
    """Lowers a volume that stays; EC2 bills the lower settings from the start of the modification."""
    if target is None:
        return
    name = volume.volume_id
    outcome = lower(name, target, volumes=ports.volumes, modifications=ports.modifications)
    if outcome.state == "lowered" or outcome.accepted:
        account.removed.append(f"boost of {name} (it goes back to {target})")
        return
    left = f"boost of {name} ({performance_of(volume.settings).in_words}, to be {target}): {outcome.reason}"
    (account.left if outcome.state == "not-lowered" else account.busy).append(left)


def _lower_adopted(
    remains: Remains, volume_id: str | None, ports: CleanUpPorts, account: CleanUpAccount, now: datetime
) -> None:
    """Lowers an adopted volume that was raised. What EC2 does not accept now is left to the sweeper."""
    noted = boost_of(remains.restore_id, remains.index, volume_id, ports.table)
    if noted is None:
        return
    outcome = lower_volume(noted, ports, now=now)
    if outcome.state == "lowered" or outcome.reason == UNDER_WAY:
        account.removed.append(f"{BOOST_OF}{noted.volume_id} (it goes back to {outcome.target})")
    elif outcome.costs or outcome.state == "left-alone":
        account.boost = outcome
        account.kept.append(in_words(noted.volume_id, outcome))


def _reason_to_keep(event: Remains, volume: Volume, kept_volumes: Collection[str]) -> str | None:
    kept_before = untouchable(volume.settings.tags)
    if kept_before is not None:
        return kept_before
    if event.announced and volume.volume_id == event.volume_id:
        return FAILED_VOLUME if volume.state == "error" else "it is usable and may hold new data"
    if event.on_failure is OnFailure.KEEP and volume.state != "error":
        return "the request says onFailure keep"
    others = {attachment.instance_id for attachment in volume.attachments} - {event.instance_id}
    if others:
        return f"it is attached to {', '.join(sorted(others))}, which was not our doing"
    return KEPT_BEFORE if volume.volume_id in kept_volumes else None


def _release(
    event: Remains, fast_restores: FastSnapshotRestores, table: RestoreTable, account: CleanUpAccount
) -> None:
    if event.place is None:
        return
    name = f"fast snapshot restore of {event.place[0]} in {event.place[1]}"
    with account.trying(name):
        returned = release_fast_restore(
            event.restore_id, event.index, event.place, fast_restores=fast_restores, table=table
        )
        account.removed += returned.released
        account.kept += returned.left


def _delete_copies(event: Remains, ports: CleanUpPorts, account: CleanUpAccount) -> None:
    """Deletes the copies last, because a volume may still be created from them."""
    if event.keeps_copy:
        return
    with account.trying("snapshot copy"):
        account.removed += delete_copies(
            event.restore_id, event.index, copies=ports.copies, table=ports.table
        )


def _settle(event: Remains, account: CleanUpAccount, table: RestoreTable) -> CleanUpResult:
    """Records the account, with that of earlier tries, so that the message has it even if this fails."""
    record = VolumeNotes(table, event.restore_id, event.index)
    earlier = record.read().clean_up or CleanedUp()
    removed = list(dict.fromkeys([*earlier.removed, *account.removed]))
    unfinished = [*account.left, *account.busy]
    kept = [] if event.in_place else account.kept_in_words
    stays = [] if event.in_place else account.marked
    known = {"removed": removed, "kept": [*kept, *(f"{item} ({SWEPT_LATER})" for item in unfinished)]}
    goes_on = {"goesOn": True} if event.fallback else {}
    volumes = {"keptVolumes": sorted(account.kept_volumes)} if account.kept_volumes else {}
    found = CleanedUp(boost=account.boost)
    boost = found.model_dump(mode="json", by_alias=True, include={"boost"}, exclude_none=True)
    more = {**goes_on, **volumes, **boost}
    record.note_cleaned_up({**known, **more, "stays": stays, "unfinished": bool(unfinished)})
    if account.busy:
        raise ServiceUnavailableError(f"clean-up is not finished: {'; '.join(unfinished)}")
    if account.left:
        raise IncompleteCleanUpError(f"could not be removed and may cost money: {'; '.join(account.left)}")
    return CleanUpResult(removed=removed, kept=account.kept_in_words)
