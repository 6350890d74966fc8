"""Commands on an instance, as Systems Manager runs them there."""

from __future__ import annotations

from local.aws.machines.machine import Machine

INSTANCE = "i-0123456789abcdef0"


def run(machine: Machine, script: str, **environment: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a script that has ended."""
    command = machine.run_command(INSTANCE, script, environment=environment)
    status = command.wait(300)
    assert status is not None
    output, errors = command.output()
    return status, output, errors
