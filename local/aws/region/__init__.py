"""The EBS Region simulator: a control plane in plain Python over a clock and a data plane."""

from __future__ import annotations

from local.aws.region.commands.instance_types import InstanceType
from local.aws.region.commands.invocations import OutputSink
from local.aws.region.errors import ApiError
from local.aws.region.faults import FaultRule, Faults
from local.aws.region.region import Region
from local.aws.region.resources import ImageDevice
from local.aws.region.settings import (
    CommandSettings,
    FastRestoreSettings,
    RegionSettings,
    SnapshotSettings,
    VolumeSettings,
)

__all__ = [
    "ApiError",
    "CommandSettings",
    "FastRestoreSettings",
    "FaultRule",
    "Faults",
    "ImageDevice",
    "InstanceType",
    "OutputSink",
    "Region",
    "RegionSettings",
    "SnapshotSettings",
    "VolumeSettings",
]
