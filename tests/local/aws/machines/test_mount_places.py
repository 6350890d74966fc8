"""Where HookDocument mounts a volume: fstab as mount(8) reads it, and folders by their parts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.aws.machines.dataplane import VolumeLimits
from local.aws.machines.machine import Machine
from tests.local.aws.machines.commands import INSTANCE, VOLUME
from tests.local.aws.machines.hooks import IMAGE, LINK, UUID, hook, hook_machine, refused, script, shell

OTHER = "vol-0fedcba9876543210"
OTHER_LINK = LINK.replace("0123456789abcdef0", "0fedcba9876543210")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with hook_machine(tmp_path) as made:
        yield made


def fstab(machine: Machine, *lines: str) -> None:
    shell(machine, "cat >/etc/fstab <<'END'\n" + "\n".join(lines) + "\nEND\n")


def points(machine: Machine) -> list[str]:
    """Where the volume's device is mounted, in order, as the kernel writes it."""
    found = shell(machine, f"awk -v d=$(readlink -f {LINK}) '$1 == d {{ print $2 }}' /proc/mounts")
    return found.splitlines()


def mounts(machine: Machine, **values: str) -> str:
    status, output, errors = hook(machine, **values)
    assert status == 0, errors
    return output


WRITTEN = (
    (f"UUID={UUID}", "/mnt/db/"),
    (f"UUID={UUID}", "/mnt//db/"),
    (f'UUID="{UUID}"', "/mnt/./db/."),
    (f"/dev/disk/by-uuid/{UUID}", "/mnt/db"),
    (f"/dev//disk/by-uuid/{UUID}", "/mnt/db"),
    ("LABEL=my\\040dätä", "/mnt/db"),
    ('LABEL="my\\040dätä"', "/mnt/db"),
    ("/dev/disk/by-label/my\\x20dätä", "/mnt/db"),
    (LINK, "/mnt/db"),
)
"""How fstab may name the file system and the folder /mnt/db."""


