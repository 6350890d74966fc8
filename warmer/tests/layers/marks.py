"""What owners of a disk leave on it that no program here writes: their superblocks, by the published layouts.

libblkid (util-linux) and each project's headers name the fields: Linux's md_p.h, vdev_label.c of OpenZFS,
drbd_meta_data.h. What nobody looks at is zero.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from image import MIB, PAGE, Area, Image

KIB = 1024
Writer = Callable[[Image, Area, random.Random], None]


def md_1(place: int) -> bytes:
    """A superblock of Linux's RAID, metadata 1.x, at this byte of its device."""
    block = bytearray(512)
    struct.pack_into("<III", block, 0, 0xA92B4EFC, 1, 0)
    block[16:32] = b"rewarm-raid-uuid"
    struct.pack_into("<IIQII", block, 72, 1, 0, 300_000, 0, 2)
    struct.pack_into("<QQQ", block, 128, 2048, 300_000, place // 512)
    struct.pack_into("<QQQII", block, 192, 0, 7, 0, 0, 2)
    total = sum(struct.unpack("<65I", block[:260]))
    struct.pack_into("<I", block, 216, (total & 0xFFFFFFFF) + (total >> 32))
    return bytes(block)


def _md_0(image: Image, area: Area, draw: random.Random) -> None:
    order = draw.choice("<>")
    block = struct.pack(f"{order}IIIII", 0xA92B4EFC, 0, 90, 0, 0).ljust(PAGE, b"\0")
    image.write(area.start + area.length // (64 * KIB) * (64 * KIB) - 64 * KIB, block)


def _md_10(image: Image, area: Area, draw: random.Random) -> None:
    place = (area.length // PAGE - 2) * PAGE
    image.write(area.start + place, md_1(place))


def zfs_label() -> bytes:
    """The configuration of a label: XDR, little-endian host; version, state, txg and guid."""
    pairs = b""
    for name, value in (("version", 5000), ("state", 0), ("txg", 9), ("guid", 77)):
        text = name.encode().ljust((len(name) + 3) // 4 * 4, b"\0")
        body = struct.pack(">I", len(name)) + text + struct.pack(">IIQ", 8, 1, value)
        pairs += struct.pack(">II", len(body) + 8, 32) + body
    return b"\x01\x01\0\0" + struct.pack(">II", 0, 1) + pairs + bytes(8)


def _zfs(image: Image, area: Area, draw: random.Random) -> None:
    """Four labels: of each the configuration and a root block. The first 8 KiB stay as they are."""
    end = area.length // (256 * KIB) * (256 * KIB)
    for label in (0, 256 * KIB, end - 512 * KIB, end - 256 * KIB):
        image.write(area.start + label + 16 * KIB, zfs_label().ljust(PAGE, b"\0"))
        image.write(area.start + label + 132 * KIB, struct.pack("<QQQ", 0xBAB10C, 5000, 9).ljust(KIB, b"\0"))


def _drbd(image: Image, area: Area, draw: random.Random) -> None:
    magic = draw.choice([0x8374026B, 0x8374026C, 0x8374026D])
    block = struct.pack(">QQQQQQQIIIiIiI", 600_000, 1, 2, 3, 4, 5, 0, 0, magic, 72, -8, 67, -64, PAGE)
    image.write(area.start + (area.length // PAGE - 1) * PAGE, block.ljust(PAGE, b"\0"))


def _lvm(image: Image, area: Area, draw: random.Random) -> None:
    sector = draw.randrange(4)
    label = b"LABELONE" + struct.pack("<QII8s", sector, 0, 32, b"LVM2 001") + b"x" * 32
    image.write(area.start, bytes(2048))
    image.write(area.start + 512 * sector, label.ljust(512, b"\0"))
    image.write(area.start + PAGE, b"rewarm { id = 1 }\n".ljust(512, b"\0"))


def _ldm(image: Image, area: Area, draw: random.Random) -> None:
    """A dynamic disk with an MBR: private headers in sector 6 and at the end of its database."""
    image.write(area.start + 6 * 512, b"PRIVHEAD".ljust(512, b"\0"))
    image.write(area.start + area.length - 512, b"PRIVHEAD".ljust(512, b"\0"))


def _at(place: int, data: bytes, size: int = 512) -> Writer:
    def write(image: Image, area: Area, draw: random.Random) -> None:
        image.write(area.start + place, data.ljust(size, b"\0"))

    return write


WRITTEN: dict[str, Writer] = {
    "md 0.90": _md_0,
    "md 1.0": _md_10,
    "md 1.1": _at(0, md_1(0)),
    "md 1.2": _at(PAGE, md_1(PAGE)),
    "zfs": _zfs,
    "drbd": _drbd,
    "lvm": _lvm,
    "ldm": _ldm,
    "bluestore": _at(0, b"bluestore block device\n6a5c\n", 60),
    "asm": _at(32, b"ORCLDISKDATA1", 96),
    "vmfs": _at(MIB, b"\x0d\xd0\x01\xc0\x05"),
    "bcachefs": _at(PAGE + 24, bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")),
    "vdo": _at(0, b"dmvdo001"),
    "stratis": _at(516, b"!Stra0tis\x86\xff\x02^\x41rh"),
    "ocfs2": _at(2 * PAGE, b"OCFSV2"),
    "gfs2": _at(64 * KIB, struct.pack(">IIQI", 0x01161970, 1, 0, 100)),
}
"""Name -> writes its marks into an area."""


def _via() -> bytes:
    block = bytearray(b"\x55\xaa\x01" + bytes(47))
    return bytes([*block, sum(block) & 255])


def _silicon() -> bytes:
    block = bytearray(318)
    struct.pack_into("<I", block, 0x60, 0x2F000000)
    return bytes(block) + struct.pack("<H", -sum(struct.unpack("<159H", block)) & 0xFFFF)


def _jmicron() -> bytes:
    return b"JM\0\0" + struct.pack("<H", (1 - struct.unpack("<H", b"JM")[0]) & 0xFFFF)


CONTROLLERS: dict[str, tuple[int, bytes]] = {
    "VIA": (1, _via()),
    "Silicon Image": (1, _silicon()),
    "JMicron": (1, _jmicron()),
    "LSI": (1, b"$XIDE$"),
    "Adaptec": (1, b"\x37\xfc\x4d\x1e"),
    "Intel": (2, b"Intel Raid ISM Cfg Sig. 1.0.00"),
    "HighPoint": (11, b"\xf3\x16\x78\x5a"),
    "Promise": (63, b"Promise Technology, Inc."),
    "DDF": (257, b"\xde\x11\xde\x11"),
    "GEOM": (1, b"GEOM::MIRROR"),
}
"""Marks of RAID at the end: how many sectors before it, and the bytes."""
