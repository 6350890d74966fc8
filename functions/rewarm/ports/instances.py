"""The port of EC2 instances."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.model import Instance, InstanceEbsLimits


class Instances(Protocol):
    """EC2 instances, and whether Systems Manager reaches them."""

    def get(self, instance_id: str) -> Instance:
        """Returns the instance with its devices. Raises TargetNotFoundError."""

    def availability_zones(self) -> list[str]:
        """Returns the names of the Region's Availability Zones."""

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """Returns the EBS limits of the type (botocore, DescribeInstanceTypes)."""
