"""What POST /plans answers: each volume's plan, the facts behind it, and what other deadlines cost."""

from typing import Annotated

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, Usd
from rewarm.contracts.request import RestoreRequest, RewindCompare, RewindEvidence
from rewarm.contracts.values import DataBytesFrom, PlanSummary, VolumePlan
from rewarm.domain.model import Boost, Strategy
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.volume.volume_types import VolumeLimits

PICTURES = ("plan", "what-if", "schedule")
"""Cost against time to full speed; price against deadline; when which volumes are made and loaded."""


class InstanceLimits(Contract):
    """What the instance can read from EBS, or one EBS card of it; None where AWS does not say."""

    instance_type: str
    card: int | None = Field(
        default=None, description="The EBS card of which these are the limits; null where there is one."
    )
    baseline_throughput_mib_s: float | None = None
    maximum_throughput_mib_s: float | None = None
    baseline_iops: int | None = None
    maximum_iops: int | None = None


class FastSnapshotRestoreFacts(Contract):
    """Fast snapshot restore of the snapshot in the target's zone."""

    state: str = Field(description="disabled where it was never enabled.")
    enabled_at: Instant | None = None
    credits: float | None = Field(default=None, description="None where CloudWatch has no datapoint.")


class QuotasLeft(Contract):
    """What the Region's quotas leave at this moment."""

    fast_snapshot_restores: int
    initialization_rate_mib_s: int
    volume_clones: int


class PlanFacts(Contract):
    """Everything about one volume that its estimates follow from."""

    data_bytes: int
    data_bytes_from: DataBytesFrom
    written_bytes: int
    snapshot_size_gib: int
    volume_limits: VolumeLimits
    instance_limits: InstanceLimits | None = None
    agent_available: bool
    fast_snapshot_restore: FastSnapshotRestoreFacts
    quotas_left: QuotasLeft
    clone_source: str | None = Field(default=None, description="The source volume, where it could be copied.")
    volumes_of_snapshot: int
    volumes_of_restore: int


class RewindWay(Contract):
    """One way of a rewind: what is kept, how the blocks that differ are found, and what that takes."""

    evidence: RewindEvidence
    compare: RewindCompare
    chosen: bool = Field(default=False, description="The numbers of the plan are those of this way.")
    reason: str | None = Field(default=None, description="Why this way is not possible; null where it is.")
    blocks: int | None = Field(default=None, description="Of 512 KiB, expected to be written.")
    most_blocks: int | None = None
    seconds_p50: int | None = Field(default=None, description="Until the volume is given back.")
    seconds_p90: int | None = None
    phases: dict[str, tuple[float, float]] = Field(
        default_factory=dict, description="P50 and P90 of each part, in seconds, one after the other."
    )
    cost_usd: Usd | None = None
    most_usd: Usd | None = None
    cost_parts: list[CostPart] = Field(default_factory=list)
    kept_usd_a_month: Usd | None = Field(
        default=None, description="What the snapshot or the log costs for as long as it is kept."
    )


class RewindPlan(Contract):
    """What it would take to put the source volume itself back to the snapshot, block by block."""

    volume_id: str
    instance_id: str | None = Field(default=None, description="That has the volume; its agent would write.")
    possible: bool
    reason: str | None = Field(default=None, description="Why it is not possible, and what works.")
    compared_with: str | None = Field(
        default=None, description="The volume's newest completed snapshot, with which blocks were compared."
    )
    blocks: int | None = Field(default=None, description="Of 512 KiB, expected to be written.")
    most_blocks: int | None = Field(default=None, description="At most, if each write met another block.")
    bytes: int | None = None
    seconds_p50: int | None = Field(default=None, description="Until the volume is given back.")
    seconds_p90: int | None = None
    phases: dict[str, tuple[float, float]] = Field(
        default_factory=dict, description="P50 and P90 of each part, in seconds, one after the other."
    )
    cost_usd: Usd | None = None
    most_usd: Usd | None = None
    cost_parts: list[CostPart] = Field(default_factory=list)
    evidence: str | None = Field(default=None, description="What is kept of the volume; the way back.")
    ways: list[RewindWay] = Field(
        default_factory=list, description="Every way, the chosen one first; empty where none is possible."
    )
    why: str | None = Field(
        default=None, description="Why this way is chosen, with time and price of the other one."
    )
    notes: list[str] = Field(default_factory=list)


class PlannedVolume(VolumePlan):
    """One volume's plan and facts."""

    facts: PlanFacts
    rewind: RewindPlan | None = Field(
        default=None, description="null where the source volume is gone or the snapshot of another Region."
    )


class FrontierChoice(Contract):
    """How so many volumes would be brought to full speed."""

    volumes: int = Field(ge=1)
    strategy: Strategy
    initialization_rate_mib_s: int | None = None
    boost: Boost | None = None


class FrontierOffer(Contract):
    """The least cost of all volumes for this deadline, and for longer ones up to the next offer's."""

    deadline_seconds: int
    cost_usd: Usd
    choices: Annotated[list[FrontierChoice], Field(min_length=1)]


class Price(Contract):
    """One figure of the price book."""

    name: str = Field(description="As in PriceOverrides.")
    usd: Usd
    source: str
    as_of: Instant
    stale: bool = Field(description="More than 90 days old.")


class Way(Contract):
    """A way to full speed: what people have to do for it, and when it is the right one."""

    name: str = Field(description="A strategy, or by-hand.")
    effort: str
    right_when: str


class PlanResult(Contract):
    """The plans of one request; nothing was created for them."""

    request: RestoreRequest
    plans: list[PlannedVolume]
    summary: PlanSummary
    frontier: list[FrontierOffer] = Field(
        description="By deadline, the shortest first; no strategy meets a deadline before the first one."
    )
    prices: list[Price]
    ways: list[Way] = Field(description="Every way, whether it is possible here or not.")
