"""A call that gets no answer is AWS's trouble in every adapter, so that the state is retried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from rewarm.adapters.artifacts import S3Artifacts
from rewarm.adapters.executions import StepFunctionsExecutions
from rewarm.adapters.instances import SsmCommands
from rewarm.adapters.table.restores import DynamoRestoreTable
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.domain import errors
from rewarm.domain.model import VolumeSettings
from tests.contract.answers import Aws

VOLUME, INSTANCE = "vol-0123456789abcdef0", "i-0123456789abcdef0"
COMMAND = "11111111-2222-3333-4444-555555555555"
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:rewarm-restore"


def _create(client: Any, rate: int | None) -> None:
    Ec2VolumeStore(client).create(
        "snap-0123456789abcdef0",
        "us-east-1a",
        VolumeSettings("gp3", 1),
        rate_mib_s=rate,
        client_token="token",
    )


CALLS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "create": ("ec2", lambda client: _create(client, None)),
    "create with a rate": ("ec2", lambda client: _create(client, 100)),
    "detach": ("ec2", lambda client: Ec2VolumeStore(client).detach(VOLUME, INSTANCE)),
    "command status": ("ssm", lambda client: SsmCommands(client, "document").status(COMMAND, INSTANCE)),
    "cancel command": ("ssm", lambda client: SsmCommands(client, "document").cancel(COMMAND, INSTANCE)),
    "get object": ("s3", lambda client: S3Artifacts(client, "bucket").get_json("key")),
    "start": ("stepfunctions", lambda client: StepFunctionsExecutions(client, MACHINE).start("one", {})),
    "put item": ("dynamodb", lambda client: DynamoRestoreTable(client, "table").put_new("one", {})),
    "update item": ("dynamodb", lambda client: DynamoRestoreTable(client, "table").update("one", {"a": 1})),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_answer_is_named(name: str) -> None:
    service, call = CALLS[name]
    client = Aws(service).client

    def no_answer(**_: Any) -> None:
        raise ConnectTimeoutError(endpoint_url="https://aws.test")

    client.meta.events.register_first("before-call.*.*", no_answer)
    with pytest.raises(errors.ServiceUnavailableError):
        call(client)
