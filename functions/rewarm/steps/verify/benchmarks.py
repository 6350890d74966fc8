"""GET /benchmarks/{id}: the figures side by side, with rank and the limit that each run met.

A request may want benchmarks of a volume that is fast: reads of its device, for the report only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from rewarm.contracts.base import JsonObject
from rewarm.contracts.benchmarks import (
    BenchmarkRequest,
    BenchmarkResult,
    BenchmarkRun,
    BenchmarkSide,
    BenchmarkTarget,
    CopyTimes,
    StartedBenchmark,
)
from rewarm.contracts.events import VerifyVolumeEvent
from rewarm.contracts.results import VerifyVolumeResult
from rewarm.domain.benchmark import fio_output
from rewarm.domain.benchmark.benchmarks import (
    PATTERNS,
    PatternName,
    Provisioned,
    met_limit,
    ranks,
)
from rewarm.domain.benchmark.fio_output import BenchmarkOutput, Direction
from rewarm.domain.errors import BenchmarkNotFoundError, RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.domain.model import MIB, CommandStatus, InstanceEbsLimits
from rewarm.domain.ready import agent_output
from rewarm.domain.time.patience import LEAST
from rewarm.domain.units import duration_text
from rewarm.domain.volume import volume_types
from rewarm.domain.volume.replacing import living
from rewarm.steps.record.bucket import benchmark_key, benchmark_output_key
from rewarm.steps.verify.start_benchmark import BenchmarkPorts, execution_seconds, fio_parameters
from rewarm.steps.warm.agent_command import DELIVERY_SECONDS

LARGEST_OUTPUT = 4 * MIB
"""fio writes some 10 KB a run."""

WAIT_SECONDS = 15
LATE_STATUS = timedelta(minutes=5)
"""How late Systems Manager may show the end of a command."""


def get_benchmark(benchmark_id: str, *, now: datetime, ports: BenchmarkPorts) -> JsonObject:
    """Returns the figures, or the benchmark's state. Raises BenchmarkNotFoundError."""
    kept = ports.artifacts.get_json(benchmark_key(benchmark_id))
    if kept is None:
        raise BenchmarkNotFoundError(f"there is no benchmark {benchmark_id}")
    started = StartedBenchmark.model_validate(kept)
    status = ports.commands.status(started.command_id, started.request.instance_id)
    return outcome(started, status, now=now, ports=ports).to_json()


def outcome(
    started: StartedBenchmark, status: CommandStatus | None, *, now: datetime, ports: BenchmarkPorts
) -> BenchmarkResult:
    """The result of the command so far."""
    if status is None:
        if now - started.started_at > LEAST:
            return _result(started, "failed", "Systems Manager knows nothing of the command")
        return _result(started, "running", "the command is on its way")
    if not status.finished:
        return _result(started, "running", f"the command is {status.status}")
    if status.status != "Success":
        return _result(started, "failed", agent_output.ending(status))
    if started.request.copy_file is not None:
        return _copied(started, status)
    text = ports.artifacts.get_text(benchmark_output_key(started.benchmark_id), most_bytes=LARGEST_OUTPUT)
    if text is None:
        return _result(started, "failed", "the instance has uploaded nothing")
    runs = _ranked(fio_output.runs(text), started, ports)
    result = _result(started, "completed", "measured")
    return result.model_copy(update={"runs": runs})


def _result(started: StartedBenchmark, status: str, reason: str) -> BenchmarkResult:
    return BenchmarkResult.model_validate(
        {
            "benchmark_id": started.benchmark_id,
            "status": status,
            "reason": reason,
            "instance_id": started.request.instance_id,
            "started_at": started.started_at,
            "asked_by": started.asked_by,
        }
    )


