"""How long each part of a volume's restore took, from what its execution has noted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from rewarm.contracts.base import Contract, Instant, JsonObject
from rewarm.contracts.results import PollInitializationResult, PrepareSnapshotResult, VerifyVolumeResult
from rewarm.contracts.values import DispatchWarmerResult, PhaseReport, Plan, Timeline, VolumeAssignment
from rewarm.domain.model import BLOCK_BYTES, Strategy
from rewarm.domain.plan.estimators import fsr_credits_per_hour
from rewarm.domain.ready import agent_output
from rewarm.domain.time.measured import Measured, Phase
from rewarm.domain.time.timings import PRIORS
from rewarm.domain.value import Value
from rewarm.steps.record.learned_times import likeness

MOST_POINTS = 12
"""Points of the rate over time that the history keeps; the report has all."""


class ReadyResult(Contract):
    """The parts of a ready volume's result that its times need."""

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
        """When the volume was known to be at full speed."""
        return verified_at(self.ready_at, self.after)


class VolumeTimes(Value):
    """The times of a ready volume: what was estimated, and what it took. All in seconds."""

    plan: Plan
    seconds: Mapping[Phase, float]
    since_plan_seconds: float

    @property
    def error_percent(self) -> float:
        """How far the estimated P50 was off, in percent of the actual time; above 0 if it took less."""
        return round(100 * (self.plan.ready_p50_seconds / max(1.0, self.since_plan_seconds) - 1), 1)

    def phases(self) -> list[PhaseReport]:
        """Estimated and actual seconds, in the order of Phase, without phases that have neither."""
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


def verified_at(ready_at: datetime, after: VerifyVolumeResult | None) -> datetime:
    """When the volume was known to be at full speed: `ready_at` without the benchmarks before it."""
    return ready_at - timedelta(seconds=after.benchmark_seconds if after else 0)


def ready_result(result: JsonObject) -> ReadyResult | None:
    """The result; None if the volume is not ready, or a part of its result is missing."""
    if result.get("verdict", "ready") != "ready":
        return None
    try:
        return ReadyResult.model_validate(result)
    except ValueError:
        return None


def volume_times(volume: VolumeAssignment, result: ReadyResult) -> VolumeTimes:
    """The phases whose beginning and end are both known; no duration is below 0."""
    found = _until_usable(result) | _until_initialized(result)
    if volume.adopts is not None:
        found[Phase.MEASURE] = _seconds(result.timeline.began, result.timeline.measured_before)
    if volume.instance_id is not None and result.timeline.verified is not None:
        read_at = result.initialization.agent_finished_at if _is_measured(result) else None
        until = verified_at(result.timeline.verified, result.after)
        until = until if volume.swaps_root else result.verified_at
        found[Phase.VERIFY] = _seconds(read_at or result.timeline.initialized, until)
    seconds = {phase: value for phase, value in found.items() if value is not None}
    since_plan = _seconds(result.timeline.began, result.verified_at) or 0.0
    return VolumeTimes(result.plan, seconds, since_plan)


def _until_usable(result: ReadyResult) -> dict[Phase, float | None]:
    at = result.timeline
    found = {
        Phase.CREATE: _seconds(at.asked, at.available),
        Phase.ATTACH: _seconds(at.available, at.attached),
        Phase.BOOT: _seconds(at.starting or at.swapping, at.started or at.swapped),
        Phase.MEASURE: _seconds(at.started or at.attached, at.measured_before),
    }
    if at.copied is not None:
        found[Phase.COPY] = _seconds(at.began, at.copied)
    if result.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        found[Phase.PREPARE] = _seconds(at.copied or at.began, at.prepared)
    elif result.plan.start_at is not None:
        found[Phase.QUEUE] = _seconds(at.copied or at.began, at.prepared)
    return found


def _until_initialized(result: ReadyResult) -> dict[Phase, float | None]:
    at = result.timeline
    finished_at = result.initialization.agent_finished_at
    if result.plan.strategy.reads_with_agent:
        reading = _reading_seconds(result.initialization.signals.agent)
        sent = _seconds(result.dispatch.started_at if result.dispatch else None, finished_at)
        return {
            Phase.DELIVER: None if sent is None or reading is None else max(0.0, sent - reading),
            Phase.READ: reading,
            Phase.SETTLE: None if _is_measured(result) else _seconds(finished_at, at.initialized),
        }
    if result.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        return {}
    if result.plan.strategy is Strategy.REWIND:
        return {
            Phase.DELIVER: _seconds(result.dispatch.started_at if result.dispatch else None, at.armed),
            Phase.EVIDENCE: _seconds(at.armed, at.evident),
            Phase.WRITE: _seconds(at.evident or at.armed, at.initialized),
        }
    if result.plan.strategy is Strategy.DIRECT_WRITE:
        return {Phase.WRITE: _seconds(at.attached, at.initialized)}
    since = at.started or at.attached or at.available or at.measured_before
    return {Phase.LOAD: _seconds(since, at.initialized)}


def _is_measured(result: ReadyResult) -> bool:
    """Whether random reads have proven what the agent said, so that VolumeReadOps was not waited for."""
    return result.after is not None and result.after.result is not None


def _reading_seconds(agent: JsonObject | None) -> float | None:
    """How long the agent read; None if it was interrupted, because its account covers only the last part."""
    figures = agent_output.figures(agent)
    return None if figures.bytes_resumed else figures.elapsed_seconds


def _seconds(since: datetime | None, until: datetime | None) -> float | None:
    return None if since is None or until is None else max(0.0, (until - since).total_seconds())


def history_record(name: str, volume: VolumeAssignment, result: ReadyResult, sharers: int) -> Measured:
    """The record for the history; `sharers` is how many volumes wait for credits of this snapshot."""
    times = volume_times(volume, result)
    plan = result.plan
    step = max(1, -(-len(result.initialization.points) // MOST_POINTS))
    return Measured(
        name=name,
        at=result.ready_at,
        strategy=plan.strategy,
        likeness=likeness(volume),
        written_bytes=volume.written_blocks * BLOCK_BYTES,
        data_bytes=volume.data_bytes,
        snapshot_size_gib=volume.snapshot_size_gib,
        seconds=times.seconds,
        lead_seconds=_lead_seconds(volume.snapshot_size_gib, result.preparation) if sharers == 1 else None,
        read_limit_mib_s=plan.read_limit_mib_s,
        rate_mib_s=plan.initialization_rate_mib_s,
        points=tuple(result.initialization.points[::step]),
        estimated_p50_seconds=plan.ready_p50_seconds,
        estimated_p90_seconds=plan.ready_p90_seconds,
        actual_seconds=times.since_plan_seconds,
    )


def _lead_seconds(size_gib: int, preparation: PrepareSnapshotResult | None) -> float | None:
    """Seconds to optimize the snapshot and to earn one credit, by AWS's figures.

    None if somebody else had enabled fast snapshot restore.
    """
    if preparation is None or not preparation.enabled_by_us:
        return None
    optimizing = PRIORS.fsr_optimizing_seconds_per_tib.p50 * size_gib / 1024
    return optimizing + 3_600 / fsr_credits_per_hour(size_gib)
