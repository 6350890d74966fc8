"""When is a volume at full speed? Pure rules over every signal that its strategy has.

`VolumeReadOps` counts what the instance reads, not what EBS loads: going quiet proves only that the reader
has stopped. So the agent's own account and the metric must agree, and for AWS's initialization its state
and its progress must. A signal that is missing is unknown, never a yes.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rewarm.domain.model import InitializationStatus, ReadActivity, Strategy
from rewarm.domain.scope import Scope

MINUTE = timedelta(minutes=1)
READ_OPS_TOLERANCE_FACTOR = 1.25
READ_OPS_TOLERANCE = 60.0
"""Back to the level before: at most a quarter more, and one read a second more."""
METRIC_PATIENCE = timedelta(minutes=15)
"""After so long, the agent's own account is enough: the measurement that follows has the last word."""
AGENT_WAIT_SECONDS = (5, 60)
STATUS_WAIT_SECONDS = (15, 900)
METRIC_WAIT_SECONDS = 15
LONG_RUN_SECONDS = 3_600
LONG_RUN_WAIT_SECONDS = 300
"""Warm-ups of more than an hour are looked at less often: 48 hours must fit 25,000 history events."""
LONG_RUN_FRACTION = 1 / 200
"""Where the agent's remaining time is unknown or out of date, the time spent bounds the number of looks."""
FRESH_READS = timedelta(minutes=10)
"""CloudWatch's datapoints come some minutes late."""


@dataclass(frozen=True, slots=True)
class AgentAccount:
    """What the agent says of itself; from its last progress line or its result."""

    bytes_done: int
    bytes_total: int
    mib_per_second: float | None = None
    eta_seconds: int | None = None
    scope: Scope = Scope.WRITTEN


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that is known at `now`; None where a source says nothing (yet)."""

    now: datetime
    strategy: Strategy
    bytes_total: int
    fast_restored: bool | None = None
    initialization: InitializationStatus | None = None
    agent: AgentAccount | None = None
    agent_finished_at: datetime | None = None
    """When the agent had read every block; None while it runs."""
    read_ops_before: float = 0.0
    read_activity: Sequence[ReadActivity] = field(default_factory=tuple)
    agent_seconds: float = 0.0
    """Since the agent was sent for."""
    expected_seconds_left: float | None = None
    """By the plan; used where AWS names no remaining time."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The verdict, with why it is so or what is still missing."""

    ready: bool
    reasons: tuple[str, ...]
    progress_percent: float
    bytes_done: int
    mib_per_second: float | None
    eta_seconds: int | None
    wait_seconds: int


def judge(seen: Observation) -> Readiness:
    """The rule of the strategy."""
    if seen.strategy.reads_with_agent:
        return _by_agent(seen)
    if seen.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        return _by_fast_restore(seen)
    return _by_initialization(seen, ())


def read_ops_level(activity: Sequence[ReadActivity]) -> float:
    """Reads a minute before the warm-up: the median of the datapoints there are; 0 for a new volume."""
    return statistics.median(point.read_ops for point in activity) if activity else 0.0


def _by_fast_restore(seen: Observation) -> Readiness:
    if seen.fast_restored:
        return Readiness(
            True, ("FastRestored is true: every block is there",), 100.0, seen.bytes_total, None, 0, 1
        )
    note = "FastRestored is not true: there was no credit left, so the volume loads in the background"
    return _by_initialization(seen, (note,))


