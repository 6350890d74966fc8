"""A block map as a file to read from, written while it is read."""

from __future__ import annotations

from collections.abc import Iterable

from rewarm.domain.volume.extents import Runs


class MapText:
    """`start count` a line, in decimal, as warmer --map takes it."""

    def __init__(self, parts: Iterable[Runs]) -> None:
        self.block_count = 0
        """Blocks in what was read so far."""
        self._parts = iter(parts)
        self._text = bytearray()

    def read(self, size: int = -1) -> bytes:
        """As many bytes as asked for: fewer only at the end, which is how its reader knows the end."""
        while size < 0 or len(self._text) < size:
            part = next(self._parts, None)
            if part is None:
                break
            self.block_count += part.block_count
            lines = [f"{start} {count}\n" for start, count in zip(part.starts, part.counts, strict=True)]
            self._text += "".join(lines).encode()
        end = len(self._text) if size < 0 else size
        taken = bytes(self._text[:end])
        del self._text[:end]
        return taken
