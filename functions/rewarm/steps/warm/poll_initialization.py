"""State `Poll Initialization`: gathers the signals that domain/ready judges, and notices a standstill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from rewarm.contracts.base import JsonObject
from rewarm.contracts.events import PollInitializationEvent
from rewarm.contracts.results import PollInitializationResult, VerifyVolumeResult
from rewarm.contracts.values import DispatchWarmerResult, InitializationSignals, Measurement
from rewarm.domain.errors import (
    TEMPORARY,
    AgentFailedError,
    AgentInterruptedError,
    AgentUnreachableError,
    InitializationStalledError,
    RestoreError,
    VolumeNotFoundError,
    VolumeUnreadableError,
)
from rewarm.domain.model import CommandStatus, InitializationStatus, ReadActivity, Strategy
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.readiness import AgentAccount, Observation, Readiness, judge
from rewarm.domain.ready.reads import StableRule, is_read, latest_read_latency_ms, p99_limit_ms
from rewarm.domain.time.measured import Point, with_point
from rewarm.domain.time.patience import LEAST
from rewarm.domain.units import duration_text, size_text
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Scope, reported
from rewarm.domain.volume.proof import wrong_volume
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands, Instances
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import Metrics, VolumeStore
from rewarm.steps.record import loading
from rewarm.steps.record.restore import FINISHED, Status, stop_if_cancelled
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.registration import Metric, state
from rewarm.steps.warm.agent_command import (
    LOOK_AFTER,
    SHORTEST_STALL,
    bytes_to_read,
    check_in_place,
    check_silent_agent,
    check_still_there,
    stall_patience,
)
from rewarm.steps.warm.unseen import silence_allowed, unseen, without_blindness

READ_OPS_SHOWN = 15
METRICS_LOOK_BACK = timedelta(minutes=30)
RATE_STALL_STEPS = 20
"""AWS keeps a provisioned rate within a tenth, so a per cent that takes twenty times as long never comes."""
BACKGROUND_STALL_FACTOR = 3
HOT_WAIT_SECONDS, HOT_WAIT_FRACTION = 10, 1 / 20
"""The longest wait while the agent reads the hot set, and the same where that has taken long."""
LATE_WAIT_FRACTION = 0.05
"""After the estimate, waits grow with the time already spent, so that days fit the event history."""


class PollInitializationPorts(Value, kw_only=True):
    """The ports that poll_initialization needs."""

    volumes: VolumeStore
    commands: Commands
    instances: Instances
    metrics: Metrics
    artifacts: Artifacts
    table: RestoreTable


def _metrics(event: PollInitializationEvent, result: PollInitializationResult) -> Iterator[Metric]:
    """The agent's rate while it reads; after its end only CloudWatch is waited for."""
    before = event.previous.agent_finished_at if event.previous else None
    if event.dispatch is not None and before is None and result.mib_per_second is not None:
        yield Metric("AgentMibPerSecond", result.mib_per_second, "None")


@state("Poll Initialization", metrics=_metrics)
def poll_initialization(
    event: PollInitializationEvent, ports: PollInitializationPorts
) -> PollInitializationResult:
    """Returns the initialization's progress, and when to check next.

    Nothing is known while AWS throttles or does not answer, and the initialization goes on meanwhile. So
    such an error is raised at the first look, and after `patience` only. Raises the Agent… errors,
    InitializationStalledError, VolumeUnreadableError, RestoreCancelledError, VolumeFailedError and
    VolumeNotFoundError, too.
    """
    try:
        return _polled(without_blindness(event), ports)
    except TEMPORARY as error:
        if event.previous is None:
            raise
        return unseen(event, event.previous, error)


