"""Which blocks an application reads first: recordings of `warmer observe`, and the hot set made of them.

A recording is data from a bucket: it is bounded, and believed only if each line of it has its form. A hot
set decides only the order in which blocks are read.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from rewarm.domain.model import BLOCK_BYTES, MIB, VOLUME_ID, Snapshot, Volume
from rewarm.domain.units import shown, size_text
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Runs, runs_in_order
from rewarm.domain.volume.proof import wrong_volume

MOST_BLOCKS = 131_072
"""Lines of a recording, and blocks of a hot set: 64 GiB."""
MOST_BYTES = 5 * MIB
"""The most bytes of a recording: the most lines, each of the greatest length."""
KEPT = 8
"""The newest recordings of a lineage make its hot set."""
RECENT = 4
"""A block that is in none of these newest recordings leaves the hot set."""
LARGEST_SHARE = 0.1
"""The largest share of the written blocks: a larger set would not order anything."""
LEARN_TAG = "rewarm:learn"
"""`false` on a volume or a snapshot: nothing is recorded of it."""
LINEAGE_TAG = "rewarm:lineage"
"""On a copied snapshot: the volume that its source is of, in whichever Region that is."""
COPIES_OF = "copies-of-"
"""Before that volume in the lineage. A tag proves nothing, so recordings of copies are kept apart."""
_VOLUME = re.compile(f"(?!vol-f{{8}}$){VOLUME_ID}")
"""An id, but not the one that EC2 shows of copies."""
_LONGEST_HEAD = 1_024
_MOST = 1 << 46
"""Bytes: 64 TiB, the largest volume of EBS; and seconds of a recording, which are fewer."""
_LINE = re.compile(r"(0|[1-9][0-9]{0,8}) [1-9][0-9]{0,19} (?:0|[1-9][0-9]{0,5})")


_NAMED = re.compile(f"-({VOLUME_ID})$")
"""The end of a recording's name: the volume that the command was for."""


class OtherVolumeError(ValueError):
    """The recording is of another volume than the command was for."""


class Recording(Value):
    """The blocks of 512 KiB that were read of a device, in the order of their first reads."""

    volume_bytes: int
    seconds: int
    is_complete: bool
    """Whether the agent recorded to the end of its time."""
    blocks: array[int]
    cold_blocks: int | None = None
    """The most of them that were cold when first read; None if no warm-up ran beside the recording."""


class HotSet(Value):
    """Blocks to read first, in their order; `left_out` says which recordings were of no use, and why.

    Some may not be written in a snapshot. The agent has its map, and reads the first `most_blocks` that are.
    """

    blocks: tuple[int, ...] = ()
    most_blocks: int = 0
    recordings: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def block_count(self) -> int:
        """How many blocks are read first at most."""
        return min(len(self.blocks), self.most_blocks)

    @property
    def bytes(self) -> int:
        """The size of these."""
        return self.block_count * BLOCK_BYTES

    @property
    def extents(self) -> Runs:
        """In its order; neighbours that follow each other are one."""
        return runs_in_order(self.blocks)


def read_recording(text: str | None, volume_id: str | None) -> Recording:
    """Reads what `warmer observe` wrote of this volume; None if nobody knows of which.

    Raises ValueError with the reason in words.
    """
    if text is None:
        raise ValueError(f"it is gone, or has more than {size_text(MOST_BYTES)}")
    first, _, rest = text.partition("\n")
    head = _head(first)
    if head.get("recording") != 1 or head.get("blockBytes") != BLOCK_BYTES:
        raise ValueError("it does not begin as a recording does")
    wrong = wrong_volume(head, volume_id) if volume_id is not None else None
    if wrong is not None:
        raise OtherVolumeError(wrong)
    volume_bytes = head.get("bytes")
    seconds = head.get("seconds")
    if (
        type(volume_bytes) is not int
        or type(seconds) is not int
        or not 0 <= min(volume_bytes, seconds) <= max(volume_bytes, seconds) <= _MOST
    ):
        raise ValueError("it does not say of how large a device it is, or how long it took")
    lines = rest.split("\n")
    if lines.pop() or len(lines) > MOST_BLOCKS:
        raise ValueError(f"its last line is cut short, or it has more than {MOST_BLOCKS:,} blocks")
    cold = head.get("coldBlocks")
    if cold is not None and (type(cold) is not int or not 0 <= cold <= len(lines)):
        raise ValueError("it has more cold blocks than blocks, or another number of them that cannot be")
    blocks = _blocks(lines, volume_bytes)
    return Recording(volume_bytes, seconds, head.get("complete") is True, blocks, cold)


