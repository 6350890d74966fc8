"""Everything about the modelled Region that AWS leaves open, changes over time, or lets an account adjust.

A comment that starts with UNVERIFIED marks a value that no AWS source states; docs/fidelity.md lists them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

PARTITIONS = {"cn-": ("aws-cn", "amazonaws.com.cn"), "us-gov-": ("aws-us-gov", "amazonaws.com")}
"""How a partition's Regions begin; all others are in `aws`."""
MORE_BLOCK_READS = ("us-east-1", "us-east-2", "us-west-2", "ap-southeast-1", "eu-west-1")
"""Where an account may make 5,000 GetSnapshotBlock requests a second (EBS user guide, "Quotas")."""
GIB_BYTES = 1024**3
MIB_BYTES = 1024**2


def partition_of(region: str) -> tuple[str, str]:
    """The Region's partition, and the domain of its endpoints."""
    return next(
        (found for start, found in PARTITIONS.items() if region.startswith(start)), ("aws", "amazonaws.com")
    )


@dataclass(frozen=True, slots=True)
class VolumeSettings:
    """How long the life of a volume takes, and how it is initialised."""

    creation_seconds: float = 2.0  # UNVERIFIED: AWS gives no time from `creating` to `available`
    attach_seconds: float = 2.0  # UNVERIFIED
    detach_seconds: float = 2.0  # UNVERIFIED
    root_detach_error_code: str = "IncorrectState"  # UNVERIFIED: from public reports
    deletion_seconds: float = 1.0  # UNVERIFIED
    background_mib_s: float = 1.2
    # UNVERIFIED: AWS says only that it fluctuates; 1.2 MiB/s loads 100 GiB in about a day, as published.
    reads_advance_initialization: bool = (
        True  # UNVERIFIED for `default`; AWS does not say what a read counts for
    )
    provisioned_rate_accuracy: float = (
        1.0  # delivered share of the rate; AWS: within 10 % for 99 % of the time
    )
    status_lag_seconds: float = 300.0  # AWS: "up to 5 minutes for the information to be updated"
    details_delay_seconds: float = (
        0.0  # UNVERIFIED: until then DescribeVolumeStatus has no initialization details
    )
    details_kept_seconds: float = math.inf
    # UNVERIFIED: for how long after completion DescribeVolumeStatus shows InitializationStatusDetails
    initialize_event_delay_seconds: float = 60.0  # AWS: sent within 5 minutes after completion
    initialize_event_name: str = " initializeVolume"
    # UNVERIFIED leading space: AWS's sample event has it, AWS's sample pattern has not.
    modifying_seconds: float = 30.0  # published: a change of IOPS shows in the next minute
    optimizing_seconds_per_tib: float = 21_600.0  # AWS: about 6 hours for a full 1 TiB
    modifications_per_day: int = 4
    modification_pause_seconds: float = 0.0  # the older rule, still in some partitions: 21,600
    copy_seconds_first_tib: float = 21_600.0  # AWS: up to 6 hours for the first TiB of data
    copy_seconds_next_tib: float = 4_320.0  # AWS: 1.2 hours for each further TiB, up to 16
    copy_state_error_code: str = "IncorrectState"
    # UNVERIFIED: the code for a second copy of one source, and for a source that is itself being copied.
    rate_quota_error_code: str = "VolumeLimitExceeded"  # UNVERIFIED: AWS says only "the request fails"
    rate_capacity_error_code: str = "InsufficientVolumeCapacity"  # UNVERIFIED, as above


