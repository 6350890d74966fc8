"""Executions on Step Functions, those that wait for a token, and what else the stack has running.

Tokens are in the table, in the item `signal#<signal>` of each signal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.fast_restores import enabling_time
from rewarm.adapters.table.table_items import from_item
from rewarm.domain.model import RunningFastRestore
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS
from rewarm.domain.volume.leftovers import ExecutionEnd, ExecutionStart, restore_of, volume_execution
from rewarm.ports import JsonObject
from rewarm.ports.executions import LOOK_PREFIX
from rewarm.ports.restores import RestoreTable

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.client import CloudFormationClient
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import DescribeFastSnapshotRestoreSuccessItemTypeDef
    from mypy_boto3_stepfunctions.client import SFNClient
    from mypy_boto3_stepfunctions.literals import ExecutionStatusType
    from mypy_boto3_stepfunctions.type_defs import (
        DescribeExecutionOutputTypeDef,
        ExecutionListItemTypeDef,
    )

_LARGEST_PAGE = 1_000
"""botocore ListExecutions: maxResults."""
_ENDED_BADLY: tuple[ExecutionStatusType, ...] = ("ABORTED", "TIMED_OUT", "FAILED")
_LONGEST = timedelta(seconds=LONGEST_RESTORE_SECONDS) + timedelta(days=1)
"""How long an execution lasts at most, with a margin for its start (the time limit in statemachine/)."""
_CLOCKS_AGREE = timedelta(minutes=1)
"""The clock difference allowed between Step Functions and EC2; it only widens what is looked at."""
_NOBODY_WAITS_CODES = {"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"}
"""botocore SendTaskSuccess: the wait has ended by itself, or the event came twice."""
_ACTIVE_STATES = ["enabling", "optimizing", "enabled"]
"""botocore FastSnapshotRestoreStateCode, without the two in which it is on its way out."""
_GOING_AWAY_STATUSES = frozenset({"DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"})
"""CloudFormation user guide, "Stack status codes"; those of an update, undone or not, begin with UPDATE."""


def running_executions(
    stepfunctions: SFNClient, state_machine_arn: str
) -> Iterator[ExecutionListItemTypeDef]:
    """The running executions of a state machine; errors are botocore's own."""
    pages = stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=state_machine_arn,
        statusFilter="RUNNING",
        PaginationConfig={"PageSize": _LARGEST_PAGE},
    )
    for page in pages:
        yield from page["executions"]


