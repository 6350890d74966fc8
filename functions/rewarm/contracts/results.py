"""What each step answers to the state machines."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from rewarm.contracts.after import Application
from rewarm.contracts.base import Contract, Instant, JsonObject, Usd, WaitSeconds
from rewarm.contracts.benchmarks import BenchmarkRun, StartedBenchmark
from rewarm.contracts.values import (
    Confirmation,
    DrillResult,
    Failure,
    InitializationSignals,
    Measurement,
    PhaseReport,
)
from rewarm.domain.ready.reads import ExpectedReads
from rewarm.domain.volume.performance import BoostOutcome


class PrepareSnapshotResult(Contract):
    """Whether a volume made now would be fast at once."""

    ready: bool
    wait_seconds: WaitSeconds
    state: str
    credits: float | None = None
    enabled_by_us: bool
    snapshot_id: str | None = Field(default=None, description="The complete copy of a foreign snapshot.")


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


class CheckPerformanceResult(Contract):
    """Whether the change has taken effect, and how that is known."""

    finished: bool
    wait_seconds: WaitSeconds
    state: str = Field(description="As EC2 says it: modifying, optimizing or completed.")
    requested_at: Instant
    requested_from: Annotated[
        Literal["cloudtrail", "ec2"],
        Field(description="CloudTrail's time of the call, or EC2's start of the modification."),
    ]
    in_force_since: Annotated[
        Instant | None,
        Field(description="When EC2 was first seen to say so; as exact as the looks are dense."),
    ] = None
    took_effect_at: Instant | None = None
    known_by: Literal["cloudwatch", "modification"] | None = None
    rate: Annotated[float | None, Field(description="A second, in that minute of CloudWatch.")] = None
    rate_before: float | None = None
    unit: Literal["IOPS", "MiB/s"] | None = None
    reason: str = ""


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
    unseen_since: Annotated[
        Instant | None, Field(description="Since when AWS has not answered; null if the last look saw all.")
    ] = None
    agent_finished_at: Instant | None = None
    hot_seconds: Annotated[
        float | None, Field(ge=0, description="How long the agent took for the hot set; null until then.")
    ] = None
    points: Annotated[
        list[tuple[float, int]], Field(description="Seconds of loading and bytes that were there.")
    ] = Field(default_factory=list)
    before: Annotated[
        VerifyVolumeResult | None,
        Field(description="The cold volume as the agent measured it; in the look that sees the agent's end."),
    ] = None


class ReleaseResult(Contract):
    """What was given back, and whether to ask again."""

    released: list[str]
    left: Annotated[
        list[str], Field(description="What stays on and costs money, because somebody else enabled it.")
    ] = []
    finished: bool
    wait_seconds: WaitSeconds
    first_tried_at: Instant
    boost: BoostOutcome | None = None
    failure: Annotated[
        Failure | None,
        Field(description="Why not all was given back; the sweeper tries again. The volume is ready."),
    ] = None


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


class FirstReads(Contract):
    """What an application read until the volume was warm, in blocks of 512 KiB."""

    blocks: Annotated[int, Field(description="That it read.")]
    cold_blocks: Annotated[int, Field(description="At most so many of them were cold at their first read.")]


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
    latency_meanwhile_ms: Annotated[
        JsonObject | None,
        Field(description="Of the agent's probes, which read as an application does while it warms up."),
    ] = None
    latency_after_ms: JsonObject | None = None
    first_reads: Annotated[
        FirstReads | None,
        Field(description="By warmUp.learn; null where no recording and no warm-up ran together."),
    ] = None
    recording: Annotated[
        str, Field(description="Says if the recording of its reads failed or still runs.")
    ] = ""
    verified: str | None = None
    confirmation: Annotated[
        Confirmation | None,
        Field(description="What VolumeReadOps said after the volume was called ready; null if not asked."),
    ] = None
    benchmarks: list[BenchmarkRun] = Field(default_factory=list)
    benchmark_problem: str | None = None
    boost: BoostOutcome | None = None
    release_failure: Annotated[
        Failure | None,
        Field(description="Why not all was given back, and something may go on costing money."),
    ] = None
    replaced: Replacement | None = None
    way_back: Annotated[
        str,
        Field(description="What undoes it, or that this is gone, as the last look found; else empty."),
    ] = ""
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
    application: Annotated[
        Application | None, Field(description="With `after`: whether the application is back.")
    ] = None
    application_seconds: Annotated[
        int | None, Field(description="From the request until it was back; null where it is not.")
    ] = None
    report_key: str
    page_key: Annotated[
        str | None, Field(description="The same for people, as HTML; null where it could not be made.")
    ] = None