def _polled(event: PollInitializationEvent, ports: PollInitializationPorts) -> PollInitializationResult:
    status = stop_if_cancelled(ports.table, event.restore_id)
    before: VerifyVolumeResult | None = None
    account: JsonObject | None = None
    if event.volume.adopts is not None:
        check_still_there(event.volume, ports.volumes, ports.instances)
    if event.dispatch is not None:
        seen, account, before = _watch_agent(event, event.dispatch, ports)
    else:
        seen = _watch_volume(event, ports.volumes)
    warm = _warm_already(event)
    if warm is not None:
        seen = replace(seen, bytes_total=0)
    verdict = warm or judge(seen)
    if verdict.ready:
        _check_in_place(event, ports)
    result = _result(event, seen, verdict, account).model_copy(update={"before": before})
    loading.note_sample(event, result, ports.artifacts)
    _stop_if_stalled(event, result)
    key = event.dispatch.progress_key if event.dispatch else None
    record = VolumeNotes(ports.table, event.restore_id, event.volume.index)
    record.note_initialization(result, event.volume_id, event.plan.strategy, key, event.now)
    if status != Status.INITIALIZING and status not in FINISHED:
        ports.table.advance(event.restore_id, Status.INITIALIZING.value)
    return result


def _check_in_place(event: PollInitializationEvent, ports: PollInitializationPorts) -> None:
    """Raises VolumeFailedError, VolumeNotFoundError; nothing is known where EC2 does not say."""
    try:
        volume = ports.volumes.get(event.volume_id)
    except VolumeNotFoundError:
        raise
    except RestoreError:
        return
    check_in_place(volume, event.volume.instance_id, ports.instances)


def _warm_already(event: PollInitializationEvent) -> Readiness | None:
    """The verdict on an adopted volume that need not be read; None while nothing shows that it is warm."""
    volume = event.volume
    first = event.before
    if volume.adopts is None or event.dispatch is not None:
        return None
    reasons = () if volume.warm_because is None else (volume.warm_because,)
    if not volume.was_made_empty:
        if first is None or first.verdict != "fast" or first.result is None:
            return None
        found = f"before anything was read, {first.result.samples:,} random reads were within the limit"
        reasons = (*reasons, f"{found} (a sample of its blocks)")
    return Readiness(True, reasons, 100.0, 0, None, 0, 1)


def _watch_volume(event: PollInitializationEvent, volumes: VolumeStore) -> Observation:
    fast_restored: bool | None = None
    status: InitializationStatus | None = None
    if event.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        fast_restored = volumes.get(event.volume_id).fast_restored
    if not fast_restored:
        status = volumes.initialization_status(event.volume_id)
    previous = event.previous
    standing = (event.now - previous.last_progress_at).total_seconds() if previous else 0.0
    return Observation(
        now=event.now,
        strategy=event.plan.strategy,
        bytes_total=event.volume.data_bytes,
        fast_restored=fast_restored,
        initialization=status,
        seconds_spent=(event.now - _first_polled_at(event)).total_seconds(),
        expected_seconds_left=_expected_seconds_left(event),
        standing_seconds=standing,
        percent_before=previous.progress_percent if previous else 0.0,
        completed_seconds=standing if _was_completed(previous) else 0.0,
    )


def _was_completed(previous: PollInitializationResult | None) -> bool:
    return previous is not None and previous.signals.initialization_state == "completed"


def _expected_seconds_left(event: PollInitializationEvent) -> float:
    spent = (event.now - _first_polled_at(event)).total_seconds()
    planned = event.plan.ready_p50_seconds - event.plan.usable_seconds
    return max(planned - spent, spent * LATE_WAIT_FRACTION)


