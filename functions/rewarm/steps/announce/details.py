"""What the states `Announce …` send in `details`, by event."""

from __future__ import annotations

from rewarm.contracts import (
    DispatchWarmerResult,
    Failure,
    Plan,
    PlanSummary,
    PollInitializationResult,
    PrepareSnapshotResult,
    ReleaseResult,
    Timeline,
    Trigger,
    VerifyVolumeResult,
    VolumeAssignment,
    VolumePlan,
)
from rewarm.contracts.base import Contract, Instant, JsonObject


class PlanDetails(Contract):
    """Details of `plan`."""

    summary: PlanSummary
    plans: list[VolumePlan]
    trigger: Trigger
    deadline_at: Instant | None = None


class FallbackDetails(Contract):
    """Details of `fallback`."""

    volume: VolumeAssignment
    plan: Plan
    volume_id: str | None = None
    failure: Failure
    rejected: tuple[str, ...] = ()


class AvailableDetails(Contract):
    """Details of `available`, of a volume that is attached to nothing."""

    volume: VolumeAssignment
    plan: Plan
    volume_id: str


class AttachedDetails(AvailableDetails):
    """Details of `attached`."""

    device: str


class ReadyDetails(Contract):
    """Details of `ready`."""

    volume: VolumeAssignment
    plan: Plan
    volume_id: str
    initialization: PollInitializationResult
    before: VerifyVolumeResult | None = None
    after: VerifyVolumeResult | None = None
    released: ReleaseResult | None = None
    ready_at: Instant | None = None
    preparation: PrepareSnapshotResult | None = None
    dispatch: DispatchWarmerResult | None = None
    timeline: Timeline | None = None
    started_at: Instant
    deadline_at: Instant | None = None
    warm_ups: int = 0
    page_key: str | None = None
    last_try: bool = False
    """No Retry comes after this one (announce_record.py)."""


class FailedDetails(Contract):
    """Details of `failed`; `results` are empty where it failed before there were volumes."""

    failure: Failure
    results: list[JsonObject]
    page_key: str | None = None
