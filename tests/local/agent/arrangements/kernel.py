"""What is asked of Linux without a program: mounts, namespaces, loop devices, partitions."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)

MS_RDONLY, MS_BIND, MS_REC, MS_PRIVATE = 1, 4096, 16384, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWPID = 0x20000, 0x20000000
PR_SET_PDEATHSIG = 1
LOOP_CLR_FD, LOOP_CONFIGURE, LOOP_CTL_GET_FREE = 0x4C01, 0x4C0A, 0x4C82
LO_FLAGS_READ_ONLY, LO_FLAGS_PARTSCAN = 1, 8
BLKPG, BLKRRPART, BLKGETSIZE64 = 0x1269, 0x125F, 0x80081272
BLKPG_ADD_PARTITION, BLKPG_DEL_PARTITION = 1, 2
FINIT_MODULE = 313
OPEN_TREE, OPEN_TREE_CLONE, AT_FDCWD = 428, 1, -100
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
RB_POWER_OFF = 0x4321FEDC
WAIT_SECONDS = 120


def check(result: int) -> int:
    """The result of a call of the C library; raises OSError with its reason."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def mount(source: str, point: Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount; the folder is made, unless there is something."""
    if not point.exists():
        point.mkdir()
    words = [one.encode() for one in (source, str(point), kind, options)]
    check(LIBC.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]))


def unmount(point: Path, flags: int = 0) -> None:
    """Unmount, once the kernel lets it."""
    patiently(lambda: check(LIBC.umount2(str(point).encode(), flags)))


def open_tree(point: Path) -> int:
    """A descriptor of a copy of a mount that has no place (open_tree(2))."""
    words = (OPEN_TREE, AT_FDCWD, str(point).encode(), OPEN_TREE_CLONE | os.O_CLOEXEC)
    return check(LIBC.syscall(*words))


def freeze(descriptor: int) -> None:
    """Freeze the file system of an open folder."""
    fcntl.ioctl(descriptor, FIFREEZE, 0)


def thaw(descriptor: int) -> None:
    """Let it go on."""
    fcntl.ioctl(descriptor, FITHAW, 0)


def swap_on(device: str) -> None:
    """Swap on a device that has swap's header."""
    check(LIBC.swapon(device.encode(), 0))


def swap_off(device: str) -> None:
    """No longer swap on a device."""
    check(LIBC.swapoff(device.encode()))


def unshare(flags: int) -> None:
    """Namespaces of this process's own; mounts do not spread.

    All are made on one processor. A mount namespace can be bound only into one with a lower number, and Linux
    6.18 gives each processor a range of numbers.
    """
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    check(LIBC.unshare(flags))
    os.sched_setaffinity(0, processors)
    if flags & CLONE_NEWNS:
        check(LIBC.mount(b"none", b"/", b"", ctypes.c_ulong(MS_REC | MS_PRIVATE), b""))


def die_with_parent() -> None:
    """End this process when the one that made it ends."""
    check(LIBC.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0))


def patiently(act: Callable[[], object]) -> None:
    """Do what the kernel refuses while something is being closed."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            act()
        except OSError as problem:
            if problem.errno not in (errno.EBUSY, errno.EAGAIN) or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


@contextlib.contextmanager
def opened(path: str | Path, flags: int = os.O_RDWR) -> Iterator[int]:
    """An open file for a moment."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def bytes_of(device: str) -> int:
    """The size of a block device."""
    with opened(device, os.O_RDONLY) as descriptor:
        return int(struct.unpack("Q", fcntl.ioctl(descriptor, BLKGETSIZE64, bytes(8)))[0])


