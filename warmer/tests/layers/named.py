"""named.py USED_DUMP [CORPUS]: disks on which one owner lies over another, by name.

With CORPUS, a folder, each is also written there as an input for fuzz_used.

Where a disk must be read whole, each block that was written must be called used, with the map and without it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from image import BLOCK, MIB, PAGE, SECTOR, Area, Image
from layers import used_blocks
from makers import fill
from marks import CONTROLLERS, WRITTEN
from tables import LDM_DATA, LDM_METADATA, LINUX, STORAGE_SPACES, put_gpt, put_mbr

EXT4 = ["mkfs.ext4", "-q", "-F", "-E", "nodiscard", "-b", "4096", "@"]
NTFS = ["mkntfs", "-q", "-f", "-F", "@"]


class Disks:
    """Makes the disks; `folder` is for what they need beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.draw = random.Random(3)

    def disk(self, mib: int, command: list[str] | None = None) -> Image:
        """An empty disk, or one with a file system."""
        image = Image(self.folder / "disk", mib * MIB)
        if command is not None:
            image.run(image.whole, command, beside=self.folder)
        image.changed = {}
        return image

    def spread(self, image: Image, every: int = 4) -> None:
        """Data in every fourth block from the third MiB on, as of an owner that has it all."""
        for block in range(6, image.length // BLOCK - 3, every):
            image.write(block * BLOCK + self.draw.randrange(8, 100) * PAGE, self.draw.randbytes(PAGE))


def zfs_over_ext4(disks: Disks) -> Image:
    """An ext4 of 2 GiB, whose superblock and descriptors ZFS leaves alone."""
    image = disks.disk(2048, EXT4)
    WRITTEN["zfs"](image, image.whole, disks.draw)
    disks.spread(image)
    return image


def raid_under_an_old_mbr(disks: Disks) -> Image:
    """A RAID on the whole disk, which has an MBR with an ext4 of 50 MiB from before."""
    image = disks.disk(320)
    put_mbr(image, [Area(MIB, 50 * MIB)])
    image.run(Area(MIB, 50 * MIB), EXT4, beside=disks.folder)
    WRITTEN["md 1.2"](image, image.whole, disks.draw)
    disks.spread(image, every=1)
    return image


def two_volumes(put: Callable[..., None], kind: object) -> Callable[[Disks], Image]:
    """A partition of a type, with an NTFS of 40 MiB and one behind it."""

    def make(disks: Disks) -> Image:
        image = disks.disk(160)
        put(image, [Area(MIB, 150 * MIB)], [kind])
        for start in (1, 41):
            image.run(Area(start * MIB, 40 * MIB), NTFS, beside=disks.folder)
        fill(image, Area(45 * MIB, 30 * MIB), disks.draw)
        return image

    return make


def ext4_grown_in_its_journal(disks: Disks) -> Image:
    """An ext4 grown from 256 MiB to 900 MiB, with its superblock and descriptors in the journal only."""
    image = disks.disk(900)
    (disks.folder / "data").write_bytes(disks.draw.randbytes(PAGE) * 100_000)
    # With checksums, debugfs refuses bitmaps that are newer than the descriptors on disk.
    image.run(image.whole, [*EXT4, "256M", "-O", "^metadata_csum"], beside=disks.folder)
    old = image.read(0, 2 * PAGE)
    fill_it = ["debugfs", "-w", "-R", f"write {disks.folder}/data data", "@"]
    image.run(image.whole, ["resize2fs", "-f", "@"], fill_it, beside=disks.folder)
    (disks.folder / "new").write_bytes(image.read(0, 2 * PAGE))
    (disks.folder / "commands").write_text(f"jo\njw -b 0,1 {disks.folder}/new\njc\n", encoding="utf-8")
    image.write(0, old)
    image.run(image.whole, ["debugfs", "-w", "-f", str(disks.folder / "commands"), "@"], beside=disks.folder)
    return image


def mark_over(name: str) -> Callable[[Disks], Image]:
    """A mark over an ext4, and data."""

    def make(disks: Disks) -> Image:
        image = disks.disk(96, EXT4)
        WRITTEN[name](image, image.whole, disks.draw)
        disks.spread(image)
        return image

    return make


def controller_over(name: str) -> Callable[[Disks], Image]:
    """The mark of a RAID controller at the end of an ext4."""

    def make(disks: Disks) -> Image:
        image = disks.disk(64, EXT4)
        sectors, mark = CONTROLLERS[name]
        image.write(image.length - sectors * SECTOR, mark)
        disks.spread(image)
        return image

    return make


def zfs_label(label: int) -> Callable[[Disks], Image]:
    """An ext4, and of the four labels of ZFS just this one."""

    def make(disks: Disks) -> Image:
        pool = disks.disk(96)
        WRITTEN["zfs"](pool, pool.whole, disks.draw)
        places = sorted(at for at, data in pool.changed.items() if data.startswith(b"\x01\x01\0\0"))
        page = pool.read(places[label], PAGE)
        image = disks.disk(96, EXT4)
        image.write(places[label], page)
        disks.spread(image)
        return image

    return make


def copy_overwritten(command: list[str], place: int, length: int) -> Callable[[Disks], Image]:
    """A file system, and something without a mark that wrote where a structure has its copy."""

    def make(disks: Disks) -> Image:
        image = disks.disk(192, command)
        image.write(place, disks.draw.randbytes(length))
        disks.spread(image, every=9)
        return image

    return make


def data_behind(table: Callable[..., None] | None) -> Callable[[Disks], Image]:
    """An old ext4 of 40 MiB, on the disk or in a partition, and data without a mark behind it."""

    def make(disks: Disks) -> Image:
        image = disks.disk(192)
        start = 0 if table is None else MIB
        if table is not None:
            table(image, [Area(MIB, 40 * MIB)])
        image.run(Area(start, 40 * MIB), EXT4, beside=disks.folder)
        disks.spread(image)
        return image

    return make


WHOLE: dict[str, Callable[[Disks], Image]] = {
    "zfs_over_an_ext4": zfs_over_ext4,
    "raid_under_an_old_mbr": raid_under_an_old_mbr,
    "a_dynamic_disk_of_windows_with_an_mbr": two_volumes(put_mbr, 0x42),
    "a_dynamic_disk_of_windows_with_a_gpt": two_volumes(put_gpt, LDM_DATA),
    "the_database_of_a_dynamic_disk": two_volumes(put_gpt, LDM_METADATA),
    "storage_spaces": two_volumes(put_gpt, STORAGE_SPACES),
    "two_volumes_in_a_partition_of_one": two_volumes(put_gpt, LINUX),
    "an_ext4_that_was_grown_in_its_journal": ext4_grown_in_its_journal,
    **{f"the_mark_of_{name.replace(' ', '_')}": mark_over(name) for name in WRITTEN},
    **{f"the_mark_of_raid_of_{name.replace(' ', '_')}": controller_over(name) for name in CONTROLLERS},
    **{f"label_{label}_of_zfs": zfs_label(label) for label in range(4)},
    "an_ext4_whose_superblocks_copy_is_gone": copy_overwritten(EXT4, 128 * MIB, BLOCK // 2),
    "an_ntfs_whose_file_tables_copy_is_gone": copy_overwritten(NTFS, 96 * MIB - PAGE, PAGE),
}
"""Name -> a disk that must be read whole, or of which one partition must."""
WITH_A_MAP = {
    "data_behind_an_old_file_system": data_behind(None),
    "data_outside_all_partitions": data_behind(put_mbr),
}
"""The same, where the map says so."""


def narrowed(disks: Disks, mark: str) -> Image:
    """A partition with an ext4, and one that ends with the disk and has a mark of its own."""
    image = disks.disk(192)
    first, last = Area(MIB, 90 * MIB), Area(91 * MIB, 101 * MIB)
    put_mbr(image, [first, last])
    image.run(first, EXT4, beside=disks.folder)
    WRITTEN[mark](image, last, disks.draw)
    return image


def check_unreadable(program: str, disks: Disks) -> None:
    """A place where an owner would leave its mark cannot be read: then it is not known, and all is read."""
    image = disks.disk(96, EXT4)
    for place in (
        300,
        4000,
        272 * 1024,
        MIB,
        image.length - 496 * 1024,
        image.length - 240 * 1024,
        image.length - 1,
    ):
        os.environ["BROKEN_BYTE"] = str(place)
        is_known, note, used = used_blocks(program, image, ["--map"])
        is_whole = not is_known and len(used) == image.length // BLOCK and "cannot be read" in note
        report(f"a_disk_that_cannot_be_read_at_{place}_is_read_whole", is_whole, is_known, note)
    del os.environ["BROKEN_BYTE"]


def report(name: str, is_good: bool, *details: object) -> None:
    print(f"{'ok' if is_good else 'not ok'} {name}")
    if not is_good:
        print("#", *details)


def main() -> None:
    """Make each disk and ask."""
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        disks = Disks(Path(folder))
        for name, make in [*WHOLE.items(), *WITH_A_MAP.items()]:
            image = make(disks)
            for flags in [["--map"]] if name in WITH_A_MAP else [["--map"], []]:
                is_known, note, used = used_blocks(program, image, flags)
                lost = image.blocks_with(b"\0") - used
                how = "with_a_map" if flags else "without_a_map"
                is_good = not lost and (note != "" or not flags)
                report(f"{name}_is_read_{how}", is_good, is_known, note, len(lost))
            if len(sys.argv) == 3:
                subprocess.run(
                    [program, str(image.path), str(Path(sys.argv[2]) / name)],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
        check_unreadable(program, disks)
        for mark in ("md 1.0", "md 1.2", "zfs", "lvm"):
            is_known, note, used = used_blocks(program, narrowed(disks, mark), ["--map"])
            name = f"{mark.replace(' ', '_')}_in_the_last_partition_leaves_the_first_alone"
            report(name, is_known and note.startswith("partition at 95420416: it has a mark"), note)


if __name__ == "__main__":
    main()
