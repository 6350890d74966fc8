"""Ready-made values for tests: say only what the test is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import DispatchWarmerResult, NewVolume, Plan, VolumeAssignment, VolumePlan
from rewarm.domain.model import GIB, Boost, Caller, Instance, InstanceEbsLimits, Snapshot, Strategy
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.volume.volume_types import VolumeLimits
from rewarm.steps.select.admission import Keeper
from tests.support import holds
from tests.support.fakes import (
    FakeArtifacts,
    FakeBlocks,
    FakeCommands,
    FakeDocuments,
    FakeEvidence,
    FakeExecutions,
    FakeFastRestores,
    FakeHistory,
    FakeHooks,
    FakeInstances,
    FakeLog,
    FakeMessages,
    FakeMetrics,
    FakeModifications,
    FakePageLinks,
    FakePrices,
    FakeQuotas,
    FakeSnapshotCopies,
    FakeSnapshots,
    FakeTable,
    FakeVolumes,
    tokyo_prices,
)
from tests.support.holds import FakeHolds

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
RESTORE_ID = "restore-0123456789abcdef"
SNAPSHOT_ID = "snap-0123456789abcdef0"
SOURCE_VOLUME_ID = "vol-0fedcba9876543210"
VOLUME_ID = "vol-00000000000000001"
INSTANCE_ID = "i-0123456789abcdef0"
ZONE = "ap-northeast-1a"
DEVICE = "/dev/sdf"
ALICE = Caller("iam", "arn:aws:iam::123456789012:user/alice")
BOB = Caller("iam", "arn:aws:iam::123456789012:user/bob")
TO_INSTANCE: dict[str, Any] = {"source": {"snapshotId": SNAPSHOT_ID}, "target": {"instanceId": INSTANCE_ID}}
TO_ZONE: dict[str, Any] = {"source": {"snapshotId": SNAPSHOT_ID}, "target": {"availabilityZone": ZONE}}


@dataclass
class World:
    """Every port in memory, with one snapshot of 100 GiB and one instance."""

    snapshots: FakeSnapshots = field(default_factory=FakeSnapshots)
    fast_restores: FakeFastRestores = field(default_factory=FakeFastRestores)
    copies: FakeSnapshotCopies = field(default_factory=FakeSnapshotCopies)
    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    volumes: FakeVolumes = field(default_factory=lambda: FakeVolumes(NOW))
    modifications: FakeModifications = field(init=False)
    log: FakeLog = field(default_factory=FakeLog)
    instances: FakeInstances = field(default_factory=FakeInstances)
    commands: FakeCommands = field(default_factory=FakeCommands)
    documents: FakeDocuments = field(default_factory=FakeDocuments)
    hooks: FakeHooks = field(default_factory=FakeHooks)
    metrics: FakeMetrics = field(default_factory=FakeMetrics)
    blocks: FakeBlocks = field(default_factory=FakeBlocks)
    prices: FakePrices = field(default_factory=lambda: FakePrices(tokyo_prices(NOW - timedelta(days=30))))
    quotas: FakeQuotas = field(default_factory=FakeQuotas)
    artifacts: FakeArtifacts = field(default_factory=FakeArtifacts)
    table: FakeTable = field(default_factory=FakeTable)
    history: FakeHistory = field(default_factory=FakeHistory)
    messages: FakeMessages = field(default_factory=FakeMessages)
    links: FakePageLinks = field(default_factory=FakePageLinks)
    executions: FakeExecutions = field(default_factory=FakeExecutions)
    holds: FakeHolds = field(default_factory=FakeHolds)
    stack_name: str = "rewarm"
    hook_document: str = "rewarm-HookDocument"

    def __post_init__(self) -> None:
        self.modifications = FakeModifications(self.volumes)
        self.volumes.instances = self.instances
        self.snapshots.add(snapshot())
        self.instances.add(instance())

    def keeper(self, **limits: Any) -> Keeper:
        """Who holds devices of this world."""
        return holds.keeper(self.table, self.holds, **limits)


def at(minutes: float) -> datetime:
    """So many minutes after NOW."""
    return NOW + timedelta(minutes=minutes)


def snapshot(snapshot_id: str = SNAPSHOT_ID, **changes: Any) -> Snapshot:
    """Completed, 100 GiB of which 40 GiB hold data, a day old."""
    values: dict[str, Any] = {
        "state": "completed",
        "state_message": None,
        "storage_tier": "standard",
        "volume_id": SOURCE_VOLUME_ID,
        "size_gib": 100,
        "full_size_bytes": 40 * GIB,
        "started_at": NOW - timedelta(days=1),
        "completed_at": NOW - timedelta(hours=23),
        "encrypted": False,
        "kms_key_id": None,
        "owner_id": "123456789012",
        "progress_percent": 100,
        "tags": {},
    }
    return Snapshot(snapshot_id=snapshot_id, **{**values, **changes})


def instance(instance_id: str = INSTANCE_ID, **changes: Any) -> Instance:
    """Running Linux with SSM."""
    values: dict[str, Any] = {
        "state": "running",
        "availability_zone": ZONE,
        "instance_type": "m7g.large",
        "architecture": "arm64",
        "platform": "linux",
        "image_id": "ami-0123456789abcdef0",
        "devices": {"/dev/xvda": "vol-0aaaaaaaaaaaaaaaa"},
        "ssm_online": True,
    }
    return Instance(instance_id=instance_id, **{**values, **changes})


def request(body: dict[str, Any] | None = None, **changes: Any) -> RestoreRequest:
    """Onto the instance, everything else by default."""
    return parse_restore_request({**(body or TO_INSTANCE), **changes})


def assignment(**changes: Any) -> VolumeAssignment:
    """What select_snapshot gives for `request()`."""
    values: dict[str, Any] = {
        "index": 0,
        "snapshot_id": SNAPSHOT_ID,
        "snapshot_started_at": NOW - timedelta(days=1),
        "source_volume_id": SOURCE_VOLUME_ID,
        "snapshot_size_gib": 100,
        "data_bytes": 40 * GIB,
        "data_bytes_from": "fullSnapshotSize",
        "written_blocks": 80 * 1024,
        "map_key": f"restores/{RESTORE_ID}/0/blocks.map",
        "availability_zone": ZONE,
        "instance_id": INSTANCE_ID,
        "instance_type": "m7g.large",
        "platform": "linux",
        "architecture": "arm64",
        "agent_available": True,
        "device": DEVICE,
        "volume": NewVolume(volume_type="gp3", size_gib=100, iops=3_000, throughput_mib_s=125),
    }
    return VolumeAssignment(**{**values, **changes})


def zone_assignment(**changes: Any) -> VolumeAssignment:
    """A volume that goes to no instance."""
    bare = dict.fromkeys(("instance_id", "instance_type", "platform", "architecture", "device"))
    return assignment(**{**bare, "agent_available": False, **changes})


def plan(strategy: Strategy = Strategy.WARM_UP_AGENT, **changes: Any) -> Plan:
    """A plan with plausible numbers."""
    values: dict[str, Any] = {
        "strategy": strategy,
        "initialization_rate_mib_s": 100 if strategy is Strategy.PROVISIONED_RATE else None,
        "usable_seconds": 15,
        "ready_p50_seconds": 480,
        "ready_p90_seconds": 840,
        "cost_usd": Decimal("0.0576") if strategy is Strategy.PROVISIONED_RATE else Decimal(0),
        "why": f"{strategy} is the cheapest.",
    }
    return Plan(**{**values, **changes})


def boosted_plan(**changes: Any) -> Plan:
    """A boost of `assignment()`'s volume."""
    boost = Boost(volume_type="gp3", iops=4_000, throughput_mib_s=1_000)
    return plan(Strategy.BOOSTED_WARM_UP, **{"boost": boost, **changes})