def _watch_agent(
    event: PollInitializationEvent, dispatch: DispatchWarmerResult, ports: PollInitializationPorts
) -> tuple[Observation, JsonObject | None, VerifyVolumeResult | None]:
    """Observation, the agent's account and, once it has ended, the cold volume's measurement."""
    before: VerifyVolumeResult | None = None
    finished_at = event.previous.agent_finished_at if event.previous else None
    account: JsonObject | None = event.previous.signals.agent if event.previous else None
    if finished_at is None:
        status = ports.commands.status(dispatch.command_id, dispatch.instance_id)
        progress = _progress(dispatch, ports.artifacts)
        account = _account(event, status, progress, dispatch.started_at) or account
        finished_at = _ended_at(status, dispatch.started_at, event.now)
        before = _measured_before(status, event.volume_id) if finished_at is not None else None
        if finished_at is None:
            last = event.previous.last_progress_at if event.previous else event.now
            silence = event.now - last
            if _is_lost_to_run_command(event, progress, silence=silence):
                finished_at = event.now
            elif not _has_moved(event, account):
                longest = silence_allowed(event, since=last)
                check_silent_agent(dispatch.instance_id, ports.instances, silence=silence, longest=longest)
    activity = _activity(event, dispatch, ports.metrics)
    seen = Observation(
        now=event.now,
        strategy=event.plan.strategy,
        bytes_total=bytes_to_read(event.request, event.volume),
        agent=_agent_account(event, account),
        agent_finished_at=finished_at,
        read_ops_before=dispatch.read_ops_before,
        read_activity=activity,
        stable=_stable_rule(event),
        seconds_spent=(event.now - dispatch.started_at).total_seconds(),
        warmed_by_agent=True,
    )
    return seen, account, before


def _progress(dispatch: DispatchWarmerResult, artifacts: Artifacts) -> JsonObject | None:
    """The agent's last progress; None also where S3 does not answer: Run Command says how it ends."""
    try:
        return artifacts.get_json(dispatch.progress_key)
    except RestoreError:
        return None


def _has_moved(event: PollInitializationEvent, account: JsonObject | None) -> bool:
    """Whether the agent has read more than at the last look, so that it is not silent."""
    done = agent_output.figures(account).bytes_done or 0
    return event.previous is not None and done > event.previous.bytes_done


def _activity(
    event: PollInitializationEvent, dispatch: DispatchWarmerResult, metrics: Metrics
) -> list[ReadActivity]:
    """The volume's reads; none where CloudWatch does not answer: they are a second witness only."""
    since = max(dispatch.started_at, event.now - METRICS_LOOK_BACK)
    try:
        return metrics.read_activity(event.volume_id, since=since, until=event.now)
    except RestoreError:
        return []


def _is_lost_to_run_command(
    event: PollInitializationEvent, progress: JsonObject | None, *, silence: timedelta
) -> bool:
    """Whether the agent says that it has read everything, and Run Command does not show its end."""
    if progress is None or progress.get("event") != "result" or silence <= LOOK_AFTER:
        return False
    if progress.get("verdict") != "complete":
        return False
    _check_everything_was_read(event, progress)
    return True


def _measured_before(status: CommandStatus | None, volume_id: str) -> VerifyVolumeResult | None:
    """The cold volume's measurement; None without a readable figure, which only the report then lacks."""
    measured = agent_output.cold_measurement(status) if status is not None else None
    if measured is None or measured.get("verdict") not in {"fast", "slow"}:
        return None
    if wrong_volume(measured, volume_id) is not None:
        return None
    try:
        result = Measurement.model_validate(measured)
    except ValueError:
        return None
    return VerifyVolumeResult(
        finished=True, wait_seconds=1, verdict=measured["verdict"], result=result, reason=result.in_words
    )


def _ended_at(status: CommandStatus | None, started_at: datetime, now: datetime) -> datetime | None:
    """When the command ended, by the instance's clock if plausible, so that a late check costs no time."""
    if status is None or not status.finished:
        return None
    ended = status.ended_at
    return ended if ended is not None and started_at <= ended <= now else now


def _stable_rule(event: PollInitializationEvent) -> StableRule | None:
    """The rule for VolumeReadOps; None if random reads follow, which prove more (steps/verify)."""
    verify = event.request.verify
    if verify.samples > 0:
        return None
    limit = p99_limit_ms(verify.max_p99_ms, event.volume.volume.settings())
    return event.request.readiness.stable_rule(limit)


