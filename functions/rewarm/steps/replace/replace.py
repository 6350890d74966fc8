"""States `Replace Check` and `Replace Detachment`: takes a volume out of its place for a new one.

The first state checks before anything is made or costs money. The second detaches once the new volume exists,
so the instance is without a volume only for seconds. Nothing is ever detached by force, or while it is
mounted. Before the volume is detached, tags on it say where it belongs.
"""

from __future__ import annotations

from datetime import timedelta

from rewarm.contracts.events import ReplaceEvent, ReplaceResult
from rewarm.contracts.values import ReplacedVolume
from rewarm.domain.errors import (
    RequestRefusedError,
    TargetBusyError,
    TargetNotUsableError,
    VolumeFailedError,
    VolumeInUseError,
)
from rewarm.domain.model import Volume
from rewarm.domain.units import duration_text, iso
from rewarm.domain.volume.replacing import (
    LEAVING,
    REPLACED_TAG,
    DeviceUse,
    Place,
    check_replaceable,
    device_to_replace,
    living,
    place_on_stopped,
)
from rewarm.domain.volume.targets import check_instance, check_stopped
from rewarm.steps.record.restore import FINISHED, stop_if_cancelled
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.registration import state
from rewarm.steps.replace.device_look import WAIT_SECONDS, Look, answer, ask
from rewarm.steps.replace.put_back import put_back
from rewarm.steps.replace.swap_root import ReplacePorts, is_asked, swap_root

PATIENCE = timedelta(minutes=5)
"""A detachment takes seconds, or hangs for as long as something uses the volume (botocore: DetachVolume)."""
FRESH = timedelta(minutes=6)
"""An older answer of the instance may no longer be true."""

__all__ = ["ReplacePorts", "put_back", "replace"]


@state("Replace Check", "Replace Detachment", "Replace Root")
def replace(event: ReplaceEvent, ports: ReplacePorts) -> ReplaceResult:
    """Checks, detaches or swaps the old volume, and returns its state. It may be called again.

    Raises VolumeInUseError, TargetBusyError, TargetNotUsableError, AgentUnreachableError,
    VolumeFailedError, VolumeNotFoundError, RestoreCancelledError.
    """
    replaced, place = _asked(event)
    step = _root if event.volume.swaps_root else _other
    return step(event, replaced.volume_id, place, ports)


def _other(event: ReplaceEvent, volume_id: str, place: Place, ports: ReplacePorts) -> ReplaceResult:
    """Replaces any volume except the root volume of a running instance."""
    stop_if_cancelled(ports.table, event.restore_id)
    old = ports.volumes.get(volume_id)
    if _is_leaving(old, event):
        return _left(event, old, ports)
    _check(event, old, place, ports)
    if event.volume.starts_instance:
        return _on_stopped(event, old, place, ports)
    if event.phase == "check" and event.pending is None:
        _check_product_codes(
            old.volume_id,
            place,
            "EC2 would attach it again to a stopped instance only, so it could not go back; stop the "
            "instance and replace the volume by hand",
            "target.device",
            ports,
        )
    look = _pending_look(event)
    if look is None:
        return _asking(event, ports)
    use = answer(look, now=event.now, commands=ports.look.commands)
    if use is None:
        return _result(event, "looking", look=look)
    if event.phase == "check":
        return _checked(event, use)
    if event.now - look.asked_at > FRESH:
        return _asking(event, ports)
    if not use.is_free:
        raise _in_use(old.volume_id, place, use, may_unmount=not event.request.target.unmount)
    _detach(event, old, place, ports)
    return _result(event, "detaching")


def _root(event: ReplaceEvent, old: str, place: Place, ports: ReplacePorts) -> ReplaceResult:
    """Replaces the root volume of a running instance; checks it until EC2 is asked to swap it."""
    asked = is_asked(event.restore_id, place.index, event.volume_id, ports.table)
    if not asked:
        stop_if_cancelled(ports.table, event.restore_id)
        _check(event, ports.volumes.get(old), place, ports)
    if event.phase == "swap":
        return swap_root(event, old, place, ports, asked=asked)
    _check_product_codes(
        old,
        place,
        "EC2 attaches a volume with it to a stopped instance only; what works is target.start once it is "
        "stopped",
        "target.reboot",
        ports,
    )
    return _result(event, "replaceable")


def _on_stopped(event: ReplaceEvent, old: Volume, place: Place, ports: ReplacePorts) -> ReplaceResult:
    """Detaches from a stopped instance: nothing uses the volume, and EC2 detaches even a root volume."""
    if event.phase == "check":
        return _result(event, "replaceable")
    _detach(event, old, place, ports)
    return _result(event, "detaching")


def _asked(event: ReplaceEvent) -> tuple[ReplacedVolume, Place]:
    volume = event.volume
    if volume.replaces is None or volume.instance_id is None or volume.place is None:
        raise TargetNotUsableError("the plan replaces no volume", field="target.mode")
    place = Place(
        volume.instance_id,
        volume.place,
        volume.index,
        delete_on_termination=volume.replaces.delete_on_termination,
        card=volume.card,
    )
    return volume.replaces, place


def _is_leaving(old: Volume, event: ReplaceEvent) -> bool:
    """Whether we asked EC2 to detach it, even if the answer was lost or EC2 still shows the old state."""
    if old.settings.tags.get(REPLACED_TAG) != event.restore_id:
        return False
    asked = event.pending is not None and event.pending.state == "detaching"
    return asked or all(attachment.state in LEAVING for attachment in living(old))


