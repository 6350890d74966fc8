"""What each step answers to the state machines."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, JsonObject, Usd
from rewarm.contracts.benchmarks import BenchmarkRun, StartedBenchmark
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import (
    Approval,
    ApprovalQuestion,
    Confirmation,
    DrillResult,
    ExpectedReads,
    Failure,
    InitializationSignals,
    Measurement,
    PhaseReport,
    Plan,
    PlanSummary,
    Trigger,
    VolumeAssignment,
    VolumePlan,
)
from rewarm.domain.model import Strategy
from rewarm.domain.plan.fallback import How
from rewarm.domain.ready.waits import LONGEST_STATUS_WAIT_SECONDS

WaitSeconds = Annotated[int, Field(ge=1, le=LONGEST_STATUS_WAIT_SECONDS)]
"""For a Wait state: whole seconds, at least one."""


class ParseRequestResult(Contract):
    """The request with every default filled in, or the restore that the event belongs to already."""

    outcome: Literal["accepted", "duplicate", "suppressed"]
    request: RestoreRequest | None = None
    trigger: Trigger
    deadline_at: Instant | None = None
    duplicate_of: str | None = None
    wait_seconds: int = Field(
        default=0, ge=0, description="Until it is this restore's turn; EC2 answers so many calls a second."
    )


class ReleaseTargetResult(Contract):
    """The devices that the restore held."""

    released: list[str]


class SelectSnapshotResult(Contract):
    """Where the volumes are kept, with their snapshots and devices."""

    volumes_key: str
    volume_count: int
    volumes: list[VolumeAssignment] = Field(
        default_factory=list, description="The same for readers, where they have at most 64 KiB."
    )


class PlannedVolumes(Contract):
    """One plan per volume."""

    plans: list[VolumePlan]
    summary: PlanSummary


class ChooseStrategyResult(Contract):
    """Where the plans are kept, and of which volumes."""

    plans_key: str
    indexes: list[int]
    summary: PlanSummary
    question: ApprovalQuestion | None = Field(
        default=None, description="What somebody must approve first; null where the restore goes on."
    )
    plans: list[VolumePlan] = Field(
        default_factory=list, description="The same for readers, where they have at most 64 KiB."
    )


class CheckApprovalResult(Contract):
    """Whether the restore goes on, and if not, when to look again."""

    approved: Approval | None = None
    plan_again: bool = Field(description="The plan is so old that its times do not hold any more.")
    wait_seconds: WaitSeconds


class LoadPlanResult(Contract):
    """What is to be done for the volume, and what instead if that fails."""

    volume: VolumeAssignment
    plan: Plan
    fallbacks: list[Plan]
    budget_usd: Usd | None = None
    wait_seconds: int = Field(ge=0, description="Until it is this volume's turn.")


class KeepResultResult(Contract):
    """What a restore must know of its volume; the whole is kept."""

    index: int
    verdict: Literal["ready", "failed"]
    volume_id: str | None = None
    snapshot_id: str | None = None
    error: str | None = None
    cause: Annotated[
        str | None, Field(description="Why it failed, in words; for the message where there is no report.")
    ] = None
    result_key: str
    announced: Annotated[
        bool, Field(description="False where it is at full speed and nobody could be told; the sweeper does.")
    ] = True


class AnnounceResult(Contract):
    """The channels that took the message."""

    channels: list[str]


class PrepareSnapshotResult(Contract):
    """Whether a volume made now would be fast at once."""

    ready: bool
    wait_seconds: WaitSeconds
    state: str
    credits: float | None = None
    enabled_by_us: bool
    snapshot_id: str | None = Field(default=None, description="The complete copy of a foreign snapshot.")


class CreateVolumeResult(Contract):
    """The volume."""

    volume_id: str
    client_token: str


class CheckVolumeResult(Contract):
    """Whether the volume is available."""

    available: bool
    wait_seconds: WaitSeconds
    state: str
    fast_restored: bool | None = None


class AttachVolumeResult(Contract):
    """Whether the volume is attached, and on Windows, where that is asked for, online."""

    attached: Annotated[bool, Field(description="All is done: then the volume is announced.")]
    wait_seconds: WaitSeconds
    device: str
    command_id: Annotated[str | None, Field(description="The command that brings the disk online.")] = None
    asked_at: Instant | None = None
    mount_points: Annotated[
        list[str], Field(description="Drive letters and folders of a disk that was brought online.")
    ] = Field(default_factory=list)
    online_problem: Annotated[
        str | None, Field(description="Why the disk is not online, or not where it was to be.")
    ] = None


class StartInstanceResult(Contract):
    """How far the instance is that is started with its new volumes."""

    finished: bool
    wait_seconds: WaitSeconds
    state: Annotated[
        Literal["waiting", "starting", "up", "checked"],
        Field(description="waiting: for other volumes; checked: it has passed its status checks."),
    ]
    since: Annotated[Instant, Field(description="When this was asked for the first time.")]
    started_at: Instant | None = None
    up_at: Instant | None = None
    checked_at: Instant | None = None


class DispatchWarmerResult(Contract):
    """The command that warms the volume up."""

    command_id: str
    instance_id: str
    progress_key: str
    started_at: Instant
    read_ops_before: float


class VerifyVolumeResult(Contract):
    """What was measured, or that the measurement still runs."""

    finished: bool
    wait_seconds: WaitSeconds
    command_id: str | None = None
    started_at: Instant | None = None
    measurements: Annotated[int, Field(ge=1, description="How many were started.")] = 1
    verdict: Literal["fast", "slow", "unmeasured"] | None = None
    result: Measurement | None = None
    expected: ExpectedReads | None = None
    benchmark: StartedBenchmark | None = None
    """What the request wants beside it, while it runs."""
    benchmarks: list[BenchmarkRun] = Field(default_factory=list)
    benchmark_problem: str | None = None
    benchmark_seconds: Annotated[float, Field(description="What they took; no part of the restore.")] = 0.0
    reason: str


class PollInitializationResult(Contract):
    """How far the initialization is, and by which signals."""

    ready: bool
    wait_seconds: WaitSeconds
    progress_percent: float
    bytes_done: int
    bytes_total: int
    mib_per_second: float | None = None
    eta_seconds: int | None = None
    reasons: list[str]
    signals: InitializationSignals
    polls: int
    first_polled_at: Instant
    last_progress_at: Instant
    agent_finished_at: Instant | None = None
    points: Annotated[
        list[tuple[float, int]], Field(description="Seconds of loading and bytes that were there.")
    ] = Field(default_factory=list)
    before: Annotated[
        VerifyVolumeResult | None,
        Field(description="The cold volume as the agent measured it; in the look that sees the agent's end."),
    ] = None


class ConfirmReadinessResult(Contract):
    """What VolumeReadOps says of each volume that the agent read and that was measured."""

    finished: bool
    wait_seconds: WaitSeconds
    confirmations: list[Confirmation]


class ChooseFallbackResult(Contract):
    """What is done now; `plan` and `fallbacks` are those that hold from now on."""

    how: How
    plan: Plan
    fallbacks: list[Plan]
    tried: list[Strategy]
    agent_lost: bool
    spent_usd: Usd
    why: str
    rejected: list[str]


class AwaitSignalResult(Contract):
    """What is waited for."""

    signal: str


class BoostRelease(Contract):
    """What became of the boost of a volume that is at full speed; the settings are in words."""

    state: Literal["lowering", "lowered", "not-lowered"]
    boosted: str
    target: str
    reason: str = ""


class ReleaseResult(Contract):
    """What was given back, and whether to ask again."""

    released: list[str]
    left: Annotated[
        list[str], Field(description="What stays on and costs money, because somebody else enabled it.")
    ] = []
    finished: bool
    wait_seconds: WaitSeconds
    first_tried_at: Instant
    boost: BoostRelease | None = None
    failure: Annotated[
        Failure | None,
        Field(description="Why not all was given back; the sweeper tries again. The volume is ready."),
    ] = None


class CleanUpResult(Contract):
    """What is gone, and what stays and why."""

    removed: list[str]
    kept: list[str]


class BilledPart(Contract):
    """One line of the plan's price, and what it has come to."""

    item: str
    planned_usd: Usd
    billed_usd: Annotated[
        Usd | None,
        Field(description="By Rewarm's own clock; null where it cannot know. AWS's bill comes a day later."),
    ] = None
    arithmetic: str
    how: str


