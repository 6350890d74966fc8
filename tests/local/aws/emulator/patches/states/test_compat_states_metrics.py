"""AWS/States metrics of executions (compat_states_metrics.py)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.support.stack.state_machines import create_machine, start, wait
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from local.aws.host import Host


def total(host: Host, machine: str, metric: str) -> float:
    now = datetime.now(UTC)
    answer = host.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/States",
        MetricName=metric,
        Dimensions=[{"Name": "StateMachineArn", "Value": machine}],
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(hours=1),
        Period=60,
        Statistics=["Sum"],
    )
    return sum(point["Sum"] for point in answer["Datapoints"])


@pytest.mark.parametrize(
    ("state", "metric"),
    [
        ({"Type": "Succeed"}, "ExecutionsSucceeded"),
        ({"Type": "Fail", "Error": "RestoreFailed", "Cause": "none"}, "ExecutionsFailed"),
        ({"Type": "Wait", "Seconds": 10_000, "End": True}, "ExecutionsTimedOut"),
    ],
)
def test_each_end_is_counted_for_its_state_machine(host: Host, state, metric):
    machine = create_machine(host, {"Only": state}, TimeoutSeconds=600)
    wait(host, start(host, machine))
    wait_until(lambda: total(host, machine, metric) >= 1)
    assert total(host, machine, "ExecutionsStarted") == 1


def test_an_alarm_on_failed_executions_goes_off(host: Host):
    machine = create_machine(host, {"Only": {"Type": "Fail", "Error": "RestoreFailed", "Cause": "none"}})
    cloudwatch = host.client("cloudwatch")
    cloudwatch.put_metric_alarm(
        AlarmName="failed-executions",
        Namespace="AWS/States",
        MetricName="ExecutionsFailed",
        Dimensions=[{"Name": "StateMachineArn", "Value": machine}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="notBreaching",
    )
    wait(host, start(host, machine))

    def state() -> str:
        (alarm,) = cloudwatch.describe_alarms(AlarmNames=["failed-executions"])["MetricAlarms"]
        return alarm["StateValue"]

    wait_until(lambda: state() == "ALARM")