def _left(event: ReplaceEvent, old: Volume, ports: ReplacePorts) -> ReplaceResult:
    if not living(old):
        return _result(event, "detached")
    since = VolumeNotes(ports.table, event.restore_id, event.volume.index).read().replaced.detached_at
    if since is not None and event.now - since > PATIENCE:
        raise VolumeFailedError(
            f"{old.volume_id} is still {living(old)[0].state} at {event.volume.device} of "
            f"{event.volume.instance_id} after {duration_text((event.now - since).total_seconds())}: EC2 "
            "waits until nothing uses it"
        )
    return _result(event, "detaching")


def _check(event: ReplaceEvent, old: Volume, place: Place, ports: ReplacePorts) -> None:
    """Checks that what was true at the plan is still true."""
    instance = ports.look.instances.get(place.instance_id)
    if event.volume.starts_instance:
        check_stopped(instance)
        _, holder = place_on_stopped(place.device, None, instance)
    else:
        # Just before a swap the volume was measured there, and EC2 requires only that the instance runs.
        if event.phase != "swap":
            check_instance(instance)
        _, holder = device_to_replace(place.device, None, instance, reboots=event.volume.swaps_root)
    if holder != old.volume_id:
        raise TargetNotUsableError(
            f"{place.in_words} has {holder or 'nothing'} by now, and {old.volume_id} was to be replaced",
            field="target.device",
        )
    check_replaceable(old, place.instance_id, place.device)
    owner = old.settings.tags.get("rewarm:restore-id")
    if owner is None or owner == event.restore_id:
        return
    status = ports.table.standing(owner).status
    if status is not None and status not in FINISHED:
        raise TargetBusyError(
            f"{old.volume_id} at {place.in_words} is being restored itself, by {owner}; wait until that has "
            f"ended, or cancel it (rewarm cancel {owner})",
            field="target.device",
            held_by=owner,
        )


def _check_product_codes(volume_id: str, place: Place, why: str, field: str, ports: ReplacePorts) -> None:
    """EC2 attaches a volume with product codes only to a stopped instance (botocore: ec2 AttachVolume)."""
    codes = ports.volumes.product_codes(volume_id)
    if codes:
        raise TargetNotUsableError(
            f"{volume_id} at {place.in_words} has a Marketplace product code ({', '.join(codes)}): {why}",
            field=field,
        )


def _pending_look(event: ReplaceEvent) -> Look | None:
    """The question that this phase has sent; None before."""
    pending = event.pending
    volume = event.volume
    if pending is None or pending.phase != event.phase or pending.state != "looking":
        return None
    if pending.command_id is None or pending.asked_at is None or volume.replaces is None:
        return None
    return Look(pending.command_id, volume.instance_id or "", volume.replaces.volume_id, pending.asked_at)


def _asking(event: ReplaceEvent, ports: ReplacePorts) -> ReplaceResult:
    replaced, place = _asked(event)
    unmounts = event.phase == "detach" and bool(event.request.target.unmount)
    look = ask(
        replaced.volume_id,
        place.instance_id,
        "unmount" if unmounts else "check",
        now=event.now,
        ports=ports.look,
    )
    return _result(event, "looking", look=look)


def _checked(event: ReplaceEvent, use: DeviceUse) -> ReplaceResult:
    replaced, place = _asked(event)
    unmounts = bool(event.request.target.unmount)
    left = DeviceUse((), use.others) if unmounts else use
    if not left.is_free:
        raise _in_use(replaced.volume_id, place, left, may_unmount=not unmounts)
    return _result(event, "replaceable", mounts=list(use.mounts))


def _in_use(volume_id: str, place: Place, use: DeviceUse, *, may_unmount: bool) -> VolumeInUseError:
    unmounted = "; target.unmount true lets Rewarm unmount it" if may_unmount and not use.others else ""
    return VolumeInUseError(
        f"{volume_id} at {place.in_words} is {use.in_words}; detached so, it would lose data or hang. Stop "
        f"what uses it, unmount it, and send the request again{unmounted}",
        field="target.device",
    )


def _detach(event: ReplaceEvent, old: Volume, place: Place, ports: ReplacePorts) -> None:
    """Writes record and tags first, so that it is always known where the volume belongs."""
    mounts = event.pending.mounts if event.pending else []
    noted = {
        "volumeId": old.volume_id,
        "newVolumeId": event.volume_id,
        "instanceId": place.instance_id,
        "device": place.device,
        "deleteOnTermination": place.delete_on_termination,
        "card": place.card,
        "unmounted": mounts,
        "detachedAt": iso(event.now),
        "state": "out",
    }
    VolumeNotes(ports.table, event.restore_id, place.index).note_out_of_place(noted)
    ports.volumes.tag(old.volume_id, place.tags(event.restore_id, ports.stack_name))
    try:
        ports.volumes.detach(old.volume_id, place.instance_id)
    except RequestRefusedError:
        # An earlier call may have done it and lost its answer.
        if not _is_leaving(ports.volumes.get(old.volume_id), event):
            raise


def _result(
    event: ReplaceEvent, state: str, *, look: Look | None = None, mounts: list[str] | None = None
) -> ReplaceResult:
    known = event.pending.mounts if event.pending else []
    return ReplaceResult.model_validate(
        {
            "finished": state in {"replaceable", "detached"},
            "wait_seconds": WAIT_SECONDS,
            "phase": event.phase,
            "state": state,
            "command_id": look.command_id if look else None,
            "asked_at": look.asked_at if look else None,
            "mounts": known if mounts is None else mounts,
        }
    )
