"""HookDocument unmounts a volume: it ends just the processes that use it, and only where that can free it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.aws.machines.machine import Machine
from tests.local.aws.machines.hooks import LINK, hook, hook_machine, mounted, shell

HELD, REFUSED = 84, 75
PRIVATE = "unshare -m --propagation private"
OVERLAY = "cd /mnt/data && mkdir u w && mount -t overlay -o"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Its volume is mounted at /mnt/data."""
    with hook_machine(tmp_path) as made:
        shell(made, f"mkfs.ext4 -q {LINK}")
        mounted(made)
        yield made


def start(machine: Machine, script: str) -> int:
    """Starts a process that goes on, and waits until it has made the file /mnt/is-there."""
    background = f"({script}) >/dev/null 2>&1 </dev/null &"
    wait = "until [ -e /mnt/is-there ]; do sleep 0.05; done; cat /mnt/is-there; rm /mnt/is-there"
    return int(shell(machine, f"{background} {wait}"))


def process(machine: Machine, code: str, unshare: str = "") -> int:
    """A process of Python's that runs this, and then sleeps; its number."""
    text = f"import os, mmap, socket, threading, time\n{code}\nopen('/mnt/new', 'w').write(str(os.getpid()))"
    text += "\nos.rename('/mnt/new', '/mnt/is-there')\ntime.sleep(600)"
    shell(machine, f"cat >/mnt/code.py <<'END'\n{text}\nEND\n")
    return start(machine, f"exec {unshare} /usr/bin/python3 /mnt/code.py")


def lives(machine: Machine, number: int) -> bool:
    """Of one that has ended and that nobody has asked about there is no program left."""
    return shell(machine, f"readlink /proc/{number}/exe || true") != ""


def unmount(machine: Machine) -> tuple[int, str, str]:
    status, output, errors = hook(machine, action="unmount")
    return status, output, errors.strip()


def is_mounted(machine: Machine) -> bool:
    return shell(machine, "grep -c ' /mnt/data ' /proc/mounts || true") != "0\n"


USES = {
    "working folder": "os.chdir('/mnt/data')",
    "open file": "file = open('/mnt/data/a b', 'w')",
    "file that is gone": "file = open('/mnt/data/gone', 'w'); os.unlink('/mnt/data/gone')",
    "mapping": (
        "file = open('/mnt/data/mapped', 'w+b'); file.write(b'x' * 4096); file.flush()\n"
        "kept = mmap.mmap(file.fileno(), 4096); file.close()"
    ),
    "thread": (
        "import ctypes\n"
        "def hold():\n"
        "    ctypes.CDLL(None).unshare(0x200 | 0x400)\n"
        "    os.chdir('/mnt/data'); open('/mnt/chdir', 'w').close(); time.sleep(600)\n"
        "threading.Thread(target=hold).start()\n"
        "while not os.path.exists('/mnt/chdir'): time.sleep(0.01)"
    ),
}


class TestEnding:
    @pytest.mark.parametrize("use", USES)
    def test_a_process_that_uses_the_volume_is_ended(self, machine: Machine, use: str) -> None:
        number = process(machine, USES[use])
        assert unmount(machine) == (0, "/mnt/data is unmounted\n", "")
        assert not lives(machine, number)

    def test_one_that_does_not_listen_is_killed_and_all_places_are_unmounted(self, machine: Machine) -> None:
        stubborn = "trap '' TERM; exec 3>/mnt/data/log; while :; do sleep 1; done"
        shell(machine, "mkdir /mnt/again && mount --bind /mnt/data /mnt/again")
        shell(machine, f'cd /mnt/data && (sleep 600 & sh -c "{stubborn}" &) >/dev/null 2>&1')
        assert unmount(machine) == (0, "/mnt/again is unmounted\n/mnt/data is unmounted\n", "")
        assert not is_mounted(machine)

    def test_a_process_with_a_file_of_the_same_path_on_another_device_lives(self, machine: Machine) -> None:
        inside = (
            "os.system('umount /mnt/data; mount -t tmpfs none /mnt/data')\nfile = open('/mnt/data/o', 'w')"
        )
        other = process(machine, inside, PRIVATE)
        user = process(machine, "file = open('/mnt/data/orders', 'w')")
        unmount(machine)
        assert lives(machine, other)
        assert not lives(machine, user)

    @pytest.mark.parametrize("namespace", ["", PRIVATE], ids=["own", "another"])
    def test_a_mount_that_only_has_the_name_of_the_disk_is_none_of_it(
        self, machine: Machine, namespace: str
    ) -> None:
        name = shell(machine, f"readlink -f {LINK}; mkdir /mnt/else").split()[0]
        alone = "umount /mnt/data; " if namespace else ""
        inside = f"os.system('{alone}mount -t tmpfs {name} /mnt/else')\nfile = open('/mnt/else/o', 'w')"
        other = process(machine, inside, namespace)
        user = process(machine, "file = open('/mnt/data/orders', 'w')")
        assert unmount(machine) == (0, "/mnt/data is unmounted\n", "")
        assert (lives(machine, other), lives(machine, user)) == (True, False)

    def test_one_in_another_namespace_that_follows_this_one_is_ended(self, machine: Machine) -> None:
        shell(machine, "umount /mnt/data && mount --make-shared /mnt")
        mounted(machine)
        number = process(machine, "os.chdir('/mnt/data')", "unshare -m --propagation slave")
        assert unmount(machine) == (0, "/mnt/data is unmounted\n", "")
        assert not lives(machine, number)

    def test_files_of_a_nested_subvolume_are_the_volumes(self, machine: Machine) -> None:
        shell(machine, f"umount /mnt/data && mkfs.btrfs -q -f {LINK}")
        mounted(machine)
        shell(machine, "btrfs -q subvolume create /mnt/data/sub")
        number = process(machine, "file = open('/mnt/data/sub/orders', 'w')")
        assert unmount(machine) == (0, "/mnt/data is unmounted\n", "")
        assert not lives(machine, number)

    def test_a_folder_with_a_blank_or_an_umlaut_is_unmounted(self, machine: Machine) -> None:
        shell(machine, "umount /mnt/data && mkdir '/mnt/my dätä' && " + f"mount {LINK} '/mnt/my dätä'")
        assert unmount(machine) == (0, "/mnt/my dätä is unmounted\n", "")

    def test_one_that_is_not_mounted_is_done(self, machine: Machine) -> None:
        shell(machine, "umount /mnt/data")
        assert unmount(machine) == (0, "", "")


