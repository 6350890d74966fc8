"""A Region with a clock that the test moves, a data plane in memory, and all that leaves it recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from local.aws.clock import ManualClock
from local.aws.region import Region, RegionSettings
from tests.local.aws.machines.fake_dataplane import FakeDataPlane

ZONE = "us-east-1a"
INSTANCE = "i-0123456789abcdef0"
BLOCKS_PER_GIB = 2_048


@dataclass
class Lab:
    """Everything a test of the Region needs."""

    settings: RegionSettings = field(default_factory=RegionSettings)
    plane: FakeDataPlane = field(default_factory=FakeDataPlane)
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any], list[str]]] = []
        self.metrics: list[dict[str, Any]] = []
        self.region = Region(
            self.clock,
            self.plane,
            self.settings,
            on_event=lambda kind, source, detail, resources: self.events.append(
                (kind, source, detail, resources)
            ),
            publish=lambda _namespace, data: self.metrics.extend(data),
        )

    def ec2(self, operation: str, **params: Any) -> dict[str, Any]:
        return self.region.call("ec2", operation, params)

    def ssm(self, operation: str, **params: Any) -> dict[str, Any]:
        return self.region.call("ssm", operation, params)

    def wait(self, seconds: float) -> None:
        """Let lab time pass and the host's pulse beat."""
        self.clock.advance(seconds)
        self.region.tick()
        self.region.tick()

    def snapshot(self, *, size_gib: int = 8, data_gib: float = 1, **fields: Any) -> str:
        return self.region.add_snapshot(
            size_gib=size_gib, extents=((0, int(data_gib * BLOCKS_PER_GIB)),), **fields
        )

    def instance(self, **fields: Any) -> str:
        return self.region.add_instance(instance_id=INSTANCE, **fields)

    def volume(self, **params: Any) -> str:
        """A volume that is available."""
        params.setdefault("AvailabilityZone", ZONE)
        volume_id: str = self.ec2("CreateVolume", **params)["VolumeId"]
        self.wait(2)
        return volume_id

    def attached(self, volume_id: str, device: str = "/dev/sdf") -> str:
        self.ec2("AttachVolume", VolumeId=volume_id, InstanceId=INSTANCE, Device=device)
        self.wait(2)
        return volume_id

    def shown(self, volume_id: str) -> dict[str, Any]:
        """The volume as DescribeVolumes shows it."""
        found: dict[str, Any] = self.ec2("DescribeVolumes", VolumeIds=[volume_id])["Volumes"][0]
        return found

    def status(self, volume_id: str) -> dict[str, Any]:
        """The volume as DescribeVolumeStatus shows it."""
        found: dict[str, Any] = self.ec2("DescribeVolumeStatus", VolumeIds=[volume_id])["VolumeStatuses"][0]
        return found

    def named_events(self, kind: str) -> list[dict[str, Any]]:
        return [detail for name, _, detail, _ in self.events if name == kind]
