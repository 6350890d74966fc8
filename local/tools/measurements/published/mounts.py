"""The comparison of mounts; volumes of other limits stand in for EFS and FSx, which do not run here."""

from __future__ import annotations

from dataclasses import dataclass

from local import Json
from local.tools.measurements.published.bench import Bench

PATTERNS = ("cache", "upload")


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume with a file system."""

    text: str
    iops: int
    throughput_mib_s: int


MOUNTS = (
    Mount("gp3 5,000 IOPS, 488 MiB/s", 5_000, 488),
    Mount("gp3 3,000 IOPS, 125 MiB/s", 3_000, 125),
    Mount("gp3 16,000 IOPS, 1,000 MiB/s", 16_000, 1_000),
)
SIZE_GIB = 40
"""gp3 allows 500 IOPS for each GiB."""


def measure(bench: Bench, seconds: int) -> list[Json]:
    """The runs, each with the mount's description as its target."""
    volumes = [
        bench.attached(None, Size=SIZE_GIB, Iops=mount.iops, Throughput=mount.throughput_mib_s)
        for mount in MOUNTS
    ]
    folders = [bench.mounted(volume_id, make=True) for volume_id in volumes]
    targets = [
        {"mount": folder, "volumeId": volume_id} for folder, volume_id in zip(folders, volumes, strict=True)
    ]
    runs = bench.run(targets, PATTERNS, seconds)
    for folder, volume_id in zip(folders, volumes, strict=True):
        bench.unmount(folder)
        bench.remove(volume_id)
    names = {folder: mount.text for folder, mount in zip(folders, MOUNTS, strict=True)}
    return [{**run, "target": names[run["target"]]} for run in runs]
