"""Partition tables, written as the UEFI specification says (chapter 5), with their partitions."""

from __future__ import annotations

import struct
import uuid
import zlib

from image import MIB, Area, Image

SECTOR = 512
LINUX = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
LDM_DATA = "AF9B60A0-1431-4F62-BC68-3311714A69AD"
LDM_METADATA = "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3"
STORAGE_SPACES = "E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D"


def mbr(areas: list[Area], types: list[int]) -> bytes:
    """A boot sector with these partitions, of one type each."""
    entries = b"".join(
        struct.pack("<B3xB3xII", 0, kind, area.start // SECTOR, area.length // SECTOR)
        for area, kind in zip(areas, types, strict=True)
    )
    return bytes(446) + entries.ljust(64, b"\0") + b"\x55\xaa"


def put_mbr(image: Image, areas: list[Area], types: list[int] | None = None) -> None:
    """Write the sector; what follows it stays."""
    image.write(0, mbr(areas, types or [0x83] * len(areas)))


def put_gpt(image: Image, areas: list[Area], types: list[str] | None = None) -> None:
    """Write the protective MBR and both copies of the table."""
    sectors = image.length // SECTOR
    entries = b""
    for area, kind in zip(areas, types or [LINUX] * len(areas), strict=True):
        first = area.start // SECTOR
        last = first + area.length // SECTOR - 1
        names = uuid.UUID(kind).bytes_le + uuid.UUID(int=7 + first).bytes_le
        entries += names + struct.pack("<QQQ72x", first, last, 0)
    entries = entries.ljust(128 * 128, b"\0")

    def header(own: int, other: int, table: int) -> bytes:
        fields = struct.pack(
            "<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, 0, 0, own, other, 34, sectors - 34,
            uuid.UUID(int=9).bytes_le, table, 128, 128, zlib.crc32(entries),
        )  # fmt: skip
        return fields[:16] + struct.pack("<I", zlib.crc32(fields)) + fields[20:]

    image.write(0, mbr([Area(SECTOR, image.length - SECTOR)], [0xEE]))
    image.write(SECTOR, header(1, sectors - 1, 2).ljust(SECTOR, b"\0") + entries)
    image.write((sectors - 33) * SECTOR, entries + header(sectors - 1, 1, sectors - 33).ljust(SECTOR, b"\0"))


def divide(image: Image, shares: list[int], *, to_the_end: bool) -> list[Area]:
    """Partitions on whole MiB, as large as these shares of the disk; the last one may end with the disk."""
    areas = []
    start = MIB
    room = image.length // MIB - 2
    for number, share in enumerate(shares):
        length = max(8, room * share // sum(shares)) * MIB
        if number == len(shares) - 1 and to_the_end:
            length = image.length - start
        areas.append(Area(start, min(length, image.length - MIB - start if not to_the_end else length)))
        start = areas[-1].start + areas[-1].length
    return areas
