"""Serves the states Verify Volume Before and Verify Volume After."""

from __future__ import annotations

from rewarm.contracts import VerifyVolumeEvent, VerifyVolumeResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.verify.start_benchmark import BenchmarkPorts
from rewarm.steps.verify.verify_volume import VerifyVolumePorts, verify_volume

_PORTS = VerifyVolumePorts(
    commands=wiring.sending_commands(),
    instances=wiring.instances(),
    artifacts=wiring.artifacts(),
    table=wiring.table(),
    benchmarks=BenchmarkPorts(
        wiring.benchmark_commands(), wiring.instances(), wiring.volumes(), wiring.artifacts()
    ),
)


@step_handler(VerifyVolumeEvent)
def lambda_handler(event: VerifyVolumeEvent) -> VerifyVolumeResult:
    """How fast the volume is."""
    return verify_volume(event, _PORTS)
