"""Values that several steps hand on: the chosen snapshot and target, the plan, what was measured."""

from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, with_config

from rewarm.contracts.base import CONTRACT, Contract, Instant, JsonObject, Usd
from rewarm.contracts.request import RewindCompare, RewindEvidence
from rewarm.domain.model import Boost, Caller, Strategy, VolumeSettings
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.ready.reads import Opinion, p99_limit_ms
from rewarm.domain.snapshots import PassedOverSnapshot
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import Basis
from rewarm.domain.words.schedule import ScheduleLine

TriggerKind = Literal["api", "alarm", "schedule", "fleet", "rule"]
DataBytesFrom = Literal["fullSnapshotSize", "writtenBlocks", "volumeSize"]


class Trigger(Contract):
    """What started the restore."""

    model_config = {"extra": "ignore"}

    kind: TriggerKind
    asked_by: Caller | None = Field(
        default=None,
        description="Who called the API, or the ARN of the alarm or schedule, or the rule; of a fleet, its "
        "caller.",
    )
    alarm_name: str | None = None
    event_id: str | None = None
    schedule_name: str | None = None
    scheduled_at: str | None = Field(
        default=None, description="The time of the schedule's run: only the first start for it restores."
    )
    fleet_id: str | None = None
    rule_name: str | None = Field(default=None, description="The rule that adopts the volumes.")
    deadline_at: Instant | None = Field(
        default=None, description="The deadline of the fleet: a restore that begins late has less time."
    )
    turn_at: Instant | None = Field(
        default=None, description="When the fleet lets it begin: EC2 answers so many calls a second."
    )


@with_config(CONTRACT)
class NewVolume(VolumeSettings):
    """The settings of the volume to create, everything decided."""

    def settings(self, extra_tags: dict[str, str] | None = None) -> VolumeSettings:
        """As the ports take it; `extra_tags` win over the user's."""
        return VolumeSettings(**asdict(self) | {"tags": {**self.tags, **(extra_tags or {})}})


class LivingSource(Contract):
    """The snapshot's source volume, where it lives in the target's zone: a clone could be made of it."""

    volume_id: str
    volume_type: str
    size_gib: int
    iops: int | None = None
    throughput_mib_s: int | None = None


class ReplacedVolume(Contract):
    """The volume at the device, whose place the new one takes; it is detached and kept."""

    volume_id: str
    size_gib: int
    volume_type: str = "gp3"
    usd_per_month: Usd | None = Field(default=None, description="Of its storage, at the plan's prices.")
    delete_on_termination: bool = False
    root_device: str | None = Field(
        default=None,
        description="It is the root volume of a running instance, at this device: EC2 swaps the new one in "
        "once that is at full speed. Until then the new one has the device of the assignment.",
    )


class CopiedSnapshot(Contract):
    """A snapshot of another Region, which is copied before the volume is made."""

    snapshot_id: str
    region: str


class ChangedBlocks(Contract):
    """Blocks of a volume that differ from an earlier snapshot of it."""

    since_snapshot_id: str = Field(description="The earlier snapshot.")
    blocks: int = Field(gt=0, description="Of 512 KiB.")


