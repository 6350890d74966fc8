"""A file read for a copy, the first time and the second: what Copy-Item meets on a volume just restored.

Windows does not run here. Published were copies onto the volume; here a reader takes the copy's place, once
as fast as the published second copy allows and in order, once block by block and not in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from local.tools.measurements.published.bench import Bench, device_of
from local.tools.measurements.published.figures import COPIES, WITHIN, FigureCopy

MIB_PER_GIB = 1_024


@dataclass(frozen=True, slots=True)
class Reader:
    """How a copy reads, and how much of it."""

    figure: FigureCopy
    text: str
    flags: str
    size_mib: int


@dataclass(frozen=True, slots=True)
class CopyRow:
    """Published and measured ratio of the first copy's time to the second's."""

    reader: Reader
    first_seconds: float
    second_seconds: float

    @property
    def ratio(self) -> float:
        return self.first_seconds / self.second_seconds

    @property
    def deviation(self) -> float:
        """Of the ratio, as a share of the published one."""
        return self.ratio / self.reader.figure.ratio - 1

    @property
    def holds(self) -> bool:
        return abs(self.deviation) <= WITHIN


def readers() -> tuple[Reader, ...]:
    """2023: the other disk allows 61 MiB/s, and reads are in order. 2020: a block at a time."""
    in_order, block_by_block = COPIES
    rate = round(in_order.size_gib * MIB_PER_GIB / in_order.second_seconds)
    return (
        Reader(in_order, f"1 MiB in order, at most {rate} MiB/s", f"--rw=read --bs=1M --rate={rate}M", 512),
        Reader(
            block_by_block, "512 KiB, one at a time, not in order", "--rw=randread --bs=512k --direct=1", 128
        ),
    )


def measure(bench: Bench, size_gib: int = 1) -> Iterator[CopyRow]:
    """Each reader with its own cold volume."""
    for reader in readers():
        blocks = size_gib * MIB_PER_GIB * 2
        snapshot_id = bench.host.region.add_snapshot(size_gib=size_gib, extents=((0, blocks),))
        volume_id = bench.attached(snapshot_id)
        first, second = (_seconds(bench, volume_id, reader) for _ in range(2))
        yield CopyRow(reader, first, second)
        bench.remove(volume_id)


def _seconds(bench: Bench, volume_id: str, reader: Reader) -> float:
    """Fio's own time: it throws the page cache away before it begins."""
    told = bench.command(
        f"fio --readonly --name=copy --filename={device_of(volume_id)} --io_size={reader.size_mib}M "
        f"{reader.flags} --ioengine=psync --output-format=terse --terse-version=3"
    )
    # Field 9 of version 3 is the runtime of the reads in milliseconds (fio HOWTO, "Terse output").
    fields = next(line for line in told.splitlines() if re.match(r"3;fio-", line)).split(";")
    return float(fields[8]) / 1e3
