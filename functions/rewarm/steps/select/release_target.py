"""State `Release Target`: the restore has ended, and others may restore to its devices."""

from __future__ import annotations

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent
from rewarm.ports.restores import Holds
from rewarm.steps.registration import state
from rewarm.steps.select.admission import give_back


class ReleaseTargetEvent(StepEvent):
    """Asks to let others restore to the target."""

    has_unsent_messages: bool = Field(
        default=False,
        alias="untold",
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
    return ReleaseTargetResult(released=give_back(event.restore_id, holds=holds))