def _head(line: str) -> dict[str, object]:
    """The first line as JSON; empty where it is none."""
    try:
        found = json.loads(line[:_LONGEST_HEAD])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _blocks(lines: Sequence[str], volume_bytes: int) -> array[int]:
    blocks = array("L")
    for number, line in enumerate(lines, start=2):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number} is not `block reads second`")
        block = int(found[1])
        if block * BLOCK_BYTES >= volume_bytes:
            raise ValueError(f"line {number} is of a block beyond the end of the device")
        blocks.append(block)
    if len(set(blocks)) < len(blocks):
        raise ValueError("it has a block twice")
    return blocks


def hot_set(texts: Iterable[tuple[str, str | None]], sizes: Sequence[int], written_blocks: int) -> HotSet:
    """Makes the hot set of a volume from its lineage's recordings, by name, the newest first.

    `sizes` are the bytes that a recorded device may have: the snapshot's, and the volume's if it is larger.
    """
    usable: list[Recording] = []
    left_out: list[str] = []
    for name, text in texts:
        try:
            named = _NAMED.search(name)
            found = read_recording(text, named[1] if named else None)
            if found.volume_bytes not in sizes:
                raise ValueError(f"it is of a device of {size_text(found.volume_bytes)}")  # noqa: TRY301
            usable.append(found)
        except ValueError as error:
            left_out.append(f"{name}: {error}")
    return replace(made_of(usable, written_blocks), left_out=tuple(left_out))


def made_of(recordings: Sequence[Recording], written_blocks: int) -> HotSet:
    """The hot set of these recordings, the newest first, in a snapshot with so many written blocks.

    Blocks in most recordings come first, and among these those that are read first. A recording of a time in
    which nothing was read says nothing of what an application needs, so it lets no block age.
    """
    most_blocks = min(MOST_BLOCKS, int(written_blocks * LARGEST_SHARE))
    used = [recording for recording in recordings if recording.blocks]
    recent = set(chain.from_iterable(recording.blocks for recording in used[:RECENT] if most_blocks))
    times = dict.fromkeys(recent, 0)
    ranks = dict.fromkeys(recent, 0.0)
    for recording in used:
        for rank, block in enumerate(recording.blocks):
            if block in recent:
                times[block] += 1
                ranks[block] += rank / len(recording.blocks)
    ordered = sorted(recent, key=lambda block: (-times[block], ranks[block] / times[block], block))
    return HotSet(tuple(ordered[:MOST_BLOCKS]), most_blocks, len(recordings))


def lineage_of(snapshot: Snapshot) -> str:
    """Under which name recordings of the snapshot's volumes are kept: its source volume, or its own id.

    A copy shows an arbitrary volume (botocore: ec2 Snapshot), so its tag may name the true one. The snapshot
    of an image is the same each time.
    """
    if snapshot.volume_id and not snapshot.is_copy:
        return snapshot.volume_id
    named = snapshot.tags.get(LINEAGE_TAG, "")
    return f"{COPIES_OF}{named}" if _VOLUME.fullmatch(named) else snapshot.snapshot_id


def lineage_tags(lineage: str | None) -> dict[str, str]:
    """What a copy of a snapshot of this lineage is tagged with; nothing where no volume is known."""
    volume_id = (lineage or "").removeprefix(COPIES_OF)
    return {LINEAGE_TAG: volume_id} if _VOLUME.fullmatch(volume_id) else {}


def forbidden_by(*things: Snapshot | Volume | None) -> str | None:
    """Whose tag forbids that anything is recorded, as a clause; None where none does.

    A copy whose tag names no volume counts: what is recorded of it would help no other copy.
    """
    for thing in things:
        if thing is None:
            continue
        name, tags, is_copy = (
            (thing.snapshot_id, thing.tags, thing.is_copy)
            if isinstance(thing, Snapshot)
            else (thing.volume_id, thing.settings.tags, False)
        )
        if tags.get(LEARN_TAG, "").strip().lower() == "false":
            return f"{name} has the tag {LEARN_TAG} with the value false"
        named = tags.get(LINEAGE_TAG)
        if is_copy and named is not None and not _VOLUME.fullmatch(named):
            return f"{name} has the tag {LINEAGE_TAG} with {shown(named)}, which is not the id of a volume"
    return None