def _copied(started: StartedBenchmark, status: CommandStatus) -> BenchmarkResult:
    try:
        found = fio_output.copied(status.stdout)
    except RestoreError as error:
        return _result(started, "failed", str(error))
    mib = found.size_bytes / MIB
    times = CopyTimes(
        size_bytes=found.size_bytes,
        first_seconds=found.first_seconds,
        second_seconds=found.second_seconds,
        ratio=round(found.first_seconds / found.second_seconds, 3),
        first_mib_s=round(mib / found.first_seconds, 1),
        second_mib_s=round(mib / found.second_seconds, 1),
    )
    return _result(started, "completed", "measured").model_copy(update={"copied": times})


def _ranked(
    found: Sequence[BenchmarkOutput], started: StartedBenchmark, ports: BenchmarkPorts
) -> list[BenchmarkRun]:
    targets = {target.place: target for target in started.request.targets}
    # The instance wrote the output, so runs that nobody asked for are left out.
    asked = [run for run in found if run.target in targets and run.pattern in set(started.request.patterns)]
    measured = [run for run in asked if run.result is not None]
    order: dict[tuple[str, str], int] = {}
    for pattern in {run.pattern for run in measured}:
        same = [run for run in measured if run.pattern == pattern]
        places = ranks([run.result for run in same if run.result is not None])
        order |= {(run.pattern, run.target): rank for run, rank in zip(same, places, strict=True)}
    limits = _Limits(targets, started.instance_type, ports)
    return [_run(run, order.get((run.pattern, run.target)), limits) for run in asked]


class _Limits:
    """What is provisioned, looked up once for each volume; unknown if AWS does not say."""

    def __init__(
        self, targets: Mapping[str, BenchmarkTarget], instance_type: str, ports: BenchmarkPorts
    ) -> None:
        self._targets = targets
        self._ports = ports
        self._volumes: dict[str, Provisioned] = {}
        self._cards: dict[str, int] = {}
        self._instance: InstanceEbsLimits | None = None
        with suppress(RestoreError):
            self._instance = ports.instances.ebs_limits(instance_type)

    def volume_id(self, output: BenchmarkOutput) -> str | None:
        return self._targets[output.target].volume_id or output.volume_id

    def of(self, output: BenchmarkOutput) -> tuple[Provisioned, InstanceEbsLimits | None]:
        """The target's own limits, and for EBS volumes those of the instance, or of the volume's EBS card."""
        target = self._targets[output.target]
        volume_id = self.volume_id(output)
        found = self._of_volume(volume_id) if volume_id else Provisioned()
        own = Provisioned(target.iops or found.iops, target.throughput_mib_s or found.throughput_mib_s)
        if volume_id is None or self._instance is None:
            return own, None
        return own, self._instance.of_card(self._cards.get(volume_id))

    def _of_volume(self, volume_id: str) -> Provisioned:
        if volume_id not in self._volumes:
            self._volumes[volume_id] = Provisioned()
            with suppress(RestoreError):
                volume = self._ports.volumes.get(volume_id)
                speed = volume_types.speed(volume.settings)
                self._volumes[volume_id] = Provisioned(speed.iops, speed.burst_mib_s)
                self._cards[volume_id] = next((found.card for found in living(volume)), 0)
        return self._volumes[volume_id]


def _run(output: BenchmarkOutput, rank: int | None, limits: _Limits) -> BenchmarkRun:
    own, instance = limits.of(output)
    run = BenchmarkRun(
        target=output.target,
        pattern=PatternName(output.pattern),
        file_system=output.file_system,
        source=output.source,
        volume_id=limits.volume_id(output),
        provisioned_iops=own.iops,
        provisioned_mib_s=own.throughput_mib_s,
        problem=output.problem,
    )
    result = output.result
    if result is None:
        return run
    met = met_limit(PATTERNS[run.pattern], result, own, instance)
    return run.model_copy(
        update={
            "read": _side(result.read),
            "write": _side(result.write),
            "total_iops": round(result.total_iops, 1),
            "total_mib_s": round(result.total_mib_s, 2),
            "runtime_seconds": result.runtime_seconds,
            "rank": rank,
            "limit": met,
        }
    )


