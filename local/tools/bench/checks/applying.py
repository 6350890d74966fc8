"""`make bench ARGS="--apply"`: `warmer apply` beside dd, which writes the same blocks from a file.

Each run has a new volume that is warm, with blocks to be written in scattered runs. The agent takes them
from packs, writes them, and reads each back. dd takes them from a copy of the snapshot: alone, and with a
comparison of what it has written, which is the same proof.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import zstandard

from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError, VolumeLimits
from local.tools.bench.cold_volume import Backing, ColdVolume, cold_volume
from local.tools.bench.measure import run
from local.tools.bench.session import Session
from local.tools.bench.specs import COMMON, FAST, MIB, VolumeSpec
from local.tools.bench.tools import agent_result
from rewarm.domain.blocks.packs import ManifestHead, PackedBlock, pack_line, packed

VOLUME_ID, SNAPSHOT_ID = "vol-0123456789abcdef0", "snap-0123456789abcdef0"
AT_THE_LIMIT, MOST_MIB = 0.95, 64.0
BLOCKS_OF_A_PACK = 1_024
LEVEL = 1
AGENT, WRITTEN, COMPARED = "warmer apply", "dd", "dd and cmp"
_SECONDS = 8
"""What a run takes at the volume's limit; less would measure how programs start."""
MOST_WRITTEN_MIB = 2_048.0
"""They are in memory: a volume that waits for a disk would measure the disk."""
Tell = Callable[[str], None]


def apply_spec(limits: VolumeLimits, size_gib: float | None = None) -> VolumeSpec:
    """A volume of which a quarter is to be written, in scattered runs."""
    written_mib = min(MOST_WRITTEN_MIB, limits.throughput_mib_s * _SECONDS / 2)
    size = written_mib * 4 / 1_024 if size_gib is None else size_gib
    return VolumeSpec(
        name=f"apply-{limits.throughput_mib_s:g}",
        text=f"{limits.throughput_mib_s:,.0f} MiB/s and {limits.iops:,} IOPS, a quarter is written",
        size_gib=size,
        written_fraction=0.25,
        limits=limits,
        on_file=True,
    )


SPECS = tuple(apply_spec(limits) for limits in (COMMON, FAST))


@dataclass(frozen=True, slots=True)
class Applied:
    """One run; `limit_seconds` is what its bytes take at the volume's throughput."""

    volume: str
    tool: str
    seconds: float
    limit_seconds: float
    cpu_seconds: float
    peak_mib: float

    @property
    def of_limit(self) -> float:
        """1: nobody can be faster."""
        return self.limit_seconds / self.seconds


