"""Executions of the state machine `restore`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient


class StepFunctionsExecutions:
    """The port Executions."""

    def __init__(self, stepfunctions: SFNClient, state_machine_arn: str) -> None:
        self._stepfunctions = stepfunctions
        self._state_machine_arn = state_machine_arn

    def start(self, restore_id: str, execution_input: JsonObject) -> str:
        """The execution's ARN; the same id with the same input starts nothing new."""
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
                    return self._execution_arn(restore_id)
                raise
        return answer["executionArn"]

    def _execution_arn(self, name: str) -> str:
        return self._state_machine_arn.replace(":stateMachine:", ":execution:", 1) + f":{name}"
