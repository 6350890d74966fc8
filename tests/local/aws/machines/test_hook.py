"""The SSM document that mounts a volume and asks the application, at work on the machine's volumes."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local.aws.machines.dataplane import VolumeLimits
from local.aws.machines.machine import Machine
from tests.local.aws.machines.commands import INSTANCE, VOLUME
from tests.local.aws.machines.hooks import IMAGE, LINK, UUID, hook, hook_machine, mounted, refused, shell
from tests.support.loopback import Loopback, QuietHandler

OTHER = "vol-0fedcba9876543210"
CHECKS = "/etc/rewarm/checks"
LUKS = b"LUKS\xba\xbe\x00\x01".ljust(592, b"\0")
_LABEL = struct.pack("<I8s", 32, b"LVM2 001").ljust(492, b"\0")
LVM = struct.pack("<8sQI", b"LABELONE", 1, zlib.crc32(_LABEL, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF) + _LABEL
"""What LUKS and LVM write at the beginning of a device, as far as blkid reads it."""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with hook_machine(tmp_path) as made:
        yield made


class TestMounting:
    def test_a_folder_without_a_line_in_fstab_is_made_and_mounted_without_devices(
        self, machine: Machine
    ) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        options = mounted(machine, options="noatime").split(",")
        assert {"nosuid", "nodev", "noatime"} <= set(options)
        assert "was mounted at /mnt/data already" in hook(machine, path="/mnt/data")[1]

    @pytest.mark.parametrize(
        "others",
        [
            "mkdir -m 777 /run/rewarm",
            "mkdir /run/rewarm && chown 65534 /run/rewarm",
            "ln -s /var/tmp /run/rewarm",
            "mkdir -m 700 /run/rewarm && ln -s /etc/fstab /run/rewarm/mount.lock",
            "mkdir -m 700 /run/rewarm && : >/run/rewarm/mount.lock && chmod 666 /run/rewarm/mount.lock",
        ],
    )
    def test_a_lock_that_others_could_hold_is_none(self, machine: Machine, others: str) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}; mount -t tmpfs -o mode=755 none /run && {others}")
        status, _, errors = hook(machine, path="/mnt/data")
        assert (status, "cannot lock mount.lock in /run/rewarm" in errors) == (69, True), errors

    def test_what_only_has_the_name_of_the_disk_is_another_file_system(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}; mkdir /mnt/data")
        shell(machine, f"mount -t tmpfs $(readlink -f {LINK}) /mnt/data")
        status, _, errors = hook(machine, path="/mnt/data")
        assert (status, "/mnt/data has /dev/loop" in errors) == (75, True), errors

    def test_what_fstab_says_of_the_uuid_counts(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        shell(machine, f"echo 'UUID={UUID} /mnt/orders ext4 noatime,nofail 0 2' >>/etc/fstab")
        status, output, errors = hook(machine)
        assert status == 0, errors
        assert "is mounted at /mnt/orders with noatime,nofail,nosuid,nodev" in output

    def test_fstab_may_take_a_file_system_with_programs_of_root(self, machine: Machine) -> None:
        shell(
            machine, f"mkfs.ext4 -q -L orders {LINK}; echo 'LABEL=orders /mnt/data ext4 ro,suid' >>/etc/fstab"
        )
        options = mounted(machine, options="rw,noatime").split(",")
        assert {"ro", "noatime"} <= set(options)
        assert "nosuid" not in options

    def test_xfs_is_mounted_as_well(self, machine: Machine) -> None:
        shell(machine, f"mkfs.xfs -q -f {LINK}")
        assert "nodev" in mounted(machine)

    def test_data_that_was_there_is_there(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK} && mkdir /mnt/a && mount {LINK} /mnt/a && echo 7 >/mnt/a/orders")
        shell(machine, "umount /mnt/a")
        mounted(machine)
        assert shell(machine, "cat /mnt/data/orders") == "7\n"

    def test_a_clone_of_a_file_system_that_is_mounted_is_mounted_without_its_uuid(
        self, machine: Machine
    ) -> None:
        machine.create_volume(OTHER, 1, IMAGE, VolumeLimits(16_000, 1_000), warm=False)
        machine.attach_volume(OTHER, INSTANCE, "/dev/sdg")
        other = LINK.replace("0123456789abcdef0", "0fedcba9876543210")
        # The kernel knows the UUIDs of all machines' XFS, also of another run of this test.
        own = uuid.uuid4()
        for link in (LINK, other):
            shell(machine, f"mkfs.xfs -q -f -m uuid={own} {link}")
        shell(machine, f"mkdir /mnt/own && mount {other} /mnt/own")
        status, output, errors = hook(machine, path="/mnt/data")
        assert status == 0, errors
        assert "has the same UUID and is mounted, so nouuid is added" in output


@pytest.fixture
def disk(machine: Machine) -> Iterator[str]:
    """The volume as a disk with two partitions of 64 MiB, and so the instance finds it."""
    device = shell(machine, f"losetup --find --show --partscan $(readlink -f {LINK})").strip()
    sizes = "size=64M\\nsize=64M\\n"
    # Not every kernel reads the table by itself.
    shell(machine, f"printf '{sizes}' | sfdisk -q --label gpt {device} && partx -u {device}")
    shell(machine, f"ln -sfn {device} {LINK} && ln -sfn {device} {LINK}_1")
    yield device
    shell(machine, f"umount /mnt/data; losetup --detach {device}")


class TestPartitions:
    def test_the_only_one_with_a_file_system_is_mounted(self, machine: Machine, disk: str) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {disk}p2")
        shell(machine, f"echo 'UUID={UUID} /mnt/data ext4 noatime,nofail 0 2' >>/etc/fstab")
        status, output, errors = hook(machine)
        assert status == 0, errors
        assert f"{disk}p2 (ext4, UUID={UUID}) is mounted at /mnt/data with noatime,nofail" in output

    def test_of_two_with_a_file_system_none_is_chosen(self, machine: Machine, disk: str) -> None:
        shell(machine, f"mkfs.ext4 -q {disk}p1 && mkfs.ext4 -q {disk}p2")
        words = f"{VOLUME} has several partitions ({disk}p1 {disk}p2); mount them with a document of yours"
        assert words in refused(machine, path="/mnt/data")

    def test_one_that_is_encrypted_is_said_clearly(self, machine: Machine, disk: str, tmp_path: Path) -> None:
        (tmp_path / "header").write_bytes(LUKS)
        shell(machine, f"dd if={tmp_path}/header of={disk}p2 conv=notrunc status=none")
        assert "is encrypted with LUKS" in refused(machine, path="/mnt/data")


class TestRefusing:
    def test_what_is_no_file_system_is_said_and_never_formatted(self, machine: Machine) -> None:
        assert "has no file system that blkid knows" in refused(machine, path="/mnt/data")

    @pytest.mark.parametrize(
        ("header", "offset", "words"), [(LUKS, 0, "is encrypted with LUKS"), (LVM, 512, "belongs to LVM")]
    )
    def test_encryption_and_lvm_are_said_clearly(
        self, machine: Machine, tmp_path: Path, header: bytes, offset: int, words: str
    ) -> None:
        (tmp_path / "header").write_bytes(header)
        place = f"bs=512 seek={offset // 512} conv=notrunc status=none"
        shell(machine, f"dd if={tmp_path}/header of={LINK} {place}")
        assert words in refused(machine, path="/mnt/data")

    def test_a_folder_with_something_in_it_stays_as_it_is(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK} && mkdir /mnt/data && touch /mnt/data/file")
        assert "/mnt/data is not empty" in refused(machine, path="/mnt/data")

    def test_a_folder_of_the_system_needs_a_line_in_fstab(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}")
        assert "/usr/local/sbin is not in fstab" in refused(machine, path="/usr/local/sbin")
        assert "is no plain path" in refused(machine, path="/mnt/../etc")
        assert "has a hidden folder" in refused(machine, path="/srv/deploy/.ssh")
        shell(machine, f"echo 'UUID={UUID} /usr/share ext4 defaults' >>/etc/fstab")
        shell(machine, f"tune2fs -U {UUID} {LINK}")
        assert "/usr/share belongs to the system" in refused(machine)

    def test_a_folder_in_one_that_others_can_write_is_not_taken(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK} && mkdir -m 777 /mnt/open")
        assert "/mnt/open is not a folder that only root can write" in refused(machine, path="/mnt/open/data")

    def test_a_line_by_device_name_says_nothing_of_the_file_system(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}; echo '/dev/xvdf /mnt/data ext4 suid' >>/etc/fstab")
        assert "fstab has /dev/xvdf at /mnt/data" in refused(machine, path="/mnt/data")

    def test_only_file_systems_that_the_kernel_reads_itself_are_mounted(self, machine: Machine) -> None:
        shell(machine, f"dd if=/dev/zero of={LINK} bs=512 count=8 status=none && mkswap -q {LINK}")
        assert "is swap" in refused(machine, path="/mnt/data")

    def test_a_link_to_another_folder_is_not_followed(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK} && ln -s /usr /mnt/link")
        assert "symbolic link" in refused(machine, path="/mnt/link/new")

    def test_without_a_folder_fstab_must_name_one(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
        assert f"fstab has no line for UUID={UUID}" in refused(machine)

    def test_the_folder_of_another_file_system_is_not_taken(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK}; echo 'UUID={UUID} /mnt/data ext4 defaults 0 2' >>/etc/fstab")
        assert f"fstab has UUID={UUID} at /mnt/data" in refused(machine, path="/mnt/data")

    def test_a_folder_at_which_something_else_is_mounted_is_not_taken(self, machine: Machine) -> None:
        shell(machine, f"mkfs.ext4 -q {LINK} && mkdir /mnt/data && mount -t tmpfs none /mnt/data")
        assert "/mnt/data has none mounted" in refused(machine, path="/mnt/data")


def meanwhile(machine: Machine, act: str) -> str:
    """Mounts while somebody waits for the mount, and then acts at once; returns what it says."""
    shell(machine, f"mkfs.ext4 -q -U {UUID} {LINK}")
    shell(
        machine, f"(until mountpoint -q /mnt/data; do sleep 0.02; done; {act}) >/dev/null 2>&1 </dev/null &"
    )
    status, _, errors = hook(machine, path="/mnt/data")
    assert status == 69, errors
    return errors.strip()


class TestMountedAndThen:
    """What systemd or another volume may do between the look and the moment after the mount."""

    def test_one_that_systemd_unmounts_at_once_is_not_called_mounted(self, machine: Machine) -> None:
        said = meanwhile(machine, "umount /mnt/data")
        assert "/mnt/data was unmounted as soon as /dev/" in said

    def test_one_that_something_is_mounted_over_is_not_called_mounted(self, machine: Machine) -> None:
        said = meanwhile(machine, "mount -t tmpfs none /mnt/data")
        assert f"none was mounted at /mnt/data over {VOLUME}" in said

    def test_a_device_that_became_another_volume_is_unmounted_again(self, machine: Machine) -> None:
        said = meanwhile(machine, f"ln -sfn /dev/null {LINK}; ln -sfn /dev/null {LINK}_1")
        assert f"is not {VOLUME} any more (serial unknown), so it is unmounted again" in said
        assert shell(machine, "grep -c /mnt/data /proc/mounts || true").strip() == "0"

    @pytest.mark.parametrize("serial", ["vol0123456789abcdef0", "vol0fedcba9876543210"])
    def test_the_serial_of_the_mounted_device_counts(self, machine: Machine, serial: str) -> None:
        """A loop device has none, so its folder in /sys gets one as that of an EBS volume has."""
        folder = shell(machine, f"readlink -f /sys/block/$(basename $(readlink -f {LINK}))").strip()
        shell(
            machine,
            f"mkdir -p /mnt/sys/device && cp {folder}/dev /mnt/sys && echo {serial} >/mnt/sys/device/serial",
        )
        if serial in LINK:
            shell(machine, f"mkfs.ext4 -q {LINK} && rm {LINK} {LINK}_1 && mount --bind /mnt/sys {folder}")
            assert hook(machine, path="/mnt/data")[0] == 0
        else:
            said = meanwhile(machine, f"mount --bind /mnt/sys {folder}")
            assert f"is not {VOLUME} any more (serial {serial}), so it is unmounted again" in said


class Answers(QuietHandler):
    """200 at /health, and 503 elsewhere."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 503)
        self.end_headers()