def attach_loop(backing: str, offset: int = 0, *, is_read_only: bool = False) -> str:
    """A loop device on a file or a device, whose partitions the kernel looks for."""
    flags = LO_FLAGS_PARTSCAN | (LO_FLAGS_READ_ONLY if is_read_only else 0)
    with opened(backing, os.O_RDONLY if is_read_only else os.O_RDWR) as below:
        info = struct.pack("QQQQQIIII", 0, 0, 0, offset, 0, 0, 0, 0, flags).ljust(232, b"\0")
        config = struct.pack("II", below, 0) + info + bytes(64)
        while True:
            with opened("/dev/loop-control") as control:
                device = f"/dev/loop{fcntl.ioctl(control, LOOP_CTL_GET_FREE)}"
            try:
                with opened(device) as loop:
                    fcntl.ioctl(loop, LOOP_CONFIGURE, config)
            except OSError as problem:
                # Somebody else was quicker, or is about to take it away.
                if problem.errno not in (errno.EBUSY, errno.ENXIO, errno.ENOENT):
                    raise
                time.sleep(0.005)
            else:
                return device


def detach_loop(device: str, wait_seconds: float = WAIT_SECONDS) -> None:
    """Take a loop device away; it may be gone already, and somebody else may have it at once."""
    before = backing_of(device)
    with opened(device, os.O_RDONLY) as loop, contextlib.suppress(OSError):
        fcntl.ioctl(loop, LOOP_CLR_FD)
    wait_until(lambda: not before or backing_of(device) != before, wait_seconds)


def backing_of(device: str) -> str:
    """The path that a loop device stands on; "" for none."""
    with contextlib.suppress(OSError):
        return Path(f"/sys/block/{Path(device).name}/loop/backing_file").read_text("utf-8").strip()
    return ""


def wait_until(holds: Callable[[], bool], wait_seconds: float = WAIT_SECONDS) -> None:
    """Wait for the kernel."""
    end = time.monotonic() + wait_seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def _blkpg(device: str, operation: int, number: int, start: int, length: int) -> None:
    partition = ctypes.create_string_buffer(struct.pack("qqi", start, length, number).ljust(152, b"\0"))
    argument = struct.pack("iiiiQ", operation, 0, 152, 0, ctypes.addressof(partition))
    with opened(device, os.O_RDONLY) as descriptor:
        patiently(lambda: fcntl.ioctl(descriptor, BLKPG, argument))


def add_partition(device: str, number: int, start: int, length: int) -> str:
    """A partition that only the kernel knows; start and length are in bytes. Returns its device."""
    _blkpg(device, BLKPG_ADD_PARTITION, number, start, length)
    return partition_of(device, number)


def delete_partition(device: str, number: int) -> None:
    """The kernel forgets a partition."""
    _blkpg(device, BLKPG_DEL_PARTITION, number, 0, 0)


def partition_path(device: str, number: int) -> str:
    """What the device of a partition is called."""
    return f"{device}{'p' if device[-1].isdigit() else ''}{number}"


def partition_of(device: str, number: int) -> str:
    """The device of a partition, once it is there."""
    path = partition_path(device, number)
    wait_until(lambda: Path(path).exists())
    return path


def read_partitions(device: str) -> None:
    """The kernel reads the partition table again."""
    with opened(device, os.O_RDONLY) as descriptor:
        patiently(lambda: fcntl.ioctl(descriptor, BLKRRPART))


def load_module(path: Path) -> None:
    """Load a module whose needs are loaded; one that is there already is no problem."""
    with opened(path, os.O_RDONLY) as descriptor:
        if LIBC.syscall(FINIT_MODULE, descriptor, b"", 0) < 0 and ctypes.get_errno() != errno.EEXIST:
            raise OSError(ctypes.get_errno(), f"{path.name}: {os.strerror(ctypes.get_errno())}")


def is_held(device: str) -> bool:
    """Whether the kernel gives the disk to nobody alone."""
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as problem:
        if problem.errno != errno.EBUSY:
            raise
        return True
    return False


def sectors_written(device: str) -> int:
    """What the kernel has counted for a disk so far (stat of /sys/block)."""
    return int(Path(f"/sys/block/{Path(device).name}/stat").read_text("ascii").split()[6])