class TestLines:
    def test_a_line_names_the_file_system_however_it_is_written(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} -L 'my dätä' {LINK}")
        for index, (source, target) in enumerate(WRITTEN):
            fstab(machine, "# data", f"  {source}\t{target}  ext4\tnoatime,ro,noexec 0 2")
            values = {"path": "/mnt/db"} if index % 2 else {}
            mounts(machine, **values)
            assert points(machine) == ["/mnt/db"], source
            options = shell(machine, "findmnt -no OPTIONS --mountpoint /mnt/db").strip().split(",")
            assert {"ro", "noexec", "noatime"} <= set(options)
            shell(machine, "umount /mnt/db")

    def test_letters_of_a_folder_are_never_a_pattern_and_never_cut(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK} && mkdir /mnt/a /mnt/orders")
        for target, shown in (
            ("/mnt/*", "/mnt/*"),
            ("/mnt/o[rx]ders", "/mnt/o[rx]ders"),
            ("/mnt/my\\040dätä", "/mnt/my\\040dätä"),
            ("/mnt/a\\134b$(id)'", "/mnt/a\\134b$(id)'"),
        ):
            fstab(machine, f"UUID={UUID} {target} ext4 defaults 0 2")
            mounts(machine)
            assert points(machine) == [shown]
            mounts(machine, action="unmount")
            assert points(machine) == []

    def test_a_line_that_mount_would_pass_over_is_passed_over(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        fstab(machine, f"UUID={UUID} /mnt/a ext4 defaults # old", f"UUID={UUID} /mnt/b ext4 defaults 0 0")
        mounts(machine)
        assert points(machine) == ["/mnt/b"]

    def test_a_line_of_another_file_system_is_not_taken_for_this_one(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        other = UUID.replace("1", "9")
        for source in (
            f"/dev/disk/by-uuid/{other}",
            f"PARTUUID={UUID}",
            OTHER_LINK,
            f"{LINK}-part1",
            "LABEL=",
        ):
            fstab(machine, f"{source} /mnt/db ext4 defaults 0 2")
            assert f"fstab has {source} at /mnt/db" in refused(machine, path="/mnt/db")
            assert "fstab has no line for" in refused(machine)


class TestFolders:
    def test_a_folder_that_only_begins_as_one_of_the_system_is_taken(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        for name in ("/binlogs", "/devel", "/library", "/rootfs", "/sysdata"):
            fstab(machine, f"UUID={UUID} {name} ext4 defaults 0 2")
            try:
                mounts(machine)
                assert points(machine) == [name]
            finally:
                shell(machine, f"umount {name}; rmdir {name}")

    def test_a_folder_of_the_system_is_refused_even_by_fstab(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        for target in ("/bin/x", "/", "/var", "/lib64/", "/etc//x", "/usr/./share"):
            fstab(machine, f"UUID={UUID} {target} ext4 defaults 0 2")
            assert "belongs to the system" in refused(machine)

    def test_a_parent_that_fstab_names_comes_first(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        fstab(machine, "tmpfs /mnt/srv tmpfs mode=755 0 0", f"UUID={UUID} /mnt/srv/db ext4 defaults 0 2")
        assert "fstab has a file system at /mnt/srv, which is not mounted" in refused(machine)
        shell(machine, "mkdir -p /mnt/srv && mount /mnt/srv")
        mounts(machine)
        assert points(machine) == ["/mnt/srv/db"]


class TestParts:
    """File systems of which a part is elsewhere."""

    def test_an_ext4_with_its_journal_on_another_device_is_refused(
        self, machine: Machine, tmp_path: Path
    ) -> None:
        machine.create_volume(OTHER, 1, IMAGE, VolumeLimits(16_000, 1_000), warm=False)
        machine.attach_volume(OTHER, INSTANCE, "/dev/sdg")
        shell(machine, f"mke2fs -q -O journal_dev -b 4096 {OTHER_LINK}")
        shell(machine, f"mkfs.ext4 -q -b 4096 -J device=$(readlink -f {OTHER_LINK}) {LINK}")
        assert f"{VOLUME} has its journal on another device" in refused(machine, path="/mnt/data")
        assert "is jbd; mount it" in refused(machine, path="/mnt/data", volumeId=OTHER)

    def test_an_xfs_with_its_log_on_another_device_is_refused(self, machine: Machine) -> None:
        machine.create_volume(OTHER, 1, IMAGE, VolumeLimits(16_000, 1_000), warm=False)
        machine.attach_volume(OTHER, INSTANCE, "/dev/sdg")
        log = f"-l logdev=$(readlink -f {OTHER_LINK}),size=64m"
        shell(machine, f"mkfs.xfs -q -f {log} {LINK}")
        assert f"{VOLUME} has its log on another device" in refused(machine, path="/mnt/data")
        shell(machine, f"mkfs.xfs -q -f -r rtdev=$(readlink -f {OTHER_LINK}) {LINK}")
        assert f"{VOLUME} has its realtime section on another device" in refused(machine, path="/mnt/data")

    def test_a_btrfs_on_two_devices_is_refused_even_where_one_is_gone(self, machine: Machine) -> None:
        machine.create_volume(OTHER, 1, IMAGE, VolumeLimits(16_000, 1_000), warm=False)
        machine.attach_volume(OTHER, INSTANCE, "/dev/sdg")
        shell(machine, f"mkfs.btrfs -q -f -m single -d single {LINK} {OTHER_LINK}")
        assert "is on several devices" in refused(machine, path="/mnt/data")
        shell(machine, f"wipefs -qa {OTHER_LINK}")
        assert "is on several devices" in refused(machine, path="/mnt/data")

    def test_a_line_that_names_another_device_is_refused(self, machine: Machine) -> None:
        shell(machine, f"mkfs.xfs -q -f -m uuid={UUID} {LINK}")
        fstab(machine, f"UUID={UUID} /mnt/db xfs logdev=/dev/sdz 0 0")
        assert "fstab has the option logdev at /mnt/db" in refused(machine)


class TestOptions:
    def test_errors_of_an_ext4_never_stop_the_kernel(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK} && tune2fs -e panic {LINK}")
        assert mounts(machine, path="/mnt/data").endswith("nosuid,nodev,errors=remount-ro\n")
        assert "errors=panic" not in shell(machine, "findmnt -no OPTIONS --mountpoint /mnt/data")

    def test_what_fstab_says_of_errors_is_roots_own(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        fstab(machine, f"UUID={UUID} /mnt/db ext4 errors=continue 0 2")
        assert "with noatime,errors=continue,nosuid,nodev\n" in mounts(machine, options="noatime")

    def test_an_option_of_another_kind_of_file_system_is_refused(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}")
        said = refused(machine, path="/mnt/data", options="noatime,subvol=data")
        assert "subvol=data is not allowed for ext4; allowed are ro, rw" in said


class TestTwins:
    def test_an_xfs_whose_twin_is_mounted_in_another_namespace_is_mounted(self, machine: Machine) -> None:
        machine.create_volume(OTHER, 1, IMAGE, VolumeLimits(16_000, 1_000), warm=False)
        machine.attach_volume(OTHER, INSTANCE, "/dev/sdg")
        own = shell(machine, "cat /proc/sys/kernel/random/uuid").strip()
        for link in (LINK, OTHER_LINK):
            shell(machine, f"mkfs.xfs -q -f -m uuid={own} {link}")
        inside = f"mount {OTHER_LINK} /mnt/own && touch /mnt/is && exec sleep 600"
        there = f"mkdir /mnt/own && unshare -m sh -c '{inside}'"
        shell(machine, f"({there}) >/dev/null 2>&1 & until [ -e /mnt/is ]; do sleep 0.05; done")
        assert "has the same UUID and is mounted, so nouuid is added" in mounts(machine, path="/mnt/data")

    def test_all_subvolumes_that_fstab_names_are_mounted_in_its_order(self, machine: Machine) -> None:
        shell(machine, f"mkfs.btrfs -q -f {LINK} && mkdir /mnt/top && mount {LINK} /mnt/top")
        own = shell(
            machine, f"blkid -p -o value -s UUID {LINK}"
        ).strip()  # another run may have the common one
        shell(
            machine,
            "for name in a b c; do btrfs -q subvolume create /mnt/top/$name; done; mkdir /mnt/top/a/sub",
        )
        shell(machine, "umount /mnt/top")
        places = ["/mnt/x", "/mnt/x/sub", "/mnt/spare"]
        options = ["subvol=a", "noatime,subvol=b", "noauto,subvol=c"]
        lines = [
            f"UUID={own} {place} btrfs {option} 0 0" for place, option in zip(places, options, strict=True)
        ]
        fstab(machine, *lines)
        output = mounts(machine)
        assert points(machine) == ["/mnt/x", "/mnt/x/sub"]
        assert "further folders for it, which are not mounted: /mnt/spare" in output
        assert mounts(machine).count("already") == 2
        mounts(machine, action="unmount")
        assert points(machine) == []
        assert "are not mounted: /mnt/x/sub, /mnt/spare" in mounts(machine, path="/mnt/x")


class TestTwice:
    def test_two_at_once_both_end_well(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}")
        found: list[tuple[int, str, str]] = []
        calls = [
            threading.Thread(target=lambda: found.append(hook(machine, path="/mnt/data"))) for _ in range(3)
        ]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        assert [status for status, _, _ in found] == [0, 0, 0], found
        assert sum("was mounted at /mnt/data already" in output for _, output, _ in found) == 2
        assert points(machine) == ["/mnt/data"]

    def test_one_that_was_killed_at_any_moment_is_done_by_the_next(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}")
        for tenths in (0, 1, 2, 4, 8, 12):
            killed = machine.run_command(INSTANCE, script(path="/mnt/data"), environment={})
            killed.wait(tenths / 10)
            killed.cancel()
            mounts(machine, path="/mnt/data")
            assert points(machine) == ["/mnt/data"]
            shell(machine, "umount /mnt/data")