@pytest.fixture
def address() -> Iterator[str]:
    with closing(Loopback(Answers)) as server:
        yield server.url


def checked(machine: Machine, **values: str) -> tuple[int, str, str]:
    return hook(machine, action="check", volumeId="", **values)


class TestChecking:
    def test_an_address_that_answers_is_good(self, machine: Machine, address: str) -> None:
        assert checked(machine, url=f"{address}/health")[:2] == (0, f"{address}/health answered 200\n")

    def test_one_that_answers_with_an_error_is_not_good(self, machine: Machine, address: str) -> None:
        status, _, errors = checked(machine, url=f"{address}/other")
        assert (status, errors) == (1, f"rewarm: {address}/other answered 503, for 1 s\n")

    def test_one_that_does_not_answer_is_not_good(self, machine: Machine) -> None:
        assert "did not answer" in checked(machine, url="http://127.0.0.1:1/health")[2]

    def test_a_program_that_only_root_can_write_is_run_with_its_arguments(self, machine: Machine) -> None:
        lines = f'mkdir -p {CHECKS} && printf \'#!/bin/sh\\necho "$1"; exit "$2"\\n\' >{CHECKS}/orders'
        shell(machine, f"{lines} && chmod 755 {CHECKS}/orders")
        status, output, _ = checked(machine, check="orders well 0")
        assert (status, output) == (0, f"well\n{CHECKS}/orders ended with the status 0\n")
        assert "ended with the status 3, for 1 s" in checked(machine, check="orders ill 3")[2]
        shell(machine, f"chmod 777 {CHECKS}/orders")
        assert "others than root can write it" in checked(machine, check="orders well 0")[2]
        shell(machine, f"chmod 755 {CHECKS}/orders && chmod 777 {CHECKS}")
        assert "others than root can write it" in checked(machine, check="orders well 0")[2]

    def test_one_that_is_not_there_is_refused(self, machine: Machine) -> None:
        assert checked(machine, check="nothing")[0] == 75

    def test_a_program_that_prints_without_end_is_not_good(self, machine: Machine) -> None:
        shell(
            machine,
            f"mkdir -p {CHECKS} && printf '#!/bin/sh\\nyes\\n' >{CHECKS}/orders && chmod 755 {CHECKS}/orders",
        )
        status, output, _ = checked(machine, check="orders")
        assert status == 1
        assert len(output) <= 2_048
