"""Serves the states Verify Volume Before and Verify Volume After."""

from __future__ import annotations

from rewarm.contracts import VerifyVolumeEvent, VerifyVolumeResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.verify.get_benchmark import BenchmarkPorts
from rewarm.steps.verify.verify_volume import verify_volume

_COMMANDS = wiring.sending_commands()
_INSTANCES = wiring.instances()
_ARTIFACTS = wiring.artifacts()
_TABLE = wiring.table()
_BENCHMARKS = BenchmarkPorts(wiring.benchmark_commands(), _INSTANCES, wiring.volumes(), _ARTIFACTS)


@step_handler(VerifyVolumeEvent)
def lambda_handler(event: VerifyVolumeEvent) -> VerifyVolumeResult:
    """How fast the volume is."""
    return verify_volume(
        event,
        commands=_COMMANDS,
        instances=_INSTANCES,
        artifacts=_ARTIFACTS,
        table=_TABLE,
        benchmarks=_BENCHMARKS,
    )
