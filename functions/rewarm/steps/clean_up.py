"""State `Clean Up`: removes what a failed restore made, in the order in which one thing holds another.

Once a volume was announced as attached it may hold somebody's new data: it is never deleted then; nor is one
that is ready, where only the release failed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rewarm.contracts import CleanUpEvent, CleanUpResult
from rewarm.domain.errors import (
    DeviceInUseError,
    IncompleteCleanUpError,
    RequestRefusedError,
    RestoreError,
    ServiceUnavailableError,
    ThrottledError,
    VolumeNotFoundError,
)
from rewarm.domain.model import OnFailure, Volume
from rewarm.domain.performance import BOOST_TAG, performance_of
from rewarm.ports import Commands, FastSnapshotRestores, RestoreTable, VolumeModifications, VolumeStore
from rewarm.steps.boost import lower
from rewarm.steps.records import attribute, clean_up_attribute, story_attribute
from rewarm.steps.release import release_fast_restore

FAILED_TAG = "rewarm:failed"
GONE = frozenset({"deleting", "deleted"})
RETRIED = (ThrottledError, ServiceUnavailableError)


@dataclass(slots=True)
class _Account:
    """What became of each thing; `busy` and `left` say why something could not be removed (yet)."""

    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def clean_up(
    event: CleanUpEvent,
    *,
    volumes: VolumeStore,
    modifications: VolumeModifications,
    commands: Commands,
    fast_restores: FastSnapshotRestores,
    table: RestoreTable,
) -> CleanUpResult:
    """Idempotent. One thing that cannot be removed never keeps another one from being removed.

    Raises ServiceUnavailableError while a volume is still being detached (the state is retried then), and
    IncompleteCleanUpError with the list of what stays and costs money.
    """
    _keep_story(event, table)
    account = _Account()
    _cancel_command(event, commands, account)
    for volume in _volumes_made(event, volumes, account):
        if not _remove_volume(event, volume, volumes, account):
            _lower_boost(volume, volumes, modifications, account)
    _release(event, fast_restores, table, account)
    return _settle(event, account, table)


def _keep_story(event: CleanUpEvent, table: RestoreTable) -> None:
    """An execution that fails can hand on nothing but its error."""
    if event.story:
        table.update(event.restore_id, {story_attribute(event.volume.index): event.story})


def _cancel_command(event: CleanUpEvent, commands: Commands, account: _Account) -> None:
    if event.dispatch is None:
        return
    try:
        commands.cancel(event.dispatch.command_id, event.dispatch.instance_id)
    except RETRIED as error:
        account.busy.append(str(error))
    except RestoreError as error:
        account.left.append(f"command {event.dispatch.command_id}: {error}")


def _volumes_made(event: CleanUpEvent, volumes: VolumeStore, account: _Account) -> list[Volume]:
    """The volume we know of, and those that only their tags show: made by a call whose answer was lost."""
    found: dict[str, Volume] = {}
    try:
        for volume in volumes.created_by(event.restore_id):
            if volume.settings.tags.get("rewarm:volume-index") == str(event.volume.index):
                found[volume.volume_id] = volume
        if event.volume_id is not None and event.volume_id not in found:
            found[event.volume_id] = volumes.get(event.volume_id)
    except VolumeNotFoundError:
        pass
    except RETRIED as error:
        account.busy.append(str(error))
    except RestoreError as error:
        account.left.append(f"volumes of this restore could not be listed: {error}")
    return [volume for volume in found.values() if volume.state not in GONE]


def _remove_volume(event: CleanUpEvent, volume: Volume, volumes: VolumeStore, account: _Account) -> bool:
    """False where the volume stays."""
    reason = _reason_to_keep(event, volume)
    try:
        if reason is not None:
            volumes.tag(volume.volume_id, {FAILED_TAG: event.restore_id})
            account.kept.append(f"volume {volume.volume_id} ({reason}; tagged {FAILED_TAG})")
        else:
            _delete_volume(volume, volumes, account)
    except VolumeNotFoundError:
        account.removed.append(f"volume {volume.volume_id}")
    except (*RETRIED, RequestRefusedError, DeviceInUseError) as error:
        account.busy.append(f"volume {volume.volume_id}: {error}")
    except RestoreError as error:
        account.left.append(f"volume {volume.volume_id}: {error}")
    return reason is None


def _delete_volume(volume: Volume, volumes: VolumeStore, account: _Account) -> None:
    name = volume.volume_id
    if any(one.state != "detached" for one in volume.attachments):
        for attachment in volume.attachments:
            volumes.detach(name, attachment.instance_id)
        volume = volumes.get(name)
    if volume.state == "creating" or any(one.state != "detached" for one in volume.attachments):
        account.busy.append(f"{name} is still being {'detached' if volume.attachments else 'created'}")
        return
    volumes.delete(name)
    account.removed.append(f"volume {name}")


def _lower_boost(
    volume: Volume, volumes: VolumeStore, modifications: VolumeModifications, account: _Account
) -> None:
    """Of a volume that stays; EC2 bills the lower settings from the start of the modification."""
    target = volume.settings.tags.get(BOOST_TAG)
    if target is None:
        return
    name = volume.volume_id
    outcome = lower(name, volumes=volumes, modifications=modifications)
    if outcome.state == "lowered" or outcome.accepted:
        account.removed.append(f"boost of {name} (it goes back to {target})")
        return
    told = f"boost of {name} ({performance_of(volume.settings).in_words}, to be {target}): {outcome.reason}"
    (account.left if outcome.state == "not-lowered" else account.busy).append(told)


def _reason_to_keep(event: CleanUpEvent, volume: Volume) -> str | None:
    if event.attached_announced and volume.volume_id == event.volume_id:
        return "it is usable and may hold new data"
    if event.request.on_failure is OnFailure.KEEP:
        return "the request says onFailure keep"
    others = {one.instance_id for one in volume.attachments} - {event.volume.instance_id}
    if others:
        return f"it is attached to {', '.join(sorted(others))}, which was not our doing"
    return None


def _release(
    event: CleanUpEvent, fast_restores: FastSnapshotRestores, table: RestoreTable, account: _Account
) -> None:
    place = f"fast snapshot restore of {event.volume.snapshot_id} in {event.volume.availability_zone}"
    try:
        account.removed += release_fast_restore(
            event.restore_id, event.volume, fast_restores=fast_restores, table=table
        )
    except RETRIED as error:
        account.busy.append(f"{place}: {error}")
    except RestoreError as error:
        account.left.append(f"{place}: {error}")


def _settle(event: CleanUpEvent, account: _Account, table: RestoreTable) -> CleanUpResult:
    """Writes the account down first: the message about the failure tells it even where this state fails."""
    name = clean_up_attribute(event.volume.index)
    earlier = attribute(table, event.restore_id, name)
    removed = _joined(earlier.get("removed"), account.removed)
    unfinished = [*account.left, *account.busy]
    table.update(event.restore_id, {name: {"removed": removed, "kept": [*account.kept, *unfinished]}})
    if account.busy:
        raise ServiceUnavailableError(f"clean-up goes on: {'; '.join(unfinished)}")
    if account.left:
        raise IncompleteCleanUpError(f"could not be removed and may cost money: {'; '.join(account.left)}")
    return CleanUpResult(removed=removed, kept=account.kept)


def _joined(earlier: object, now: list[str]) -> list[str]:
    """What an earlier try removed is not there any more to be seen by this one."""
    before = [str(item) for item in earlier] if isinstance(earlier, list) else []
    return list(dict.fromkeys([*before, *now]))
