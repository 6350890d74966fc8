"""Databases' files of known places: makes them, and compares what the agent says of their order.

order_data.py make ROOT             files below a mounted file system
order_data.py expect ROOT FILE      where the kernel (FIEMAP) says that they lie
order_data.py expect ROOT FILE DISK where their content lies on an image that was made from ROOT
order_data.py proto ROOT            ROOT as a prototype for mkfs.xfs
order_data.py check FILE DUMP ROOM  the sets and blocks that `used_dump order` printed are the expected ones
"""

import ctypes
import fcntl
import json
import os
import random
import struct
import sys

BLOCK = 524288
FIEMAP = 0xC020660B
LAST, INLINE, UNWRITTEN = 0x1, 0x200, 0x800
PUNCH_HOLE = 3
"""FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE."""
POSTGRES, MARIA = "var/lib/postgresql/15/main", "var/lib/mysql"
PAGE = 4096
places = {}
"""A page's bytes -> where it lies, for an image that is not mounted."""
draw = random.Random(37)
libc = ctypes.CDLL(None, use_errno=True)


def write(path, mib):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(draw.randbytes(int(mib * 1048576)))


def fragment(path, mib):
    """Every second page is a hole: as many extents as pages that are left."""
    write(path, mib)
    with open(path, "r+b") as file:
        os.fsync(file.fileno())
        for at in range(0, int(mib * 1048576), 16384):
            libc.fallocate(file.fileno(), PUNCH_HOLE, ctypes.c_int64(at), ctypes.c_int64(8192))


def tablespace(path, number, mib, flags=0):
    write(path, mib)
    with open(path, "r+b") as file:
        for at, value in ((34, number), (38, number), (54, flags)):
            file.seek(at)
            file.write(struct.pack(">I", value))


def postgres_lines():
    """Database, tablespace, file number, fork, block; sorted, as PostgreSQL writes them."""
    chosen = random.Random(38)
    lines = [(0, 1664, 1260, 0, block) for block in range(3)]
    lines += [(5, 1663, 1259, 0, block) for block in (1, 2, 3, 200, 251)]
    lines += [(16384, 1663, 16385, 0, block) for block in sorted(chosen.sample(range(2560), 30))]
    lines += [(16384, 1663, 16385, 2, 1)]
    # All pages of a piece, half of one, one less than half of one, and a single page.
    lines += [(16384, 1663, 16390, 0, block) for block in (9, *range(256, 320), *range(384, 447, 2))]
    lines += [(16384, 1663, 16390, 0, block) for block in range(513, 575, 2)]
    lines += [(16384, 1663, 16391, 0, 131072 + 5)]
    lines += [(16384, 1663, 16399, 0, block) for block in range(1, 2048, 42)]
    # Half of the pages of a small file.
    lines += [(16384, 1663, 16420, 0, block) for block in (0, 3, 5, 7)]
    # A relation that is gone, a block behind the end, another tablespace.
    return [*lines, (16384, 1663, 55555, 0, 1), (16384, 1663, 99999, 0, 70), (16384, 4711, 16385, 0, 100)]


def innodb_lines():
    """Tablespace and page, those used last first."""
    lines = [(7, page) for page in random.Random(39).sample(range(640), 60)] + [
        (0, 700),
        (9, 900),
        (11, 100),
        (55, 1),
    ]
    return [*lines, (7, 1000000), (9, 17), (0, 0)]


