"""What POST /plans answers: each volume's plan, the facts behind it, and what other deadlines cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, Usd
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Boost, DataBytesFrom, PlanSummary, VolumePlan
from rewarm.domain.model import Strategy

PICTURES = ("plan", "what-if", "schedule")
"""Cost against time to full speed; price against deadline; when which volumes are made and loaded."""


class VolumeLimits(Contract):
    """What the new volume can read once it is warm."""

    iops: int
    sustained_mib_s: float
    burst_mib_s: float


class InstanceLimits(Contract):
    """What the instance can read from EBS; None where AWS does not say."""

    instance_type: str
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


class PlannedVolume(VolumePlan):
    """One volume's plan and facts."""

    facts: PlanFacts


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