class StepFunctionsStackExecutions:
    """The port StackExecutions."""

    def __init__(self, stepfunctions: SFNClient, restore_arn: str, restore_volume_arn: str) -> None:
        self._stepfunctions = stepfunctions
        self._restore_arn = restore_arn
        self._restore_volume_arn = restore_volume_arn

    def is_over(self, restore_id: str, index: int) -> bool:
        return not (self._is_running(self._restore_arn, restore_id) or self.volume_runs(restore_id, index))

    def ending(self, restore_id: str) -> ExecutionEnd:
        return self._end(self._restore_arn, restore_id)

    def volume_runs(self, restore_id: str, index: int) -> bool:
        return self._is_running(self._restore_volume_arn, volume_execution(restore_id, index))

    def begun(self, restore_id: str, index: int | None = None) -> ExecutionStart | None:
        of_volume = index is not None
        name = volume_execution(restore_id, index) if index is not None else restore_id
        found = self._describe(self._restore_volume_arn if of_volume else self._restore_arn, name)
        if found is None:
            return None
        return ExecutionStart(json.loads(found.get("input", "{}")), found["startDate"], found["status"])

    def ended_badly(self, since: datetime) -> list[str]:
        return [
            execution["name"]
            for status in _ENDED_BADLY
            for execution in self._begun_since(self._restore_arn, since - _LONGEST, status)
            if execution["stopDate"] >= since
        ]

    def volumes_at(self, instant: datetime) -> list[tuple[str, int]]:
        names = [
            execution["name"].rpartition("-")
            for execution in self._begun_since(self._restore_volume_arn, instant - _LONGEST)
            if execution["startDate"] <= instant + _CLOCKS_AGREE
            and execution.get("stopDate", instant) >= instant - _CLOCKS_AGREE
        ]
        return [(restore_id, int(index)) for restore_id, _, index in names if index.isdecimal()]

    def _begun_since(
        self, state_machine_arn: str, earliest: datetime, status: ExecutionStatusType | None = None
    ) -> Iterator[ExecutionListItemTypeDef]:
        """The latest first, as Step Functions lists them."""
        wanted: dict[str, Any] = {"statusFilter": status} if status else {}
        pages = self._stepfunctions.get_paginator("list_executions").paginate(
            stateMachineArn=state_machine_arn, PaginationConfig={"PageSize": _LARGEST_PAGE}, **wanted
        )
        with naming_errors():
            for page in pages:
                for execution in page["executions"]:
                    if execution["startDate"] < earliest:
                        return
                    yield execution

    def names_running(self) -> frozenset[str]:
        arns = (self._restore_arn, self._restore_volume_arn)
        with naming_errors():
            return frozenset(
                execution["name"]
                for arn in arns
                for execution in running_executions(self._stepfunctions, arn)
            )

    def running(self) -> dict[str, str]:
        """Restores before their volumes, because a stopped restore starts no more volumes."""
        return {
            arn: restore_of(arn.rpartition(":")[2], of_volume=machine == self._restore_volume_arn)
            for machine in (self._restore_arn, self._restore_volume_arn)
            for arn in self._running(machine)
        }

    def stop(self, execution_arn: str, cause: str) -> None:
        """The cause stands in the history, and in the restore's message."""
        _stop(self._stepfunctions, execution_arn, cause)

    def _running(self, state_machine_arn: str) -> list[str]:
        with naming_errors():
            try:
                return [
                    execution["executionArn"]
                    for execution in running_executions(self._stepfunctions, state_machine_arn)
                ]
            except ClientError as error:
                if code_of(error) == "StateMachineDoesNotExist":
                    return []
                raise

    def _is_running(self, state_machine_arn: str, name: str) -> bool:
        return self._end(state_machine_arn, name).runs

    def _end(self, state_machine_arn: str, name: str) -> ExecutionEnd:
        return _ending(self._describe(state_machine_arn, name))

    def _describe(self, state_machine_arn: str, name: str) -> DescribeExecutionOutputTypeDef | None:
        return _described(self._stepfunctions, execution_arn(state_machine_arn, name))


class StepFunctionsExecutions:
    """The port Executions."""

    def __init__(self, stepfunctions: SFNClient, state_machine_arn: str) -> None:
        self._stepfunctions = stepfunctions
        self._state_machine_arn = state_machine_arn

    def start(self, restore_id: str, execution_input: JsonObject) -> str:
        with naming_errors():
            try:
                answer = self._stepfunctions.start_execution(
                    stateMachineArn=self._state_machine_arn,
                    name=restore_id,
                    input=json.dumps(execution_input, default=str),
                )
            except ClientError as error:
                # StartExecution gives the ARN again only while the execution runs; after that it says so.
                if code_of(error) == "ExecutionAlreadyExists":
                    return execution_arn(self._state_machine_arn, restore_id)
                raise
        return answer["executionArn"]


class StepFunctionsVolumes:
    """The port VolumeExecutions."""

    def __init__(self, stepfunctions: SFNClient, state_machine_arn: str) -> None:
        self._stepfunctions = stepfunctions
        self._state_machine_arn = state_machine_arn

    def ending(self, restore_id: str, index: int) -> ExecutionEnd:
        arn = execution_arn(self._state_machine_arn, volume_execution(restore_id, index))
        return _ending(_described(self._stepfunctions, arn))


class StepFunctionsFleets(StepFunctionsExecutions):
    """The port FleetExecutions."""

    def arn_of(self, name: str) -> str:
        return execution_arn(self._state_machine_arn, name)

    def ending(self, arn: str) -> ExecutionEnd:
        return _ending(_described(self._stepfunctions, arn))

    def stop(self, arn: str, cause: str) -> None:
        _stop(self._stepfunctions, arn, cause)


def _described(stepfunctions: SFNClient, arn: str) -> DescribeExecutionOutputTypeDef | None:
    with naming_errors():
        try:
            return stepfunctions.describe_execution(executionArn=arn)
        except ClientError as error:
            if code_of(error) == "ExecutionDoesNotExist":
                return None
            raise


