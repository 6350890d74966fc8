"""When is a volume at full speed? Pure rules over every signal that its strategy has.

`VolumeReadOps` counts what the instance reads, not what EBS loads: going quiet proves only that the reader
has stopped. So the agent's own account decides, and random reads prove it. Where nothing is measured, the
metric must agree with the agent. Of AWS's initialization state and progress must agree. A signal that is
missing is unknown, never a yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime

from rewarm.domain.model import InitializationStatus, ReadActivity, Strategy, Volume
from rewarm.domain.ready.reads import Opinion, ReadsVerdict, StableRule, first_minute_over, judge_reads
from rewarm.domain.ready.waits import (
    STATUS_LAG_SECONDS,
    agent_wait_seconds,
    metric_wait_seconds,
    status_wait_seconds,
)
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Scope

USABLE_STATES = frozenset({"available", "in-use"})
IN_PLACE_STATES = frozenset({"attached", "busy"})
"""EC2 API, VolumeAttachment: busy while somebody wants to detach it and it is in use."""

ALMOST_PERCENT = 99
"""The highest progress that AWS shows before 100."""


class AgentAccount(Value):
    """What the agent says of itself; from its last progress line or its result."""

    bytes_done: int
    bytes_total: int
    mib_per_second: float | None = None
    eta_seconds: int | None = None
    scope: Scope = Scope.WRITTEN


class Observation(Value):
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
    stable: StableRule | None = None
    """How VolumeReadOps must agree with the agent; None where a measurement proves it, and nothing waits."""
    seconds_spent: float = 0.0
    """Since the agent was sent for, or loading was first looked at."""
    expected_seconds_left: float | None = None
    """Seconds left by the plan; used where AWS names no remaining time."""
    standing_seconds: float = 0.0
    """Seconds without progress; that the state becomes `completed` is progress too."""
    percent_before: float = 0.0
    """At the look before this one."""
    completed_seconds: float = 0.0
    """Since the state was first seen as `completed`."""
    warmed_by_agent: bool = False
    """The agent reads the volume, whatever the strategy was: one that came to a standstill, or was slow."""


class Readiness(Value):
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
    if seen.strategy.reads_with_agent or seen.warmed_by_agent:
        return _by_agent(seen)
    if seen.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        return _by_fast_restore(seen)
    return _by_initialization(seen, ())


def _by_fast_restore(seen: Observation) -> Readiness:
    if seen.fast_restored:
        return Readiness(
            True, ("FastRestored is true: every block is there",), 100.0, seen.bytes_total, None, 0, 1
        )
    note = "FastRestored is not true: there was no credit left, so the volume loads in the background"
    return _by_initialization(seen, (note,))


def _by_initialization(seen: Observation, notes: tuple[str, ...]) -> Readiness:
    status = seen.initialization or InitializationStatus(None, None, None, None)
    done = _is_initialized(status, seen)
    shown = status.progress_percent
    percent = 100.0 if done else float(min(seen.percent_before if shown is None else shown, 99))
    eta = 0 if done else _eta(status, seen.expected_seconds_left)
    wait = status_wait_seconds(
        aws_seconds_left=status.eta_seconds or None,
        planned_seconds_left=seen.expected_seconds_left,
        progress_percent=status.progress_percent,
        spent_seconds=seen.seconds_spent,
        standing_seconds=seen.standing_seconds,
    )
    return Readiness(
        ready=done,
        reasons=(*notes, *_initialization_reasons(status)),
        progress_percent=percent,
        bytes_done=round(seen.bytes_total * percent / 100),
        mib_per_second=None,
        eta_seconds=eta,
        wait_seconds=1 if done else wait,
    )


def _is_initialized(status: InitializationStatus, seen: Observation) -> bool:
    """`completed` and 100 %, both: AWS's own example shows `completed` beside 75 %.

    AWS does not document for how long it shows the progress of a volume that is initialized. Where it shows
    `completed` alone, that counts after 99 %, or once it has stood for longer than such figures may be old.
    """
    if status.state != "completed":
        return False
    if status.progress_percent is not None:
        return status.progress_percent == 100
    return seen.percent_before >= ALMOST_PERCENT or seen.completed_seconds > STATUS_LAG_SECONDS


def _initialization_reasons(status: InitializationStatus) -> tuple[str, ...]:
    state = status.state or "not known yet"
    percent = f"{status.progress_percent} %"
    if status.progress_percent is None:
        percent = "no longer shown" if status.state == "completed" else "not known yet"
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
    reads, wait = _reads(seen, account)
    agent_reason = (
        f"the agent has read {account.scope.in_words}"
        if finished
        else f"the agent has read {percent:.0f} % of the blocks"
    )
    return Readiness(
        ready=finished and (reads is None or reads.settled),
        reasons=_agent_reasons(agent_reason, reads),
        progress_percent=percent,
        bytes_done=account.bytes_done,
        mib_per_second=account.mib_per_second,
        eta_seconds=0 if finished else account.eta_seconds,
        wait_seconds=wait,
    )


def _agent_reasons(agent_reason: str, reads: ReadsVerdict | None) -> tuple[str, ...]:
    """A remark, not a reason, where CloudWatch said nothing within the patience."""
    if reads is None:
        return (agent_reason,)
    if reads.settled and reads.opinion is not Opinion.CONFIRMS:
        return (f"{agent_reason} ({reads.reason})",)
    return (agent_reason, reads.reason)


def _reads(seen: Observation, account: AgentAccount) -> tuple[ReadsVerdict | None, int]:
    """Whether VolumeReadOps agrees, where it must, and the time until the next look."""
    ended = seen.agent_finished_at
    if ended is None:
        return None, agent_wait_seconds(account.eta_seconds, seen.seconds_spent)
    if seen.stable is None:
        return None, 1
    verdict = judge_reads(
        seen.read_activity, seen.stable, level_before=seen.read_ops_before, ended=ended, now=seen.now
    )
    first_possible = (first_minute_over(ended) - seen.now).total_seconds()
    return verdict, metric_wait_seconds(verdict.patience_seconds, first_possible)


def misplaced(volume: Volume, instance_id: str | None) -> str | None:
    """What is wrong with the volume's state or place, for people; None where the restore left them so.

    `instance_id` is None for a volume that is to stay unattached.
    """
    if volume.state not in USABLE_STATES:
        return f"{volume.volume_id} is {volume.state}, and was to be ready"
    places = [place.instance_id for place in volume.attachments if place.state in IN_PLACE_STATES]
    if instance_id is not None and instance_id not in places:
        return f"{volume.volume_id} was detached from {instance_id} meanwhile"
    return None