def _account(
    event: PollInitializationEvent,
    status: CommandStatus | None,
    progress: JsonObject | None,
    started_at: datetime,
) -> JsonObject | None:
    """The agent's account: its result once the command has succeeded, before that its last progress line."""
    if status is None:
        if progress is None and event.now - started_at > LEAST:
            raise AgentUnreachableError("SSM knows nothing of the warm-up command")
        return progress
    if not status.finished:
        return progress
    account = agent_output.result(status)
    if account is None and progress is not None and progress.get("event") == "result":
        account = progress
    if status.status == "Success" and account is not None and account.get("verdict") == "complete":
        _check_everything_was_read(event, account)
        return account
    raise _agent_error(event, status, account or progress)


def _check_everything_was_read(event: PollInitializationEvent, account: JsonObject) -> None:
    """Checks the agent's `complete` against our own block map, by which the volume may still be cold."""
    wrong = wrong_volume(account, event.volume_id)
    if wrong is not None:
        raise AgentFailedError(f"the warm-up agent on {event.volume.instance_id} read nothing here: {wrong}")
    read = agent_output.figures(account)
    done = read.bytes_done or 0
    needed = bytes_to_read(event.request, event.volume)
    asked = event.request.warm_up.scope
    if asked is Scope.USED and reported(account.get("scope"), Scope.WRITTEN) is Scope.USED:
        needed = min(needed, read.bytes_total or 0)
    if done < needed:
        holder = "volume has" if asked is Scope.WHOLE else "snapshot holds"
        raise AgentFailedError(
            f"the warm-up agent on {event.volume.instance_id} read only {size_text(done)} of the "
            f"{size_text(needed)} that the {holder}, and took that for everything"
        )


def _agent_error(
    event: PollInitializationEvent, status: CommandStatus, account: JsonObject | None
) -> RestoreError:
    ending = agent_output.ending(status)
    instance_id = event.volume.instance_id
    if agent_output.is_unreachable(status):
        return AgentUnreachableError(f"the warm-up command never reached {instance_id}: {ending}")
    if agent_output.is_interrupted(status):
        return AgentInterruptedError(f"the warm-up agent on {instance_id} was interrupted: {ending}")
    read = agent_output.figures(account)
    if status.status == "Success" and agent_output.result(status) is None and not read.errors:
        lost = "so that nobody knows whether it has read everything"
        return AgentFailedError(
            f"the account of the warm-up agent on {instance_id} is lost, {lost}: {read.in_words}{ending}"
        )
    return (VolumeUnreadableError if read.errors else AgentFailedError)(
        f"the warm-up agent on {instance_id} did not read everything: {read.in_words}{ending}"
    )


def _agent_account(event: PollInitializationEvent, account: JsonObject | None) -> AgentAccount:
    figures = agent_output.figures(account)
    needed = bytes_to_read(event.request, event.volume)
    return AgentAccount(
        bytes_done=figures.bytes_done or 0,
        bytes_total=needed if figures.bytes_total is None else figures.bytes_total,
        mib_per_second=figures.mib_per_second,
        eta_seconds=figures.eta_seconds,
        scope=reported((account or {}).get("scope"), event.request.warm_up.scope),
    )


def _first_polled_at(event: PollInitializationEvent) -> datetime:
    return event.previous.first_polled_at if event.previous else event.now


