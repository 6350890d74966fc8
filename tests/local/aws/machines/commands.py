"""Commands on an instance, as Systems Manager runs them there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.aws.machines.dataplane import SnapshotImage, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.machine import Machine

INSTANCE, VOLUME = "i-0123456789abcdef0", "vol-0123456789abcdef0"


@contextmanager
def with_volume(folder: Path, image: SnapshotImage) -> Iterator[Machine]:
    """A machine whose instance has a volume of 1 GiB of this image."""
    made = Machine(folder, FirstTouchSettings(mean_latency_ms=1))
    made.start_instance(INSTANCE)
    made.create_volume(VOLUME, 1, image, VolumeLimits(16_000, 1_000), warm=False)
    made.attach_volume(VOLUME, INSTANCE, "/dev/sdf")
    yield made
    made.close()


def run(machine: Machine, script: str, **environment: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a script that has ended."""
    command = machine.run_command(INSTANCE, script, environment=environment)
    status = command.wait(300)
    assert status is not None
    output, errors = command.output()
    return status, output, errors