class VolumeAssignment(Contract):
    """Which snapshot becomes which volume, and where it goes."""

    index: int = Field(ge=0)
    snapshot_id: str = Field(
        description="Once a snapshot of another Region is copied: the copy. Of an adopted volume that was "
        "made empty: an empty text."
    )
    snapshot_started_at: Instant
    snapshot_encrypted: bool = False
    snapshot_kms_key_id: str | None = None
    copy_of: CopiedSnapshot | None = None
    source_volume_id: str | None = None
    living_source: LivingSource | None = None
    snapshot_size_gib: int
    data_bytes: int
    data_bytes_from: DataBytesFrom
    written_blocks: int
    map_key: str
    availability_zone: str
    instance_id: str | None = None
    instance_type: str | None = None
    platform: str | None = None
    architecture: str | None = None
    agent_available: bool = False
    device: str | None = None
    card: int | None = Field(
        default=None, ge=0, description="The EBS card that it reads through; null where the instance has one."
    )
    replaces: ReplacedVolume | None = None
    rewinds: str | None = Field(
        default=None, description="The volume that goes back to the snapshot itself; no volume is made then."
    )
    adopts: str | None = Field(
        default=None, description="The volume that is there and stays where it is; no volume is made then."
    )
    warm_because: str | None = Field(
        default=None, description="Why an adopted volume is taken to be at full speed already."
    )
    boost_refusal: str | None = Field(
        default=None, description="Why an adopted volume is not boosted; null where that is allowed."
    )
    unlisted_because: str | None = Field(
        default=None,
        description="Why nobody can list what the snapshot of an adopted volume has: all of it is read then.",
    )
    lineage: str | None = Field(
        default=None,
        description="The name under which recordings of its reads are kept: the snapshot's source volume, or "
        "the snapshot; of copies what their tag names; of an adopted volume that is warm already its own.",
    )
    changed: ChangedBlocks | None = Field(
        default=None, description="What is read first of it, unless a recording says it better."
    )
    unlearned_because: str | None = Field(
        default=None, description="Why nothing is recorded of it, where warmUp.learn asks for it."
    )
    waits_because: str | None = Field(
        default=None,
        description="Why an adopted volume cannot be read yet; with waitForAttachmentMinutes that may pass.",
    )
    undo_index: int | None = Field(
        default=None,
        ge=0,
        description="With source.undoOf: the place of the volume in that restore, under which its log is.",
    )
    undo_packs: int | None = Field(default=None, ge=0, description="Of that log.")
    undo_blocks: int | None = Field(default=None, ge=0, description="Of that log, where they are counted.")
    undo_alone: bool = Field(
        default=False,
        description="Just the blocks of that log are written: without them the volume was not the snapshot, "
        "because the rewind stopped halfway, or was the undoing of another one.",
    )
    starts_instance: bool = Field(
        default=False, description="The instance is stopped, and started once all volumes are attached."
    )
    delete_on_termination: bool = Field(
        default=False, description="Where nothing is replaced on it: as at the source."
    )
    root_unproven: bool = Field(
        default=False,
        description="It becomes a root volume, and nothing shows whether its snapshot is of one.",
    )
    priority: int = Field(default=1, ge=1, description="Of several volumes; the lowest is served first.")
    volume: NewVolume
    chosen_because: str = Field(default="", description="Why it is this snapshot.")
    consistent_set: bool | None = Field(
        default=None,
        description="Whether the snapshots of all volumes were taken together; null for one volume.",
    )
    passed_over: list[PassedOverSnapshot] = Field(default_factory=list)

    def politeness(self, wanted_ms: float | None) -> float | None:
        """How long a small read of the application may take: as asked; of a volume in use, as it promises."""
        if wanted_ms is not None or self.adopts is None:
            return wanted_ms
        return p99_limit_ms(None, self.volume.settings())

    @property
    def was_made_empty(self) -> bool:
        """Whether it is adopted and no block of it has to be loaded: EBS initializes volumes of snapshots."""
        return self.adopts is not None and not self.snapshot_id

    @property
    def swaps_root(self) -> bool:
        """Whether EC2 swaps the volume in as the root volume of a running instance."""
        return self.replaces is not None and self.replaces.root_device is not None

    @property
    def place(self) -> str | None:
        """The device at the end."""
        return (self.replaces.root_device if self.replaces else None) or self.device


class PhaseReport(Contract):
    """A part of a restore: estimated, and as it was; None where one of the two is missing."""

    phase: Phase
    estimated_p50_seconds: float | None = None
    estimated_p90_seconds: float | None = None
    actual_seconds: float | None = None


