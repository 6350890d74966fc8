"""Changes of EBS volumes that live on: ModifyVolume and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.domain.volume.performance import Performance, VolumeModification

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client

NEVER_MODIFIED = "InvalidVolumeModification.NotFound"


class Ec2VolumeModifications:
    """The port VolumeModifications."""

    def __init__(self, ec2: EC2Client) -> None:
        self._ec2 = ec2

    def latest(self, volume_id: str) -> VolumeModification | None:
        with naming_errors():
            try:
                found = self._ec2.describe_volumes_modifications(VolumeIds=[volume_id])
            except ClientError as error:
                if code_of(error) == NEVER_MODIFIED:
                    return None
                raise
        if not found["VolumesModifications"]:
            return None
        change = found["VolumesModifications"][0]
        return VolumeModification(
            state=change.get("ModificationState", "modifying"),
            target=Performance(
                change.get("TargetVolumeType", ""), change.get("TargetIops"), change.get("TargetThroughput")
            ),
            message=change.get("StatusMessage") or None,
            started_at=change.get("StartTime"),
            ended_at=change.get("EndTime"),
            progress_percent=change.get("Progress"),
            original=Performance(
                change.get("OriginalVolumeType", ""),
                change.get("OriginalIops"),
                change.get("OriginalThroughput"),
            ),
        )

    def start(self, volume_id: str, target: Performance) -> None:
        """ModifyVolume has no client token: where the first answer got lost, botocore's retry meets the error
        that a change is under way, and the caller sees that.
        """
        request: dict[str, Any] = {"VolumeId": volume_id, "VolumeType": target.volume_type}
        if target.iops is not None:
            request["Iops"] = target.iops
        if target.throughput_mib_s is not None:
            request["Throughput"] = target.throughput_mib_s
        with naming_errors():
            self._ec2.modify_volume(**request)
