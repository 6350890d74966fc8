"""Who uses what lies on top: file systems, swap, programs that have it open, the kernel's own servers."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.bench import MIB, Bench, run
from tests.local.agent.arrangements.templates import Templates

PAGE = 4096
CLONE_FILES = 0x400
IO_URING_SETUP, IO_URING_REGISTER, IORING_REGISTER_FILES = 425, 427, 2
FILE_SYSTEMS = ("ext4", "ext4", "xfs", "btrfs")
NVMET, TARGET = Path("/sys/kernel/config/nvmet/subsystems"), Path("/sys/kernel/config/target/core")

User = Callable[[Bench, str, Templates], object]


def _format(bench: Bench, device: str, templates: Templates) -> tuple[str, str]:
    """A file system on the device: its kind, and the options that it is mounted with."""
    kind = bench.random.choice([one for one in FILE_SYSTEMS if templates.has(one)])
    templates.put(kind, device)
    return kind, {"ext4": "noinit_itable", "xfs": "nouuid", "btrfs": ""}[kind]


def mounted(bench: Bench, device: str, templates: Templates) -> None:
    """Mounted, sometimes only for reading."""
    kind, options = _format(bench, device, templates)
    bench.mount(device, kind, bench.random.choice((0, kernel.MS_RDONLY)), options)


def bind_mount(bench: Bench, device: str, templates: Templates) -> None:
    """A folder of the file system is mounted elsewhere; the file system's own mount is gone."""
    kind, options = _format(bench, device, templates)
    first, second = bench.path(), bench.path()
    kernel.mount(device, first, kind, 0, options)
    (first / "folder").mkdir()
    kernel.mount(str(first / "folder"), second, "", kernel.MS_BIND)
    bench.undo.callback(kernel.unmount, second)
    kernel.unmount(first)


def mounted_elsewhere(bench: Bench, device: str, templates: Templates) -> None:
    """Mounted in the mount namespace of another process only."""
    kind, options = _format(bench, device, templates)
    bench.holder(partial(kernel.mount, device, bench.path(), kind, 0, options), kernel.CLONE_NEWNS)


def lazily_unmounted(bench: Bench, device: str, templates: Templates) -> None:
    """No list has the mount any more, but a file in it is open."""
    kind, options = _format(bench, device, templates)
    point = bench.path()
    kernel.mount(device, point, kind, 0, options)
    bench.holder(partial(os.open, point / "file", os.O_RDWR | os.O_CREAT))
    kernel.unmount(point, kernel.MNT_DETACH)


def below_an_overlay(bench: Bench, device: str, templates: Templates) -> None:
    """What an overlay stands on is in no list."""
    kind, options = _format(bench, device, templates)
    lower, other, point = bench.path(), bench.path(), bench.path()
    kernel.mount(device, lower, kind, 0, options)
    other.mkdir()
    kernel.mount("overlay", point, "overlay", kernel.MS_RDONLY, f"lowerdir={lower}:{other}")
    bench.undo.callback(kernel.unmount, point)
    kernel.unmount(lower, kernel.MNT_DETACH)


def overlay_writer(bench: Bench, device: str, templates: Templates) -> None:
    """The upper folder of an overlay, in which a program has a file open; its own mount is gone."""
    kind, options = _format(bench, device, templates)
    upper, lower, point = bench.path(), bench.path(), bench.path()
    kernel.mount(device, upper, kind, 0, options)
    lower.mkdir()
    for name in ("upper", "work"):
        (upper / name).mkdir()
    places = f"lowerdir={lower},upperdir={upper / 'upper'},workdir={upper / 'work'}"
    kernel.mount("overlay", point, "overlay", 0, places)
    bench.undo.callback(kernel.unmount, point)
    bench.holder(partial(os.open, point / "file", os.O_RDWR | os.O_CREAT))
    kernel.unmount(upper, kernel.MNT_DETACH)


def detached_mount(bench: Bench, device: str, templates: Templates) -> None:
    """A mount that only a descriptor keeps (open_tree)."""
    kind, options = _format(bench, device, templates)
    point = bench.path()
    kernel.mount(device, point, kind, 0, options)
    bench.holder(partial(kernel.open_tree, point))
    kernel.unmount(point)


def kept_namespace(bench: Bench, device: str, templates: Templates) -> None:
    """Mounted in a mount namespace that no process is in: a bind keeps it."""
    kind, options = _format(bench, device, templates)
    point, keeper = bench.path(), bench.path()
    keeper.touch()
    bench.holder(partial(kernel.mount, device, point, kind, 0, options), kernel.CLONE_NEWNS, keeper)