class Timeline(Contract):
    """When the states of a volume's restore had what they waited for; None where the way leads past them."""

    model_config = {"extra": "ignore"}

    began: Instant
    copied: Instant | None = None
    prepared: Instant | None = None
    asked: Instant | None = None
    available: Instant | None = None
    attached: Instant | None = None
    starting: Annotated[Instant | None, Field(description="EC2 was asked to start the instance.")] = None
    swapping: Annotated[Instant | None, Field(description="EC2 was asked to swap the root volume.")] = None
    swapped: Annotated[Instant | None, Field(description="It had, and the instance is up.")] = None
    started: Annotated[Instant | None, Field(description="The instance that was started is up.")] = None
    measured_before: Instant | None = None
    armed: Annotated[Instant | None, Field(description="The agent has taken the volume of a rewind.")] = None
    evident: Annotated[
        Instant | None, Field(description="The snapshot of the volume as it was is completed.")
    ] = None
    initialized: Instant | None = None
    verified: Instant | None = None


class Plan(Contract):
    """One strategy with its numbers, ready to be carried out."""

    strategy: Strategy
    initialization_rate_mib_s: int | None = None
    boost: Boost | None = None
    copy_minutes: Annotated[
        int | None, Field(description="The completion duration that the snapshot's copy asks for.")
    ] = None
    start_at: Annotated[
        Instant | None,
        Field(
            description="The volume is made then: volumes before it hold the Region's rate until about then."
        ),
    ] = None
    usable_seconds: int
    ready_p50_seconds: int
    ready_p90_seconds: int
    cost_usd: Usd
    cost_parts: list[CostPart] = Field(default_factory=list)
    why: str
    deadline_missed: bool = False
    basis: Basis = Basis()
    phases: Annotated[
        dict[Phase, tuple[float, float]], Field(description="P50 and P90 seconds of each part.")
    ] = Field(default_factory=dict)
    block_usd_per_thousand: Annotated[
        Usd | None, Field(description="Of a rewind: what 1,000 requests of GetSnapshotBlock cost.")
    ] = None
    read_limit_mib_s: Annotated[
        float | None, Field(description="What volume, instance and request allow the agent; S3 aside.")
    ] = None
    evidence: Annotated[
        RewindEvidence | None, Field(description="Of a rewind: what keeps the volume as it was.")
    ] = None
    compare: Annotated[
        RewindCompare | None, Field(description="Of a rewind: how the blocks that differ are found.")
    ] = None

    @property
    def decidable_usd(self) -> Decimal:
        """The price without what every strategy costs."""
        return self.cost_usd - sum((part.usd for part in self.cost_parts if part.sunk), Decimal(0))


class LeftThing(Contract):
    """What a restore has left that costs money and that nobody may need any more."""

    thing: str
    usd_per_month: Usd | None = Field(default=None, description="null where it is not known.")
    remove: str = Field(description="The command that ends the costs.")


class FleetShare(Contract):
    """What the plan of a fleet gives one of its volumes; its restore takes it if it can still be had."""

    strategy: Strategy
    initialization_rate_mib_s: int | None = None
    boost: Boost | None = None
    card: Annotated[int | None, Field(ge=0, description="The EBS card, where the instance has several.")] = (
        None
    )
    start_at: Instant | None = None
    ready_p90_at: Instant
    deadline_missed: bool = False
    cost_usd: Usd
    sharers: Annotated[
        int,
        Field(
            description="Volumes of the fleet with fast snapshot restore of the same snapshot and zone, or "
            "to which the blocks of the same snapshot are written."
        ),
    ] = 1
    fast_restore_usd: Annotated[Usd, Field(description="Its part of the price of fast snapshot restore.")] = (
        Decimal(0)
    )
    blocks_usd: Annotated[
        Usd,
        Field(description="Its part of the price of the blocks, which are fetched once for all of these."),
    ] = Decimal(0)
    snapshots_read: Annotated[int, Field(description="Snapshots of which the fleet fetches the blocks.")] = 1
    read_beside: Annotated[
        list[int],
        Field(
            description="Bytes that the agent moves of each volume that other restores make there, of the "
            "same EBS card."
        ),
    ] = Field(default_factory=list)


