"""CloudTrail, CloudWatch, the log of changes, executions and boosted volumes, against models and moto."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.aws.wire import client
from rewarm.adapters.channels.messages import detail_type
from rewarm.adapters.executions import StepFunctionsStackExecutions, StepFunctionsVolumes
from rewarm.adapters.fast_restores import Ec2FastSnapshotRestores
from rewarm.adapters.performance import KEPT_SECONDS, CloudTrailCalls, CloudWatchMetrics, DynamoPerformanceLog
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.domain import errors
from rewarm.domain.blocks.rewind_facts import WrittenSince
from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.domain.volume.performance import Activity
from tests.contract.answers import ApiError, Aws
from tests.local.aws.region.region_lab import Lab

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
VOLUME, OTHER = "vol-00000000000000001", "vol-00000000000000002"
RESTORE = "arn:aws:states:us-east-1:123456789012:stateMachine:restore"
CHILD = "arn:aws:states:us-east-1:123456789012:stateMachine:restore-volume"


def event(minute: int, volume_id: str = VOLUME, **record: Any) -> dict[str, Any]:
    told = {"requestParameters": {"ModifyVolumeRequest": {"VolumeId": volume_id, "Iops": 4_000}}, **record}
    return {
        "EventName": "ModifyVolume", "EventTime": NOW + timedelta(minutes=minute),
        "CloudTrailEvent": json.dumps(told),
    }  # fmt: skip


class TestCloudTrail:
    def test_asks_by_the_event_and_takes_what_is_the_volumes(self) -> None:
        pages: list[dict[str, Any]] = [
            {"Events": [event(5), event(4, OTHER)], "NextToken": "more"},
            {"Events": [event(3, errorCode="Client.IncorrectModificationState"), event(1), {}]},
        ]
        trail = Aws("cloudtrail").on("LookupEvents", *pages)
        found = CloudTrailCalls(trail.client).modifications(VOLUME, since=NOW)
        assert found == [NOW + timedelta(minutes=1), NOW + timedelta(minutes=5)]
        first, second = trail.params("LookupEvents")
        assert first["LookupAttributes"] == [{"AttributeKey": "EventName", "AttributeValue": "ModifyVolume"}]
        assert (first["StartTime"], second["NextToken"]) == (NOW, "more")

    @pytest.mark.parametrize("record", ["", "[]", "{", '{"requestParameters": null}'])
    def test_a_record_that_says_nothing_counts_nothing(self, record: str) -> None:
        trail = Aws("cloudtrail").on("LookupEvents", {"Events": [{**event(1), "CloudTrailEvent": record}]})
        assert CloudTrailCalls(trail.client).modifications(VOLUME, since=NOW) == []

    def test_its_rate_limit_is_one_of_ours(self) -> None:
        trail = Aws("cloudtrail").on("LookupEvents", ApiError("ThrottlingException"))
        with pytest.raises(errors.ThrottledError):
            CloudTrailCalls(trail.client).modifications(VOLUME, since=NOW)

    def test_on_the_region(self) -> None:
        lab = Lab()
        trail = CloudTrailCalls(client(lab.region, "cloudtrail"))
        volume, other = (lab.volume(Size=10, VolumeType="gp3") for _ in range(2))
        start = datetime.fromtimestamp(int(lab.clock.now()), UTC)
        for one in (volume, other):
            lab.ec2("ModifyVolume", VolumeId=one, Iops=4_000)
        lab.wait(400)
        assert trail.modifications(volume, since=start) == [start]
        assert trail.modifications(volume, since=start + timedelta(minutes=5)) == []


class TestActivity:
    def test_adds_reads_and_writes_of_a_minute(self) -> None:
        later = NOW + timedelta(minutes=1)
        results = [
            {"Id": "volumeReadOps", "Timestamps": [NOW, later], "Values": [60.0, 1.0]},
            {"Id": "volumeWriteOps", "Timestamps": [NOW], "Values": [540.0]},
            {"Id": "volumeWriteBytes", "Timestamps": [NOW], "Values": [4_096.0]},
        ]
        metrics = Aws("cloudwatch").on("GetMetricData", {"MetricDataResults": results})
        found = CloudWatchMetrics(metrics.client).activity(VOLUME, since=NOW, until=later)
        assert found == [Activity(NOW, 600.0, 4_096.0)]
        (asked,) = metrics.params("GetMetricData")
        names = [one["MetricStat"]["Metric"]["MetricName"] for one in asked["MetricDataQueries"]]
        assert names == ["VolumeReadOps", "VolumeWriteOps", "VolumeReadBytes", "VolumeWriteBytes"]
        assert {one["MetricStat"]["Period"] for one in asked["MetricDataQueries"]} == {60}

    @pytest.mark.parametrize(("hours", "period"), [(24, 60), (25, 3_600)])
    def test_what_was_written_is_the_sum_of_all_minutes_or_hours(self, hours: int, period: int) -> None:
        times = [NOW, NOW + timedelta(hours=1)]
        results = [
            {"Id": "ops", "StatusCode": "Complete", "Timestamps": times, "Values": [2.0, 3.0]},
            {"Id": "bytes", "StatusCode": "Complete", "Timestamps": times, "Values": [8_192.0, 4_096.0]},
        ]
        metrics = Aws("cloudwatch").on("GetMetricData", {"MetricDataResults": results})
        until = NOW + timedelta(hours=hours)
        found = CloudWatchMetrics(metrics.client).written(VOLUME, since=NOW, until=until)
        assert found == WrittenSince(5.0, 12_288.0)
        (asked,) = metrics.params("GetMetricData")
        queries = [one["MetricStat"] for one in asked["MetricDataQueries"]]
        assert [one["Metric"]["MetricName"] for one in queries] == ["VolumeWriteOps", "VolumeWriteBytes"]
        assert {one["Period"] for one in queries} == {period}

    def test_without_a_datapoint_nobody_knows_what_was_written(self) -> None:
        metrics = Aws("cloudwatch").on("GetMetricData", {"MetricDataResults": []})
        found = CloudWatchMetrics(metrics.client).written(VOLUME, since=NOW, until=NOW)
        assert found is None


@pytest.fixture
def log(dynamodb: Any) -> DynamoPerformanceLog:
    return DynamoPerformanceLog(dynamodb, "restores", clock=NOW.timestamp)


class TestLog:
    def test_keeps_each_start_once(self, log: DynamoPerformanceLog) -> None:
        assert (log.starts(VOLUME), log.change_id(VOLUME)) == ([], None)
        for one in (NOW, NOW - timedelta(hours=1), NOW):
            log.note_start(VOLUME, one)
        log.begin(VOLUME, "performance-1")
        assert log.starts(VOLUME) == [NOW - timedelta(hours=1), NOW]
        assert log.change_id(VOLUME) == "performance-1"
        assert log.starts(OTHER) == []

    def test_forgets_what_counts_no_more(self, log: DynamoPerformanceLog) -> None:
        log.note_start(VOLUME, NOW - timedelta(seconds=KEPT_SECONDS + 1))
        log.note_start(VOLUME, NOW)
        assert log.starts(VOLUME) == [NOW]


class TestExecutions:
    def test_all_that_run_are_asked_for_in_large_pages(self) -> None:
        def page(*names: str) -> dict[str, Any]:
            one = {"executionArn": "arn", "stateMachineArn": RESTORE, "status": "RUNNING", "startDate": NOW}
            return {"executions": [{**one, "name": name} for name in names]}

        states = Aws("stepfunctions").on(
            "ListExecutions", {**page("a"), "nextToken": "more"}, page("b"), page("a-0")
        )
        running = StepFunctionsStackExecutions(states.client, RESTORE, CHILD).names_running()
        assert running == {"a", "b", "a-0"}
        asked = states.params("ListExecutions")
        assert [one["stateMachineArn"] for one in asked] == [RESTORE, RESTORE, CHILD]
        assert {(one["statusFilter"], one["maxResults"]) for one in asked} == {("RUNNING", 1_000)}

    @pytest.mark.parametrize(
        ("answers", "over"),
        [
            (["RUNNING"], False), (["PENDING_REDRIVE"], False), (["ABORTED", "RUNNING"], False),
            (["ABORTED", "ABORTED"], True), (["SUCCEEDED", "TIMED_OUT"], True),
            (["FAILED", "ExecutionDoesNotExist"], True), (["ExecutionDoesNotExist"] * 2, True),
        ],
    )  # fmt: skip
    def test_a_restore_is_over_when_neither_runs(self, answers: list[str], over: bool) -> None:  # noqa: FBT001
        told = [
            ApiError(one)
            if one == "ExecutionDoesNotExist"
            else {"executionArn": "arn", "stateMachineArn": RESTORE, "status": one, "startDate": NOW}
            for one in answers
        ]
        states = Aws("stepfunctions").on("DescribeExecution", *told)
        assert StepFunctionsStackExecutions(states.client, RESTORE, CHILD).is_over("restore-1", 2) is over
        names = [one["executionArn"] for one in states.params("DescribeExecution")]
        expected = [
            "arn:aws:states:us-east-1:123456789012:execution:restore:restore-1",
            "arn:aws:states:us-east-1:123456789012:execution:restore-volume:restore-1-2",
        ]
        assert names == expected[: len(names)]

    @pytest.mark.parametrize(
        ("answer", "end"),
        [
            ({"status": "RUNNING"}, ExecutionEnd("RUNNING")),
            (
                {"status": "ABORTED", "error": "Console", "cause": "by hand"},
                ExecutionEnd("ABORTED", "Console", "by hand"),
            ),
            (None, ExecutionEnd("GONE")),
        ],
    )
    def test_how_a_restore_ended(self, answer: dict[str, str] | None, end: ExecutionEnd) -> None:
        told = {"executionArn": "arn", "stateMachineArn": RESTORE, "startDate": NOW, **(answer or {})}
        states = Aws("stepfunctions").on(
            "DescribeExecution", told if answer else ApiError("ExecutionDoesNotExist")
        )
        assert StepFunctionsStackExecutions(states.client, RESTORE, CHILD).ending("restore-1") == end

    def test_how_a_volume_ended_and_with_what(self) -> None:
        told = {"executionArn": "arn", "stateMachineArn": CHILD, "startDate": NOW, "status": "SUCCEEDED"}
        states = Aws("stepfunctions").on("DescribeExecution", {**told, "output": '{"verdict": "ready"}'})
        found = StepFunctionsVolumes(states.client, CHILD).ending("restore-1", 2)
        assert found == ExecutionEnd("SUCCEEDED", output='{"verdict": "ready"}')
        (asked,) = states.params("DescribeExecution")
        assert asked["executionArn"].endswith(":execution:restore-volume:restore-1-2")

    def test_whether_the_execution_of_a_volume_runs(self) -> None:
        told = {"executionArn": "arn", "stateMachineArn": CHILD, "status": "RUNNING", "startDate": NOW}
        states = Aws("stepfunctions").on("DescribeExecution", told)
        assert StepFunctionsStackExecutions(states.client, RESTORE, CHILD).volume_runs("restore-1", 2)
        (asked,) = states.params("DescribeExecution")
        assert asked["executionArn"].endswith(":execution:restore-volume:restore-1-2")


class TestExecutionsThatWere:
    """What Step Functions still knows where the table has lost it."""

    @staticmethod
    def listed(*executions: tuple[str, float, float | None]) -> dict[str, Any]:
        """Names with their start and end in minutes, the latest first."""
        return {
            "executions": [
                {
                    "executionArn": "arn", "stateMachineArn": CHILD, "status": "ABORTED", "name": name,
                    "startDate": NOW + timedelta(minutes=start),
                    **({} if stop is None else {"stopDate": NOW + timedelta(minutes=stop)}),
                }
                for name, start, stop in executions
            ]
        }  # fmt: skip

    def test_the_input_of_a_restore_and_of_its_volume(self) -> None:
        told = {
            "executionArn": "arn", "stateMachineArn": RESTORE, "startDate": NOW, "status": "RUNNING",
            "input": '{"request": {"dryRun": false}}',
        }  # fmt: skip
        states = Aws("stepfunctions").on("DescribeExecution", told)
        executions = StepFunctionsStackExecutions(states.client, RESTORE, CHILD)
        begun = executions.begun("restore-1", 2)
        assert begun is not None
        assert (begun.input, begun.started_at, begun.runs) == ({"request": {"dryRun": False}}, NOW, True)
        assert executions.begun("restore-1") is not None
        names = [
            one["executionArn"].partition(":execution:")[2] for one in states.params("DescribeExecution")
        ]
        assert names == ["restore-volume:restore-1-2", "restore:restore-1"]

    def test_one_that_never_began(self) -> None:
        states = Aws("stepfunctions").on("DescribeExecution", ApiError("ExecutionDoesNotExist"))
        assert StepFunctionsStackExecutions(states.client, RESTORE, CHILD).begun("restore-1") is None

    def test_those_that_ended_badly_since_then(self) -> None:
        day = 1_440.0
        states = Aws("stepfunctions").on(
            "ListExecutions",
            self.listed(("late", -5, -1), ("early", -90, -80)),
            self.listed(("long", -1_440, -2), ("months", -90 * day, -1), ("older", -92 * day, -1)),
            {"executions": []},
        )
        executions = StepFunctionsStackExecutions(states.client, RESTORE, CHILD)
        assert executions.ended_badly(NOW - timedelta(hours=1)) == ["late", "long", "months"]
        asked = [one["statusFilter"] for one in states.params("ListExecutions")]
        assert asked == ["ABORTED", "TIMED_OUT", "FAILED"]

    def test_volumes_whose_executions_ran_at_a_time(self) -> None:
        page = self.listed(("r-0", 2, None), ("r-1", -1, None), ("s-0", -9, -5), ("t-12", -9, 1))
        states = Aws("stepfunctions").on("ListExecutions", page)
        executions = StepFunctionsStackExecutions(states.client, RESTORE, CHILD)
        assert executions.volumes_at(NOW) == [("r", 1), ("t", 12)]


def test_ec2_says_by_its_own_clock_when_no_fast_restore_was_there() -> None:
    lab = Lab()
    store = Ec2FastSnapshotRestores(client(lab.region, "ec2"), client(lab.region, "cloudwatch"))
    snapshot_id = lab.region.add_snapshot(size_gib=8)
    looked_at = store.absent_at(snapshot_id, "us-east-1a")
    enabled_at = store.enable(snapshot_id, "us-east-1a")
    assert looked_at is not None
    assert enabled_at is not None
    assert timedelta(0) <= enabled_at - looked_at < timedelta(seconds=2)
    assert store.absent_at(snapshot_id, "us-east-1a") is None


def test_volumes_of_the_stack_are_found_unless_they_are_being_deleted() -> None:
    lab = Lab()
    store = Ec2VolumeStore(client(lab.region, "ec2"))
    tags = {"rewarm:stack": "rewarm", "rewarm:restore-id": "restore-1"}
    wanted = lab.region.add_volume(size_gib=8, tags=tags)
    plain = lab.region.add_volume(size_gib=8, tags={"rewarm:stack": "rewarm"})
    lab.region.add_volume(size_gib=8, tags={**tags, "rewarm:stack": "another"})
    deleted = lab.region.add_volume(size_gib=8, tags=tags)
    lab.region.call("ec2", "DeleteVolume", {"VolumeId": deleted})
    assert {one.volume_id for one in store.of_stack("rewarm")} == {wanted, plain}


def test_fast_snapshot_restores_that_cost_are_listed() -> None:
    lab = Lab()
    ec2 = client(lab.region, "ec2")
    kept, ended = (lab.region.add_snapshot(size_gib=1, extents=[(0, 1)]) for _ in range(2))
    store = Ec2FastSnapshotRestores(ec2, client(lab.region, "cloudwatch"))
    for one in (kept, ended):
        store.enable(one, "us-east-1a")
    store.disable(ended, "us-east-1a")
    assert store.enabled_places() == [(kept, "us-east-1a")]


def test_boosted_volumes_are_found_by_both_tags() -> None:
    lab = Lab()
    store = Ec2VolumeStore(client(lab.region, "ec2"))
    tags = {"rewarm:stack": "rewarm", "rewarm:boost": "gp3 iops=3000 throughputMibS=125"}
    wanted = lab.region.add_volume(size_gib=8, tags=tags)
    lab.region.add_volume(size_gib=8, tags={"rewarm:stack": "rewarm"})
    lab.region.add_volume(size_gib=8, tags={**tags, "rewarm:stack": "another"})
    assert [one.volume_id for one in store.boosted("rewarm")] == [wanted]


@pytest.mark.parametrize(
    ("event_name", "told"),
    [("ready", "Rewarm Restore Ready"), ("performance-changed", "Rewarm Performance Changed")],
)
def test_an_event_names_what_it_is_about(event_name: str, told: str) -> None:
    assert detail_type(event_name) == told
