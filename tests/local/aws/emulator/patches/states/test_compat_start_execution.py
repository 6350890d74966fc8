"""StartExecution is idempotent (compat_start_execution.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from tests.support.stack.state_machines import create_machine, start, wait

if TYPE_CHECKING:
    from local.aws.host import Host

STATES = {"Wait": {"Type": "Wait", "Seconds": 2_000, "End": True}}


def test_same_name_and_input_while_running_is_the_same_execution(host: Host):
    machine = create_machine(host, STATES)
    first = start(host, machine, {"a": 1}, name="one")
    assert start(host, machine, {"a": 1}, name="one") == first


def test_same_name_with_other_input_is_refused(host: Host):
    machine = create_machine(host, STATES)
    start(host, machine, {"a": 1}, name="one")
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        start(host, machine, {"a": 2}, name="one")


def test_a_name_stays_taken_when_its_execution_has_ended(host: Host):
    machine = create_machine(host, {"End": {"Type": "Succeed"}})
    wait(host, start(host, machine, {"a": 1}, name="one"))
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        start(host, machine, {"a": 1}, name="one")