def volume_plan(**changes: Any) -> VolumePlan:
    """A volume with its plan."""
    return VolumePlan(**{"volume": assignment(), "plan": plan(), **changes})


def dispatch(**changes: Any) -> DispatchWarmerResult:
    """A warm-up command that was sent at NOW."""
    values: dict[str, Any] = {
        "command_id": "command-1",
        "instance_id": INSTANCE_ID,
        "progress_key": f"restores/{RESTORE_ID}/0/progress.json",
        "started_at": NOW,
        "read_ops_before": 0.0,
    }
    return DispatchWarmerResult(**{**values, **changes})


def facts(**changes: Any) -> VolumeFacts:
    """A 100 GiB gp3 volume with 40 GiB of data on an instance."""
    values: dict[str, Any] = {
        "data_bytes": 40 * GIB,
        "written_bytes": 40 * GIB,
        "written_blocks": 80 * 1024,
        "snapshot_size_gib": 100,
        "speed": VolumeLimits(3_000, 125.0, 125.0),
        "instance_limits": InstanceEbsLimits(593.75, 593.75, 20_000, 20_000),
        "agent_available": True,
        "verified": True,
    }
    return VolumeFacts(**{**values, **changes})


def measurement(verdict: str = "fast", p99_ms: float = 1.9) -> dict[str, Any]:
    """The final object of `warmer verify`."""
    return {
        "event": "result",
        "command": "verify",
        "volumeId": VOLUME_ID,
        "verdict": verdict,
        "samples": 256,
        "iops": 1_630.0,
        "latencyMs": {"p50": 0.6, "p90": 0.9, "p99": p99_ms, "max": p99_ms},
        "histogram": [{"upToMs": 1.0, "count": 250}, {"upToMs": 2.0, "count": 6}],
    }


def warm_result(**changes: Any) -> dict[str, Any]:
    """The final object of `warmer warm`."""
    return {
        "event": "result",
        "command": "warm",
        "volumeId": VOLUME_ID,
        "verdict": "complete",
        "bytesDone": 40 * GIB,
        "bytesTotal": 40 * GIB,
        "blocksDone": 80 * 1024,
        "blocksTotal": 80 * 1024,
        "mibPerSecond": 124.0,
        "elapsedSeconds": 330.0,
        "errors": 0,
        **changes,
    }
