"""The document of a calibration finds the volume's disk by its serial number, or else by any name of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.aws.machines.machine import Machine
from tests.contract.stack import documents
from tests.local.aws.machines.commands import VOLUME, run, with_volume
from tests.local.aws.machines.hooks import IMAGE, LINK, shell

BYTES = str(1 << 30)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with with_volume(tmp_path, IMAGE) as made:
        yield made


def read(machine: Machine, tries: int = 60) -> tuple[int, str, str]:
    """Reads one page, once the disk is found."""
    values = {"volumeId": VOLUME, "sizeBytes": BYTES, "action": "read", "plan": "one:1:0:1:1:1:1"}
    return run(machine, documents.filled("CalibrationDocument", values).replace("-le 60", f"-le {tries}"))


def test_any_name_will_do_and_without_one_the_serial_number(machine: Machine) -> None:
    shell(machine, f"rm {LINK}_1")
    for suffix in ("", "_1", "-ns-1"):
        shell(machine, f"ln -s $(readlink -f {LINK}*) /tmp/link; rm {LINK}*; mv /tmp/link {LINK}{suffix}")
        status, output, errors = read(machine)
        assert (status, output.startswith("phase one ")) == (0, True), errors
    folder = shell(machine, f"readlink -f /sys/block/$(basename $(readlink -f {LINK}-ns-1))").strip()
    serial = "mkdir -p /tmp/sys/device && echo 'vol0123456789abcdef0  ' >/tmp/sys/device/serial"
    shell(machine, f"{serial}; rm {LINK}*; mount --bind /tmp/sys {folder}")
    status, output, errors = read(machine)
    assert (status, output.startswith("phase one ")) == (0, True), errors


def test_a_name_that_leads_to_another_disk_is_never_taken(machine: Machine) -> None:
    folder = shell(machine, f"readlink -f /sys/block/$(basename $(readlink -f {LINK}))").strip()
    shell(machine, "mkdir -p /tmp/sys/device && echo vol0fedcba9876543210 >/tmp/sys/device/serial")
    shell(machine, f"mount --bind /tmp/sys {folder}")
    status, _, errors = read(machine, tries=1)
    assert (status, errors) == (
        66,
        "rewarm: no disk with the serial number vol0123456789abcdef0 after 60 s\n",
    )


def test_a_disk_whose_serial_number_cannot_be_read_is_not_taken_by_its_name(machine: Machine) -> None:
    folder = shell(machine, f"readlink -f /sys/block/$(basename $(readlink -f {LINK}))").strip()
    shell(machine, f"fake=$(mktemp -d); mkdir -p $fake/device/serial; mount --bind $fake {folder}")
    status, _, errors = read(machine, tries=1)
    assert (status, "no disk with the serial number" in errors) == (66, True), errors


def test_nothing_is_written_while_nobody_knows_what_is_in_use(machine: Machine) -> None:
    values = {"volumeId": VOLUME, "sizeBytes": BYTES, "action": "write", "plan": "1"}
    blind = documents.filled("CalibrationDocument", values).replace("/proc/swaps", "/proc/unreadable")
    status, _, errors = run(machine, blind)
    assert (status, "nobody knows whether" in errors) == (75, True), errors