class TestRefusing:
    """Where no end of a process can free the volume: nothing is ended, and what holds it is named."""

    @pytest.mark.parametrize(
        ("holder", "words", "undo"),
        [
            (
                "mkdir /mnt/data/b && mount -t tmpfs none /mnt/data/b",
                "is mounted below it, at /mnt/data/b",
                "umount",
            ),
            (
                "truncate -s 8M /mnt/data/f && losetup --find /mnt/data/f",
                "loop /dev/loop",
                "losetup -d $(losetup -nO NAME -j /mnt/data/f) #",
            ),
            (
                "cd /mnt/data && dd if=/dev/zero of=s bs=1M count=8 && chmod 600 s && mkswap s && swapon s",
                "it has the swap file /mnt/data/s",
                "swapoff /mnt/data/s #",
            ),
            (
                f"{OVERLAY} lowerdir=/etc,upperdir=/mnt/data/u,workdir=/mnt/data/w none /mnt/etc",
                "an overlay at /mnt/etc has a folder on it",
                "umount /mnt/etc #",
            ),
            (
                f"{OVERLAY} lowerdir=/etc,upperdir=u,workdir=w none /mnt/etc",
                "an overlay at /mnt/etc may have a folder on it",
                "umount /mnt/etc #",
            ),
        ],
        ids=["mount", "loop", "swap", "overlay", "overlay that does not say"],
    )
    def test_what_stands_on_the_volume_is_named(
        self, machine: Machine, holder: str, words: str, undo: str
    ) -> None:
        number = process(machine, "file = open('/mnt/data/open', 'w')")
        shell(machine, holder)
        try:
            status, output, errors = unmount(machine)
            assert (status, is_mounted(machine), lives(machine, number)) == (REFUSED, True, True), errors
            assert words in errors
            assert errors.endswith("nothing was ended")
            assert "is unmounted" not in output
        finally:
            shell(machine, f"{undo} /mnt/data/b")
        assert unmount(machine)[0] == 0

    def test_no_process_is_ended_if_not_all_mounts_can_be_looked_at(self, machine: Machine) -> None:
        many = "for i in $(seq 70); do mkdir /mnt/$i && mount --bind /mnt/data /mnt/$i; done"
        shell(machine, many)
        number = process(machine, "os.chdir('/mnt/70')")
        status, _, errors = unmount(machine)
        assert (status, lives(machine, number)) == (REFUSED, True), errors
        assert "it has more than 64 mounts, and one of them is in use; nothing was ended" in errors
        shell(machine, f"kill {number}; while readlink /proc/{number}/exe; do sleep 0.05; done")
        assert (unmount(machine)[0], is_mounted(machine)) == (0, False)

    def test_a_copy_of_its_own_that_another_namespace_has_is_named(self, machine: Machine) -> None:
        shell(machine, "mount --make-private /mnt/data")
        user = process(machine, "os.chdir('/mnt/data')")
        other = process(machine, "", PRIVATE)
        status, _, errors = unmount(machine)
        assert (status, is_mounted(machine), lives(machine, user)) == (REFUSED, True, True), errors
        assert (
            f"process {other} (python3) has it mounted at /mnt/data in a mount namespace of its own" in errors
        )
        shell(machine, f"kill {user}; while readlink /proc/{user}/exe; do sleep 0.05; done")
        status, output, errors = unmount(machine)
        assert (status, is_mounted(machine)) == (HELD, False)
        assert output.startswith("/mnt/data is unmounted\n")
        assert "the kernel still holds /dev/loop" in errors
        assert f"process {other} (python3) has it mounted at /mnt/data" in errors
        assert lives(machine, other)
