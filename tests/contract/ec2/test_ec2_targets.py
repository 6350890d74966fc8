"""Instances and fast snapshot restore, against botocore's models of EC2, SSM and CloudWatch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rewarm.adapters.fast_restores import Ec2FastSnapshotRestores
from rewarm.adapters.instances import Ec2Instances
from rewarm.domain import errors
from rewarm.domain.model import FastSnapshotRestore, StatusChecks
from tests.contract.answers import ApiError, Aws

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SNAPSHOT = "snap-0123456789abcdef0"
INSTANCE = "i-0123456789abcdef0"
ZONE = "us-east-1a"
PLACE = (SNAPSHOT, ZONE)


class TestInstances:
    def instances(self, ping: str | None = "Online", **changes: Any) -> Ec2Instances:
        told = {
            "InstanceId": INSTANCE, "State": {"Name": "running"}, "Placement": {"AvailabilityZone": ZONE},
            "InstanceType": "m7g.large", "Architecture": "arm64", "ImageId": "ami-1",
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeId": "vol-root"}}], **changes,
        }  # fmt: skip
        known = [{"InstanceId": INSTANCE, "PingStatus": ping}] if ping else []
        ec2 = Aws("ec2").on("DescribeInstances", {"Reservations": [{"Instances": [told]}]})
        ssm = Aws("ssm").on("DescribeInstanceInformation", {"InstanceInformationList": known})
        return Ec2Instances(ec2.client, ssm.client)

    def test_reads_every_field(self) -> None:
        found = self.instances().get(INSTANCE)
        assert (found.platform, found.architecture, found.ssm_online) == ("linux", "arm64", True)
        assert found.devices == {"/dev/xvda": "vol-root"}
        assert found.ending == frozenset()
        ending = {"DeviceName": "/dev/sdf", "Ebs": {"VolumeId": "vol-data", "DeleteOnTermination": True}}
        assert self.instances(BlockDeviceMappings=[ending]).get(INSTANCE).ending == {"/dev/sdf"}

    def test_of_many_systems_manager_is_asked_50_at_a_time_and_all_pages_count(self) -> None:
        names = [f"i-{number:017x}" for number in range(120)]
        told = {
            "State": {"Name": "running"},
            "Placement": {"AvailabilityZone": ZONE},
            "InstanceType": "m7g.large",
        }
        first = {
            "InstanceInformationList": [{"InstanceId": names[0], "PingStatus": "Online"}],
            "NextToken": "2",
        }
        second = {"InstanceInformationList": [{"InstanceId": names[1], "PingStatus": "Online"}]}
        reservations = [{"Instances": [{"InstanceId": name, **told}]} for name in names[:3]]
        ec2 = Aws("ec2").on("DescribeInstances", {"Reservations": reservations})
        ssm = Aws("ssm").on("DescribeInstanceInformation", first, second)
        found = list(Ec2Instances(ec2.client, ssm.client).reached(names))
        assert [one.ssm_online for one in found] == [True, True, False]
        asked = [len(call["Filters"][0]["Values"]) for call in ssm.params("DescribeInstanceInformation")]
        assert asked == [50, 50, 50, 20]

    def test_finds_running_instances_by_all_tags(self) -> None:
        ec2 = Aws("ec2").on("DescribeInstances", {"Reservations": []})
        assert list(Ec2Instances(ec2.client, Aws("ssm").client).with_tags({"role": "db"})) == []
        assert ec2.params("DescribeInstances")[0]["Filters"] == [
            {"Name": "tag:role", "Values": ["db"]},
            {"Name": "instance-state-name", "Values": ["running"]},
        ]

    def test_windows_says_so(self) -> None:
        assert self.instances(Platform="windows").get(INSTANCE).platform == "windows"

    @pytest.mark.parametrize("ping", ["ConnectionLost", None])
    def test_offline_is_offline(self, ping: str | None) -> None:
        assert not self.instances(ping).get(INSTANCE).ssm_online

    @pytest.mark.parametrize("answer", [{"Reservations": []}, ApiError("InvalidInstanceID.NotFound")])
    def test_a_missing_instance_has_its_own_error(self, answer: Any) -> None:
        ec2 = Aws("ec2").on("DescribeInstances", answer)
        with pytest.raises(errors.TargetNotFoundError):
            Ec2Instances(ec2.client, Aws("ssm").client).get(INSTANCE)

    def test_tells_when_systems_manager_heard_from_it_and_why_it_stopped(self) -> None:
        told = {
            "InstanceId": INSTANCE, "State": {"Name": "stopped"}, "Placement": {"AvailabilityZone": ZONE},
            "InstanceType": "m7g.large", "Tags": [{"Key": "Name", "Value": "app"}],
            "StateReason": {"Code": "Client.InvalidKMSKey", "Message": "the key is disabled"},
        }  # fmt: skip
        known = [{"InstanceId": INSTANCE, "PingStatus": "Online", "LastPingDateTime": NOW}]
        ec2 = Aws("ec2").on("DescribeInstances", {"Reservations": [{"Instances": [told]}]})
        ssm = Aws("ssm").on("DescribeInstanceInformation", {"InstanceInformationList": known})
        found = Ec2Instances(ec2.client, ssm.client).get(INSTANCE)
        assert (found.heard_at, found.state_reason) == (NOW, "the key is disabled")
        assert found.tags == {"Name": "app"}

    def test_tags_an_instance_before_it_starts_it(self) -> None:
        ec2 = Aws("ec2").on("CreateTags", {}).on("StartInstances", {}).on("StopInstances", {})
        ec2.on("DeleteTags", {})
        states = Ec2Instances(ec2.client, Aws("ssm").client)
        states.start(INSTANCE, {"rewarm:started-by-stack": "rewarm"})
        states.stop(INSTANCE)
        states.untag(INSTANCE, "rewarm:started-by-stack")
        assert [name for name, _ in ec2.calls] == [
            "CreateTags",
            "StartInstances",
            "StopInstances",
            "DeleteTags",
        ]
        assert ec2.calls[2][1] == {"InstanceIds": [INSTANCE]}, "never by force"

    def test_tells_the_status_checks(self) -> None:
        told = {
            "InstanceId": INSTANCE,
            "SystemStatus": {"Status": "ok"},
            "InstanceStatus": {"Status": "impaired"},
        }
        ec2 = Aws("ec2").on("DescribeInstanceStatus", {"InstanceStatuses": [told]}, {"InstanceStatuses": []})
        states = Ec2Instances(ec2.client, Aws("ssm").client)
        found = states.status_checks(INSTANCE)
        assert found == StatusChecks("ok", "impaired", "not-applicable")
        assert not found.passed
        assert states.status_checks(INSTANCE) is None, "it does not run"

    def test_names_the_zones(self) -> None:
        zones = [{"ZoneName": "us-east-1b"}, {"ZoneName": "us-east-1a"}]
        ec2 = Aws("ec2").on("DescribeAvailabilityZones", {"AvailabilityZones": zones})
        assert Ec2Instances(ec2.client, Aws("ssm").client).availability_zones() == [
            "us-east-1a",
            "us-east-1b",
        ]

    def test_tells_the_limits_in_mib_per_second(self) -> None:
        info = {"BaselineThroughputInMBps": 78.75, "MaximumThroughputInMBps": 1_250.0, "BaselineIops": 3_600}
        told = [{"EbsInfo": {"EbsOptimizedInfo": info}}]
        ec2 = Aws("ec2").on("DescribeInstanceTypes", {"InstanceTypes": told}, {"InstanceTypes": [{}]})
        instances = Ec2Instances(ec2.client, Aws("ssm").client)
        limits = instances.ebs_limits("m7g.large")
        assert limits.baseline_throughput_mib_s == pytest.approx(75.1, abs=0.01)
        assert (limits.baseline_iops, limits.maximum_iops) == (3_600, None)
        assert instances.ebs_limits("t2.micro").maximum_throughput_mib_s is None

    def test_tells_the_limits_of_each_ebs_card_where_there_are_several(self) -> None:
        whole = {"BaselineThroughputInMBps": 15_000.0, "BaselineIops": 480_000}
        each = {"BaselineThroughputInMBps": 7_500.0, "BaselineIops": 240_000}
        cards = [{"EbsCardIndex": 1, **each}, {"EbsCardIndex": 0, **each, "BaselineIops": 240_001}]
        two = {"EbsInfo": {"EbsOptimizedInfo": whole, "MaximumEbsCards": 2, "EbsCards": cards}}
        one = {"EbsInfo": {"EbsOptimizedInfo": whole, "MaximumEbsCards": 1, "EbsCards": cards[1:]}}
        ec2 = Aws("ec2").on("DescribeInstanceTypes", {"InstanceTypes": [two]}, {"InstanceTypes": [one]})
        instances = Ec2Instances(ec2.client, Aws("ssm").client)
        limits = instances.ebs_limits("m8gn.48xlarge")
        assert limits.baseline_iops == 480_000
        assert [limits.of_card(card).baseline_iops for card in (0, 1, None)] == [240_001, 240_000, 480_000]
        assert limits.of_card(1).baseline_throughput_mib_s == pytest.approx(7_152.6, abs=0.1)
        single = instances.ebs_limits("m8gn.24xlarge")
        assert (single.cards, single.of_card(0)) == ((), single)

    @pytest.mark.parametrize(
        ("told", "known"), [("unsupported", False), ("supported", True), ("required", True), (None, True)]
    )
    def test_tells_whether_programs_see_volume_ids(self, told: str | None, *, known: bool) -> None:
        ebs = {"EbsInfo": {} if told is None else {"NvmeSupport": told}}
        ec2 = Aws("ec2").on("DescribeInstanceTypes", {"InstanceTypes": [ebs]})
        assert Ec2Instances(ec2.client, Aws("ssm").client).ebs_limits("c4.large").nvme is known


class TestFastSnapshotRestores:
    def restores(self, ec2: Aws, *points: tuple[datetime, float]) -> Ec2FastSnapshotRestores:
        return Ec2FastSnapshotRestores(ec2.client, self.cloudwatch(*points).client)

    def cloudwatch(self, *points: tuple[datetime, float]) -> Aws:
        stamps, values = [stamp for stamp, _ in points], [value for _, value in points]
        results = [{"Id": "credits", "Values": values, "Timestamps": stamps}]
        return Aws("cloudwatch").on("GetMetricData", {"MetricDataResults": results})

    def ec2(self, state: str = "enabled", **times: datetime) -> Aws:
        item = {"SnapshotId": SNAPSHOT, "AvailabilityZone": ZONE, "State": state, **times}
        return Aws("ec2").on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": [item]})

    @pytest.mark.parametrize("order", [1, -1])
    def test_tells_state_and_newest_credits_in_whatever_order_they_come(self, order: int) -> None:
        points = [(NOW - timedelta(minutes=2), 0.5), (NOW - timedelta(minutes=1), 1.5)][::order]
        found = self.restores(self.ec2(EnabledTime=NOW), *points).describe(*PLACE, now=NOW)
        assert found == FastSnapshotRestore("enabled", NOW, 1.5)

    def test_credits_that_have_not_arrived_are_unknown(self) -> None:
        found = self.restores(self.ec2(EnabledTime=NOW)).describe(*PLACE, now=NOW)
        assert found == FastSnapshotRestore("enabled", NOW, None)

    def test_credits_of_an_earlier_enabling_do_not_count(self) -> None:
        cloudwatch = self.cloudwatch()
        ec2 = self.ec2(EnabledTime=NOW - timedelta(minutes=3, seconds=-20))
        Ec2FastSnapshotRestores(ec2.client, cloudwatch.client).describe(*PLACE, now=NOW)
        (asked,) = cloudwatch.params("GetMetricData")
        assert asked["StartTime"] == NOW - timedelta(minutes=3)

    @pytest.mark.parametrize("state", ["enabling", "optimizing", "disabling"])
    def test_only_what_is_enabled_has_credits(self, state: str) -> None:
        found = self.restores(self.ec2(state), (NOW, 2.0)).describe(*PLACE, now=NOW)
        assert found == FastSnapshotRestore(state, None, None)

    def test_tells_for_how_long_it_has_been_optimizing(self) -> None:
        at = {"EnablingTime": NOW - timedelta(minutes=22), "OptimizingTime": NOW - timedelta(minutes=20)}
        found = self.restores(self.ec2("optimizing", **at)).describe(*PLACE, now=NOW)
        assert found == FastSnapshotRestore("optimizing", optimizing_seconds=1_200.0)
        found = self.restores(self.ec2(**at, EnabledTime=NOW)).describe(*PLACE, now=NOW)
        assert found == FastSnapshotRestore("enabled", NOW)

    @pytest.mark.parametrize("items", [[], [{"State": "disabled"}]])
    def test_disabled_is_none(self, items: list[Any]) -> None:
        ec2 = Aws("ec2").on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": items})
        assert self.restores(ec2).describe(*PLACE, now=NOW) is None

    def unsuccessful(self, code: str) -> dict[str, Any]:
        error = {"AvailabilityZone": ZONE, "Error": {"Code": code, "Message": "because"}}
        return {"Unsuccessful": [{"SnapshotId": SNAPSHOT, "FastSnapshotRestoreStateErrors": [error]}]}

    def test_enables(self) -> None:
        ec2 = Aws("ec2").on(
            "EnableFastSnapshotRestores", {"Successful": [{"SnapshotId": SNAPSHOT, "EnablingTime": NOW}]}
        )
        assert self.restores(ec2).enable(*PLACE) == NOW
        sent = {"AvailabilityZones": [ZONE], "SourceSnapshotIds": [SNAPSHOT]}
        assert ec2.params("EnableFastSnapshotRestores") == [sent]

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("FastSnapshotRestoreLimitExceeded", errors.FastSnapshotRestoreUnavailableError),
            ("InvalidSnapshot.InvalidState", errors.FastSnapshotRestoreUnavailableError),
            ("RequestLimitExceeded", errors.ThrottledError),
            ("InternalError", errors.ServiceUnavailableError),
        ],
    )
    def test_a_failure_within_http_200_is_a_failure(self, code: str, error: type[Exception]) -> None:
        ec2 = Aws("ec2").on("EnableFastSnapshotRestores", self.unsuccessful(code))
        with pytest.raises(error, match=code):
            self.restores(ec2).enable(*PLACE)

    def test_a_refused_call_lets_another_plan_take_over(self) -> None:
        ec2 = Aws("ec2").on("EnableFastSnapshotRestores", ApiError("SomethingNew"))
        with pytest.raises(errors.FastSnapshotRestoreUnavailableError):
            self.restores(ec2).enable(*PLACE)
        with pytest.raises(errors.AccessDeniedError):
            self.restores(ec2.on("EnableFastSnapshotRestores", ApiError("UnauthorizedOperation"))).enable(
                *PLACE
            )

    def test_disabling_what_is_disabled_does_nothing(self) -> None:
        ec2 = Aws("ec2").on("DisableFastSnapshotRestores", self.unsuccessful("InvalidState"))
        ec2.on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": [{"State": "disabling"}]})
        self.restores(ec2).disable(*PLACE)

    def test_disabling_without_the_snapshot_looks_whether_it_is_on(self) -> None:
        gone = ApiError("InvalidSnapshot.NotFound")
        ec2 = Aws("ec2").on("DisableFastSnapshotRestores", gone)
        self.restores(ec2.on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": []})).disable(*PLACE)
        shared = Aws("ec2").on("DisableFastSnapshotRestores", gone)
        shared.on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": [{"State": "enabled"}]})
        with pytest.raises(errors.RequestRefusedError):
            self.restores(shared).disable(*PLACE)

    def test_disabling_that_fails_is_never_silent(self) -> None:
        ec2 = Aws("ec2").on("DisableFastSnapshotRestores", self.unsuccessful("InvalidState"))
        ec2.on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": [{"State": "enabled"}]})
        with pytest.raises(errors.RequestRefusedError):
            self.restores(ec2).disable(*PLACE)
