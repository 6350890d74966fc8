"""The EBS Region simulator: a control plane in plain Python over a clock and a data plane."""

from __future__ import annotations

from local.region.errors import ApiError
from local.region.faults import FaultRule, Faults
from local.region.instance_types import InstanceType
from local.region.invocations import OutputSink
from local.region.region import Region
from local.region.resources import ImageDevice
from local.region.settings import (
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
