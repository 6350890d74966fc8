"""State `Release Target`: the restore has ended, and others may restore to its devices."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.ports.restores import MOST_ROUNDS, Holds
from rewarm.steps.registration import state


class ReleaseTargetEvent(StepEvent):
    """Asks to let others restore to the target."""

    instance_id: str | None = Field(
        default=None, description="Where its devices are, should the table not say so any more."
    )
    has_unsent_messages: bool = Field(
        default=False,
        description="No channel accepted the message of a volume at full speed; the sweeper sends it.",
    )


class ReleaseTargetResult(Contract):
    """The devices that the restore held."""

    released: list[str]


@state("Release Target", "Release Target After Failure")
def release_target(event: ReleaseTargetEvent, *, holds: Holds) -> ReleaseTargetResult:
    """Releases the devices of the restore. Idempotent; a restore that held nothing releases nothing.

    If a message is missing, it releases nothing, so that the restore stays noted as running. The sweeper then
    sends the message and releases the devices. A restore that needs one of them may take it before.
    """
    if event.has_unsent_messages:
        return ReleaseTargetResult(released=[])
    return ReleaseTargetResult(released=give_back(event.restore_id, event.instance_id, holds=holds))


def give_back(restore_id: str, instance_id: str | None, *, holds: Holds) -> list[str]:
    """Releases the devices of a restore that has ended, and returns them. Does nothing the second time.

    They are on the instance of its entry. Somebody may have deleted that, so the caller says where else to
    look.
    """
    entry = holds.entry(restore_id)
    places = dict.fromkeys((entry.instance_id if entry else None, instance_id))
    released = [
        f"{device} on {place}"
        for place in places
        if place is not None
        for device in _release(restore_id, place, holds)
    ]
    if entry is not None:
        holds.leave(restore_id)
    return released


def _release(restore_id: str, instance_id: str, holds: Holds) -> Iterable[str]:
    for _round in range(MOST_ROUNDS):
        held = holds.on_target(instance_id)
        devices = held.of(restore_id)
        if not devices or holds.keep(held, held.without({restore_id})):
            return devices.values()
    raise ServiceUnavailableError(f"other restores to {instance_id} begin all the time; try again")
