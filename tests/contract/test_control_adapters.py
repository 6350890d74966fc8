"""SSM, CloudWatch, Service Quotas and Step Functions, against botocore's models."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rewarm.adapters.executions import StepFunctionsExecutions
from rewarm.adapters.instances import SsmCommands
from rewarm.adapters.performance import CloudWatchMetrics
from rewarm.domain import errors
from tests.contract.answers import ApiError, Aws

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
INSTANCE = "i-0123456789abcdef0"
COMMAND = "11111111-2222-3333-4444-555555555555"
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:rewarm-restore"


DOCUMENTS = {"linux": "rewarm-WarmerDocument", "windows": "rewarm-WarmerWindowsDocument"}


class TestCommands:
    @pytest.mark.parametrize("platform", ["linux", "windows"])
    def test_sends_this_stacks_document_of_the_platform(self, platform: str) -> None:
        ssm = Aws("ssm").on("SendCommand", {"Command": {"CommandId": COMMAND}})
        commands = SsmCommands(ssm.client, DOCUMENTS)
        sent = commands.send(
            INSTANCE, {"action": "warm"}, platform=platform, comment="c" * 150, timeout_seconds=5
        )
        assert sent == COMMAND
        assert ssm.params("SendCommand") == [{
            "DocumentName": DOCUMENTS[platform], "InstanceIds": [INSTANCE], "Parameters": {"action":
            ["warm"]}, "Comment": "c" * 100, "TimeoutSeconds": 30,
        }]  # fmt: skip

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("InvalidInstanceId", errors.AgentUnreachableError),
            ("UnsupportedPlatformType", errors.AgentUnreachableError),
            ("InvalidDocument", errors.RequestRefusedError),
            ("ThrottlingException", errors.ThrottledError),
        ],
    )
    def test_says_why_it_cannot_send(self, code: str, error: type[Exception]) -> None:
        ssm = Aws("ssm").on("SendCommand", ApiError(code))
        with pytest.raises(error):
            SsmCommands(ssm.client, DOCUMENTS).send(
                INSTANCE, {}, platform="linux", comment="", timeout_seconds=300
            )

    def test_says_where_there_is_no_document_for_a_platform(self) -> None:
        with pytest.raises(errors.AgentUnreachableError, match="no SSM document for plan9 instances"):
            SsmCommands(Aws("ssm").client, DOCUMENTS).send(
                INSTANCE, {}, platform="plan9", comment="", timeout_seconds=300
            )

    def test_finds_commands_by_their_comment_on_every_page(self) -> None:
        def page(first: str) -> list[dict[str, str]]:
            ours = {"CommandId": first + COMMAND[1:], "Comment": "ours", "Status": "InProgress"}
            return [ours, {"CommandId": COMMAND, "Comment": "another", "Status": "Success"}]

        ssm = Aws("ssm").on(
            "ListCommands", {"Commands": page("a"), "NextToken": "more"}, {"Commands": page("b")}
        )
        since = datetime(2026, 11, 21, 3, 0, 30, 123_000, tzinfo=UTC)
        found = SsmCommands(ssm.client, DOCUMENTS).find("ours", platform="windows", since=since)
        assert [(one.command_id[0], one.is_over) for one in found] == [("a", False), ("b", False)]
        first, second = ssm.params("ListCommands")
        assert first["Filters"] == [
            {"key": "DocumentName", "value": DOCUMENTS["windows"]},
            {"key": "InvokedAfter", "value": "2026-11-21T02:59:30Z"},
        ]
        assert (second["NextToken"], "InstanceId" in first) == ("more", False)

    def test_sends_with_a_client_that_tries_once(self) -> None:
        """boto3 would send the command a second time where only the first answer was lost."""
        ssm, sender = Aws("ssm"), Aws("ssm").on("SendCommand", {"Command": {"CommandId": COMMAND}})
        commands = SsmCommands(ssm.client, DOCUMENTS, sender=sender.client)
        commands.send(INSTANCE, {}, platform="linux", comment="", timeout_seconds=300)
        assert len(sender.params("SendCommand")) == 1

    def test_an_invocation_may_not_exist_yet(self) -> None:
        ssm = Aws("ssm").on("GetCommandInvocation", ApiError("InvocationDoesNotExist"))
        assert SsmCommands(ssm.client, DOCUMENTS).status(COMMAND, INSTANCE) is None

    def test_reads_the_invocation(self) -> None:
        running = {"Status": "InProgress", "StatusDetails": "InProgress", "ResponseCode": -1}
        failed = {
            "Status": "Failed", "StatusDetails": "Failed", "ResponseCode": 1, "StandardOutputContent": "{}",
            "StandardErrorContent": "no",
        }  # fmt: skip
        ssm = Aws("ssm").on("GetCommandInvocation", running, failed)
        commands = SsmCommands(ssm.client, DOCUMENTS)
        first, second = commands.status(COMMAND, INSTANCE), commands.status(COMMAND, INSTANCE)
        assert first is not None
        assert second is not None
        assert (first.finished, first.exit_code) == (False, None)
        assert (second.finished, second.exit_code, second.stdout, second.stderr) == (True, 1, "{}", "no")

    @pytest.mark.parametrize(
        ("stamp", "instant"),
        [
            ("", None),
            ("2026-11-21T03:00:00.123Z", datetime(2026, 11, 21, 3, 0, 0, 123_000, tzinfo=UTC)),
            ("2026-11-21T12:00:00+09:00", datetime(2026, 11, 21, 3, 0, tzinfo=UTC)),
            ("2026-11-21T03:00:00", datetime(2026, 11, 21, 3, 0, tzinfo=UTC)),
            ("yesterday", None),
        ],
    )
    def test_reads_the_end_of_the_command(self, stamp: str, instant: datetime | None) -> None:
        ssm = Aws("ssm").on("GetCommandInvocation", {"Status": "Success", "ExecutionEndDateTime": stamp})
        status = SsmCommands(ssm.client, DOCUMENTS).status(COMMAND, INSTANCE)
        assert status is not None
        assert status.ended_at == instant

    def test_cancels_once(self) -> None:
        ssm = Aws("ssm").on(
            "CancelCommand", {}, ApiError("InvalidCommandId"), ApiError("AccessDeniedException")
        )
        commands = SsmCommands(ssm.client, DOCUMENTS)
        commands.cancel(COMMAND, INSTANCE)
        commands.cancel(COMMAND, INSTANCE)
        with pytest.raises(errors.AccessDeniedError):
            commands.cancel(COMMAND, INSTANCE)


class TestMetrics:
    def test_joins_the_metrics_by_minute(self) -> None:
        first, second, third = (NOW + timedelta(minutes=minute) for minute in range(3))
        pages: tuple[dict[str, Any], ...] = (
            {
                "MetricDataResults": [
                    {"Id": "ops", "Timestamps": [first, third], "Values": [10.0, 30.0]},
                    {"Id": "bytes", "Timestamps": [first, second], "Values": [4_096.0, 1.0]},
                ],
                "NextToken": "more",
            },
            {"MetricDataResults": [{"Id": "seconds", "Timestamps": [first], "Values": [0.5]}]},
        )
        cloudwatch = Aws("cloudwatch").on("GetMetricData", *pages)
        found = CloudWatchMetrics(cloudwatch.client).read_activity("vol-1", since=NOW, until=third)
        told = [(one.minute, one.read_ops, one.read_bytes, one.read_seconds) for one in found]
        assert told == [(first, 10.0, 4_096.0, 0.5), (third, 30.0, 0.0, 0.0)]
        stats = {
            query["MetricStat"]["Stat"]
            for query in cloudwatch.params("GetMetricData")[0]["MetricDataQueries"]
        }
        assert stats == {"Sum"}

    def test_a_minute_that_comes_twice_counts_with_its_higher_value(self) -> None:
        pages = [
            {"MetricDataResults": [{"Id": "ops", "Timestamps": [NOW], "Values": [value]}], "NextToken": token}
            for value, token in ((10.0, "more"), (30.0, "still more"), (20.0, ""))
        ]
        cloudwatch = Aws("cloudwatch").on("GetMetricData", *pages)
        found = CloudWatchMetrics(cloudwatch.client).read_activity("vol-1", since=NOW, until=NOW)
        assert [one.read_ops for one in found] == [30.0]

    def test_names_the_errors(self) -> None:
        cloudwatch = Aws("cloudwatch").on("GetMetricData", ApiError("Throttling"))
        with pytest.raises(errors.ThrottledError):
            CloudWatchMetrics(cloudwatch.client).read_activity(
                "vol-1", since=NOW, until=NOW + timedelta(hours=1)
            )


class TestExecutions:
    def test_starts_by_name(self) -> None:
        arn = f"{MACHINE.replace('stateMachine', 'execution')}:restore-1"
        stepfunctions = Aws("stepfunctions").on("StartExecution", {"executionArn": arn, "startDate": NOW})
        assert (
            StepFunctionsExecutions(stepfunctions.client, MACHINE).start("restore-1", {"request": {}}) == arn
        )
        sent = stepfunctions.params("StartExecution")[0]
        assert (sent["name"], sent["input"]) == ("restore-1", '{"request": {}}')

    def test_an_execution_that_has_ended_is_not_started_again(self) -> None:
        stepfunctions = Aws("stepfunctions").on("StartExecution", ApiError("ExecutionAlreadyExists"))
        started = StepFunctionsExecutions(stepfunctions.client, MACHINE).start("restore-1", {})
        assert started == "arn:aws:states:us-east-1:123456789012:execution:rewarm-restore:restore-1"

    def test_names_the_errors(self) -> None:
        stepfunctions = Aws("stepfunctions").on("StartExecution", ApiError("ThrottlingException"))
        with pytest.raises(errors.ThrottledError):
            StepFunctionsExecutions(stepfunctions.client, MACHINE).start("restore-1", {})
