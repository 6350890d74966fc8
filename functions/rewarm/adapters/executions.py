"""Executions of the state machines on Step Functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.domain.volume.leftovers import ExecutionEnd, restore_of, volume_execution
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient
    from mypy_boto3_stepfunctions.type_defs import ExecutionListItemTypeDef

_LARGEST_PAGE = 1_000
"""botocore ListExecutions: maxResults."""


def running_executions(
    stepfunctions: SFNClient, state_machine_arn: str
) -> Iterator[ExecutionListItemTypeDef]:
    """Those of one state machine that run; errors are botocore's own."""
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

    def names_running(self) -> frozenset[str]:
        arns = (self._restore_arn, self._restore_volume_arn)
        with naming_errors():
            return frozenset(
                execution["name"]
                for arn in arns
                for execution in running_executions(self._stepfunctions, arn)
            )

    def running(self) -> dict[str, str]:
        """Restores before their volumes: one that is stopped first starts no more of them."""
        return {
            arn: restore_of(arn.rpartition(":")[2], of_volume=machine == self._restore_volume_arn)
            for machine in (self._restore_arn, self._restore_volume_arn)
            for arn in self._running(machine)
        }

    def stop(self, execution_arn: str, cause: str) -> None:
        """The cause stands in the history, and in the restore's message."""
        with naming_errors():
            try:
                self._stepfunctions.stop_execution(executionArn=execution_arn, cause=cause)
            except ClientError as error:
                if code_of(error) != "ExecutionDoesNotExist":
                    raise

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
        with naming_errors():
            try:
                found = self._stepfunctions.describe_execution(
                    executionArn=execution_arn(state_machine_arn, name)
                )
            except ClientError as error:
                if code_of(error) == "ExecutionDoesNotExist":
                    return ExecutionEnd("GONE")
                raise
        return ExecutionEnd(found["status"], found.get("error", ""), found.get("cause", ""))


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


def execution_arn(state_machine_arn: str, name: str) -> str:
    """Of the execution with this name."""
    return state_machine_arn.replace(":stateMachine:", ":execution:", 1) + f":{name}"
