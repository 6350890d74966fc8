"""How a volume is measured, and what its type and limits promise: random 4 KiB reads, one at a time."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.domain.model import InstanceEbsLimits, VolumeSettings
from rewarm.domain.volume.volume_types import HDD_TYPES, speed

DEFAULT_SAMPLES = 256
"""So many that p99 is not the slowest read of all: one hiccup of a busy machine is no cold volume."""
MAX_SAMPLES = 10_000
SAMPLES_BEFORE = 24
"""Enough for a median of a cold volume; each read fetches a block, so few, and some seconds at the most."""
MOST_MEASUREMENTS = 2
"""A volume that looks slow is measured once more: what is cold stays slow, a moment's load does not."""
SSD_P50_MS = {"io2": 1.0}
SSD_DEFAULT_P50_MS = 10.0
"""EBS user guide, "Amazon EBS volume types": single-digit milliseconds; io2 below one on average."""
SSD_P99_LIMIT_MS = 20.0
HDD_P50_MS = 15.0
"""No figure of AWS: a disk's seek and half a turn."""
HDD_P99_LIMIT_MS = 60.0
HDD_IO_KIB = 1_024
"""EBS user guide, "I/O characteristics": each small random read counts as 1 MiB against the throughput."""
THROTTLED_READS = 2
"""At the IOPS limit a read waits for its turn; the 99th of a hundred may wait for two."""


@dataclass(frozen=True, slots=True)
class ReadExpectation:
    """What random 4 KiB reads at depth 1 should come to, at least (IOPS) and at most (ms)."""

    p50_ms: float
    p99_ms: float
    iops: float
    limited_by: str


def expected_reads(settings: VolumeSettings, instance: InstanceEbsLimits | None = None) -> ReadExpectation:
    """By the volume's type and IOPS, and by the instance where its limits are known."""
    iops, limited_by = _iops_limit(settings, instance)
    hdd = settings.volume_type in HDD_TYPES
    p50 = HDD_P50_MS if hdd else SSD_P50_MS.get(settings.volume_type, SSD_DEFAULT_P50_MS)
    at_limit = 1_000 / iops
    if at_limit <= p50:
        limited_by = f"latency of {settings.volume_type}"
    p99 = max(HDD_P99_LIMIT_MS if hdd else SSD_P99_LIMIT_MS, THROTTLED_READS * at_limit)
    return ReadExpectation(max(p50, at_limit), p99, 1_000 / max(p50, at_limit), limited_by)


def p99_limit_ms(wanted: float | None, settings: VolumeSettings) -> float:
    """The request's limit; else what the volume promises. The instance is left out: it may burst."""
    return expected_reads(settings).p99_ms if wanted is None else wanted


def _iops_limit(settings: VolumeSettings, instance: InstanceEbsLimits | None) -> tuple[float, str]:
    can = speed(settings)
    own = float(can.iops)
    if settings.volume_type in HDD_TYPES:
        own = min(own, can.sustained_mib_s * 1_024 / HDD_IO_KIB)
    limits = [(own, f"IOPS of {settings.volume_type}")]
    if instance is not None and instance.baseline_iops:
        limits.append((float(instance.baseline_iops), "IOPS of the instance"))
    return min(limits)
