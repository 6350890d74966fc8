"""The benchmarks that a request wants of a fast volume: reads of its device, for the report only."""

from __future__ import annotations

from rewarm.contracts import VerifyVolumeEvent, VerifyVolumeResult
from rewarm.contracts.benchmarks import BenchmarkRequest, BenchmarkTarget, StartedBenchmark
from rewarm.domain.errors import RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.steps.verify.get_benchmark import outcome
from rewarm.steps.verify.start_benchmark import BenchmarkPorts, fio_parameters
from rewarm.steps.warm.agent_command import DELIVERY_SECONDS

WAIT_SECONDS = 15


def wanted(event: VerifyVolumeEvent, told: VerifyVolumeResult) -> bool:
    """Returns whether to benchmark: after the last measurement, if there is an instance."""
    after = told.finished and event.phase == "after" and event.volume.instance_id is not None
    return after and bool(event.request.verify.benchmarks)


def start(event: VerifyVolumeEvent, told: VerifyVolumeResult, ports: BenchmarkPorts) -> VerifyVolumeResult:
    """Starts fio, and returns a result that waits for it. Problems of fio are reported and fail nothing."""
    try:
        benchmark = _started(event, ports)
    except (ThrottledError, ServiceUnavailableError):
        raise
    except RestoreError as error:
        return told.model_copy(update={"benchmark_problem": str(error)})
    waits = {"finished": False, "wait_seconds": WAIT_SECONDS}
    return told.model_copy(update={"benchmark": benchmark, **waits})


def look(
    event: VerifyVolumeEvent, pending: VerifyVolumeResult, started: StartedBenchmark, ports: BenchmarkPorts
) -> VerifyVolumeResult:
    """The figures as soon as they are there."""
    status = ports.commands.status(started.command_id, started.request.instance_id)
    found = outcome(started, status, now=event.now, ports=ports)
    if found.status == "running":
        return pending
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


def _started(event: VerifyVolumeEvent, ports: BenchmarkPorts) -> StartedBenchmark:
    verify, volume = event.request.verify, event.volume
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
        fio_parameters(request, benchmark_id, ports.artifacts),
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