def _ending(found: DescribeExecutionOutputTypeDef | None) -> ExecutionEnd:
    if found is None:
        return ExecutionEnd("GONE")
    said = (found.get("error", ""), found.get("cause", ""), found.get("output", ""))
    return ExecutionEnd(found["status"], *said)


def _stop(stepfunctions: SFNClient, arn: str, cause: str) -> None:
    with naming_errors():
        try:
            stepfunctions.stop_execution(executionArn=arn, cause=cause)
        except ClientError as error:
            if code_of(error) != "ExecutionDoesNotExist":
                raise


def execution_arn(state_machine_arn: str, name: str) -> str:
    """The ARN of the execution with this name."""
    return state_machine_arn.replace(":stateMachine:", ":execution:", 1) + f":{name}"


class DynamoWaiters:
    """The port Waiters."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def add(self, signal: str, token: str, *, seconds: int) -> None:
        """A set, since several restores may wait for one snapshot; the item expires with the last."""
        self._write(signal, "ADD tokens :token SET expiresAt = :expires", token, seconds)

    def replace(self, signal: str, token: str, *, seconds: int) -> None:
        """Drops the tokens of earlier waits."""
        self._write(signal, "SET tokens = :token, expiresAt = :expires", token, seconds)

    def take(self, signal: str) -> list[str]:
        """Deletes the tokens as it reads them, so that a repeated event wakes nobody."""
        with naming_errors():
            answer = self._dynamodb.delete_item(
                TableName=self._table, Key=_signal_key(signal), ReturnValues="ALL_OLD"
            )
        return list(from_item(answer.get("Attributes", {})).get("tokens", []))

    def _write(self, signal: str, expression: str, token: str, seconds: int) -> None:
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_signal_key(signal),
                UpdateExpression=expression,
                ExpressionAttributeValues={
                    ":token": {"SS": [token]},
                    ":expires": {"N": str(int(self._clock()) + seconds)},
                },
            )


class StepFunctionsTasks:
    """The port Tasks."""

    def __init__(self, stepfunctions: SFNClient) -> None:
        self._stepfunctions = stepfunctions

    def wake(self, token: str) -> bool:
        """SendTaskSuccess without an output: the look that follows asks AWS itself."""
        with naming_errors():
            try:
                self._stepfunctions.send_task_success(taskToken=token, output="{}")
            except ClientError as error:
                if code_of(error) in _NOBODY_WAITS_CODES:
                    return False
                raise
        return True


def _signal_key(signal: str) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"signal#{signal}"}}


class AwsInventory:
    """The port Inventory."""

    def __init__(
        self,
        ec2: EC2Client,
        stepfunctions: SFNClient,
        cloudformation: CloudFormationClient,
        table: RestoreTable,
        restore_arn: str,
    ) -> None:
        self._ec2 = ec2
        self._stepfunctions = stepfunctions
        self._cloudformation = cloudformation
        self._table = table
        self._restore_arn = restore_arn

    def restores_in_flight(self) -> int:
        with naming_errors():
            running = running_executions(self._stepfunctions, self._restore_arn)
            return sum(not execution["name"].startswith(LOOK_PREFIX) for execution in running)

    def fast_restores(self) -> list[RunningFastRestore]:
        """EC2 knows what is active, the table what of that is ours: one read for each that is active."""
        with naming_errors():
            found = [
                (restore, self._table.claim(restore["SnapshotId"], restore["AvailabilityZone"]))
                for restore in self._active()
            ]
        return [
            RunningFastRestore(
                restore["SnapshotId"], restore["AvailabilityZone"], enabling_time(restore), claim.users
            )
            for restore, claim in found
            if claim is not None and claim.is_ours(enabling_time(restore))
        ]

    def goes_away(self, stack_id: str) -> bool:
        # CloudFormation finds a deleted stack only by its id.
        with naming_errors():
            (stack,) = self._cloudformation.describe_stacks(StackName=stack_id)["Stacks"]
        return stack["StackStatus"] in _GOING_AWAY_STATUSES

    def _active(self) -> Iterator[DescribeFastSnapshotRestoreSuccessItemTypeDef]:
        paginator = self._ec2.get_paginator("describe_fast_snapshot_restores")
        for page in paginator.paginate(Filters=[{"Name": "state", "Values": _ACTIVE_STATES}]):
            yield from page["FastSnapshotRestores"]
