"""A Task state that calls an operation of EC2 or AWS Backup reaches the Region, with its machine's role.

Why: the emulator's EC2 does not know the Region's volumes, and it has no AWS Backup. AWS signs such a
call with the state machine's role, names errors `Service.CodeException`, EC2's all `Ec2.Ec2Exception`, and
has times as text (Step Functions developer guide, "AWS SDK service integrations").
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import boto3
from botocore import xform_name
from botocore.exceptions import ClientError

from local.aws.emulator import seam
from local.aws.emulator.patches.functions.compat_lambda_environment import FunctionKeys
from local.aws.emulator.patches.stack.compat_service_roles import current_role

SERVICES = {"ec2": "Ec2", "backup": "Backup"}
"""Those of the Region that a state machine calls -> how errors name them."""


def apply(keys: FunctionKeys) -> None:
    """Mend the emulator's Step Functions; `keys` are the temporary credentials of a role's session."""
    states = seam.module("services.stepfunctions")
    dispatch = seam.known(states, "_invoke_aws_sdk_integration", 'parts[5] != "aws-sdk"')

    def called(resource: str, argument: dict[str, Any]) -> Any:
        service, _, operation = resource.partition(":aws-sdk:")[2].partition(":")
        if service not in SERVICES:
            return dispatch(resource, argument)
        own = keys(current_role.get(), "StepFunctions")
        client: Any = boto3.client(  # type: ignore[call-overload]  # the name is known only to the caller
            service,
            aws_access_key_id=own["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=own["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=own["AWS_SESSION_TOKEN"],
        )
        try:
            answer = getattr(client, xform_name(operation))(**argument)
        except ClientError as error:
            raise states._ExecutionError(*_named(service, error)) from error
        answer.pop("ResponseMetadata", None)
        return json.loads(json.dumps(answer, default=_text))

    called.__wrapped__ = dispatch  # type: ignore[attr-defined]
    seam.replace(states, "_invoke_aws_sdk_integration", called)


def _named(service: str, error: ClientError) -> tuple[str, str]:
    name, said = SERVICES[service], error.response["Error"]
    code = name if service == "ec2" else said["Code"].removesuffix("Exception")
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return f"{name}.{code}Exception", f"{said['Message']} (Service: {name}, Status Code: {status})"


def _text(value: datetime) -> str:
    return value.isoformat()
