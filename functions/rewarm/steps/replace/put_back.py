"""Puts a replaced volume back into its place, one step per call; for clean-up and for the sweeper.

The record says which volume it is and where it belongs. A volume without its tag stays where it is, so people
can stop this by removing the tag. The new volume leaves the place first, once nothing uses it: nothing is
ever detached by force, or while it is mounted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from rewarm.domain.errors import (
    DeviceInUseError,
    RestoreError,
    ServiceUnavailableError,
    TargetNotFoundError,
    ThrottledError,
)
from rewarm.domain.model import Attachment, Instance, OnFailure, Volume
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import STACK_TAG
from rewarm.domain.volume.replacing import (
    LEAVING,
    REPLACED_STACK_TAG,
    REPLACED_TAG,
    TAGS,
    Place,
    holder_of,
    living,
)
from rewarm.domain.volume.targets import device_slot
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.restore import KnownRestore, RestoreNotes
from rewarm.steps.record.volume import KnownReplaced, VolumeNotes
from rewarm.steps.replace.device_look import Look, LookPorts, answer, ask

State = Literal["back", "stays-out", "pending", "left"]
RETRIED = (ThrottledError, ServiceUnavailableError, DeviceInUseError)


class PutBackPorts(Value):
    """The ports that putting a volume back needs."""

    volumes: VolumeStore
    look: LookPorts
    table: RestoreTable


class PutBack(Value):
    """What became of a volume: `back`, `stays-out` for good, `pending` (call again) or `left` to a person."""

    volume_id: str
    state: State
    reason: str


def put_back(restore_id: str, index: int, ports: PutBackPorts, *, now: datetime) -> list[PutBack]:
    """Takes the next step for one volume of a failed restore; clean-up and the sweeper call it again.

    Idempotent. Returns nothing if no volume was replaced. Raises no error of AWS.
    """
    replaced = VolumeNotes(ports.table, restore_id, index).read().replaced
    place = _place(replaced, index)
    if place is None or replaced.volume_id is None:
        return []
    try:
        old = next(ports.volumes.existing([replaced.volume_id]), None)
    except RETRIED as error:
        return [PutBack("replaced volume", "pending", str(error))]
    except RestoreError as error:
        return [PutBack("replaced volume", "left", f"it could not be looked for: {error}")]
    if old is None or old.settings.tags.get(REPLACED_TAG) != restore_id:
        return _told_before(replaced)
    return [_next_step(restore_id, old, place, ports, now)]


def _place(noted: KnownReplaced, index: int) -> Place | None:
    """Where it belongs; None if it was not detached, like a root volume that EC2 swaps."""
    if noted.instance_id is None or noted.device is None or noted.delete_on_termination is None:
        return None
    return Place(
        noted.instance_id,
        noted.device,
        index,
        delete_on_termination=noted.delete_on_termination,
        card=noted.card,
    )


def _told_before(replaced: KnownReplaced) -> list[PutBack]:
    """What an earlier call recorded: a volume that is back has no tags of ours any more."""
    states: dict[object, State] = {"back": "back", "stays-out": "stays-out"}
    state = states.get(replaced.state)
    return [] if state is None else [PutBack(str(replaced.volume_id), state, str(replaced.reason))]


def _next_step(restore_id: str, old: Volume, place: Place, ports: PutBackPorts, now: datetime) -> PutBack:
    record = RestoreNotes(ports.table, restore_id).read()
    case = _Case(restore_id, old, place, _Wishes.of(record, place.index), ports, now)
    try:
        done = case.next_step()
    except RETRIED as error:
        done = PutBack(old.volume_id, "pending", str(error))
    except RestoreError as error:
        done = PutBack(old.volume_id, "left", str(error))
    case.record.note_place(
        done.state,
        volumeId=done.volume_id,
        instanceId=place.instance_id,
        device=place.device,
        reason=done.reason,
        at=iso(now),
    )
    return done


class _Wishes(Value):
    """What the record says of the new volume; defaults if the record is gone."""

    settled: bool
    """It reached full speed, so the old volume stays out, whatever became of the new one since."""
    keep_new: bool
    """onFailure keep: if it is in the place, it stays there."""
    unmount: bool
    is_up: bool = False
    """The instance was started with its new volumes, and is up."""
    is_used: bool = False
    """A part of `after` was sent, so the application may have written on the new volume."""

    @staticmethod
    def of(record: KnownRestore, index: int) -> _Wishes:
        """What the request says, and how the restore ended."""
        parts = record.application.parts if record.application else []
        return _Wishes(
            settled=record.settled(index),
            keep_new=record.request.on_failure is OnFailure.KEEP,
            unmount=record.request.target.unmount,
            is_up=record.instance.state == "up",
            is_used=any(part.since for part in parts),
        )


class _Case(Value):
    """One volume on its way back."""

    restore_id: str
    old: Volume
    place: Place
    wishes: _Wishes
    ports: PutBackPorts
    now: datetime

    def next_step(self) -> PutBack:
        """Looks where the volumes are, and takes the next step."""
        attached = living(self.old)
        if attached:
            return self._attached(attached[0])
        new = self._new_in_place()
        why = self._reason_to_stay_out(new)
        if why is not None:
            return self._stay_out(why)
        try:
            instance = self.ports.look.instances.get(self.place.instance_id)
        except TargetNotFoundError:
            return self._stay_out(f"{self.place.instance_id} is gone")
        if instance.is_gone:
            return self._stay_out(f"{self.place.instance_id} is {instance.state}")
        if new is not None and STACK_TAG in new.settings.tags:
            return self._free(new, instance)
        return self._attach(instance)

    def _reason_to_stay_out(self, new: Volume | None) -> str | None:
        """Why the old volume does not go back; None if it does."""
        if self.wishes.settled:
            return f"{self.place.in_words} has had a new volume at full speed since"
        if self.wishes.is_up:
            return f"{self.place.instance_id} was started with new volumes and is up"
        if self.wishes.is_used:
            return f"the application on {self.place.instance_id} may have written on the new volume"
        if new is not None and self.wishes.keep_new:
            return f"{new.volume_id} has its place at {self.place.in_words} and stays there"
        return None

    def _attached(self, attachment: Attachment) -> PutBack:
        name = self.old.volume_id
        where = f"{attachment.device} on {attachment.instance_id}"
        if attachment.state in LEAVING:
            waits = "EC2 waits until nothing on the instance uses it"
            return self._is("pending", f"{name} is still {attachment.state} at {where}: {waits}")
        if not self._is_place(attachment):
            self.ports.volumes.untag(self.old.volume_id, *TAGS)
            return self._is("stays-out", f"somebody has attached {name} as {where}")
        if attachment.state != "attached":
            return self._is("pending", f"{name} is being attached as {where}")
        if attachment.delete_on_termination != self.place.delete_on_termination:
            self.ports.volumes.set_delete_on_termination(
                attachment.instance_id, attachment.device, delete=self.place.delete_on_termination
            )
        self.ports.volumes.untag(self.old.volume_id, *TAGS)
        return self._is("back", f"{name} is back in its place, {where}; it is not mounted again")

    def _new_in_place(self) -> Volume | None:
        for volume in self._made():
            if any(self._is_place(attachment) for attachment in living(volume)):
                return volume
        return None

    def _made(self) -> list[Volume]:
        """The volumes that the restore made for this place; none is attached before its id is noted."""
        known = self.record.read()
        return known.own_volumes(self.ports.volumes.existing([*known.made_volumes.values()]))

    def _is_place(self, attachment: Attachment) -> bool:
        """/dev/sdf and xvdf are one place."""
        slots = device_slot(attachment.device), device_slot(self.place.device)
        return attachment.instance_id == self.place.instance_id and slots[0] == slots[1]

    def _free(self, new: Volume, instance: Instance) -> PutBack:
        """Detaches the new volume. It is kept unless clean-up deletes it."""
        name = new.volume_id
        if any(attachment.state in LEAVING for attachment in living(new)):
            return self._is("pending", f"{name} is still being detached from {instance.instance_id}")
        if instance.state == "running":
            in_use = self._in_use(name, instance)
            if in_use is not None:
                return in_use
        self.ports.volumes.detach(name, instance.instance_id)
        return self._is("pending", f"{name} is being detached from {instance.instance_id}")

    def _in_use(self, name: str, instance: Instance) -> PutBack | None:
        """What uses the new volume; None if it may be detached now."""
        look = self._look(name)
        if look is None:
            action: Literal["check", "unmount"] = "unmount" if self.wishes.unmount else "check"
            look = ask(name, instance.instance_id, action, now=self.now, ports=self.ports.look)
            self._keep(look)
            return self._is("pending", f"{instance.instance_id} is asked what uses {name}")
        try:
            use = answer(look, now=self.now, commands=self.ports.look.commands)
        except RestoreError:
            self._keep(None)
            raise
        if use is None:
            return self._is("pending", f"{instance.instance_id} is asked what uses {name}")
        self._keep(None)
        if use.is_free:
            return None
        if use.is_open_only:
            return self._is("pending", f"{name} is still {use.in_words}")
        old = self.old.volume_id
        where = self.place.in_words
        return self._is(
            "left",
            f"{name} is at {where}, {use.in_words}: {old} goes back there once {name} is unmounted and not "
            f"used; to leave {name} there, remove the tag {REPLACED_TAG} from {old}",
        )

    def _attach(self, instance: Instance) -> PutBack:
        name = self.old.volume_id
        holder = holder_of(self.place.device, instance.devices)
        if holder is not None and holder != name and not self._is_ours(holder):
            return self._is(
                "left",
                f"{self.place.in_words} has {holder} now, which is not of this restore or has lost its tag "
                f"{STACK_TAG}; detach it and attach {name} there by hand, or remove the tag {REPLACED_TAG} "
                f"from {name}",
            )
        if holder is not None:
            return self._is("pending", f"EC2 still shows {holder} at {self.place.in_words}")
        self.ports.volumes.attach(name, instance.instance_id, self.place.device, self.place.card)
        return self._is("pending", f"{name} is being attached as {self.place.in_words}")

    def _is_ours(self, holder: str) -> bool:
        """Whether we made the volume and it has the stack's tag, without which IAM allows no change."""
        made = (volume for volume in self._made() if STACK_TAG in volume.settings.tags)
        return any(volume.volume_id == holder for volume in made)

    def _stay_out(self, why: str) -> PutBack:
        """Removes the stack's tag, so that no sweep finds it; the restore's tag says why it is detached."""
        self.ports.volumes.untag(self.old.volume_id, REPLACED_STACK_TAG)
        kept = f"{self.old.volume_id} is detached and kept, and costs storage until you delete it"
        return self._is("stays-out", f"{why}; {kept}")

    def _look(self, volume_id: str) -> Look | None:
        """The question that an earlier call has sent."""
        look = self.record.read().replaced.look
        if look.asked_at is None or look.volume_id != volume_id:
            return None
        return Look(look.command_id, self.place.instance_id, volume_id, look.asked_at)

    def _keep(self, look: Look | None) -> None:
        if look is None:
            self.record.note_look(None, None, None)
        else:
            self.record.note_look(look.volume_id, look.command_id, look.asked_at)

    @property
    def record(self) -> VolumeNotes:
        """The item of the new volume."""
        return VolumeNotes(self.ports.table, self.restore_id, self.place.index)

    def _is(self, state: State, reason: str) -> PutBack:
        return PutBack(self.old.volume_id, state, reason)
