"""delta.py OLD NEW FOLDER VOLUME SNAPSHOT [KEY=VALUE…]: what makes OLD like NEW, as packs and a manifest.

Keys: pack=BLOCKS of each pack (64), part=LINES of each part of the manifest (all), samples=COUNT of unchanged
blocks (8), compress=1 (with the program zstd; without it, frames hold the bytes as they are), base=ADDRESS of the
folder, total=1 (the first lines say how many blocks there are), first=NUMBER of the first part (0), whole=1 (all
blocks of NEW, whether they differ or not), undo=ADDRESS of a folder where each line's log goes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from pathlib import Path

BLOCK = 524_288
ZEROS = bytes(BLOCK)
PIECE = 131_072


def frame(data: bytes, *, compress: bool) -> bytes:
    """One frame of zstd (RFC 8878): a header with the length, then blocks."""
    if compress:
        command = ["zstd", "-q", "-c", "--no-check", f"--stream-size={len(data)}"]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout
    found = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    for at in range(0, len(data), PIECE):
        piece = data[at : at + PIECE]
        last = at + PIECE >= len(data)
        is_one_byte = piece == piece[:1] * len(piece)
        found += struct.pack("<I", int(last) | (1 if is_one_byte else 0) << 1 | len(piece) << 3)[:3]
        found += piece[:1] if is_one_byte else piece
    return found


def line(value: dict[str, object]) -> bytes:
    """One line of JSON."""
    return json.dumps(value).encode() + b"\n"


def pack(blocks: list[tuple[int, bytes]], *, compress: bool) -> tuple[bytes, bytes]:
    """The pack, and its index."""
    frames = [frame(data, compress=compress) for _, data in blocks]
    index = b"".join(
        line(
            {
                "block": number,
                "length": len(data),
                "bytes": len(one),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
        for (number, data), one in zip(blocks, frames, strict=True)
    )
    return struct.pack("<II", 0x184D2A50, len(index)) + index + b"".join(frames), index


def part(head: dict[str, object], lines: list[dict[str, object]], following: str | None) -> bytes:
    """A part of the manifest, with its last line."""
    text = line(head) + b"".join(line(one) for one in lines)
    packs = [one for one in lines if "pack" in one]
    blocks = sum(int(str(one.get("blocks", one.get("count", 0)))) for one in lines)
    end = {"end": True, "packs": len(packs), "blocks": blocks, "sha256": hashlib.sha256(text).hexdigest()}
    return text + line({**end, "next": following})


def differing(old: Path, new: Path, *, whole: bool) -> tuple[list[int], list[int], list[int]]:
    """Blocks with bytes, blocks that become zeros, blocks that are the same."""
    changed, zeros, same = [], [], []
    with old.open("rb") as before, new.open("rb") as after:
        number = 0
        while data := after.read(BLOCK):
            if before.read(BLOCK) == data and not whole:
                same.append(number)
            elif data == ZEROS[: len(data)]:
                zeros.append(number)
            else:
                changed.append(number)
            number += 1
    return changed, zeros, same


def block_of(image: Path, number: int) -> bytes:
    """The bytes of a block."""
    with image.open("rb") as stream:
        stream.seek(number * BLOCK)
        return stream.read(BLOCK)


def runs(numbers: list[int]) -> list[dict[str, object]]:
    """Neighbours that become zeros, together."""
    found: list[list[int]] = []
    for number in numbers:
        if found and sum(found[-1]) == number and found[-1][1] < 512:
            found[-1][1] += 1
        else:
            found.append([number, 1])
    return [{"zeros": first, "count": count} for first, count in found]


def main() -> None:
    """Write packs and manifest."""
    old, new, folder = (Path(one) for one in sys.argv[1:4])
    options = dict(one.split("=", 1) for one in sys.argv[6:])
    folder.mkdir(exist_ok=True)
    base = options.get("base", str(folder.resolve()))
    changed, zeros, same = differing(old, new, whole="whole" in options)
    size = int(options.get("pack", "64"))
    lines = runs(zeros)
    step = max(1, len(same) // max(1, int(options.get("samples", "8"))))
    for number in same[::step] if options.get("samples") != "0" else []:
        lines.append({"unchanged": number, "sha256": hashlib.sha256(block_of(new, number)).hexdigest()})
    for count, at in enumerate(range(0, len(changed), size)):
        blocks = [(number, block_of(new, number)) for number in changed[at : at + size]]
        data, index = pack(blocks, compress="compress" in options)
        (folder / f"pack-{count}").write_bytes(data)
        digest = hashlib.sha256(index).hexdigest()
        lines.append(
            {"pack": f"{base}/pack-{count}", "bytes": len(data), "blocks": len(blocks), "index": digest}
        )
    if "undo" in options:
        for count, one in enumerate(one for one in lines if "unchanged" not in one):
            one["undo"] = f"{options['undo']}/undo-{count}"
    write_parts(folder, base, new, lines, options, len(changed) + len(zeros))


def write_parts(
    folder: Path, base: str, new: Path, lines: list[dict[str, object]], options: dict[str, str], total: int
) -> None:
    """Write the parts of the manifest."""
    length = int(options.get("part", len(lines) or 1))
    parts = [lines[at : at + length] for at in range(0, len(lines), length)] or [[]]
    first = int(options.get("first", "0"))
    for number, some in enumerate(parts):
        head: dict[str, object] = {"format": "rewarm-delta-1", "part": first + number, "volumeId": sys.argv[4]}
        head |= {"snapshotId": sys.argv[5], "volumeBytes": new.stat().st_size, "blockBytes": BLOCK}
        if "total" in options:
            head["blocksTotal"] = total
        following = f"{base}/part-{number + 1}" if number + 1 < len(parts) else None
        name = "manifest" if number == 0 else f"part-{number}"
        (folder / name).write_bytes(part(head, some, following))


main()