def make(root):
    for name in ("usr/share/a/b", "etc/base", "home/somebody", f"{POSTGRES}/base/1"):
        os.makedirs(f"{root}/{name}")
    postgres = f"{root}/{POSTGRES}"
    write(f"{postgres}/base/5/1259", 2)
    write(f"{postgres}/base/16384/16420", 0.0625)
    write(f"{postgres}/base/16384/16385", 20)
    write(f"{postgres}/base/16384/16385_vm", 0.5)
    write(f"{postgres}/base/16384/16390", 12)
    write(f"{postgres}/base/16384/16391.1", 1)
    fragment(f"{postgres}/base/16384/16399", 16)
    write(f"{postgres}/base/16384/99999", 0.5)
    # A directory of many blocks, with an index.
    for number in range(20000, 21500):
        with open(f"{postgres}/base/16384/{number}", "w"):
            pass
    write(f"{postgres}/global/1260", 1)
    for number in range(1, 4):
        write(f"{postgres}/pg_wal/{number:024X}", 2)
    os.makedirs(f"{postgres}/pg_wal/archive_status")
    for folder in (postgres, f"{postgres}/base/5", f"{postgres}/base/16384"):
        write(f"{folder}/PG_VERSION", 0.00001)
    lines = postgres_lines()
    with open(f"{postgres}/autoprewarm.blocks", "w") as file:
        file.write(f"<<{len(lines)}>>\n")
        file.writelines(",".join(map(str, line)) + "\n" for line in lines)
    maria = f"{root}/{MARIA}"
    tablespace(f"{maria}/ibdata1", 0, 12)
    tablespace(f"{maria}/db/t.ibd", 7, 10)
    tablespace(f"{maria}/db/compressed.ibd", 9, 8, 3 << 1 | 0x21)
    tablespace(f"{maria}/db/full_crc32.ibd", 11, 8, 0x15)
    write(f"{maria}/#innodb_redo/#ib_redo4", 3)
    write(f"{maria}/ib_logfile0", 2)
    with open(f"{maria}/ib_buffer_pool", "w") as file:
        file.writelines(f"{space},{page}\n" for space, page in innodb_lines())
    with open(f"{root}/home/somebody/large", "wb") as file:
        for mib in (0, 30, 90):
            file.seek(mib << 20)
            file.write(draw.randbytes(1 << 20))
        file.truncate(100 << 20)


def remember_places(disk):
    with open(disk, "rb") as file:
        for at in range(0, os.path.getsize(disk), PAGE):
            page = file.read(PAGE)
            if page.strip(b"\0"):
                places[page] = at


def extents_by_content(path):
    with open(path, "rb") as file:
        pages = iter(lambda: file.read(PAGE), b"")
        whole_pages = ((number * PAGE, page.ljust(PAGE, b"\0")) for number, page in enumerate(pages))
        return [(offset, places[page], PAGE) for offset, page in whole_pages if page in places]


def extents(path):
    """(offset in the file, byte of the device, length) of what is written."""
    if places:
        return extents_by_content(path)
    found, start = [], 0
    with open(path, "rb") as file:
        while True:
            request = bytearray(
                struct.pack("=QQIIII", start, 2**64 - 1 - start, 1, 0, 512, 0) + bytes(56 * 512)
            )
            fcntl.ioctl(file, FIEMAP, request)
            count = struct.unpack_from("=I", request, 20)[0]
            for index in range(count):
                fields = struct.unpack_from("=QQQQQIIII", request, 32 + 56 * index)
                logical, physical, length, flags = fields[0], fields[1], fields[2], fields[5]
                found += [] if flags & (INLINE | UNWRITTEN) else [(logical, physical, length)]
                start = logical + length
            if count == 0 or flags & LAST:
                return found


