"""Port UndoLogs, in one piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rewarm.ports.artifacts import LogObject

WRITTEN = datetime(2026, 11, 21, 3, 10, tzinfo=UTC)


@dataclass
class FakeUndoLogs:
    """Port UndoLogs."""

    sizes: dict[str, int] = field(default_factory=dict)
    written_at: dict[str, datetime] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)

    def objects(self, prefix: str) -> Iterator[LogObject]:
        for key in sorted(self.sizes):
            if key.startswith(prefix):
                yield LogObject(key, self.sizes[key], self.written_at.get(key, WRITTEN))

    def delete(self, keys: Iterable[str]) -> int:
        found = list(keys)
        for key in found:
            self.sizes.pop(key, None)
        self.deleted += found
        return len(found)
