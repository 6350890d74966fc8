"""EC2 instances."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.model import Instance, InstanceEbsLimits


class Instances(Protocol):
    """EC2 instances and what SSM says of them."""

    def get(self, instance_id: str) -> Instance:
        """Raises TargetNotFoundError."""

    def availability_zones(self) -> list[str]:
        """Names of the Region's zones."""

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """DescribeInstanceTypes."""
