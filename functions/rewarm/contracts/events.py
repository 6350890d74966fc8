"""What the state machines send to each step; the field names are those of statemachine/*.asl.yaml.

ReplaceResult stands here because the next ReplaceEvent brings it back.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, JsonObject, StepEvent, Usd
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.results import (
    AttachVolumeResult,
    ConfirmReadinessResult,
    DispatchWarmerResult,
    PollInitializationResult,
    PrepareSnapshotResult,
    ReleaseResult,
    StartInstanceResult,
    VerifyVolumeResult,
    WaitSeconds,
)
from rewarm.contracts.values import (
    Approval,
    ApprovalQuestion,
    Confirmation,
    Failure,
    FleetShare,
    Plan,
    Trigger,
    VolumeAssignment,
)
from rewarm.domain.model import Strategy
from rewarm.domain.volume.extents import Scope

Announcement = Literal[
    "plan",
    "approval",
    "fallback",
    "attached",
    "available",
    "ready",
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


class ParseRequestEvent(StepEvent):
    """The execution's input as it came."""

    started_at: Instant
    input: JsonObject


class SelectSnapshotEvent(StepEvent):
    """Asks which snapshots become which volumes."""

    request: RestoreRequest


class ChooseStrategyEvent(StepEvent):
    """Asks how each volume is to be initialized."""

    request: RestoreRequest
    deadline_at: Instant | None = None
    volumes_key: str
    approved: Approval | None = Field(
        default=None, description="What was approved of an earlier plan; null before anything was."
    )
    fleet_shares: list[FleetShare] | None = Field(
        default=None, description="What the plan of its fleet gives each volume; null outside a fleet."
    )
    turn_at: Instant | None = Field(
        default=None, description="The turn at EC2 that its fleet took for it and its volumes."
    )


class CheckApprovalEvent(StepEvent):
    """Asks whether somebody has approved the plan that the restore waits with."""

    question: ApprovalQuestion


class LoadPlanEvent(StepEvent):
    """Asks for the plan of one volume."""

    index: int = Field(ge=0)


class KeepResultEvent(StepEvent):
    """Asks to keep what became of one volume."""

    result: JsonObject


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


class CreateVolumeEvent(StepEvent):
    """Asks for the volume."""

    request: RestoreRequest
    volume: VolumeAssignment
    plan: Plan
    attempt: int = Field(ge=0)


class CheckVolumeEvent(StepEvent):
    """Asks whether the volume is available."""

    volume: VolumeAssignment
    volume_id: str
    plan: Plan


class AttachVolumeEvent(StepEvent):
    """Asks for the volume on its instance; `previous` is the result of the call before, if there was one."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str
    previous: AttachVolumeResult | None = None


class StartInstanceEvent(StepEvent):
    """Asks for the instance with all its volumes (`start`), or whether it passes its status checks (`check`).

    `pending` is the result of the call before, if there was one.
    """

    volume: VolumeAssignment
    phase: Literal["start", "check"]
    pending: StartInstanceResult | None = None


class DispatchWarmerEvent(StepEvent):
    """Asks for the warm-up agent on the instance; `warm_ups` is how often the volume was warmed up again."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str
    warm_ups: int = Field(default=0, ge=0)
    measured_before: bool = Field(
        default=False, description="The volume was measured while it was cold, so the agent does not do it."
    )


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
    previous: PollInitializationResult | None = None


class ChooseFallbackEvent(StepEvent):
    """Asks what is to be done after a failure; `tried` are the strategies before the one that failed."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str | None = None
    plan: Plan
    fallbacks: list[Plan]
    tried: list[Strategy]
    failure: Failure
    attached_announced: bool
    warm_ups: int = Field(ge=0)
    agent_lost: bool
    preparation: PrepareSnapshotResult | None = None
    began_at: Instant
    deadline_at: Instant | None = None
    budget_usd: Usd | None = None
    spent_usd: Usd


class AwaitSignalEvent(StepEvent):
    """Asks to be woken by an event of AWS, or without a volume by an approval of the restore.

    The task with the token waits no longer than `wait_seconds`.
    """

    volume: VolumeAssignment | None = None
    volume_id: str | None = None
    dispatch: DispatchWarmerResult | None = None
    task_token: str = Field(min_length=1, max_length=2_048)
    wait_seconds: WaitSeconds


class ReleaseEvent(StepEvent):
    """Asks to give back what costs money by the hour; `previous` is the result of the call before."""

    volume: VolumeAssignment
    volume_id: str | None = None
    plan: Plan | None = None
    keep_copy: bool = Field(default=False, description="The snapshot's copy stays.")
    previous: ReleaseResult | None = None


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
    failure: Failure | None = Field(
        default=None, description="For the other volumes of an instance that is therefore not started."
    )
    fallback: Literal["same-volume", "new-volume"] | None = Field(
        default=None, description="Another plan takes over: on the volume that is there, or on a new one."
    )


class ReleaseTargetEvent(StepEvent):
    """Asks to let others restore to the target."""

    untold: bool = Field(
        default=False, description="Nobody was told of a volume at full speed; the sweeper sends the message."
    )


class ReportEvent(StepEvent):
    """Asks for the account of the whole restore, or of one volume while others may still be restored.

    `results` are those of Keep Result, failed ones too; of one volume, that of restore-volume. Where the
    restore failed before there were volumes, `failure` says how, and what had not been found out by then is
    missing.
    """

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


class ConfirmReadinessEvent(StepEvent):
    """Asks what VolumeReadOps says of the volumes that were called ready; `results` are as for ReportEvent.

    `pending` is the result of the call before.
    """

    request: RestoreRequest
    results: list[JsonObject]
    pending: ConfirmReadinessResult | None = None


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