def frozen(bench: Bench, device: str, templates: Templates) -> None:
    """A file system that was unmounted while it was frozen. Mounted again, it can be thawed."""
    kind, options = _format(bench, device, templates)
    point = bench.path()
    kernel.mount(device, point, kind, 0, options)
    with kernel.opened(point, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        kernel.freeze(descriptor)

    def thaw() -> None:
        kernel.mount(device, point, kind, 0, options)
        with kernel.opened(point, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            kernel.thaw(descriptor)
        kernel.unmount(point)

    kernel.unmount(point)
    bench.undo.callback(thaw)


def journal(bench: Bench, device: str, templates: Templates) -> None:
    """The journal of an ext4 that lies elsewhere."""
    spare = bench.spare()
    run("mke2fs", "-q", "-F", "-b", "4096", "-O", "journal_dev", device, "16384")
    run("mke2fs", "-q", "-F", "-b", "4096", "-t", "ext4", "-J", f"device={device}", spare)
    bench.mount(spare, "ext4", 0, "noinit_itable")


def second_member(bench: Bench, device: str, templates: Templates) -> None:
    """The second device of a btrfs; mounts show the first one."""
    spare = bench.spare()
    run("mkfs.btrfs", "-q", "-f", "-M", "-d", "raid1", "-m", "raid1", spare, device)
    bench.undo.callback(lambda: run("btrfs", "device", "scan", "--forget", spare))
    bench.mount(spare, "btrfs", 0, f"device={device}")


def swap(bench: Bench, device: str, templates: Templates) -> None:
    """Swap, sometimes by another node's name."""
    header = struct.pack("III", 1, kernel.bytes_of(device) // PAGE - 1, 0)
    with kernel.opened(device) as descriptor:
        os.pwrite(descriptor, bytes(1024) + header.ljust(PAGE - 1034, b"\0") + b"SWAPSPACE2", 0)
        os.fsync(descriptor)
    name = bench.random.choice((device, str(bench.alias(device))))
    kernel.swap_on(name)
    bench.undo.callback(kernel.swap_off, name)


def reader(bench: Bench, device: str, templates: Templates) -> None:
    """Has it open for reading."""
    bench.holder(partial(os.open, device, os.O_RDONLY))


def writer(bench: Bench, device: str, templates: Templates) -> None:
    """Has it open for writing."""
    bench.holder(partial(os.open, device, os.O_RDWR))


def owner(bench: Bench, device: str, templates: Templates) -> None:
    """Has it alone."""
    bench.holder(partial(os.open, device, bench.random.choice((os.O_RDONLY, os.O_RDWR)) | os.O_EXCL))


def by_another_node(bench: Bench, device: str, templates: Templates) -> None:
    """By a node that has another name, and sometimes is gone since."""
    node = bench.alias(device)
    bench.holder(partial(os.open, node, bench.random.choice((os.O_RDONLY, os.O_RDWR))))
    if bench.random.random() < 0.5:
        node.unlink()


def _open_in_chroot(folder: Path, name: str, flags: int) -> int:
    os.chroot(folder)
    return os.open(f"/{name}", flags)


def in_chroot(bench: Bench, device: str, templates: Templates) -> None:
    """A program whose root folder is another one."""
    node, flags = bench.alias(device), bench.random.choice((os.O_RDONLY, os.O_RDWR))
    bench.holder(partial(_open_in_chroot, node.parent, node.name, flags))


def _open_on_own_mount(folder: Path, number: int, flags: int) -> int:
    kernel.mount("none", folder, "tmpfs")
    os.mknod(folder / "disk", 0o600 | 0o060000, number)
    return os.open(folder / "disk", flags)


def in_namespaces(bench: Bench, device: str, templates: Templates) -> None:
    """As in a container: a node on a mount that only its processes see, and sometimes process ids too."""
    flags = bench.random.choice((os.O_RDONLY, os.O_RDWR))
    namespaces = kernel.CLONE_NEWNS | bench.random.choice((0, kernel.CLONE_NEWPID))
    bench.holder(partial(_open_on_own_mount, bench.path(), Path(device).stat().st_rdev, flags), namespaces)


def _map(device: str, protection: int) -> None:
    """By the C library, because a mapping of Python keeps a descriptor."""
    with kernel.opened(device, os.O_RDWR if protection & mmap.PROT_WRITE else os.O_RDONLY) as descriptor:
        kernel.LIBC.mmap.restype = ctypes.c_void_p
        length, start = ctypes.c_size_t(MIB), ctypes.c_long(0)
        where = kernel.LIBC.mmap(None, length, protection, mmap.MAP_SHARED, descriptor, start)
    if where == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")


def mapper(bench: Bench, device: str, templates: Templates) -> None:
    """Has it in its memory for writing, and the descriptor closed."""
    bench.holder(partial(_map, device, mmap.PROT_READ | mmap.PROT_WRITE))


def reading_mapper(bench: Bench, device: str, templates: Templates) -> None:
    """Has it in its memory for reading, and the descriptor closed."""
    bench.holder(partial(_map, device, mmap.PROT_READ))


def _register(device: str) -> int:
    ring = kernel.check(kernel.LIBC.syscall(IO_URING_SETUP, 2, ctypes.create_string_buffer(120)))
    with kernel.opened(device) as descriptor:
        files = (ctypes.c_int * 1)(descriptor)
        kernel.check(kernel.LIBC.syscall(IO_URING_REGISTER, ring, IORING_REGISTER_FILES, files, 1))
    return ring


def ring(bench: Bench, device: str, templates: Templates) -> None:
    """Has registered it with io_uring, and closed the descriptor."""
    bench.holder(partial(_register, device))


def _open_in_thread(device: str, flags: int) -> threading.Thread:
    is_open, never = threading.Event(), threading.Event()

    def hold() -> None:
        kernel.unshare(CLONE_FILES)
        os.open(device, flags)
        is_open.set()
        never.wait()

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    if not is_open.wait(kernel.WAIT_SECONDS):
        raise TimeoutError
    return thread


def thread_alone(bench: Bench, device: str, templates: Templates) -> None:
    """A thread has it open that shares no descriptors with its process."""
    bench.holder(partial(_open_in_thread, device, bench.random.choice((os.O_RDONLY, os.O_RDWR))))


def _make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def nvme_target(bench: Bench, device: str, templates: Templates) -> None:
    """Offered to other machines by the kernel, as NVMe over fabrics."""
    subsystem = _make(NVMET / bench.name)
    bench.undo.callback(subsystem.rmdir)
    namespace = _make(subsystem / "namespaces" / "1")
    bench.undo.callback(namespace.rmdir)
    (namespace / "device_path").write_text(device, "ascii")
    (namespace / "enable").write_text("1", "ascii")
    bench.undo.callback((namespace / "enable").write_text, "0", "ascii")


def iscsi_target(bench: Bench, device: str, templates: Templates) -> None:
    """Offered to other machines by the kernel, as SCSI."""
    adapter = _make(TARGET / f"iblock_{bench.random.randrange(1 << 30)}")
    bench.undo.callback(adapter.rmdir)
    disk = _make(adapter / "disk")
    bench.undo.callback(disk.rmdir)
    (disk / "control").write_text(f"udev_path={device}", "ascii")
    (disk / "enable").write_text("1", "ascii")


def zram_store(bench: Bench, device: str, templates: Templates) -> None:
    """Holds what compressed memory writes back."""
    number = Path("/sys/class/zram-control/hot_add").read_text("ascii").strip()
    remove = Path("/sys/class/zram-control/hot_remove")
    bench.undo.callback(lambda: kernel.patiently(lambda: remove.write_text(number, "ascii")))
    Path(f"/sys/block/zram{number}/backing_dev").write_text(f"{device}\n", "ascii")
    Path(f"/sys/block/zram{number}/disksize").write_text("1M", "ascii")


def nobody(bench: Bench, device: str, templates: Templates) -> None:
    """Uses it."""


OF_READERS: dict[str, User] = {
    "nobody": nobody,
    "reader": reader,
    "reading mapper": reading_mapper,
}
OF_PROGRAMS: dict[str, User] = {
    "writer": writer,
    "owner": owner,
    "by another node": by_another_node,
    "in chroot": in_chroot,
    "in namespaces": in_namespaces,
    "mapper": mapper,
    "ring": ring,
    "thread alone": thread_alone,
}
OF_FILE_SYSTEMS: dict[str, User] = {
    "mounted": mounted,
    "bind mount": bind_mount,
    "mounted elsewhere": mounted_elsewhere,
    "lazily unmounted": lazily_unmounted,
    "below an overlay": below_an_overlay,
    "overlay writer": overlay_writer,
    "detached mount": detached_mount,
    "kept namespace": kept_namespace,
    "frozen": frozen,
    "journal": journal,
    "second member": second_member,
    "swap": swap,
}
OF_SERVERS: dict[str, User] = {
    "NVMe target": nvme_target,
    "iSCSI target": iscsi_target,
    "zram store": zram_store,
}
USERS: dict[str, User] = OF_READERS | OF_PROGRAMS | OF_FILE_SYSTEMS | OF_SERVERS
UNLISTED = (
    *("lazily unmounted", "below an overlay", "overlay writer", "detached mount", "kept namespace", "frozen"),
)
"""What no list of mounts shows: the agent cannot take the device, and waits a minute whether that ends."""


def served() -> list[str]:
    """Which of the kernel's own servers there are."""
    has_store = Path("/sys/class/zram-control").exists() and any(Path("/sys/block").glob("zram*/backing_dev"))
    there = {"NVMe target": NVMET.exists(), "iSCSI target": TARGET.exists(), "zram store": has_store}
    return [name for name, is_there in there.items() if is_there]


def has_ring() -> bool:
    """Whether io_uring may be used here."""
    number = kernel.LIBC.syscall(IO_URING_SETUP, 2, ctypes.create_string_buffer(120))
    if number >= 0:
        os.close(number)
    return bool(number >= 0)
