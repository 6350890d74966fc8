"""Runs of written 512 KiB blocks: merge, count, cut to size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rewarm.domain.model import BLOCK_BYTES, GIB, Extent


def merge(extents: Iterable[Extent]) -> list[Extent]:
    """Ascending and disjoint; runs that touch or overlap become one."""
    merged: list[Extent] = []
    for extent in sorted(extents, key=lambda run: run.start_block):
        if extent.block_count <= 0:
            continue
        last = merged[-1] if merged else None
        if last is not None and extent.start_block <= last.start_block + last.block_count:
            end = max(last.start_block + last.block_count, extent.start_block + extent.block_count)
            merged[-1] = Extent(last.start_block, end - last.start_block)
        else:
            merged.append(extent)
    return merged


def block_count(extents: Iterable[Extent]) -> int:
    """Blocks of disjoint extents."""
    return sum(extent.block_count for extent in extents)


def clip(extents: Iterable[Extent], size_gib: int) -> Iterator[Extent]:
    """Without what lies beyond the end of a volume of this size."""
    end = size_gib * GIB // BLOCK_BYTES
    for extent in extents:
        count = min(extent.block_count, end - extent.start_block)
        if count > 0:
            yield Extent(extent.start_block, count)