@dataclass(frozen=True, slots=True)
class FastRestoreSettings:
    """Fast snapshot restore: times, credits and the codes of its partial failures."""

    enabling_seconds: float = 60.0  # UNVERIFIED
    optimizing_seconds_per_tib: float = 3_600.0  # AWS: 60 minutes per TiB
    disabling_seconds: float = 60.0  # UNVERIFIED
    credits_start_at: Literal["enabling", "enabled"] = "enabled"  # UNVERIFIED which of the two
    billing_starts_at: Literal["enabling", "enabled"] = (
        "enabling"  # UNVERIFIED; the dearer reading is the default
    )
    max_snapshot_gib: int = 16_384
    quota_error_code: str = "FastSnapshotRestoreLimitExceeded"  # UNVERIFIED
    state_error_code: str = "InvalidSnapshot.InvalidState"  # UNVERIFIED


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """The archive tier and the EBS direct APIs."""

    creation_seconds: float = 30.0
    # UNVERIFIED: from CreateSnapshot to `completed` where nothing has changed; AWS: it depends on the data
    creation_mib_s: float = 250.0
    # UNVERIFIED: what has changed since the volume's last snapshot is copied so fast
    creation_pause_seconds: float = 15.0  # AWS: between two snapshots of a volume while one is pending
    pending_of_volume: int = 5
    pending_of_hdd: int = 1  # of an st1 or sc1 volume
    pending_of_account: int = 100
    copy_seconds: float = 3_600.0  # UNVERIFIED: AWS names no time for a copy without a duration
    archive_restore_seconds: float = 172_800.0  # AWS: up to 72 hours
    restores_in_progress: int = 5
    archive_state_error_code: str = "IncorrectState"  # UNVERIFIED
    restore_quota_error_code: str = "SnapshotTierRestoreLimitExceeded"  # UNVERIFIED
    recycle_bin_shown: bool = False  # UNVERIFIED: whether DescribeSnapshots shows what is in the Recycle Bin
    list_blocks_page: int = 10_000  # UNVERIFIED page size when MaxResults is not given
    short_pages: bool = False  # AWS: a page may hold fewer blocks than MaxResults, or none
    page_token_seconds: float = 3_600.0
    block_token_seconds: float = 604_800.0
    changed_scan_blocks: int = 8_192
    # UNVERIFIED: blocks that one ListChangedBlocks looks at; AWS: pages are empty where changes are scarce
    volume_copies_keep_lineage: bool = False
    # UNVERIFIED: whether snapshots of a volume copy can be compared with those of its source
    second_token_absent: float = 0.0
    # UNVERIFIED: share of changed blocks without SecondBlockToken; it is met, and documented nowhere
    get_block_seconds: tuple[float, float] = (0.0, 0.0)
    # UNVERIFIED: at least and at most until GetSnapshotBlock answers; AWS names no latency


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """SSM Run Command."""

    delivery_seconds: float = 1.0  # UNVERIFIED: time until an instance that listens starts the command
    visible_after_seconds: float = 1.0  # UNVERIFIED: until then InvocationDoesNotExist
    default_delivery_timeout_seconds: int = 3_600
    default_execution_timeout_seconds: int = 3_600
    stdout_chars: int = 24_000
    stderr_chars: int = 8_000
    plugin_output_chars: int = 2_500
    truncated_suffix: str = "\n---Output truncated---"  # UNVERIFIED wording
    max_document_bytes: int = 65_536
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """One Region of one account."""

    region: str = "us-east-1"
    account_id: str = "123456789012"
    zone_letters: str = "abc"
    volume: VolumeSettings = field(default_factory=VolumeSettings)
    fast_restore: FastRestoreSettings = field(default_factory=FastRestoreSettings)
    snapshot: SnapshotSettings = field(default_factory=SnapshotSettings)
    command: CommandSettings = field(default_factory=CommandSettings)
    throttling: bool = False
    list_blocks_per_second: float = 50.0  # of the account, as the next two
    list_changed_per_second: float = 50.0
    get_block_per_second: float | None = None  # None: AWS's default of the Region
    get_block_snapshot_per_second: float = 1_000.0  # of one snapshot
    minimum_page: int = 5  # UNVERIFIED beyond DescribeTags and DescribeInstanceTypes
    fast_restore_quota: float = 5.0
    initialization_rate_quota_mib_s: float = 5_000.0
    volume_copies_quota: float = 5.0
    boot_seconds: float = 60.0  # UNVERIFIED: from a reboot or a start until the SSM agent listens
    stop_seconds: float = 0.0  # AWS: until the operating system is down; it names no time
    status_check_seconds: float = 120.0  # UNVERIFIED: from a start until the status checks pass
    root_pending_seconds: float = 10.0  # UNVERIFIED: until a root volume is being replaced
    root_task_error_code: str = "InvalidReplaceRootVolumeTaskId.NotFound"  # UNVERIFIED
    rootless_error_code: str = "IncorrectState"  # UNVERIFIED: of StartInstances without a root volume
    metric_delay_seconds: tuple[float, float] = (60.0, 180.0)
    # UNVERIFIED: AWS gives no arrival time for AWS/EBS. At least and at most, after the end of the minute.
    trail_delay_seconds: float = 300.0  # AWS: CloudTrail delivers within about 5 minutes on average
    price_factor: float = 1.0
    initialization_usage_type: str | None = None
    # UNVERIFIED: no usage type of VolumeInitializationRate was found in the price list; None leaves it out.

    @property
    def direct_requests_per_second(self) -> dict[str, float]:
        """Requests of the EBS direct APIs that the account may make, by operation."""
        large = self.region in MORE_BLOCK_READS
        return {
            "ListSnapshotBlocks": self.list_blocks_per_second,
            "ListChangedBlocks": self.list_changed_per_second,
            "GetSnapshotBlock": self.get_block_per_second or (5_000.0 if large else 1_000.0),
        }

    @property
    def zones(self) -> tuple[str, ...]:
        """Availability Zone names, such as us-east-1a."""
        return tuple(f"{self.region}{letter}" for letter in self.zone_letters)

    def zone_id(self, zone: str) -> str:
        """The Availability Zone's id, such as use1-az1."""
        area, direction, number = self.region.rsplit("-", 2)
        short = "".join(
            {"north": "n", "south": "s", "east": "e", "west": "w", "central": "c"}.get(part, "")
            for part in _compass(direction)
        )
        return f"{area.replace('-', '')}{short}{number}-az{self.zones.index(zone) + 1}"


def _compass(direction: str) -> list[str]:
    """Split a Region's direction into its points: northeast -> north, east."""
    for first in ("north", "south"):
        if direction.startswith(first) and direction != first:
            return [first, direction.removeprefix(first)]
    return [direction]
