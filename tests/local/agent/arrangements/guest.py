"""A small machine in QEMU with Debian's kernel, which has what the kernel here may lack.

It boots from memory: its first file system has the programs that are needed, taken from this machine, and the
kernel's modules. Its disks are NVMe, and show volume ids as EBS does. It has no network.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests.local.agent.arrangements.base import volume_id
from tests.local.agent.arrangements.bench import BASE_BYTES

HERE = Path(__file__).parent
PROGRAMS = (
    *("dmsetup", "mdadm", "pvcreate", "vgcreate", "lvcreate"),
    *("mke2fs", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "btrfs"),
)
MODULES = (
    *("loop", "dm-mod", "dm-crypt", "dm-snapshot", "md-mod", "raid1", "linear"),
    *("cbc", "ecb", "aes_generic", "aesni-intel", "crc32c_generic", "crc32c-intel", "lzo", "lzo-rle"),
    *("xfs", "btrfs", "overlay", "zram", "nvmet", "target_core_mod", "target_core_iblock", "nvme"),
)
AGENT = "/t/warmer"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
INIT = """#!{python}
import sys
sys.path[:] = {path!r}
from {room} import guest_init
guest_init.main({arguments!r})
"""
ROOM = "tests.local.agent.arrangements"
ROOT = HERE.parents[3]


class Archive:
    """A cpio archive as the kernel unpacks it (initramfs-buffer-format in its documentation)."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._names: set[str] = set()

    def _add(self, name: str, mode: int, data: bytes, device: tuple[int, int] = (0, 0)) -> None:
        name = name.strip("/")
        if name in self._names:
            return
        self._names.add(name)
        parent = os.path.dirname(name)  # noqa: PTH120  # names of another machine
        if parent:
            self._add(parent, stat.S_IFDIR | 0o755, b"")
        number = len(self._names) + 1
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
        head = "070701" + "".join(f"{one:08x}" for one in fields) + name + "\0"
        for piece in (head.encode(), data):
            self._data += piece + bytes(-(len(self._data) + len(piece)) % 4)

    def file(self, name: str, data: bytes, mode: int = 0o755) -> None:
        """Add a file."""
        self._add(name, stat.S_IFREG | mode, data)

    def copy(self, path: Path, name: str = "") -> None:
        """Add a file of this machine, under its own name if none is given, with the libraries it needs."""
        self.file(name or str(path), path.read_bytes())
        for library in _libraries(path):
            self.file(library, Path(library).read_bytes())

    def device(self, name: str, major: int, minor: int) -> None:
        """Add a character device."""
        self._add(name, stat.S_IFCHR | 0o600, b"", (major, minor))

    def write(self, path: Path) -> None:
        """Write the archive."""
        self._add("TRAILER!!!", 0, b"")
        path.write_bytes(self._data)


def _libraries(path: Path) -> list[str]:
    """What the dynamic linker loads for a program or a library; nothing for anything else."""
    done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    return re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE)


def _modules(kernel: Path) -> list[Path]:
    """The files of the modules, each behind those that it needs."""
    (folder,) = (kernel / "lib" / "modules").iterdir()
    needs = {}
    for file in sorted(folder.rglob("*.ko")):
        needs[_plain(file.stem)] = file
    found: list[Path] = []
    for name in MODULES:
        _need(_plain(name), needs, found)
    return found


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _need(name: str, files: dict[str, Path], found: list[Path]) -> None:
    """A module that is built into the kernel has no file."""
    file = files.get(name)
    if file is None or file in found:
        return
    data = file.read_bytes()
    for before in _information(data, b"depends") + _information(data, b"softdep"):
        for one in before.replace("pre:", "").replace(",", " ").split():
            _need(_plain(one), files, found)
    found.append(file)


def _information(data: bytes, key: bytes) -> list[str]:
    return [one.decode() for one in re.findall(b"\0" + key + b"=([^\0]*)\0", data)]


def build(
    kernel: Path, agent: Path, delta: Path, arguments: list[str], image: Path, room: str = ROOM
) -> None:
    """Write the machine's first file system; `room` has a `guest_init` whose main gets the arguments."""
    archive = Archive()
    python = Path(os.path.realpath(sys.executable))
    archive.copy(python)
    for file in _python_files(python, room):
        archive.copy(file) if file.suffix == ".so" else archive.file(str(file), file.read_bytes())
    for name in PROGRAMS:
        found = shutil.which(name, path=PATH)
        if found is None:
            raise FileNotFoundError(name)
        archive.copy(Path(found))
    for number, file in enumerate(_modules(kernel)):
        archive.file(f"/modules/{number:03d}-{file.name}", file.read_bytes())
    for file in sorted(one for name in {ROOM, room} for one in ROOT.glob(f"{name.replace('.', '/')}/*.py")):
        archive.file(f"/t/{file.relative_to(ROOT)}", file.read_bytes())
    archive.copy(agent, AGENT)
    archive.file("/t/delta.py", delta.read_bytes())
    archive.device("/dev/console", 5, 1)
    for folder in ("/proc", "/sys", "/tmp", "/run/lock/lvm", "/run/lvm", "/etc/lvm"):
        archive.file(f"{folder}/.here", b"")
    path = ["/t", *_python_path(python)]
    text = INIT.format(python=python, path=path, room=room, arguments=[AGENT, *arguments])
    archive.file("/init", text.encode())
    archive.write(image)


def _ask_python(python: Path, question: str) -> list[str]:
    command = [str(python), "-I", "-S", "-c", question]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _python_path(python: Path) -> list[str]:
    return _ask_python(python, "import sys; print('\\n'.join(sys.path))")


def _python_files(python: Path, room: str) -> list[Path]:
    """The modules that are loaded when those of this folder and the room are, and when the packs are made."""
    question = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import {room}.guest_init, tests.local.agent.arrangements.play
import encodings.idna, encodings.ascii, encodings.latin_1, hashlib, json, struct, _posixsubprocess
print("\\n".join(one.__file__ for one in list(sys.modules.values()) if getattr(one, "__file__", None)))
"""
    files = [Path(one) for one in _ask_python(python, question)]
    return [one for one in files if not one.is_relative_to(ROOT)]


def command(kernel: Path, image: Path, disks: list[Path]) -> list[str]:
    """QEMU's command; what the machine writes to its serial line is its output.

    The processor is emulated everywhere: a KVM inside a virtual machine may start no kernel.
    """
    (boot,) = (kernel / "boot").glob("vmlinuz-*")
    words = ["qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max", "-m", "1536", "-smp", "2"]
    words += ["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"]
    words += ["-kernel", str(boot), "-initrd", str(image)]
    # The kernel's own errors would stand in the middle of what the machine says.
    options = "console=ttyS0 quiet loglevel=1 panic=-1 rdinit=/init random.trust_cpu=on mitigations=off"
    words += ["-append", options]
    for number, disk in enumerate(disks):
        words += ["-drive", f"file={disk},if=none,id=d{number},format=raw,cache=unsafe,discard=unmap"]
        serial = volume_id(number).replace("-", "")
        words += ["-device", f"nvme,drive=d{number},serial={serial}"]
    return words


def disks(folder: Path, count: int) -> list[Path]:
    """Sparse files for the volumes."""
    found = []
    for number in range(count):
        disk = folder / f"disk-{number}"
        disk.touch()
        os.truncate(disk, BASE_BYTES)
        found.append(disk)
    return found
