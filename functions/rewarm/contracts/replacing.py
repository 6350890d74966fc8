"""States `Replace …`: what they are sent and answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, StepEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.results import WaitSeconds
from rewarm.contracts.values import VolumeAssignment

ReplacePhase = Literal["check", "detach"]


class ReplaceResult(Contract):
    """How far it is; `pending` of the next call."""

    finished: bool
    wait_seconds: WaitSeconds
    phase: ReplacePhase
    state: Literal["looking", "replaceable", "detaching", "detached"]
    command_id: str | None = None
    asked_at: Instant | None = Field(default=None, description="When the instance was asked what uses it.")
    mounts: Annotated[list[str], Field(description="Where the volume was mounted at the first look.")] = (
        Field(default_factory=list)
    )


class ReplaceEvent(StepEvent):
    """Asks whether a volume can be replaced (`check`), or to take it out of its place (`detach`)."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str | None = None
    phase: ReplacePhase
    pending: ReplaceResult | None = None
