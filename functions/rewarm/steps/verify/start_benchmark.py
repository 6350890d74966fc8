"""POST /benchmarks: fio on an instance, or a timed copy on Windows, started through Run Command."""

from __future__ import annotations

from datetime import datetime

from rewarm.contracts.base import JsonObject, parsed
from rewarm.contracts.benchmarks import BenchmarkRequest, StartedBenchmark
from rewarm.domain.benchmark.benchmarks import ON_DEVICE, PATTERNS, Pattern
from rewarm.domain.errors import AgentUnreachableError, InvalidRequestError, TargetNotUsableError
from rewarm.domain.model import Caller, Instance
from rewarm.domain.value import Value
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands, Instances
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.bucket import agent_parameters, benchmark_key, benchmark_output_key
from rewarm.steps.warm.agent_command import DELIVERY_SECONDS, MAX_EXECUTION_SECONDS, MIN_EXECUTION_SECONDS

INSTALL_SECONDS = 600
COPY_SECONDS = 4 * 3_600


class BenchmarkPorts(Value):
    """The ports that benchmarks need; `commands` sends the documents for benchmarks."""

    commands: Commands
    instances: Instances
    volumes: VolumeStore
    artifacts: Artifacts


def start_benchmark(
    body: JsonObject,
    *,
    benchmark_id: str,
    by: Caller,
    now: datetime,
    ports: BenchmarkPorts,
) -> JsonObject:
    """Sends the command of the benchmark and returns its id.

    Raises InvalidRequestError, TargetNotFoundError, TargetNotUsableError, AgentUnreachableError.
    """
    request = parsed(BenchmarkRequest, body)
    _check(request)
    instance = ports.instances.get(request.instance_id)
    _check_platform(request, instance)
    if not instance.ssm_online:
        raise AgentUnreachableError(f"{request.instance_id} is not online in Systems Manager")
    parameters = (
        _copy(request, instance, ports.artifacts)
        if request.copy_file
        else fio_parameters(request, benchmark_id, instance, ports.artifacts)
    )
    command_id = ports.commands.send(
        request.instance_id,
        parameters,
        platform=instance.platform,
        comment=f"rewarm {benchmark_id}",
        timeout_seconds=DELIVERY_SECONDS,
    )
    started = StartedBenchmark(
        benchmark_id=benchmark_id,
        command_id=command_id,
        platform=instance.platform,
        instance_type=instance.instance_type,
        started_at=now,
        asked_by=by,
        request=request,
    )
    ports.artifacts.put_json(benchmark_key(benchmark_id), started.to_json())
    return {"benchmarkId": benchmark_id, "commandId": command_id, "status": "running"}


def fio_parameters(
    request: BenchmarkRequest, benchmark_id: str, instance: Instance, artifacts: Artifacts
) -> dict[str, str]:
    """The parameters of the document for Linux. Raises TargetNotUsableError."""
    wanted = _patterns(request)
    seconds = execution_seconds(request)
    limits = [pattern.limit_seconds(request.runtime_seconds) for pattern in wanted]
    jobs = [
        f"{pattern.name} {pattern.scratch_mib} {' '.join(pattern.arguments(request.runtime_seconds))}"
        for pattern in wanted
    ]
    return {
        "targets": " ".join(target.place for target in request.targets),
        "jobs": " / ".join(jobs),
        "limitSeconds": str(max(limits)),
        "installFio": "yes" if request.install_fio else "no",
        "resultUrl": artifacts.upload_url(
            benchmark_output_key(benchmark_id), expires_seconds=DELIVERY_SECONDS + seconds
        ),
        "executionTimeout": str(seconds),
        **agent_parameters(instance, artifacts, expires_seconds=DELIVERY_SECONDS + seconds),
    }


def execution_seconds(request: BenchmarkRequest) -> int:
    """Run Command's time limit for all of fio's runs together."""
    limits = [pattern.limit_seconds(request.runtime_seconds) for pattern in _patterns(request)]
    seconds = INSTALL_SECONDS + sum(limits) * len(request.targets)
    return max(MIN_EXECUTION_SECONDS, min(MAX_EXECUTION_SECONDS, seconds))


def _patterns(request: BenchmarkRequest) -> list[Pattern]:
    return [PATTERNS[name] for name in dict.fromkeys(request.patterns)]


def _copy(request: BenchmarkRequest, instance: Instance, artifacts: Artifacts) -> dict[str, str]:
    assert request.copy_file is not None
    return {
        "file": request.copy_file.file,
        "folder": request.copy_file.to_folder,
        "executionTimeout": str(COPY_SECONDS),
        **agent_parameters(instance, artifacts, expires_seconds=DELIVERY_SECONDS),
    }


def _check(request: BenchmarkRequest) -> None:
    if request.copy_file is not None:
        if request.targets or request.patterns:
            raise InvalidRequestError("goes without targets and patterns", field="copyFile")
        return
    for name, values in (("targets", request.targets), ("patterns", request.patterns)):
        if not values:
            raise InvalidRequestError("is missing; at least one is needed", field=name)
    for number, target in enumerate(request.targets):
        if not target.place:
            raise InvalidRequestError("found neither mount nor volumeId", field=f"targets.{number}")
        if target.mount is None and (wrong := [name for name in request.patterns if name not in ON_DEVICE]):
            raise InvalidRequestError(
                f"found {wrong[0]}, which writes: nothing writes to a device; name its mount instead",
                field=f"targets.{number}.volumeId",
            )
    places = [target.place for target in request.targets]
    if len(set(places)) != len(places):
        raise InvalidRequestError("the same place twice", field="targets")


def _check_platform(request: BenchmarkRequest, instance: Instance) -> None:
    wanted = "windows" if request.copy_file else "linux"
    if instance.platform != wanted:
        raise TargetNotUsableError(
            f"{request.instance_id} runs {instance.platform}: "
            + ("fio's patterns are for Linux; on Windows use copyFile" if wanted == "linux"
               else "copyFile is for Windows; on Linux use targets and patterns"),
            field="instanceId",
        )  # fmt: skip
