"""What it takes to end a stack's restores: executions and the stack itself, against botocore's models."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rewarm.adapters.executions import AwsInventory, StepFunctionsStackExecutions
from rewarm.domain import errors
from tests.contract import repository
from tests.contract.answers import ApiError, Aws

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:"
EXECUTION = MACHINE.replace("stateMachine", "execution")
RESTORE, CHILD = f"{MACHINE}restore", f"{MACHINE}restore-volume"
STACK_ID = "arn:aws:cloudformation:us-east-1:123456789012:stack/rewarm/1"


def executions(*names: str) -> dict[str, list[dict[str, object]]]:
    return {
        "executions": [
            {
                "executionArn": f"{EXECUTION}{name}", "stateMachineArn": RESTORE, "name": name,
                "status": "RUNNING", "startDate": NOW,
            }
            for name in names
        ]
    }  # fmt: skip


def stack_executions(states: Aws) -> StepFunctionsStackExecutions:
    return StepFunctionsStackExecutions(states.client, RESTORE, CHILD)


class TestStackExecutions:
    def test_restores_come_before_their_volumes(self) -> None:
        page = {**executions("restore:one-2"), "nextToken": "more"}
        states = Aws("stepfunctions").on(
            "ListExecutions", page, executions("restore:two"), executions("restore-volume:one-2-0")
        )
        assert list(stack_executions(states).running().items()) == [
            (f"{EXECUTION}restore:one-2", "one-2"),
            (f"{EXECUTION}restore:two", "two"),
            (f"{EXECUTION}restore-volume:one-2-0", "one-2"),
        ]
        asked = states.params("ListExecutions")
        assert {one["statusFilter"] for one in asked} == {"RUNNING"}
        assert [one["stateMachineArn"] for one in asked] == [RESTORE, RESTORE, CHILD]

    def test_of_a_state_machine_that_is_gone_nothing_runs(self) -> None:
        states = Aws("stepfunctions").on("ListExecutions", ApiError("StateMachineDoesNotExist"))
        assert stack_executions(states).running() == {}

    def test_stopping_says_why(self) -> None:
        states = Aws("stepfunctions").on("StopExecution", {"stopDate": NOW})
        stack_executions(states).stop(f"{EXECUTION}restore:one", "because")
        assert states.params("StopExecution") == [
            {"executionArn": f"{EXECUTION}restore:one", "cause": "because"}
        ]

    def test_what_is_gone_needs_no_stopping(self) -> None:
        states = Aws("stepfunctions").on("StopExecution", ApiError("ExecutionDoesNotExist"))
        stack_executions(states).stop(f"{EXECUTION}restore:one", "because")

    def test_a_refusal_is_told(self) -> None:
        states = Aws("stepfunctions").on("StopExecution", ApiError("AccessDeniedException"))
        with pytest.raises(errors.AccessDeniedError):
            stack_executions(states).stop(f"{EXECUTION}restore:one", "because")


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        ("DELETE_IN_PROGRESS", "goes"),
        ("ROLLBACK_IN_PROGRESS", "goes"),
        ("UPDATE_ROLLBACK_IN_PROGRESS", "stays"),
        ("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "stays"),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "stays"),
    ],
)
def test_whether_the_stack_goes_away(status: str, answer: str) -> None:
    stack = {"StackName": "rewarm", "CreationTime": NOW, "StackStatus": status}
    aws = Aws("cloudformation").on("DescribeStacks", {"Stacks": [stack]})
    assert AwsInventory(None, None, aws.client, None, RESTORE).goes_away(STACK_ID) is (answer == "goes")
    assert aws.params("DescribeStacks") == [{"StackName": STACK_ID}]


class TestTemplate:
    def test_restores_are_ended_before_what_ends_them_goes(self) -> None:
        """CloudFormation deletes what refers to another resource before that one."""
        ended = repository.template()["Resources"]["EndedRestores"]
        sweeper = repository.template()["Resources"]["SweepFunction"]["Properties"]
        assert ended["Properties"]["ServiceToken"] == {"Fn::GetAtt": ["SweepFunction", "Arn"]}
        told = sweeper["Environment"]["Variables"]
        assert told["RESTORE_STATE_MACHINE_ARN"] == {"Ref": "RestoreStateMachine"}
        assert told["RESTORE_VOLUME_STATE_MACHINE_ARN"] == {"Ref": "RestoreVolumeStateMachine"}
        assert repository.template()["Resources"]["ApiFunction"]["DependsOn"] == "EndedRestores"

    def test_cloudformation_waits_for_three_tries(self) -> None:
        ended = repository.template()["Resources"]["EndedRestores"]["Properties"]
        sweeper = repository.template()["Resources"]["SweepFunction"]["Properties"]
        assert 3 * sweeper["Timeout"] < ended["ServiceTimeout"] <= 3_600
