"""States `Verify Volume Before` and `Verify Volume After`: how long random reads really take."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from typing import Literal

from rewarm.contracts.events import VerifyVolumeEvent
from rewarm.contracts.results import VerifyVolumeResult
from rewarm.contracts.values import Measurement
from rewarm.domain.errors import (
    AgentFailedError,
    AgentUnreachableError,
    RestoreError,
    ServiceUnavailableError,
    ThrottledError,
    VolumeNotFastError,
    VolumeUnreadableError,
)
from rewarm.domain.model import CommandStatus
from rewarm.domain.plan.fallback import AGENT_LOST
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.reads import (
    DEFAULT_SAMPLES,
    MOST_MEASUREMENTS,
    PAUSES_SECONDS,
    SAMPLES_BEFORE,
    ExpectedReads,
    expected_reads,
    p99_limit_ms,
)
from rewarm.domain.time.patience import LEAST
from rewarm.domain.units import duration_text
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Scope
from rewarm.domain.volume.proof import wrong_volume
from rewarm.domain.volume.volume_types import HDD_TYPES
from rewarm.ports.instances import Commands
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.restore import stop_if_cancelled
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.registration import state
from rewarm.steps.verify import benchmarks
from rewarm.steps.verify.start_benchmark import BenchmarkPorts
from rewarm.steps.warm import agent_command
from rewarm.steps.warm.agent_command import check_not_terminated

WAIT_SECONDS = 1
LONGEST_WAIT_SECONDS = 60
WAIT_FRACTION = 1 / 20
"""Waits grow with the time spent, as 10,000 reads of a cold volume may take half a day. Each look writes nine
of the 25,000 events of an execution's history."""
SLOWEST_READ_SECONDS = 5
"""First reads of some seconds were seen, rarely of a minute; as an average this bounds the command's time."""
COLD_BY_REQUEST = "this measures every written block, and with warmUp.scope used those of no file stay cold"
"""The request asked for such a volume, so slow reads are reported and do not fail the restore."""
FIGURES_LOST = "the figures were lost; the agent ended with exit status 0, so p99 was within the limit"
"""Of `warmer verify` (warmer/warmer.1.md, "EXIT STATUS"). Run Command calls exit status 0 a success."""
SLOW_TYPE = "a warm block of an HDD volume may take as long as a cold one, so reads do not tell"


class VerifyVolumePorts(agent_command.AgentPorts, kw_only=True):
    """The ports that verify_volume needs."""

    benchmarks: BenchmarkPorts | None = None


@state("Verify Volume Before", "Verify Volume After")
def verify_volume(
    event: VerifyVolumeEvent,
    ports: VerifyVolumePorts,
) -> VerifyVolumeResult:
    """Measures how fast the volume is, and afterwards runs the benchmarks that the request names.

    Raises RestoreCancelledError, too; the record has the command that clean-up then ends.
    """
    stop_if_cancelled(ports.table, event.restore_id)
    if ports.benchmarks is not None and event.pending is not None and event.pending.benchmark is not None:
        return benchmarks.look(event, event.pending, event.pending.benchmark, ports.benchmarks)
    result = _verified(event, ports)
    if ports.benchmarks is not None and benchmarks.wanted(event, result):
        result = benchmarks.start(event, result, ports.benchmarks)
    _note_command(event, result, ports.table, ports.commands)
    return result


def _note_command(
    event: VerifyVolumeEvent, result: VerifyVolumeResult, table: RestoreTable, commands: Commands
) -> None:
    """Notes the command, so that clean-up can end it even if this step's answer is lost."""
    command_id = result.benchmark.command_id if result.benchmark else result.command_id
    started_at = result.benchmark.started_at if result.benchmark else result.started_at
    if result.finished or command_id is None or started_at != event.now:
        return
    record = VolumeNotes(table, event.restore_id, event.volume.index)
    # A retried state finds the agent's command by `sending`, so that one is not ended here.
    ended = agent_command.ended_unless_noted(command_id, event.volume.instance_id or "", commands)
    with ended if result.benchmark else nullcontext():
        record.note_measuring(command_id, event.volume.instance_id, event.volume_id)


