"""The stack's API, with the user's own credentials."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import botocore.credentials
import botocore.session
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
)

from rewarm_cli.api import Api
from rewarm_cli.inputs import A_REGION, REGION

DEPLOY = "deploy it with make deploy, or name it with --stack and --region"


class StackUnreachableError(RuntimeError):
    """There are no credentials, no Region or no such stack; the message says which."""


def api_of(stack: str, api_url: str | None, region: str | None, profile: str | None = None) -> Api:
    """The API, signed as the AWS CLI would sign: from the environment, a profile or a role.

    `api_url` saves the call to CloudFormation that reads the stack's output. Raises StackUnreachableError.
    """
    session, region, credentials = session_of(profile, region)
    with _said_plainly():
        frozen = credentials.get_frozen_credentials()
    if frozen.access_key is None or frozen.secret_key is None:
        raise StackUnreachableError("the AWS credentials are not whole: log in again")
    outputs = {"ApiUrl": api_url} if api_url else outputs_of(session, stack, region)
    return Api(
        url=_named(outputs, stack, region, "ApiUrl").rstrip("/"),
        region=region,
        access_key_id=frozen.access_key,
        secret_access_key=frozen.secret_key,
        session_token=frozen.token,
        renewed=credentials,
        ca_bundle=session.get_config_variable("ca_bundle"),
        stack_version=outputs.get("Version"),
    )


def session_of(
    profile: str | None, region: str | None
) -> tuple[botocore.session.Session, str, botocore.credentials.Credentials]:
    """The user's session, its Region and its credentials. Raises StackUnreachableError."""
    with _said_plainly():
        session = botocore.session.Session(profile=profile)
        # botocore reads AWS_DEFAULT_REGION only; the AWS CLI and other SDKs read AWS_REGION first.
        region = region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
        credentials = session.get_credentials()
        if credentials is None:
            raise StackUnreachableError("there are no AWS credentials: use --profile, or log in")
    if region is None:
        raise StackUnreachableError("there is no Region: set AWS_REGION, or use --region")
    if REGION.fullmatch(region) is None:
        raise StackUnreachableError(f"the Region is {region!r}; {A_REGION}")
    return session, region, credentials


@contextlib.contextmanager
def _said_plainly() -> Iterator[None]:
    """Explains errors such as a missing profile or an expired login."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise StackUnreachableError(f"the AWS credentials cannot be used: {error}") from error


def outputs_of(session: botocore.session.Session, stack: str, region: str) -> dict[str, str]:
    """All outputs of the stack. Raises StackUnreachableError."""
    try:
        client: Any = session.create_client("cloudformation", region_name=region)
        found = client.describe_stacks(StackName=stack)["Stacks"][0]
    except (EndpointConnectionError, ConnectTimeoutError) as error:
        raise StackUnreachableError(
            f"CloudFormation cannot be reached in {region}: {A_REGION}, and a network that leads there"
        ) from error
    except ClientError as error:
        # CloudFormation API reference, DescribeStacks: a stack that does not exist is a ValidationError.
        if error.response["Error"]["Code"] != "ValidationError":
            raise StackUnreachableError(f"the stack {stack} cannot be read in {region}: {error}") from error
        raise StackUnreachableError(f"there is no stack {stack} in {region}: {DEPLOY}") from error
    except BotoCoreError as error:
        raise StackUnreachableError(f"the stack {stack} cannot be read in {region}: {error}") from error
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}


def _named(outputs: dict[str, str], stack: str, region: str, name: str) -> str:
    if name not in outputs:
        raise StackUnreachableError(
            f"the stack {stack} in {region} has no output {name}; is it Rewarm's, and of this version?"
        )
    return outputs[name]
