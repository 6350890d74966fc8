"""What the state machines send to each step; the field names are those of statemachine/*.asl.yaml.

ReplaceResult stands here because the next ReplaceEvent brings it back.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, JsonObject, StepEvent, WaitSeconds
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.results import (
    AttachVolumeResult,
    PollInitializationResult,
    PrepareSnapshotResult,
    VerifyVolumeResult,
)
from rewarm.contracts.values import (
    Confirmation,
    DispatchWarmerResult,
    Failure,
    Plan,
    Trigger,
    VolumeAssignment,
)
from rewarm.domain.volume.extents import Scope

Announcement = Literal[
    "plan",
    "approval",
    "fallback",
    "attached",
    "available",
    "hot",
    "ready",
    "application",
    "confirmed",
    "drill",
    "unreported",
    "failed",
    "performance-changed",
    "performance-failed",
    "fleet-planned",
    "fleet-progress",
    "fleet-ended",
]
Phase = Literal["before", "after"]
ReplacePhase = Literal["check", "detach", "swap"]


class AnnounceEvent(StepEvent):
    """Asks to tell people; `details` differ by `event`, see steps/announce/announce.py."""

    event: Announcement
    request: RestoreRequest | None = None
    details: JsonObject


class PrepareSnapshotEvent(StepEvent):
    """Asks for the copy of a snapshot of another Region, and for fast snapshot restore with a credit.

    `previous` is the result of the call before.
    """

    volume: VolumeAssignment
    plan: Plan
    deadline_at: Instant | None = None
    previous: PrepareSnapshotResult | None = None


class AttachVolumeEvent(StepEvent):
    """Asks for the volume on its instance; `previous` is the result of the call before, if there was one."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str
    previous: AttachVolumeResult | None = None


class VerifyVolumeEvent(StepEvent):
    """Asks how fast the volume is; `pending` is the result of the call before, if there was one."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str
    phase: Phase
    scope: Scope = Field(
        default=Scope.WRITTEN, description="What the warm-up agent says that it read; written where none did."
    )
    pending: VerifyVolumeResult | None = None
    warm_ups: int = Field(default=0, ge=0)
    agent_lost: bool = Field(
        default=False,
        description="Another plan took over since the agent is out of reach; what cannot be measured then "
        "fails nothing.",
    )


class PollInitializationEvent(StepEvent):
    """Asks whether the volume is initialized; `previous` is the result of the poll before."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str
    plan: Plan
    started_at: Instant
    deadline_at: Instant | None = None
    dispatch: DispatchWarmerResult | None = None
    before: VerifyVolumeResult | None = None
    previous: PollInitializationResult | None = None


class ReportEvent(StepEvent):
    """Asks for the account of the whole restore, or of one volume while others may still be restored.

    `results` are those of Keep Result, failed ones too; of one volume, that of restore-volume. Where the
    restore failed before there were volumes, `failure` says how, and what had not been found out by then is
    missing. `now` is when the restore or the volume ended.
    """

    KEEPS_NOW: ClassVar[bool] = True

    started_at: Instant
    deadline_at: Instant | None = None
    request: RestoreRequest | None = None
    trigger: Trigger | None = None
    plans_key: str | None = None
    results: list[JsonObject]
    failure: Failure | None = None
    volume_index: int | None = Field(
        default=None, ge=0, description="The volume that it is about; null for the whole restore."
    )
    volume_count: int = Field(default=1, ge=0, description="How many volumes the whole restore has.")
    confirmations: list[Confirmation] | None = Field(
        default=None, description="What VolumeReadOps said afterwards; null where it was not asked yet."
    )


class ReplaceResult(Contract):
    """How far it is; `pending` of the next call."""

    finished: bool
    wait_seconds: WaitSeconds
    phase: ReplacePhase
    state: Literal["looking", "replaceable", "detaching", "detached", "swapping", "swapped"]
    started_at: Instant | None = Field(default=None, description="When EC2 was asked to swap a root volume.")
    command_id: str | None = None
    asked_at: Instant | None = Field(default=None, description="When the instance was asked what uses it.")
    mounts: Annotated[list[str], Field(description="Where the volume was mounted at the first look.")] = (
        Field(default_factory=list)
    )


class ReplaceEvent(StepEvent):
    """Asks whether a volume can be replaced (`check`), or to take it out of its place (`detach`).

    `swap` asks EC2 to put the new volume in the place of a root volume.
    """

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str | None = None
    phase: ReplacePhase
    pending: ReplaceResult | None = None
