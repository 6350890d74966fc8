"""`make undeploy`: delete the stack with SAM, then list what stays in the account.

Exit status 0 once the stack is gone, 1 while it is still there, 2 for bad options, 7 if the user answers no,
130 if stopped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import click
from botocore.exceptions import BotoCoreError, ClientError

from rewarm_cli import words
from rewarm_cli.asking import HELP, agree, asks
from rewarm_cli.clone.arguments import Parser
from rewarm_cli.output import say

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

DELETED, STILL_THERE, STOPPED = 0, 1, 130
ROOT = Path(__file__).resolve().parents[3]
SAM = ROOT / ".venv-sam" / "bin" / "sam"
UNDO_LOGS = "undo/"
"""How keys of undo logs begin (functions/rewarm/steps/record/bucket.py)."""
HINT = "docs/operations.md, Removing Rewarm, says what to do next."

RunSam = Callable[[Sequence[str]], int]


class NotRemovableError(RuntimeError):
    """There is no such stack, it is not Rewarm's, or AWS does not answer; the message says which."""


def main(arguments: Sequence[str] | None = None, run_sam: RunSam | None = None) -> int:
    """Delete the stack, print what stays, and return the exit status."""
    options = parse(arguments)
    # boto3 reads AWS_DEFAULT_REGION only; the AWS CLI and SAM read AWS_REGION first.
    session = boto3.Session(region_name=options.region or os.environ.get("AWS_REGION"))
    try:
        return _undeploy(session, options.stack_name, asked=asks(yes=options.yes), run_sam=run_sam or _sam)
    except click.exceptions.Exit as declined:
        return declined.exit_code
    except click.UsageError as problem:
        say(problem.message, err=True)
        return problem.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("Stopped looking. A deletion that has begun continues in CloudFormation.")
        return STOPPED
    except (NotRemovableError, BotoCoreError, ClientError) as problem:
        say(f"The stack {options.stack_name} cannot be deleted: {problem}")
        return STILL_THERE


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of `make undeploy`; ends the program if one is wrong."""
    parser = Parser(prog="make undeploy", usage='make undeploy ARGS="[--stack-name rewarm] [--yes]"')
    parser.add_argument("--stack-name", default=_configured_stack(), help="default: that of samconfig.toml")
    parser.add_argument("--region", help="default: that of AWS_REGION or of your profile")
    parser.add_argument("--yes", action="store_true", help=HELP)
    return parser.parse_args(arguments)


def _configured_stack() -> str:
    settings = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    return str(settings["default"]["global"]["parameters"]["stack_name"])


def _sam(arguments: Sequence[str]) -> int:
    environment = {**os.environ, "SAM_CLI_TELEMETRY": "0"}
    return subprocess.run([str(SAM), *arguments], env=environment, check=False).returncode


def _undeploy(session: boto3.Session, name: str, *, asked: bool, run_sam: RunSam) -> int:
    if session.region_name is None:
        raise NotRemovableError("there is no Region: set AWS_REGION, or use --region")
    stack = session.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}
    if not {"ArtifactsBucket", "RestoresTable"} <= outputs.keys():
        raise NotRemovableError("it is not Rewarm's: it has no outputs ArtifactsBucket and RestoresTable")
    say(f"Restores that still run in {name} are ended first. The reports and the runbooks stay.")
    if asked:
        agree(f"Delete the stack {name} in {session.region_name}?", "Nothing was deleted.")
    run_sam(["delete", "--stack-name", name, "--region", session.region_name, "--no-prompts"])
    found = session.client("cloudformation").describe_stacks(StackName=stack["StackId"])["Stacks"][0]
    if found["StackStatus"] != "DELETE_COMPLETE":
        say(f"{name} is still there: {found['StackStatus']}.")
        say("\n".join([*_failures(session, found), HINT]))
        return STILL_THERE
    say(f"{name} is deleted. This stays until you remove it:")
    try:
        for line in _kept(session, name, outputs):
            say(line)
    except ClientError as problem:
        say(f"  what else is not known: {problem}")
    say(HINT)
    return DELETED


def _failures(session: boto3.Session, stack: StackTypeDef) -> Iterator[str]:
    """A line for each resource that could not be deleted, with its reason."""
    pages = session.client("cloudformation").get_paginator("describe_stack_events")
    for page in pages.paginate(StackName=stack["StackId"]):
        for event in page["StackEvents"]:
            if event.get("ResourceStatus") == "DELETE_FAILED":
                reason = event.get("ResourceStatusReason", "no reason was given")
                yield f"  {event['LogicalResourceId']}: {reason}"


def _kept(session: boto3.Session, name: str, outputs: dict[str, str]) -> Iterator[str]:
    """A line for each thing of the stack that outlives it."""
    bucket = outputs["ArtifactsBucket"]
    yield f"  the reports, and the undo logs with them: {_removal(session, bucket)}"
    yield from _undo_logs(session, bucket)
    table = ("--table-name", outputs["RestoresTable"])
    unprotected = words.aws("dynamodb", "update-table", *table, "--no-deletion-protection-enabled")
    yield f"  the runbooks: {unprotected}"
    yield f"                {words.aws('dynamodb', 'delete-table', *table)}"
    pages = session.client("ec2").get_paginator("describe_volumes")
    for page in pages.paginate(Filters=[{"Name": "tag:rewarm:stack", "Values": [name]}]):
        for volume in page["Volumes"]:
            yield f"  {volume['VolumeId']}: a restored volume of {volume['Size']} GiB, {volume['State']}"


def _removal(session: boto3.Session, bucket: str) -> str:
    """How to remove the bucket. `aws s3 rb --force` leaves versions, and so the bucket."""
    s3 = session.client("s3")
    with suppress(s3.exceptions.NoSuchBucket):
        if s3.get_bucket_versioning(Bucket=bucket).get("Status"):
            removal = words.aws("s3", "rb", f"s3://{bucket}")
            return f"empty {bucket} in the console of S3, which deletes its versions too; {removal}"
    return words.aws("s3", "rb", f"s3://{bucket}", "--force")


def _undo_logs(session: boto3.Session, bucket: str) -> Iterator[str]:
    """A line for each rewind that the bucket's undo logs can undo, if there still is a bucket."""
    sizes: dict[str, int] = {}
    pages = session.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=UNDO_LOGS)
    with suppress(session.client("s3").exceptions.NoSuchBucket):
        for found in (found for page in pages for found in page.get("Contents", [])):
            restore_id = found["Key"].removeprefix(UNDO_LOGS).partition("/")[0]
            sizes[restore_id] = sizes.get(restore_id, 0) + found["Size"]
    for restore_id, size in sizes.items():
        yield f"  the undo log of {restore_id}, {words.size(size)}: s3://{bucket}/{UNDO_LOGS}{restore_id}/"


if __name__ == "__main__":
    raise SystemExit(main())
