"""layers.py USED_DUMP CASES SEED: whatever lay on a disk before, no block of its owner is left out.

Each case lays one to four owners over each other: file systems, volume managers, RAID, encryption, stores of
databases, on the disk or in partitions, each with data. Some wipe signatures before, most do not. The map has
the blocks that were ever written. Every block of 512 KiB in which the last one has data must be called used.
How many of the disks are not read whole is printed, and for some seeds it must not fall.

`ONLY=12` in the environment plays one case, and prints its layers and what is left out; `VERBOSE=1` prints
those of all cases.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from image import MIB, Area, Image
from makers import DEAD, KNOWN, Makers, fits, missing_programs
from tables import divide, put_gpt, put_mbr

LEAST_NARROWED = {("1", 20): 7, ("1", 2000): 915}
"""Seed and number of cases -> how many of them are not read whole, less a few."""


@dataclass
class Case:
    """A disk and its history; `failed` are makers that refused."""

    image: Image
    layers: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def used_blocks(program: str, image: Image, flags: list[str]) -> tuple[bool, str, set[int]]:
    """What the agent says of an image: whether it narrows, its note, and the blocks in use."""
    done = subprocess.run([program, *flags, str(image.path)], capture_output=True, check=True, text=True)
    used: set[int] = set()
    note = ""
    for line in done.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "note":
            note = rest
        elif word == "used":
            start, count = map(int, rest.split())
            used.update(range(start, start + count))
    return done.stdout.startswith("known"), note, used


def _make(case: Case, makers: Makers, area: Area, draw: random.Random) -> None:
    names = [name for name in makers.names if fits(name, area)]
    name = draw.choice(KNOWN) if draw.random() < 0.4 else draw.choice(names)
    if draw.random() < 0.3:
        before = dict(case.image.changed)
        case.image.run(area, ["wipefs", "-q", "-a", "@"], beside=makers.folder)
        case.image.changed = before
        case.layers.append("wipefs")
    try:
        makers.make(name, case.image, area, draw)
        case.layers.append(f"{name} at {area.start // 512}+{area.length // 512}")
    except (RuntimeError, FileNotFoundError):
        case.failed.append(name)


def _lay(case: Case, makers: Makers, draw: random.Random) -> None:
    """One layer: an owner of the disk, or a table and owners of its partitions."""
    case.image.changed = {}
    if draw.random() < 0.6:
        _make(case, makers, case.image.whole, draw)
        return
    is_gpt = draw.random() < 0.5
    shares = [draw.randrange(1, 6) for _partition in range(draw.randrange(1, 4))]
    areas = divide(case.image, shares, to_the_end=not is_gpt and draw.random() < 0.5)
    (put_gpt if is_gpt else put_mbr)(case.image, areas)
    case.layers.append("gpt" if is_gpt else "mbr")
    for area in areas:
        if draw.random() < 0.9:
            _make(case, makers, area, draw)


def draw_case(makers: Makers, draw: random.Random) -> Case:
    """A disk with its history."""
    length = draw.choice([192, 320]) * MIB + draw.choice([0, 0, 512, 96 * 1024, 260 * 1024])
    case = Case(Image(makers.folder / "disk", length))
    for _layer in range(draw.choice([1, 2, 2, 3, 4])):
        _lay(case, makers, draw)
    return case


def play(program: str, makers: Makers, number: int, seed: str) -> tuple[bool, str, Case]:
    """Play one case: whether it is narrowed, what is left out (empty: nothing), and the case."""
    case = draw_case(makers, random.Random(f"{seed}/{number}"))
    is_known, note, used = used_blocks(program, case.image, ["--map"])
    lost = sorted(case.image.blocks_with(DEAD) - used)
    if "ONLY" in os.environ or "VERBOSE" in os.environ:
        how = "narrowed" if is_known else "whole"
        print(f"# {number} {how} lost {len(lost)} [{note}] {case.layers} {case.failed}", flush=True)
    return is_known, f"case {number}: {len(lost)} blocks from {lost[0]}: {case.layers}" if lost else "", case


def main() -> int:
    """Play the cases; 0 if all is well."""
    program, count, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    missing = missing_programs()
    for name, package in missing.items():
        print(f"skip layers that {name} makes: install the Debian package {package}")
    numbers = [int(os.environ["ONLY"])] if "ONLY" in os.environ else range(count)
    narrowed, left_out = 0, []
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        makers = Makers(Path(folder))
        for number in numbers:
            is_known, lost, case = play(program, makers, number, seed)
            narrowed += is_known
            refused.update(case.failed)
            left_out += [lost] if lost else []
    for text in left_out:
        print(f"# {text}")
    least = LEAST_NARROWED.get((seed, count), 0) if not missing and len(numbers) == count else 0
    print(f"{'not ok' if left_out else 'ok'} no_block_with_data_is_left_out_of_{len(numbers)}_disks")
    print(f"{'ok' if narrowed >= least else 'not ok'} as_many_as_before_are_narrowed")
    print(f"# {narrowed} of {len(numbers)} disks are narrowed; makers that refused: {dict(refused)}")
    return 1 if left_out or narrowed < least else 0


if __name__ == "__main__":
    sys.exit(main())
