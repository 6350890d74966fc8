"""The stack's API, with the user's own credentials."""

from __future__ import annotations

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from rewarm_cli.api import Api


class StackUnreachableError(RuntimeError):
    """There are no credentials, no Region or no such stack; the message says which."""


def api_of(stack: str, api_url: str | None, region: str | None) -> Api:
    """Signed as boto3 would sign, from the environment, a profile or a role."""
    session = boto3.Session(region_name=region)
    credentials = session.get_credentials()
    if credentials is None:
        raise StackUnreachableError("there are no AWS credentials: set AWS_PROFILE, or log in")
    if session.region_name is None:
        raise StackUnreachableError("there is no Region: set AWS_REGION, or use --region")
    frozen = credentials.get_frozen_credentials()
    if frozen.access_key is None or frozen.secret_key is None:
        raise StackUnreachableError("the AWS credentials are not whole: log in again")
    return Api(
        url=(api_url or _output(session, stack)).rstrip("/"),
        region=session.region_name,
        access_key_id=frozen.access_key,
        secret_access_key=frozen.secret_key,
        session_token=frozen.token,
    )


def _output(session: boto3.Session, stack: str) -> str:
    try:
        found = session.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    except (BotoCoreError, ClientError) as error:
        raise StackUnreachableError(f"the stack {stack} cannot be read: {error}") from error
    for output in found.get("Outputs", []):
        if output.get("OutputKey") == "ApiUrl":
            return output["OutputValue"]
    raise StackUnreachableError(f"the stack {stack} has no output ApiUrl; is it Rewarm's?")