def blocks(path, ranges):
    """Blocks of the device in which these (offset, length) of a file lie, in that order."""
    pieces = extents(path) if os.path.exists(path) else []
    for offset, length in ranges:
        for logical, physical, size in pieces:
            first, end = max(offset, logical), min(offset + length, logical + size)
            if first < end:
                at = physical + first - logical
                yield from range(at // BLOCK, (at + end - first - 1) // BLOCK + 1)


def whole(root, *names):
    for name in names:
        yield from blocks(f"{root}/{name}", [(0, os.path.getsize(f"{root}/{name}"))])


def of_postgres(root):
    """Pieces of 64 pages of which half or more are listed, by what the file has of them; then the others."""
    forks, pieces = {0: "", 2: "_vm"}, {}
    for database, space, relation, fork, block in postgres_lines():
        folder = "global" if space == 1664 else f"base/{database}" if space == 1663 else "none"
        segment = f".{block // 131072}" if block >= 131072 else ""
        path = f"{root}/{POSTGRES}/{folder}/{relation}{forks[fork]}{segment}"
        pieces.setdefault((path, block % 131072 // 64), []).append(block % 131072 * 8192)
    for is_dense in (True, False):
        for (path, piece), pages in pieces.items():
            size = os.path.getsize(path) if os.path.exists(path) else 0
            there = min(64, -((piece * 524288 - size) // 8192))
            if (2 * len(pages) >= there) == is_dense:
                yield from blocks(path, [(page, 8192) for page in pages])


def of_innodb(root):
    files = {0: ("ibdata1", 16384), 7: ("db/t.ibd", 16384), 9: ("db/compressed.ibd", 4096)}
    files[11] = ("db/full_crc32.ibd", 16384)
    for space, page in innodb_lines():
        if space in files:
            name, size = files[space]
            yield from blocks(f"{root}/{MARIA}/{name}", [(page * size, size)])


def newest_first(root):
    """Regular files with content of the last day, those changed last first, then by inode."""
    found = []
    for place, _folders, names in os.walk(root):
        for name in names:
            stat = os.lstat(f"{place}/{name}")
            when = max(int(stat.st_ctime), int(stat.st_mtime))
            found += [(-when, stat.st_ino, f"{place}/{name}")] if stat.st_size else []
    newest = max(-when for when, _inode, _path in found)
    return [path for when, _inode, path in sorted(found) if -when >= newest - 86400]


def of_recent(root):
    for path in newest_first(root):
        size = os.path.getsize(path)
        small = [(0, size)]
        yield from blocks(path, small if size <= 64 << 20 else [(0, 16 << 20), (size - (48 << 20), 48 << 20)])


def of_logs(root, folder):
    """A log's files by the time of their content alone."""
    names = sorted(
        os.scandir(f"{root}/{folder}"), key=lambda entry: (-int(entry.stat().st_mtime), entry.inode())
    )
    for entry in names:
        if entry.is_file():
            yield from blocks(entry.path, [(0, entry.stat().st_size)])


def expect(root, path, disk=None):
    if disk:
        remember_places(disk)
    found = {
        "PostgreSQL autoprewarm.blocks": list(of_postgres(root)),
        "InnoDB ib_buffer_pool": list(of_innodb(root)),
        "PostgreSQL pg_wal": list(of_logs(root, f"{POSTGRES}/pg_wal")),
        "InnoDB #innodb_redo": list(of_logs(root, f"{MARIA}/#innodb_redo")),
        "InnoDB ib_logfile": list(whole(root, f"{MARIA}/ib_logfile0")),
        "files of the last day": list(of_recent(root)),
    }
    with open(path, "w") as file:
        json.dump(found, file)


def proto(root):
    def tell(folder):
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            print(entry.name, "d--755 0 0" if entry.is_dir() else f"---644 0 0 {entry.path}")
            if entry.is_dir():
                tell(entry.path)
        print("$")

    print("/dev/null\n0 0\nd--755 0 0")
    tell(root)


def check(path, dump, room):
    """Every block once, set after set, as many as there is room for."""
    expected = json.load(open(path))
    sets, order, problems = [], [], []
    for line in open(dump):
        words = line.split(" ", 4)
        if words[0] == "set":
            sets.append((words[4].rstrip("\n"), int(words[2])))
        elif words[0] == "order":
            order += range(int(words[1]), int(words[1]) + int(words[2]))
    seen = []
    for what, count in sets:
        new = list(dict.fromkeys(block for block in expected[what] if block not in set(seen)))[
            : room - len(seen)
        ]
        if count != len(new):
            problems.append(f"{what}: {count} blocks, not {len(new)}")
        seen += new
    if order != seen:
        at = next(
            (i for i, pair in enumerate(zip(order, seen)) if pair[0] != pair[1]), min(len(order), len(seen))
        )
        problems.append(f"from place {at} on {order[at : at + 5]}, not {seen[at : at + 5]}")
    print("\n".join([*problems, ", ".join(f"{what} {count}" for what, count in sets)]))
    return 1 if problems or not sets else 0


if __name__ == "__main__":
    action, *arguments = sys.argv[1:]
    if action == "check":
        sys.exit(check(arguments[0], arguments[1], int(arguments[2])))
    {"make": make, "expect": expect, "proto": proto}[action](*arguments)