def _verified(event: VerifyVolumeEvent, ports: agent_command.AgentPorts) -> VerifyVolumeResult:
    """The measurement. Before the initialization it never fails: then only the report lacks the figures.
    It does not fail either if a plan without the agent took over because the agent is out of reach.

    Raises (after) VolumeNotFastError with the numbers of the last measurement, AgentFailedError,
    AgentUnreachableError, InstanceAwayError.
    """
    if event.request.verify.samples == 0:
        return _finished("unmeasured", "the request says verify.samples 0")
    if event.volume.was_made_empty and event.volume.warm_because is not None:
        return _finished("unmeasured", f"nothing has to be loaded: {event.volume.warm_because}")
    if _may_prove(event) and event.volume.volume.volume_type in HDD_TYPES:
        return _finished("unmeasured", SLOW_TYPE)
    if not event.volume.agent_available:
        instance = f"{event.volume.instance_id} ({event.volume.instance_type})"
        return _finished("unmeasured", f"the warm-up agent, which measures, does not work on {instance}")
    try:
        if event.pending is None or event.pending.command_id is None:
            return _start(event, ports, event.pending.measurements if event.pending else 1)
        return _look(event, event.pending, ports)
    except (ThrottledError, ServiceUnavailableError):
        raise
    except RestoreError as error:
        out_of_reach = event.agent_lost and type(error).__name__ in AGENT_LOST
        if event.phase == "before" or out_of_reach:
            return _finished("unmeasured", str(error))
        raise


def _start(
    event: VerifyVolumeEvent, ports: agent_command.AgentPorts, measurements: int = 1
) -> VerifyVolumeResult:
    samples = _samples(event)
    arguments = f"--samples {samples} --max-p99-ms {agent_command.plain_number(_limit_ms(event))}"
    command = agent_command.AgentCommand("verify", arguments, samples * SLOWEST_READ_SECONDS)
    turn = f"{event.phase}.{event.warm_ups}.{measurements}"
    target = agent_command.AgentTarget(event.volume, event.volume_id, event.restore_id, turn)
    command_id = agent_command.send(command, target, ports)
    return VerifyVolumeResult(
        finished=False,
        wait_seconds=WAIT_SECONDS,
        command_id=command_id,
        started_at=event.now,
        measurements=measurements,
        reason=f"{samples} reads are being measured",
    )


def _may_prove(event: VerifyVolumeEvent) -> bool:
    """Whether it is the first measurement of an adopted volume: where it is fast, nothing is read."""
    return event.phase == "before" and event.volume.adopts is not None


def _samples(event: VerifyVolumeEvent) -> int:
    wanted = event.request.verify.samples
    if _may_prove(event):
        return max(DEFAULT_SAMPLES, wanted)
    return min(SAMPLES_BEFORE, wanted) if event.phase == "before" else wanted


def _look(
    event: VerifyVolumeEvent, pending: VerifyVolumeResult, ports: agent_command.AgentPorts
) -> VerifyVolumeResult:
    command_id = pending.command_id or ""
    instance_id = event.volume.instance_id or ""
    status = ports.commands.status(command_id, instance_id)
    if status is None or not status.finished:
        silence = event.now - (pending.started_at or event.now)
        check_not_terminated(instance_id, ports.instances, silence=silence)
        state = status.status if status else "not known to SSM yet"
        _stop_if_lost(event, status, command_id, silence)
        waits = {"wait_seconds": _wait(pending.started_at, event.now)}
        return pending.model_copy(update={"reason": f"the command is {state}", **waits})
    if status.status == "Success" and agent_output.result(status) is None:
        return _finished("unmeasured", FIGURES_LOST)
    measured = _measured(status, event.volume_id)
    if event.phase == "before" or measured.verdict == "fast":
        return _result(measured, pending, _expected(event, ports))
    is_rewound = event.volume.rewinds is not None
    if is_rewound and pending.measurements <= len(PAUSES_SECONDS):
        return _later(pending, measured)
    if not is_rewound and pending.measurements < MOST_MEASUREMENTS:
        return _start(event, ports, pending.measurements + 1)
    found = _still_slow(event, pending, measured)
    if event.scope is Scope.USED:
        result = _result(measured, pending, _expected(event, ports))
        return result.model_copy(update={"reason": f"{found}; {COLD_BY_REQUEST}"})
    raise VolumeNotFastError(found)


def _later(pending: VerifyVolumeResult, measured: _Measured) -> VerifyVolumeResult:
    """Measures again after a pause; the command of the next measurement is not sent yet."""
    return VerifyVolumeResult(
        finished=False,
        wait_seconds=PAUSES_SECONDS[pending.measurements - 1],
        measurements=pending.measurements + 1,
        reason=f"{measured.result.in_words}: measured again after a pause",
    )