def _result(
    event: PollInitializationEvent, seen: Observation, verdict: Readiness, account: JsonObject | None
) -> PollInitializationResult:
    previous = event.previous
    status = seen.initialization
    read = is_read(seen.read_activity, seen.read_ops_before, seen.now)
    completed = status is not None and status.state == "completed"
    moved = previous is None or verdict.bytes_done > previous.bytes_done or verdict.ready or read
    moved = moved or (completed and not _was_completed(previous))
    hot_seconds, reading = _hot(event, account)
    finished_now = seen.agent_finished_at is not None and (previous is None or not previous.agent_finished_at)
    return PollInitializationResult(
        ready=verdict.ready,
        wait_seconds=min(verdict.wait_seconds, _hot_wait_seconds(seen) if reading else verdict.wait_seconds),
        progress_percent=round(verdict.progress_percent, 1),
        bytes_done=verdict.bytes_done,
        bytes_total=seen.agent.bytes_total if seen.agent else seen.bytes_total,
        mib_per_second=verdict.mib_per_second,
        eta_seconds=verdict.eta_seconds,
        reasons=[*verdict.reasons, *_hot_reasons(hot_seconds, reading)],
        hot_seconds=hot_seconds,
        signals=InitializationSignals(
            agent=account,
            read_ops_per_minute=[point.read_ops for point in seen.read_activity[-READ_OPS_SHOWN:]],
            read_latency_ms=latest_read_latency_ms(seen.read_activity),
            initialization_state=status.state if status else None,
            initialization_progress=status.progress_percent if status else None,
            fast_restored=seen.fast_restored,
        ),
        polls=previous.polls + 1 if previous else 1,
        first_polled_at=_first_polled_at(event),
        last_progress_at=event.now
        if moved or finished_now or previous is None
        else previous.last_progress_at,
        agent_finished_at=seen.agent_finished_at,
        points=_points(event, verdict, account),
    )


def _hot(event: PollInitializationEvent, account: JsonObject | None) -> tuple[float | None, float | None]:
    """How long the hot set took; before that, how many per cent of it the agent has read."""
    known = event.previous.hot_seconds if event.previous else None
    read = agent_output.figures(account)
    if known is not None or event.dispatch is None or not event.dispatch.hot_blocks:
        return known, None
    percent = read.first_percent
    if percent is None or percent < 100:
        return None, percent
    seconds = read.elapsed_seconds if read.first_seconds is None else read.first_seconds
    return max(0.0, seconds or 0.0), None


def _hot_reasons(seconds: float | None, percent: float | None) -> list[str]:
    if seconds is not None:
        return [f"the hot set was warm after {duration_text(seconds)}"]
    return [] if percent is None else [f"the agent has read {percent:.0f} % of the hot set"]


def _hot_wait_seconds(seen: Observation) -> int:
    """Short, so that the message comes soon; longer where it takes long, so that the history suffices."""
    return max(HOT_WAIT_SECONDS, round(seen.seconds_spent * HOT_WAIT_FRACTION))


def _points(event: PollInitializationEvent, verdict: Readiness, account: JsonObject | None) -> list[Point]:
    """Points by the agent's own clock, if there is an agent: SSM's delivery does not count as reading."""
    seconds = agent_output.figures(account).elapsed_seconds
    if seconds is None:
        seconds = (event.now - _first_polled_at(event)).total_seconds()
    known = event.previous.points if event.previous else []
    return with_point(known, round(seconds, 1), verdict.bytes_done)


def _stop_if_stalled(event: PollInitializationEvent, result: PollInitializationResult) -> None:
    """Raises InitializationStalledError. After the agent's end only metrics are waited for, within limits."""
    if result.ready or result.agent_finished_at is not None:
        return
    standing = event.now - result.last_progress_at
    if standing > _stall_patience(event):
        raise InitializationStalledError(
            f"{event.volume_id} has made no progress for {duration_text(standing.total_seconds())} at "
            f"{result.progress_percent:.0f} %: {'; '.join(result.reasons)}"
        )


def _stall_patience(event: PollInitializationEvent) -> timedelta:
    """Many times the interval in which progress is expected; AWS promises none for `background`."""
    last = event.previous.last_progress_at if event.previous else event.now
    return stall_patience(event.request, max(_usual_patience(event), silence_allowed(event, since=last)))


def _usual_patience(event: PollInitializationEvent) -> timedelta:
    expected = timedelta(seconds=event.plan.ready_p90_seconds)
    if event.dispatch is not None:
        return SHORTEST_STALL
    if event.plan.strategy is Strategy.PROVISIONED_RATE:
        return max(SHORTEST_STALL, RATE_STALL_STEPS * expected / 100)
    if event.plan.strategy is Strategy.VOLUME_CLONE:
        return max(SHORTEST_STALL, expected)
    return max(timedelta(days=1), BACKGROUND_STALL_FACTOR * expected)