def _by_initialization(seen: Observation, notes: tuple[str, ...]) -> Readiness:
    """`completed` and 100 %, both: AWS's own example shows `completed` beside 75 %."""
    status = seen.initialization or InitializationStatus(None, None, None, None)
    done = status.state == "completed" and status.progress_percent == 100
    percent = 100.0 if done else float(min(status.progress_percent or 0, 99))
    eta = 0 if done else _eta(status, seen.expected_seconds_left)
    low, high = STATUS_WAIT_SECONDS
    return Readiness(
        ready=done,
        reasons=(*notes, *_initialization_reasons(status)),
        progress_percent=percent,
        bytes_done=round(seen.bytes_total * percent / 100),
        mib_per_second=None,
        eta_seconds=eta,
        wait_seconds=1 if done else max(low, min(high, eta // 2 if eta is not None else 60)),
    )


def _initialization_reasons(status: InitializationStatus) -> tuple[str, ...]:
    state = status.state or "not known yet"
    percent = "not known yet" if status.progress_percent is None else f"{status.progress_percent} %"
    return (f"initialization state is {state}", f"initialization progress is {percent}")


def _eta(status: InitializationStatus, expected_seconds_left: float | None) -> int | None:
    if status.eta_seconds:
        return status.eta_seconds
    return None if expected_seconds_left is None else max(0, round(expected_seconds_left))


def _by_agent(seen: Observation) -> Readiness:
    account = seen.agent or AgentAccount(0, seen.bytes_total)
    total = account.bytes_total
    finished = seen.agent_finished_at is not None
    percent = 100.0 if finished or not total else min(99.9, 100.0 * account.bytes_done / total)
    quiet, reason = _reads_are_quiet(seen)
    agent_reason = (
        f"the agent has read {account.scope.in_words}"
        if finished
        else f"the agent has read {percent:.0f} % of the blocks"
    )
    return Readiness(
        ready=finished and quiet,
        reasons=(agent_reason, reason),
        progress_percent=percent,
        bytes_done=account.bytes_done,
        mib_per_second=account.mib_per_second,
        eta_seconds=0 if finished else account.eta_seconds,
        wait_seconds=METRIC_WAIT_SECONDS
        if finished
        else _agent_wait(account.eta_seconds, seen.agent_seconds),
    )


def _agent_wait(eta_seconds: int | None, spent_seconds: float) -> int:
    by_time_spent = min(LONG_RUN_WAIT_SECONDS, round(spent_seconds * LONG_RUN_FRACTION))
    return max(agent_wait_seconds(eta_seconds), by_time_spent)


def agent_wait_seconds(eta_seconds: int | None) -> int:
    """A quarter of what is left, 5 to 60 s; up to 300 s where hours are left."""
    low, high = AGENT_WAIT_SECONDS
    if eta_seconds is None:
        return low
    if eta_seconds > LONG_RUN_SECONDS:
        return max(high, min(LONG_RUN_WAIT_SECONDS, eta_seconds // 60))
    return max(low, min(high, eta_seconds // 4))


def is_read(seen: Observation) -> bool:
    """A sign of life where the agent's progress does not arrive.

    Its upload address ends with the credentials that signed it, after hours, and a network may let nothing
    be uploaded at all. An agent that hangs beside a busy application is ended by its own time limit.
    """
    limit = _quiet_limit(seen)
    fresh = [point for point in seen.read_activity if seen.now - point.minute <= FRESH_READS]
    return any(point.read_ops > limit for point in fresh)


def _quiet_limit(seen: Observation) -> float:
    return seen.read_ops_before * READ_OPS_TOLERANCE_FACTOR + READ_OPS_TOLERANCE


def _reads_are_quiet(seen: Observation) -> tuple[bool, str]:
    """The last whole minute after the agent's end that has a datapoint, and every one after it, decide."""
    if seen.agent_finished_at is None:
        return False, "VolumeReadOps is looked at once the agent has finished"
    first = _next_minute(seen.agent_finished_at)
    points = [
        point for point in seen.read_activity if point.minute >= first and point.minute + MINUTE <= seen.now
    ]
    waited_long = seen.now - seen.agent_finished_at >= METRIC_PATIENCE
    if not points:
        if waited_long:
            return True, "CloudWatch has no VolumeReadOps since the agent finished; the measurement decides"
        return False, "VolumeReadOps of a whole minute after the agent finished has not arrived yet"
    latest = max(points, key=lambda point: point.minute)
    limit = _quiet_limit(seen)
    level = f"VolumeReadOps is {latest.read_ops:.0f} a minute, {seen.read_ops_before:.0f} before the warm-up"
    if latest.read_ops <= limit:
        return True, level
    if waited_long:
        return True, f"{level}: something else reads the volume; the measurement decides"
    return False, f"{level}: not quiet yet"


def _next_minute(instant: datetime) -> datetime:
    floor = instant.astimezone(UTC).replace(second=0, microsecond=0)
    return floor if floor == instant else floor + MINUTE