class Delta:
    """The blocks to write, as packs with a manifest and as a file as large as the volume."""

    def __init__(self, spec: VolumeSpec, folder: Path) -> None:
        self.spec = spec
        self.runs = spec.extents
        self.bytes = sum(count for _, count in self.runs) * BLOCK_BYTES
        self.image, self.manifest = folder / "snapshot", folder / "manifest"
        digest, blocks = hashlib.sha256(), list(self._blocks())
        with self.image.open("wb") as image:
            image.truncate(spec.size_bytes)
            for number, data in blocks:
                os.pwrite(image.fileno(), data, number * BLOCK_BYTES)
                digest.update(data)
        self.sha256 = digest.hexdigest()
        self._write_packs(folder, blocks)

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Half of each block can be compressed, as of files of all kinds."""
        draw, half = random.Random(15), BLOCK_BYTES // 2
        for first, count in self.runs:
            for number in range(first, first + count):
                yield number, draw.randbytes(half) + number.to_bytes(8, "big") * (half // 8)

    def _write_packs(self, folder: Path, blocks: Sequence[tuple[int, bytes]]) -> None:
        lines, compressor = [], zstandard.ZstdCompressor(level=LEVEL)
        for at in range(0, len(blocks), BLOCKS_OF_A_PACK):
            some = [
                PackedBlock(number, len(data), hashlib.sha256(data).hexdigest(), compressor.compress(data))
                for number, data in blocks[at : at + BLOCKS_OF_A_PACK]
            ]
            data, facts = packed(some)
            path = folder / f"pack-{at}"
            path.write_bytes(data)
            lines.append(pack_line(str(path), facts))
        head = ManifestHead(VOLUME_ID, SNAPSHOT_ID, self.spec.size_bytes, len(blocks))
        self.manifest.write_text(head.part(0, lines, None), encoding="utf-8")

    def commands(self, tool: str, agent: Path, volume: ColdVolume) -> list[list[str]]:
        """What writes the blocks to the volume."""
        if tool == AGENT:
            command = [str(agent), "apply", volume.target, "--image", "--volume", VOLUME_ID]
            return [[*command, "--manifest", str(self.manifest), "--state", str(volume.folder / "state")]]
        return [["bash", "-ec", self._script(volume.target, compares=tool == COMPARED)]]

    def _script(self, target: str, *, compares: bool) -> str:
        lines = []
        for first, count in self.runs:
            place = f"bs={BLOCK_BYTES} count={count} status=none"
            source = f"dd if={self.image} skip={first} {place}"
            lines.append(f"{source} of={target} seek={first} oflag=direct conv=notrunc")
            if compares:
                lines.append(f"cmp <(dd if={target} skip={first} {place} iflag=direct) <({source})")
        return "\n".join([*lines, f"sync {target}"])

    def is_in(self, path: Path) -> bool:
        """Whether every block is there as it must be."""
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            for first, count in self.runs:
                for number in range(first, first + count):
                    digest.update(os.pread(stream.fileno(), BLOCK_BYTES, number * BLOCK_BYTES))
        return digest.hexdigest() == self.sha256


@contextmanager
def delta_of(session: Session, spec: VolumeSpec) -> Iterator[Delta]:
    """What is to be written to a volume of this kind; nothing of it is left afterwards."""
    folder = session.state_dir / "delta"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield Delta(spec, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_apply(
    session: Session, specs: Sequence[VolumeSpec], rounds: int, tell: Tell
) -> list[dict[str, Any]]:
    """Each tool on each volume, once a round, and what came of it."""
    found: list[Applied] = []
    for spec in specs:
        tell(f"{spec.name}: {spec.text}; {spec.written_blocks * BLOCK_BYTES / MIB:,.0f} MiB to write")
        with delta_of(session, spec) as delta:
            tools = [AGENT, WRITTEN, COMPARED]
            for number in range(rounds):
                for tool in tools[number % 3 :] + tools[: number % 3]:
                    found.append(run_once(session, delta, tool))
                    tell(apply_line(found[-1:]))
        for tool in tools:
            tell(apply_line([one for one in found if (one.volume, one.tool) == (spec.name, tool)]))
        tell(goals_line([one for one in found if one.volume == spec.name]))
    return [{**asdict(one), "ofLimit": round(one.of_limit, 4)} for one in found]


def run_once(session: Session, delta: Delta, tool: str) -> Applied:
    """One run on a volume of zeros. Raises DataPlaneError where a block is not as it must be."""
    spec, backing = delta.spec, Backing()
    os.truncate(backing.path, spec.size_bytes)
    try:
        with cold_volume(session.volumes, spec, "vol-apply", backing.path) as volume:
            volume.initialize(1)
            usage = run(delta.commands(tool, session.agent, volume), volume.folder, 60 + 20 * _SECONDS)
            account = agent_result(volume.folder)
        if usage.status or not delta.is_in(backing.path):
            raise DataPlaneError(
                f"{tool} ended with exit status {usage.status}, or left blocks out: {account}"
            )
    finally:
        backing.close()
    moved = delta.bytes * (1 if tool == WRITTEN else 2)
    return Applied(
        volume=spec.name,
        tool=tool,
        seconds=usage.seconds,
        limit_seconds=moved / MIB / spec.limits.throughput_mib_s,
        cpu_seconds=usage.cpu_seconds,
        peak_mib=usage.peak_mib,
    )


def apply_line(runs: Sequence[Applied]) -> str:
    """One line: the medians, and how far the runs are apart."""
    shares = sorted(one.of_limit for one in runs)
    spread = f" ({shares[0]:.3f} to {shares[-1]:.3f})" if len(shares) > 1 else ""
    return (
        f"  {runs[0].tool:<12} {median(one.seconds for one in runs):6.2f} s  "
        f"{median(shares):.3f} of the limit{spread}  CPU {median(one.cpu_seconds for one in runs):5.2f} s  "
        f"{max(one.peak_mib for one in runs):5.1f} MiB"
    )


def goals_line(runs: Sequence[Applied]) -> str:
    """What the agent must reach, beside what it did."""
    of = {tool: [one for one in runs if one.tool == tool] for tool in (AGENT, WRITTEN, COMPARED)}
    share, peak = median(one.of_limit for one in of[AGENT]), max(one.peak_mib for one in of[AGENT])
    cpu = {tool: median(one.cpu_seconds for one in some) for tool, some in of.items()}
    goals = (
        (share >= AT_THE_LIMIT, f"{share:.3f} of the limit ({AT_THE_LIMIT} at least)"),
        (peak < MOST_MIB, f"{peak:.1f} MiB (under {MOST_MIB:.0f})"),
        (cpu[AGENT] <= cpu[COMPARED], f"{cpu[AGENT]:.2f} CPU s ({cpu[COMPARED]:.2f} of dd and cmp)"),
        (
            cpu[AGENT] <= cpu[WRITTEN],
            f"{cpu[AGENT]:.2f} CPU s ({cpu[WRITTEN]:.2f} of dd without proof)",
        ),
    )
    return "\n".join(f"  {'✓' if reached else '✗'} {text}" for reached, text in goals)
