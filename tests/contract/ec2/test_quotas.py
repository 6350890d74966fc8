"""What the Region's quotas leave, by Service Quotas and by what EC2 shows to be in use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.aws.region import FaultRule, RegionSettings
from local.aws.wire.inprocess import client
from rewarm.adapters.quotas import ServiceQuotas
from rewarm.domain.plan.facts import UnusedQuotas
from tests.contract.answers import ApiError, Aws
from tests.local.aws.region.region_lab import ZONE, Lab

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
DEFAULTS = UnusedQuotas(5, 5_000, 5)


def left(lab: Lab) -> UnusedQuotas:
    quotas = ServiceQuotas(client(lab.region, "service-quotas"), client(lab.region, "ec2"))
    return quotas.left(now=datetime.fromtimestamp(lab.region.now(), UTC))


class TestByTheRegion:
    def test_everything_is_left_where_nothing_goes_on(self) -> None:
        lab = Lab(RegionSettings(fast_restore_quota=7.0, initialization_rate_quota_mib_s=2_000.0))
        lab.volume(SnapshotId=lab.snapshot())
        assert left(lab) == UnusedQuotas(7, 2_000, 5)

    def test_a_snapshot_counts_once_however_many_zones_it_is_enabled_in(self) -> None:
        lab = Lab()
        first, second = lab.snapshot(), lab.snapshot()
        zones = list(lab.settings.zones)
        lab.ec2("EnableFastSnapshotRestores", SourceSnapshotIds=[first], AvailabilityZones=zones)
        lab.ec2("EnableFastSnapshotRestores", SourceSnapshotIds=[second], AvailabilityZones=[ZONE])
        assert left(lab).fast_snapshot_restores == 3
        lab.wait(3_600)
        assert left(lab).fast_snapshot_restores == 3, "enabled counts like enabling"
        lab.ec2("DisableFastSnapshotRestores", SourceSnapshotIds=[first], AvailabilityZones=zones)
        assert left(lab).fast_snapshot_restores == 4

    def test_a_rate_counts_until_its_volume_is_initialized(self) -> None:
        lab = Lab()
        snapshot = lab.snapshot(size_gib=100, data_gib=100)
        for rate in (100, 300):
            lab.volume(SnapshotId=snapshot, VolumeInitializationRate=rate)
        lab.volume(SnapshotId=snapshot)
        assert left(lab).initialization_rate_mib_s == 4_600
        lab.wait(100 * 1_024 / 300 + 310)
        assert left(lab).initialization_rate_mib_s == 4_900
        lab.wait(100 * 1_024 / 100 + 310)
        assert left(lab).initialization_rate_mib_s == 5_000

    def test_says_what_is_being_copied(self) -> None:
        lab = Lab()
        source = lab.volume(Size=8, VolumeType="gp3")
        lab.ec2("CopyVolumes", SourceVolumeId=source)
        assert left(lab) == UnusedQuotas(5, 5_000, 4, frozenset({source}))
        lab.wait(7 * 3_600)
        assert left(lab) == DEFAULTS

    def test_never_below_nothing(self) -> None:
        lab = Lab()
        lab.ec2("EnableFastSnapshotRestores", SourceSnapshotIds=[lab.snapshot()], AvailabilityZones=[ZONE])
        lab.settings = RegionSettings(fast_restore_quota=0.0)
        quotas = ServiceQuotas(client(Lab(lab.settings).region, "service-quotas"), client(lab.region, "ec2"))
        assert quotas.left(now=NOW).fast_snapshot_restores == 0

    @pytest.mark.parametrize(
        "operation", ["DescribeFastSnapshotRestores", "DescribeVolumes", "GetServiceQuota"]
    )
    def test_a_refusal_never_fails_a_plan(self, operation: str) -> None:
        lab = Lab()
        lab.region.faults.add(FaultRule(operation, code="UnauthorizedOperation", times=None))
        assert left(lab) == DEFAULTS


class TestByAnswer:
    def test_old_volumes_are_not_asked_about(self) -> None:
        ec2 = Aws("ec2").on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": []})
        ec2.on("DescribeVolumes", {"Volumes": [volume("vol-1", days=9), volume("vol-2", days=7)]})
        ec2.on("DescribeVolumeStatus", {"VolumeStatuses": []})
        quotas = Aws("service-quotas").on("GetServiceQuota", {"Quota": {"Value": 1_000.0}})
        found = ServiceQuotas(quotas.client, ec2.client).left(now=NOW)
        assert found == UnusedQuotas(1_000, 700, 1_000), "a volume without details counts as initializing"
        assert ec2.params("DescribeVolumeStatus") == [{"VolumeIds": ["vol-2"]}]
        assert ec2.params("DescribeFastSnapshotRestores") == [
            {
                "Filters": [{"Name": "state", "Values": ["enabled", "enabling", "optimizing"]}],
                "MaxResults": 200,
            }
        ]

    @pytest.mark.parametrize(("volumes", "seconds"), [(1, 10), (900, 50), (9_000, 300)])
    def test_a_look_that_takes_more_requests_counts_for_longer(self, volumes: int, seconds: int) -> None:
        ec2 = Aws("ec2").on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": []})
        ec2.on("DescribeVolumes", {"Volumes": [volume(f"vol-{n}", days=1) for n in range(volumes)]})
        ec2.on("DescribeVolumeStatus", {"VolumeStatuses": []})
        service = Aws("service-quotas").on("GetServiceQuota", {"Quota": {"Value": 1_000.0}})
        quotas = ServiceQuotas(service.client, ec2.client)

        def looks(now: datetime) -> int:
            quotas.left(now=now)
            return len(ec2.params("DescribeVolumes"))

        assert looks(NOW) == 1
        assert looks(NOW + timedelta(seconds=seconds - 1)) == 1
        assert looks(NOW + timedelta(seconds=seconds)) == 2

    @pytest.mark.parametrize("code", ["NoSuchResourceException", "AccessDeniedException", "ServiceException"])
    def test_awss_default_stands_in(self, code: str) -> None:
        ec2 = Aws("ec2").on("DescribeFastSnapshotRestores", {}).on("DescribeVolumes", {"Volumes": []})
        ec2.on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": []})
        quotas = Aws("service-quotas").on("GetServiceQuota", ApiError(code))
        assert ServiceQuotas(quotas.client, ec2.client).left(now=NOW) == DEFAULTS

    def test_asks_by_code(self) -> None:
        ec2 = Aws("ec2").on("DescribeFastSnapshotRestores", ApiError("UnauthorizedOperation"))
        ec2.on("DescribeVolumes", {"Volumes": []})
        quotas = Aws("service-quotas").on("GetServiceQuota", {"Quota": {"Value": 12.0}})
        assert ServiceQuotas(quotas.client, ec2.client).left(now=NOW) == UnusedQuotas(12, 12, 12)
        codes = [sent["QuotaCode"] for sent in quotas.params("GetServiceQuota")]
        assert codes == ["L-631ECBD3", "L-A37D9CF3", "L-39BD5252"]


def volume(volume_id: str, *, days: int) -> dict[str, Any]:
    return {
        "VolumeId": volume_id,
        "CreateTime": NOW - timedelta(days=days),
        "VolumeInitializationRate": 300,
    }
