"""Small state machines and Lambdas on the embedded AWS."""

from __future__ import annotations

import contextlib
import io
import json
import textwrap
import uuid
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local.aws.host import Host

Json = dict[str, Any]


def make_role(host: Host) -> None:
    """The role of these state machines and Lambdas, which may everything."""
    iam = host.client("iam")
    may = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    with contextlib.suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName="test", AssumeRolePolicyDocument=json.dumps({"Statement": []}))
    iam.put_role_policy(
        RoleName="test", PolicyName="everything", PolicyDocument=json.dumps({"Statement": [may]})
    )


def create_machine(host: Host, states: Json, *, start_at: str | None = None, **top: Any) -> str:
    """A JSONata state machine of these states; the first one starts. Returns its ARN.

    In texts of the definition `${Partition}` is the Region's partition.
    """
    definition = {
        "QueryLanguage": "JSONata",
        "StartAt": start_at or next(iter(states)),
        "States": states,
        **top,
    }
    make_role(host)
    answer = host.client("stepfunctions").create_state_machine(
        name=f"test-{uuid.uuid4().hex[:12]}",
        definition=json.dumps(definition).replace("${Partition}", host.addresses.partition),
        roleArn=_role(host),
    )
    return str(answer["stateMachineArn"])


def start(host: Host, machine: str, data: Any = None, name: str | None = None) -> str:
    """Start an execution; returns its ARN."""
    optional = {"name": name} if name else {}
    answer = host.client("stepfunctions").start_execution(
        stateMachineArn=machine, input=json.dumps(data if data is not None else {}), **optional
    )
    return str(answer["executionArn"])


def wait(host: Host, execution: str) -> Json:
    """The execution's description once it has ended."""
    states = host.client("stepfunctions")
    wait_until(
        lambda: host.emulator.history(execution)[0] != "RUNNING",
        lambda: f"{execution} still runs",
        host.emulator.events_written,
    )
    return dict(states.describe_execution(executionArn=execution))


def run(host: Host, states: Json, data: Any = None, **top: Any) -> Json:
    """Run these states to their end; the execution's description, with `result` as parsed output."""
    described = wait(host, start(host, create_machine(host, states, **top), data))
    if described["status"] == "SUCCEEDED":
        described["result"] = json.loads(described["output"])
    return described


def create_lambda(
    host: Host, source: str, *, environment: Mapping[str, str] | None = None, layers: Sequence[str] = ()
) -> str:
    """A Lambda whose module is `source` with a function `handler`. Returns its name."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    make_role(host)
    host.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.13",
        Handler="code.handler",
        Role=_role(host),
        Code={"ZipFile": zip_of({"code.py": textwrap.dedent(source)})},
        Environment={"Variables": dict(environment or {})},
        Layers=list(layers),
        Timeout=20,
    )
    return name


def create_bucket(host: Host, name: str) -> None:
    """A bucket in the Region, if it is not there yet."""
    s3, region = host.client("s3"), host.addresses.region
    place = {"LocationConstraint": region} if region != "us-east-1" else {}
    with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=name, CreateBucketConfiguration=place)


def invoke_state(function: str, payload: Any = None, **fields: Any) -> Json:
    """A Task state that calls the Lambda."""
    return {
        "Type": "Task",
        "Resource": "arn:${Partition}:states:::lambda:invoke",
        "Arguments": {"FunctionName": function, "Payload": payload if payload is not None else {}},
        "Output": "{% $states.result.Payload %}",
        "End": True,
        **fields,
    }


def _role(host: Host) -> str:
    return f"arn:{host.addresses.partition}:iam::123456789012:role/test"


def zip_of(files: Mapping[str, str]) -> bytes:
    """A zip file with these texts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # of no time: equal texts are equal files
    return buffer.getvalue()