class Candidate(Contract):
    """A strategy as it was considered: chosen, or rejected with the reason."""

    strategy: Strategy
    feasible: bool
    chosen: bool
    reason: str
    initialization_rate_mib_s: int | None = None
    boost: Boost | None = None
    usable_seconds: int | None = None
    ready_p50_seconds: int | None = None
    ready_p90_seconds: int | None = None
    cost_usd: Usd | None = None
    cost_parts: list[CostPart] = Field(default_factory=list)
    cost_arithmetic: str = ""
    kept_on_usd_a_month: Annotated[
        Usd | None,
        Field(
            description="What it costs to keep fast snapshot restore enabled, for this snapshot in this "
            "zone; null for other strategies."
        ),
    ] = None
    basis: Basis = Basis()


class Keeping(Contract):
    """What it costs a month to keep what a restore may leave, for storage alone, at the plan's prices."""

    volume_usd: Usd | None = None
    snapshot_usd: Usd | None = Field(
        default=None, description="At most: of a snapshot that shares no block with others."
    )
    fast_restore_usd: Usd | None = None


class HotPlan(Contract):
    """What is read of a volume before all else, because applications have read it first."""

    bytes: int
    recordings: Annotated[int, Field(description="How many recordings of reads it is made of.")]
    warm_seconds: Annotated[int, Field(description="When the last of it is read (P50), from the plan on.")]
    warm_p90_seconds: Annotated[int, Field(description="The same by the cautious estimate.")]


class VolumePlan(Contract):
    """What will be done for one volume, and what instead if that fails."""

    volume: VolumeAssignment
    plan: Plan
    fallbacks: list[Plan] = Field(default_factory=list)
    candidates: list[Candidate] = Field(default_factory=list)
    starts_at: Instant | None = Field(
        default=None, description="When it is this volume's turn; its times are reckoned from then on."
    )
    budget_usd: Usd | None = Field(
        default=None,
        description="What maxCostUsd and approvals leave this volume: its price and an even part of what "
        "nobody needs.",
    )
    keeping: Keeping | None = None
    hot: HotPlan | None = Field(default=None, description="Null where no recording helps.")


class Schedule(Contract):
    """The lines alone, as a page reads them in an account."""

    lines: list[ScheduleLine]


class ByHand(Contract):
    """The same volumes read by a person with a program on the instance, all at once."""

    program: Literal["dd", "fio"]
    command: str
    ready_seconds: int = Field(
        description="From a speed that was published once, for the whole volume; no P90 is known."
    )
    cost_usd: Usd = Decimal(0)
    effort: str


class PlanSummary(Contract):
    """The plans of all volumes together."""

    total_cost_usd: Usd
    ready_p90_at: Instant
    deadline_missed: bool
    deadline_seconds: int | None = Field(default=None, description="The deadline, from the plan on.")
    late_seconds: int = Field(
        default=0, description="How long after the deadline the last volume is at full speed (P90)."
    )
    schedule: list[ScheduleLine] = Field(
        default_factory=list, description="A line for each group of alike volumes, the first to begin first."
    )
    by_hand: list[ByHand] = Field(
        default_factory=list, description="Empty where no instance could read, or its speed is not known."
    )
    why: str
    could_save_usd: Annotated[
        Usd, Field(description="How much less any other mix could cost at most; 0 where none costs less.")
    ] = Decimal(0)
    needs_approval: str | None = Field(
        default=None,
        description="Why somebody must approve it before anything is made; null where nobody must.",
    )
    price_book_as_of: Instant
    price_book_stale: bool = Field(
        default=False, description="A price that the plans were reckoned with is more than 90 days old."
    )
    price_source: str
    notes: list[str] = Field(
        default_factory=list,
        description="What is out of the ordinary: newer snapshots passed over and why, volumes that are of "
        "different times, prices that could change the plan.",
    )


class PlannedVolumes(Contract):
    """One plan per volume."""

    plans: list[VolumePlan]
    summary: PlanSummary


class ApprovalQuestion(Contract):
    """What somebody is asked to approve before anything is made."""

    asked_at: Instant
    until: Instant = Field(description="Then the restore fails: it would be too late for its deadline.")
    usd: Usd = Field(
        description="The price of the plan, and from then on the most that another plan may cost."
    )
    reason: str


