"""How long each part of a volume's restore took, from what its execution has noted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.contracts import (
    DispatchWarmerResult,
    PhaseReport,
    Plan,
    PollInitializationResult,
    PrepareSnapshotResult,
    Timeline,
    VerifyVolumeResult,
    VolumeAssignment,
)
from rewarm.contracts.base import Contract, Instant, JsonObject
from rewarm.domain.model import BLOCK_BYTES, Strategy
from rewarm.domain.plan.fast_restore import fsr_credits_per_hour
from rewarm.domain.ready import agent_output
from rewarm.domain.time.measured import Measured, Phase
from rewarm.domain.time.timings import PRIORS
from rewarm.steps.record.learning import likeness

POINTS_KEPT = 12
"""Of the rate over time; the report has all."""


class Ended(Contract):
    """What restore-volume answers of a volume that is ready; what it also says is not looked at."""

    model_config = {"extra": "ignore"}

    plan: Plan
    timeline: Timeline
    initialization: PollInitializationResult
    preparation: PrepareSnapshotResult | None = None
    dispatch: DispatchWarmerResult | None = None
    after: VerifyVolumeResult | None = None
    ready_at: Instant

    @property
    def verified_at(self) -> datetime:
        """When it was known to be fast: benchmarks beside that are no part of the restore."""
        return self.ready_at - timedelta(seconds=self.after.benchmark_seconds if self.after else 0)


@dataclass(frozen=True, slots=True)
class Account:
    """A finished volume: what was estimated, and what it took."""

    plan: Plan
    seconds: Mapping[Phase, float]
    since_plan_seconds: float

    @property
    def error_percent(self) -> float:
        """How far P50 was off, of what it took; above 0 where it took less."""
        return round(100 * (self.plan.ready_p50_seconds / max(1.0, self.since_plan_seconds) - 1), 1)

    def phases(self) -> list[PhaseReport]:
        """Estimate beside actual, in the order of Phase; phases that neither has are left out."""
        return [
            PhaseReport(
                phase=phase,
                estimated_p50_seconds=self.plan.phases[phase][0] if phase in self.plan.phases else None,
                estimated_p90_seconds=self.plan.phases[phase][1] if phase in self.plan.phases else None,
                actual_seconds=round(self.seconds[phase], 1) if phase in self.seconds else None,
            )
            for phase in Phase
            if phase in self.seconds or phase in self.plan.phases
        ]


def ended(result: JsonObject) -> Ended | None:
    """None where the result is not that of a volume that is ready, or is one of another version."""
    if result.get("verdict", "ready") != "ready":
        return None
    try:
        return Ended.model_validate(result)
    except ValueError:
        return None


def account(volume: VolumeAssignment, one: Ended) -> Account:
    """Phases that were seen from beginning to end; a duration is never below 0."""
    found = _until_usable(one) | _until_initialized(one)
    if volume.instance_id is not None and one.timeline.verified is not None:
        found[Phase.VERIFY] = _seconds(one.timeline.initialized, one.verified_at)
    seconds = {phase: value for phase, value in found.items() if value is not None}
    since_plan = _seconds(one.timeline.began, one.verified_at) or 0.0
    return Account(one.plan, seconds, since_plan)


def _until_usable(one: Ended) -> dict[Phase, float | None]:
    at = one.timeline
    found = {
        Phase.CREATE: _seconds(at.asked, at.available),
        Phase.ATTACH: _seconds(at.available, at.attached),
        Phase.MEASURE: _seconds(at.attached, at.measured_before),
    }
    if one.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        found[Phase.PREPARE] = _seconds(at.began, at.prepared)
    return found


def _until_initialized(one: Ended) -> dict[Phase, float | None]:
    at, finished_at = one.timeline, one.initialization.agent_finished_at
    if one.plan.strategy.reads_with_agent:
        reading = _reading_seconds(one.initialization.signals.agent)
        sent = _seconds(one.dispatch.started_at if one.dispatch else None, finished_at)
        return {
            Phase.DELIVER: None if sent is None or reading is None else max(0.0, sent - reading),
            Phase.READ: reading,
            Phase.SETTLE: _seconds(finished_at, at.initialized),
        }
    if one.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        return {}
    return {Phase.LOAD: _seconds(at.attached or at.available, at.initialized)}


def _reading_seconds(account: JsonObject | None) -> float | None:
    """Of an agent that was interrupted only the last part is known, so it says nothing of the whole."""
    if agent_output.whole_number(account, "bytesResumed"):
        return None
    return agent_output.number(account, "elapsedSeconds")


def _seconds(since: datetime | None, until: datetime | None) -> float | None:
    return None if since is None or until is None else max(0.0, (until - since).total_seconds())


def measured(name: str, volume: VolumeAssignment, one: Ended, sharers: int) -> Measured:
    """The record that the history keeps; `sharers` is how many volumes wait for credits of this snapshot."""
    told, plan = account(volume, one), one.plan
    step = max(1, -(-len(one.initialization.points) // POINTS_KEPT))
    return Measured(
        name=name,
        at=one.ready_at,
        strategy=plan.strategy,
        likeness=likeness(volume),
        written_bytes=volume.written_blocks * BLOCK_BYTES,
        data_bytes=volume.data_bytes,
        snapshot_size_gib=volume.snapshot_size_gib,
        seconds=told.seconds,
        lead_seconds=_lead_seconds(volume.snapshot_size_gib, one.preparation) if sharers == 1 else None,
        read_limit_mib_s=plan.read_limit_mib_s,
        rate_mib_s=plan.initialization_rate_mib_s,
        points=tuple(one.initialization.points[::step]),
        estimated_p50_seconds=plan.ready_p50_seconds,
        estimated_p90_seconds=plan.ready_p90_seconds,
        actual_seconds=told.since_plan_seconds,
    )


def _lead_seconds(size_gib: int, preparation: PrepareSnapshotResult | None) -> float | None:
    """What AWS says that it takes: optimizing, and one credit. None where somebody else had enabled it."""
    if preparation is None or not preparation.enabled_by_us:
        return None
    optimizing = PRIORS.fsr_optimizing_seconds_per_tib.p50 * size_gib / 1024
    return optimizing + 3_600 / fsr_credits_per_hour(size_gib)