def _still_slow(event: VerifyVolumeEvent, pending: VerifyVolumeResult, measured: _Measured) -> str:
    volume_id = event.volume_id
    snapshot_id = event.volume.snapshot_id
    numbers = (
        f"measured {pending.measurements} times: {measured.result.in_words}; p99 of at most "
        f"{_limit_ms(event):g} ms is allowed"
    )
    if event.volume.rewinds is not None:
        undone = event.request.source.undo_of
        target = snapshot_id if undone is None else f"what it had before {undone}"
        return f"{volume_id} is rewound to {target} and proven, but slow: {numbers}"
    again = ", also after a second warm-up" if event.warm_ups else ""
    return f"{volume_id} is still slow{again}, {numbers}"


def _limit_ms(event: VerifyVolumeEvent) -> float:
    limits = [p99_limit_ms(event.request.verify.max_p99_ms, event.volume.volume.settings())]
    if _may_prove(event):
        limits.append(p99_limit_ms(None, event.volume.volume.settings()))
    return min(limits)


def _expected(event: VerifyVolumeEvent, ports: agent_command.AgentPorts) -> ExpectedReads:
    """The figures to expect, for the report only; without the instance's limits if EC2 does not give them."""
    limits = None
    if event.volume.instance_type is not None:
        with suppress(RestoreError):
            limits = ports.instances.ebs_limits(event.volume.instance_type).of_card(event.volume.card)
    found = expected_reads(event.volume.volume.settings(), limits)
    rounded = round(found.p50_ms, 3), round(found.p99_ms, 3), round(found.iops, 1)
    return ExpectedReads(*rounded, found.limited_by)


def _wait(started_at: datetime | None, now: datetime) -> int:
    spent = (now - started_at).total_seconds() if started_at is not None else 0.0
    return max(WAIT_SECONDS, min(LONGEST_WAIT_SECONDS, round(spent * WAIT_FRACTION)))


def _stop_if_lost(
    event: VerifyVolumeEvent, status: CommandStatus | None, command_id: str, spent: timedelta
) -> None:
    """Run Command ends a command at its time limit. One that it shows as running after that is lost."""
    limit = timedelta(seconds=agent_command.longest_seconds(_samples(event) * SLOWEST_READ_SECONDS))
    if spent <= LEAST + (limit if status else timedelta(0)):
        return
    known = f"{event.volume_id} has all of its data; " if event.phase == "after" else ""
    shown = (
        f"SSM shows the command {command_id} as {status.status} for {duration_text(spent.total_seconds())}, "
        f"and should have ended it after {duration_text(limit.total_seconds())}"
        if status
        else f"SSM knows nothing of the command {command_id}"
    )
    raise AgentUnreachableError(f"{known}how fast it is read could not be measured: {shown}")


class _Measured(Value):
    """What the agent measured, and whether that is within its limit."""

    verdict: Literal["fast", "slow"]
    result: Measurement


def _measured(status: CommandStatus, volume_id: str) -> _Measured:
    account = agent_output.result(status)
    if account is None or account.get("verdict") not in {"fast", "slow"}:
        ending = agent_output.ending(status)
        if agent_output.is_unreachable(status):
            raise AgentUnreachableError(f"the measurement never reached the instance: {ending}")
        if agent_output.figures(account).errors:
            raise VolumeUnreadableError(f"reads of the measurement failed: {ending}")
        raise AgentFailedError(f"the measurement gave no result: {ending}")
    wrong = wrong_volume(account, volume_id)
    if wrong is not None:
        raise AgentFailedError(f"the measurement counts for nothing: {wrong}")
    return _Measured(account["verdict"], Measurement.model_validate(account))


def _result(measured: _Measured, pending: VerifyVolumeResult, expected: ExpectedReads) -> VerifyVolumeResult:
    return VerifyVolumeResult(
        finished=True,
        wait_seconds=1,
        command_id=pending.command_id,
        measurements=pending.measurements,
        verdict=measured.verdict,
        result=measured.result,
        expected=expected,
        reason=measured.result.in_words,
    )


def _finished(verdict: str, reason: str) -> VerifyVolumeResult:
    return VerifyVolumeResult.model_validate(
        {"finished": True, "wait_seconds": 1, "verdict": verdict, "reason": reason}
    )
