"""What is made of a device: partitions, loop devices, device-mapper, RAID. Each layer returns its own."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.bench import MIB, Bench, run

SECTOR = 512
PLAIN = (
    "activation{udev_sync=0 udev_rules=0 verify_udev_operations=0} backup{backup=0 archive=0} "
    "devices{scan_lvs=1}"
)
"""No udev, no backups; and a logical volume may be the place of another."""
LVM = ("--nolocking", "--config", PLAIN)


def sectors(device: str) -> int:
    """The size of a device, as device-mapper counts."""
    return kernel.bytes_of(device) // SECTOR


def partition(bench: Bench, device: str) -> str:
    """One that the kernel is told of; nothing is written."""
    number = bench.random.randint(1, 5)
    start = bench.random.randint(1, 3) * MIB
    made = kernel.add_partition(device, number, start, kernel.bytes_of(device) - start - MIB)
    bench.undo.callback(kernel.delete_partition, device, number)
    return made


def table(bench: Bench, device: str) -> str:
    """One of a partition table, as fdisk writes it."""
    start = bench.random.randint(1, 3) * MIB // SECTOR
    entry = struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), start, sectors(device) - start - 2048)
    with kernel.opened(device) as descriptor:
        os.pwrite(descriptor, entry.ljust(64, b"\0") + b"\x55\xaa", 446)
        os.fsync(descriptor)
    kernel.read_partitions(device)
    if not Path(f"/sys/class/block/{Path(kernel.partition_path(device, 1)).name}").exists():
        # This kernel cannot read such tables; partx tells it.
        kernel.add_partition(device, 1, start * SECTOR, (sectors(device) - start - 2048) * SECTOR)
    made = kernel.partition_of(device, 1)
    bench.undo.callback(kernel.delete_partition, device, 1)
    return made


def loop(bench: Bench, device: str) -> str:
    """On the whole device, or on what is behind an offset."""
    return bench.loop(device, bench.random.choice((0, 0, 1, 4)) * MIB)


def loop_by_lost_name(bench: Bench, device: str) -> str:
    """Through a node that is gone since."""
    node = bench.alias(device)
    made = bench.loop(str(node))
    node.unlink()
    return made


def read_only_loop(bench: Bench, device: str) -> str:
    """That nobody can write through."""
    return bench.loop(device, is_read_only=True)


def _map(bench: Bench, rows: str) -> str:
    name = bench.name
    run("dmsetup", "create", name, "--noudevsync", "--table", rows)
    bench.undo.callback(lambda: run("dmsetup", "remove", "--retry", "--noudevsync", name))
    node = f"/dev/mapper/{name}"
    if not Path(node).exists():
        run("dmsetup", "mknodes", name)
    return os.path.realpath(node)


def dm_linear(bench: Bench, device: str) -> str:
    """A piece of the device."""
    start = bench.random.choice((0, 2048))
    return _map(bench, f"0 {sectors(device) - start} linear {device} {start}")


def dm_linear_second(bench: Bench, device: str) -> str:
    """The second of two pieces."""
    half = 64 * MIB // SECTOR
    rest = f"{half} {sectors(device)} linear {device} 0"
    return _map(bench, f"0 {half} linear {bench.spare()} 0\n{rest}")


def dm_crypt(bench: Bench, device: str) -> str:
    """Encrypted with a key of zeros."""
    return _map(bench, f"0 {sectors(device)} crypt aes-cbc-plain {'0' * 32} 0 {device} 0")


def dm_origin(bench: Bench, device: str) -> str:
    """What is overwritten is kept elsewhere first."""
    return _map(bench, f"0 {sectors(device)} snapshot-origin {device}")


def dm_snapshot(bench: Bench, device: str) -> str:
    """A snapshot of the device, with what differs elsewhere."""
    return _map(bench, f"0 {sectors(device)} snapshot {device} {bench.spare()} N 8")


def dm_snapshot_store(bench: Bench, device: str) -> str:
    """The device holds what differs from another one."""
    other = bench.spare()
    return _map(bench, f"0 {sectors(other)} snapshot {other} {device} N 8")


def _array(bench: Bench, *how: str) -> str:
    for number in range(bench.random.randrange(100, 1 << 16), 1 << 20):
        node = f"/dev/md{number}"
        if not Path(f"/sys/block/md{number}").exists():
            break
    run("mdadm", how[0], node, "--run", *how[1:])
    bench.undo.callback(lambda: kernel.wait_until(lambda: _stop(node)))
    return node


def _stop(node: str) -> bool:
    try:
        run("mdadm", "--stop", node)
    except RuntimeError:
        return not Path(f"/sys/block/{Path(node).name}/md").exists()
    return True


def md_mirror(bench: Bench, device: str) -> str:
    """One half of a mirror whose other half is missing."""
    version = bench.random.choice(("0.90", "1.0", "1.2"))
    return _array(
        bench, "--create", "--level=1", "--raid-devices=2", f"--metadata={version}", device, "missing"
    )


def md_linear(bench: Bench, device: str) -> str:
    """One behind another, without a superblock."""
    order = [device, bench.spare()]
    bench.random.shuffle(order)
    return _array(bench, "--build", "--level=linear", "--raid-devices=2", *order)


def lvm(bench: Bench, device: str) -> str:
    """A logical volume that has a group for itself."""
    only = (*LVM, "--devices", device)
    group = bench.name
    run("pvcreate", "-ff", "-y", "-q", *only, device)
    run("vgcreate", "-y", "-q", "-s", "1m", *only, group, device)
    run("lvcreate", "-y", "-q", "-Wn", "-Zn", "-l", "100%FREE", "-n", "data", *only, group)
    bench.undo.callback(lambda: run("dmsetup", "remove", "--retry", "--noudevsync", f"{group}-data"))
    run("dmsetup", "mknodes", f"{group}-data")
    return os.path.realpath(f"/dev/mapper/{group}-data")


Layer = Callable[[Bench, str], str]
OF_LOOPS: dict[str, Layer] = {
    "partition": partition,
    "table": table,
    "loop": loop,
    "loop by lost name": loop_by_lost_name,
    "read-only loop": read_only_loop,
}
OF_MAPPER: dict[str, Layer] = {
    "dm linear": dm_linear,
    "dm linear, second": dm_linear_second,
    "dm crypt": dm_crypt,
    "dm snapshot origin": dm_origin,
    "dm snapshot": dm_snapshot,
    "dm snapshot store": dm_snapshot_store,
    "LVM": lvm,
}
OF_RAID: dict[str, Layer] = {"md mirror": md_mirror, "md linear": md_linear}
LAYERS: dict[str, Layer] = OF_LOOPS | OF_MAPPER | OF_RAID
PARTITIONS = ("partition", "table")


def has_mapper() -> bool:
    """Whether this kernel has device-mapper."""
    return Path("/sys/class/misc/device-mapper").exists()


def has_raid() -> bool:
    """Whether this kernel has RAID."""
    return Path("/proc/mdstat").exists()