class Approval(ApprovalQuestion):
    """The question with its answer: who approved and when, or when the time for it was over."""

    model_config = {"extra": "ignore"}

    approved_at: Instant | None = None
    by: str | None = Field(
        default=None, description="The ARN of the caller who signed; any other name says what kind it is."
    )
    ended_at: Instant | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody approved it and there is time left."""
        return self.approved_at is None and self.ended_at is None


class Failure(Contract):
    """An error as Step Functions reports it."""

    state: str | None = None
    error: str
    cause: str = ""


class VolumeFailure(Failure):
    """As the execution of a volume keeps it, and fails with it."""

    no_fallback: Annotated[str | None, Field(description="Why no other plan took over.")] = None
    clean_ups: Annotated[list[str], Field(description="Why clean-up failed too.")] = []


DrillOutcome = Literal["passed", "late", "failed"]


class DrillResult(Contract):
    """What a drill has shown, against its objectives."""

    restore_id: str
    runbook: str
    at: Annotated[Instant, Field(description="The trigger: when the restore was started.")]
    outcome: Annotated[
        DrillOutcome,
        Field(description="late: an objective was missed. failed: not ready, or the application not back."),
    ]
    recovery_seconds: Annotated[
        int | None, Field(description="From the trigger to what recoveryOf names; null where it failed.")
    ] = None
    recovery_of: Annotated[
        Literal["volumes", "application"],
        Field(
            description="volumes: until the last one was at full speed. application: until it was back, with "
            "drill.after."
        ),
    ] = "volumes"
    recovery_objective_seconds: int | None = None
    point_seconds: Annotated[
        int | None,
        Field(description="How old the oldest snapshot was at the trigger, by the time it was started."),
    ] = None
    point_objective_seconds: int | None = None


class LatencyMs(Contract):
    """Percentiles of read latency in milliseconds."""

    model_config = {"extra": "ignore"}

    p50: float
    p90: float
    p99: float
    max: float
    mean: float | None = None


class HistogramBin(Contract):
    """Reads that took at most this long, and longer than the bin before."""

    model_config = {"extra": "ignore"}

    up_to_ms: float | None = None
    count: int


class Measurement(Contract):
    """What `warmer verify` measured."""

    model_config = {"extra": "ignore"}

    samples: int
    iops: float
    latency_ms: LatencyMs
    histogram: list[HistogramBin] = Field(default_factory=list)

    @property
    def in_words(self) -> str:
        """`64 reads of 4 KiB: p50 0.6 ms, p99 1.9 ms, 1,630 IOPS`."""
        latency = self.latency_ms
        return (
            f"{self.samples} reads of 4 KiB: p50 {latency.p50:.1f} ms, p99 {latency.p99:.1f} ms, "
            f"{self.iops:,.0f} IOPS"
        )


class Confirmation(Contract):
    """What VolumeReadOps says of a volume after it was called ready, and what that is judged by."""

    index: int
    volume_id: str
    since: Annotated[Instant, Field(description="From then on Rewarm did not read the volume.")]
    level_before: Annotated[float, Field(description="Reads a minute before the warm-up.")]
    warm_read_ms: Annotated[float, Field(description="A read of a warm volume takes at most so long.")]
    opinion: Opinion | None = Field(default=None, description="Null while CloudWatch is waited for.")
    reason: str = ""


class DispatchWarmerResult(Contract):
    """The command that warms the volume up."""

    command_id: str
    instance_id: str
    progress_key: str
    started_at: Instant
    read_ops_before: float
    hot_blocks: Annotated[int, Field(ge=0, description="Of the hot set that the agent reads first.")] = 0


class InitializationSignals(Contract):
    """What each source says of the initialization; None where it says nothing."""

    agent: JsonObject | None = None
    read_ops_per_minute: list[float] = Field(default_factory=list)
    read_latency_ms: float | None = Field(
        default=None, description="VolumeTotalReadTime / VolumeReadOps of the last minute with reads."
    )
    initialization_state: str | None = None
    initialization_progress: int | None = None
    fast_restored: bool | None = None