def _side(direction: Direction | None) -> BenchmarkSide | None:
    if direction is None:
        return None
    return BenchmarkSide(
        iops=round(direction.iops, 1),
        mib_s=round(direction.mib_s, 2),
        operations=direction.operations,
        **{name: round(getattr(direction, name), 4) for name in ("mean_ms", "p50_ms", "p99_ms", "p99_9_ms")},
    )


def wanted(event: VerifyVolumeEvent, result: VerifyVolumeResult) -> bool:
    """Returns whether to benchmark: after the last measurement, if there is an instance."""
    after = result.finished and event.phase == "after" and event.volume.instance_id is not None
    return after and bool(event.request.verify.benchmarks)


def start(event: VerifyVolumeEvent, result: VerifyVolumeResult, ports: BenchmarkPorts) -> VerifyVolumeResult:
    """Starts fio, and returns a result that waits for it. Problems of fio are reported and fail nothing."""
    try:
        benchmark = _started(event, ports)
    except (ThrottledError, ServiceUnavailableError):
        raise
    except RestoreError as error:
        return result.model_copy(update={"benchmark_problem": str(error)})
    waits = {"finished": False, "wait_seconds": WAIT_SECONDS}
    return result.model_copy(update={"benchmark": benchmark, **waits})


def look(
    event: VerifyVolumeEvent, pending: VerifyVolumeResult, started: StartedBenchmark, ports: BenchmarkPorts
) -> VerifyVolumeResult:
    """Waits for the figures. Problems are reported, and fail nothing.

    Run Command ends fio at its time limit. A command that still runs after that is lost, and is cancelled.
    """
    found = _found(started, event.now, ports)
    if found.status == "running" and event.now < _deadline(started):
        return pending
    if found.status == "running":
        with suppress(RestoreError):
            ports.commands.cancel(started.command_id, started.request.instance_id)
        waited = duration_text((event.now - started.started_at).total_seconds())
        found = _result(started, "failed", f"no figures after {waited}: {found.reason}")
    return pending.model_copy(
        update={
            "finished": True,
            "wait_seconds": 1,
            "benchmark": None,
            "benchmarks": found.runs,
            "benchmark_problem": found.reason if found.status == "failed" else None,
            "benchmark_seconds": (event.now - started.started_at).total_seconds(),
        }
    )


def _found(started: StartedBenchmark, now: datetime, ports: BenchmarkPorts) -> BenchmarkResult:
    """The result; after a temporary error of AWS it counts as running, because a later look may succeed."""
    try:
        status = ports.commands.status(started.command_id, started.request.instance_id)
        return outcome(started, status, now=now, ports=ports)
    except (ThrottledError, ServiceUnavailableError) as error:
        return _result(started, "running", str(error))
    except RestoreError as error:
        return _result(started, "failed", str(error))


def _deadline(started: StartedBenchmark) -> datetime:
    seconds = DELIVERY_SECONDS + execution_seconds(started.request)
    return started.started_at + timedelta(seconds=seconds) + LATE_STATUS


def _started(event: VerifyVolumeEvent, ports: BenchmarkPorts) -> StartedBenchmark:
    verify = event.request.verify
    volume = event.volume
    instance = ports.instances.get(volume.instance_id or "")
    request = BenchmarkRequest(
        instance_id=instance.instance_id,
        targets=[BenchmarkTarget(volume_id=event.volume_id)],
        patterns=verify.benchmarks,
        runtime_seconds=verify.benchmark_seconds,
        install_fio=verify.install_fio,
    )
    benchmark_id = f"{event.restore_id}-{volume.index}"
    if instance.platform != "linux":
        raise RestoreError("fio's patterns are for Linux instances")
    command_id = ports.commands.send(
        instance.instance_id,
        fio_parameters(request, benchmark_id, instance, ports.artifacts),
        platform=instance.platform,
        comment=f"rewarm benchmark {event.volume_id}",
        timeout_seconds=DELIVERY_SECONDS,
    )
    return StartedBenchmark(
        benchmark_id=benchmark_id,
        command_id=command_id,
        platform=instance.platform,
        instance_type=instance.instance_type,
        started_at=event.now,
        request=request,
    )