class Replacement(Contract):
    """The volume that was to leave its place for the new one, and where it is now."""

    volume_id: str
    device: str
    state: str = Field(
        description="in-place: never moved; replaced: detached and kept; swapping: EC2 was asked to swap the "
        "root volume; back: in its place again; "
        "stays-out: detached for good; out, pending or left: not back yet, the reason says why."
    )
    reason: str = ""


class VolumeReport(Contract):
    """One volume of the report."""

    index: int
    verdict: Literal["ready", "failed"]
    snapshot_id: str
    volume_id: str | None = None
    strategy: str | None = None
    estimated_p50_seconds: int | None = None
    estimated_p90_seconds: int | None = None
    actual_seconds: int | None = None
    since_plan_seconds: Annotated[
        float | None,
        Field(description="From the plan, or the fallback, to full speed: what the estimate is about."),
    ] = None
    error_percent: Annotated[
        float | None, Field(description="How far P50 was off, of what it took; above 0 where it took less.")
    ] = None
    phases: list[PhaseReport] = Field(default_factory=list)
    cost_usd: Usd
    billed_usd: Annotated[
        Usd | None, Field(description="The sum of `costParts`; null where a part of it is not known.")
    ] = None
    cost_parts: list[BilledPart] = Field(default_factory=list)
    bytes_read: int | None = None
    warm_ups: Annotated[int, Field(description="How often it was warmed up again.")] = 0
    expected: Annotated[
        ExpectedReads | None, Field(description="What the volume's type and limits promise.")
    ] = None
    latency_before_ms: JsonObject | None = None
    latency_after_ms: JsonObject | None = None
    verified: str | None = None
    confirmation: Annotated[
        Confirmation | None,
        Field(description="What VolumeReadOps said after the volume was called ready; null if not asked."),
    ] = None
    benchmarks: list[BenchmarkRun] = Field(default_factory=list)
    benchmark_problem: str | None = None
    boost: BoostRelease | None = None
    release_failure: Annotated[
        Failure | None,
        Field(description="Why not all was given back, and something may go on costing money."),
    ] = None
    replaced: Replacement | None = None
    mount_points: Annotated[
        list[str],
        Field(description="Drive letters and folders that Windows gave it, with target.bringOnline."),
    ] = Field(default_factory=list)
    failure: Failure | None = None


class ReportResult(Contract):
    """The account of the whole restore."""

    verdict: Literal["ready", "failed"]
    volumes: list[VolumeReport] = Field(
        description="None in the state machine where they have more than 64 KiB; the report has them."
    )
    started_at: Instant
    finished_at: Instant
    deadline_at: Instant | None = None
    deadline_met: bool | None = None
    estimated_p90_seconds: int
    actual_seconds: int
    slowest_seconds: Annotated[
        int, Field(description="Until the last volume was at full speed; 0 where none was.")
    ] = 0
    planned_cost_usd: Usd = Decimal(0)
    cost_usd: Usd
    billed_usd: Usd | None = None
    failure: Failure | None = None
    drill: Annotated[DrillResult | None, Field(description="Of a drill only.")] = None
    report_key: str
    page_key: Annotated[
        str | None, Field(description="The same for people, as HTML; null where it could not be made.")
    ] = None
