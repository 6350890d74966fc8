"""The block devices of an instance, as Linux shows them in /sys."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands.shown import VOLUME

SECOND = "vol-0123456789abcdef1"
EBS, STORE = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"
DISKS = {
    "nvme1n1": (1, EBS, VOLUME.replace("-", "")),
    "nvme2n1": (2, EBS, SECOND.replace("-", "")),
    "nvme3n1": (3, STORE, "AWS1234567890ABCDEF"),
    "sda": (4, "QEMU HARDDISK", "QM00001"),
    "xvdf": (5, None, None),
}
"""Disk -> its number, its model, and its serial number."""
MAPPED = {"dm-0": (10, ["nvme1n1p1", "nvme2n1"]), "dm-1": (11, ["dm-0"])}
"""Mapped device -> its number, and what it is made of: dm-crypt on LVM on a partition and a disk."""


def sysfs(folder: Path) -> Path:
    """A folder like /sys."""
    devices = folder / "devices"
    for name, (number, model, serial) in DISKS.items():
        _device(folder, devices / name, number)
        if model is not None:
            (devices / name / "device").mkdir()
            (devices / name / "device" / "model").write_text(f"{model:<40}\n", encoding="ascii")
            (devices / name / "device" / "serial").write_text(f"{serial:<20}\n", encoding="ascii")
    partition = devices / "nvme1n1" / "nvme1n1p1"
    _device(folder, partition, 6)
    (partition / "partition").write_text("1\n", encoding="ascii")
    for name, (number, parts) in MAPPED.items():
        _device(folder, devices / name, number)
        for part in parts:
            (devices / name / "slaves" / part).symlink_to(folder / "class" / "block" / part)
    return folder


def _device(folder: Path, device: Path, number: int) -> None:
    (device / "slaves").mkdir(parents=True)
    (device / "dev").write_text(f"259:{number}\n", encoding="ascii")
    for link in (folder / "class" / "block" / device.name, folder / "dev" / "block" / f"259:{number}"):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(device)
