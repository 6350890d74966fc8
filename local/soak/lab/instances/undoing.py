"""What `warmer apply` does to the blocks of a volume: it compares, keeps the old ones, and writes.

No byte exists: a block is known by the seed that its bytes would be generated from. A pack of an undo log has
seeds in place of zstd frames.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES, SnapshotImage
from local.aws.region.snapshots.contents import held_seed
from rewarm.domain.blocks.packs import PackedBlock, pack_index, packed, taken_out
from rewarm.domain.ready.agent_output import AgentExit
from rewarm.domain.volume.extents import Runs, runs_of

if TYPE_CHECKING:
    from local.soak.lab.instances.data_plane import MemoryDataPlane, Volume

Seed = str | None
"""None for a block that is zeros."""
_SEED = b"seed "
MOST_RUNS = 100
BOOT_ID = "8f0c2f5e-0b5d-4f7e-9c53-6a0a3b2e9d11"
"""No instance of the lab starts anew with a volume that is still as it was."""
SECTORS = BLOCK_BYTES // 512


def kept(blocks: Mapping[int, Seed]) -> bytes:
    """A pack with the old blocks."""
    frames = {block: _SEED + json.dumps(seed).encode() for block, seed in sorted(blocks.items())}
    return packed(
        [PackedBlock(at, BLOCK_BYTES, hashlib.sha256(one).hexdigest(), one) for at, one in frames.items()]
    )[0]


def seeds_of(pack: bytes, target: SnapshotImage) -> tuple[dict[int, Seed], bool]:
    """The blocks of a pack, and whether it is one of an undo log; others have what the snapshot has."""
    found, is_kept = dict[int, Seed](), False
    for block in taken_out(pack, [one.index for one in pack_index(pack).blocks]):
        is_kept = block.frame.startswith(_SEED)
        seed = json.loads(block.frame[len(_SEED) :]) if is_kept else held_seed(target, block.index)
        found[block.index] = seed
    return found, is_kept


def overlaid(image: SnapshotImage, changed: Mapping[int, Seed]) -> SnapshotImage:
    """The image with these blocks in place of its own blocks."""
    of_seed: dict[str, list[int]] = {}
    for block, seed in sorted(changed.items()):
        if seed is not None:
            of_seed.setdefault(seed, []).append(block)
    layers = tuple((_pairs(runs_of(blocks)), seed) for seed, blocks in of_seed.items())
    has = {at for start, count in image.extents for at in range(start, start + count)}
    has = (has - changed.keys()) | {block for block, seed in changed.items() if seed is not None}
    return SnapshotImage(
        image.snapshot_id, image.size_gib, _pairs(runs_of(sorted(has))), None, (*image.layers, *layers)
    )


def _pairs(runs: Runs) -> tuple[tuple[int, int], ...]:
    return tuple(zip(runs.starts, runs.counts, strict=True))


class Writing:
    """One run of the agent; `compares` where it writes just what differs."""

    def __init__(
        self, data_plane: MemoryDataPlane, volume: Volume, snapshot_id: str, *, compares: bool
    ) -> None:
        self._compares = compares
        self._snapshot_id = snapshot_id
        self._store = data_plane.store
        self._volume = volume
        self._image = volume.image_now()
        self._target = data_plane.known_image(snapshot_id)
        self._written: dict[int, Seed] = {}
        self.compared = self.equal = self.packs = self.undo_bytes = 0

    def part(self, lines: Sequence[Json]) -> AgentExit | None:
        """Plays the lines of a part of the manifest; how the agent ends where it cannot go on."""
        for line in lines:
            ended = self._compare(line) if "unchanged" in line else self._write(self._wanted(line), line)
            if ended is not None:
                return ended
        return None

    def _compare(self, line: Json) -> AgentExit | None:
        """A block that is not written has what the snapshot has."""
        block = line["unchanged"]
        return None if self._seed(block) == held_seed(self._target, block) else AgentExit.DIFFERS

    def _wanted(self, line: Json) -> dict[int, Seed]:
        """What a line of the manifest says. Its pack is there: whoever plays it has looked."""
        if "zeros" in line:
            return dict.fromkeys(range(line["zeros"], line["zeros"] + line["count"]))
        pack = self._store.get(line["pack"])
        assert pack is not None
        return seeds_of(pack, self._target)[0]

    def _write(self, wanted: Mapping[int, Seed], line: Json) -> AgentExit | None:
        """Writes what differs, once the old blocks are kept; how the agent ends if not."""
        old = {block: self._seed(block) for block in wanted}
        differing = {block: seed for block, seed in old.items() if wanted[block] != seed}
        self.compared += len(wanted)
        self.equal += len(wanted) - len(differing)
        if not self._compares:
            differing = old
        if differing and "undo" in line:
            pack = kept(differing)
            status = self._store.put_once(line["undo"], pack)
            if status != 200:
                return AgentExit.TAKEN_BEFORE if status == 412 else AgentExit.NO_UNDO
            self.packs += 1
            self.undo_bytes += len(pack)
        self._written.update({block: wanted[block] for block in differing})
        self._volume.writes += len(differing)
        self._volume.rewrite(overlaid(self._image, self._written))
        return None

    @property
    def blocks(self) -> int:
        """Written so far."""
        return len(self._written)

    def settle(self) -> None:
        """After the last part: whether the volume has what the snapshot has."""
        is_equal = next(differing(self._volume.image_now(), self._target), None) is None
        self._volume.equals = self._snapshot_id if is_equal else None

    @property
    def account(self) -> Json:
        """What the result says of it."""
        runs = runs_of(sorted(self._written))
        account: Json = {
            "blocksWritten": len(self._written),
            "written": [[*pair] for pair in _pairs(runs)[:MOST_RUNS]],
            "writtenTruncated": len(runs) > MOST_RUNS,
            "bootId": BOOT_ID,
            "writeCount": _write_count(self._volume),
        }
        return {**account, **self._compared} if self._compares else account

    @property
    def _compared(self) -> Json:
        return {
            "blocksCompared": self.compared,
            "blocksEqual": self.equal,
            "undoPacks": self.packs,
            "undoBytes": self.undo_bytes,
            "undoBlocks": len(self._written) if self.packs else 0,
        }

    def _seed(self, block: int) -> Seed:
        return self._written[block] if block in self._written else held_seed(self._image, block)


def unwritten_since(volume: Volume, arguments: str) -> Json:
    """What `armed` says where `--since` asks for it."""
    _, option, told = arguments.partition("--since ")
    if not option:
        return {}
    now = ",".join(map(str, [BOOT_ID, *_write_count(volume).values()]))
    return {"unwrittenSince": told.split()[0] == now}


def _write_count(volume: Volume) -> dict[str, int]:
    """Since it was attached, and which attachment that is."""
    return {
        "sectors": volume.writes * SECTORS,
        "requests": volume.writes,
        "diskSequence": volume.attachments,
    }


def differing(one: SnapshotImage, other: SnapshotImage) -> Iterator[int]:
    """The blocks in which two images differ."""
    for block in range(one.size_gib * 2_048):
        if held_seed(one, block) != held_seed(other, block):
            yield block
