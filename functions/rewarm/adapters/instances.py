"""EC2 instances, and whether SSM reaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.errors import TargetNotFoundError
from rewarm.domain.model import MIB, Instance, InstanceEbsLimits

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import InstanceTypeDef
    from mypy_boto3_ssm.client import SSMClient

_MEGABYTE = 1_000_000


class Ec2Instances:
    """The port Instances."""

    def __init__(self, ec2: EC2Client, ssm: SSMClient) -> None:
        self._ec2 = ec2
        self._ssm = ssm
        self._limits: dict[str, InstanceEbsLimits] = {}

    def get(self, instance_id: str) -> Instance:
        with naming_errors():
            reservations = self._ec2.describe_instances(InstanceIds=[instance_id])["Reservations"]
        for reservation in reservations:
            for found in reservation.get("Instances", []):
                return _instance(found, ssm_online=self._is_online(instance_id))
        raise TargetNotFoundError(f"there is no instance {instance_id}")

    def availability_zones(self) -> list[str]:
        with naming_errors():
            zones = self._ec2.describe_availability_zones()["AvailabilityZones"]
        return sorted(zone["ZoneName"] for zone in zones)

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """DescribeInstanceTypes, once for each type: what a type can do does not change."""
        known = self._limits.get(instance_type)
        if known is None:
            known = self._limits[instance_type] = self._look_up(instance_type)
        return known

    def _look_up(self, instance_type: str) -> InstanceEbsLimits:
        with naming_errors():
            types = self._ec2.describe_instance_types(InstanceTypes=[instance_type])["InstanceTypes"]  # type: ignore[list-item]
        info = types[0].get("EbsInfo", {}).get("EbsOptimizedInfo", {}) if types else {}
        return InstanceEbsLimits(
            baseline_throughput_mib_s=_mib_s(info.get("BaselineThroughputInMBps")),
            maximum_throughput_mib_s=_mib_s(info.get("MaximumThroughputInMBps")),
            baseline_iops=info.get("BaselineIops"),
            maximum_iops=info.get("MaximumIops"),
        )

    def _is_online(self, instance_id: str) -> bool:
        with naming_errors():
            answer = self._ssm.describe_instance_information(
                Filters=[{"Key": "InstanceIds", "Values": [instance_id]}]
            )
        return any(
            known.get("InstanceId") == instance_id and known.get("PingStatus") == "Online"
            for known in answer["InstanceInformationList"]
        )


def _instance(found: InstanceTypeDef, *, ssm_online: bool) -> Instance:
    return Instance(
        instance_id=found["InstanceId"],
        state=found["State"]["Name"],
        availability_zone=found["Placement"]["AvailabilityZone"],
        instance_type=found["InstanceType"],
        architecture=found.get("Architecture", "x86_64"),
        # EC2 sets Platform for Windows only (botocore Instance.Platform).
        platform=found.get("Platform", "linux").lower(),
        image_id=found.get("ImageId", ""),
        devices={
            mapping["DeviceName"]: mapping["Ebs"]["VolumeId"]
            for mapping in found.get("BlockDeviceMappings", [])
            if "VolumeId" in mapping.get("Ebs", {})
        },
        ssm_online=ssm_online,
        root_device=found.get("RootDeviceName"),
    )


def _mib_s(megabytes_per_second: float | None) -> float | None:
    """EC2 reports MB/s in powers of ten; volumes are rated in MiB/s."""
    return None if megabytes_per_second is None else megabytes_per_second * _MEGABYTE / MIB
