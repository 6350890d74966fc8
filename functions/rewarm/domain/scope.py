"""Which blocks the warm-up agent reads (warmer warm --scope)."""

from __future__ import annotations

from enum import StrEnum

from rewarm.domain.model import BLOCK_BYTES, GIB


class Scope(StrEnum):
    """What is asked of the agent, and what its result says that it read."""

    WRITTEN = "written"
    """The snapshot's written blocks."""
    USED = "used"
    """Those of them that file systems have in use; the written ones where no file system is understood."""
    WHOLE = "whole"
    """Every block of the volume, never written ones too."""

    @property
    def in_words(self) -> str:
        """`every written block`."""
        return _WORDS[self]


_WORDS = {
    Scope.WRITTEN: "every written block",
    Scope.USED: "every written block that its file systems use",
    Scope.WHOLE: "every block",
}


def most_bytes(scope: Scope, *, written_blocks: int, size_gib: int) -> int:
    """What the agent reads of a volume; `used` is narrowed by the agent alone, so that it may be less."""
    return size_gib * GIB if scope is Scope.WHOLE else written_blocks * BLOCK_BYTES


def reported(value: object, otherwise: Scope) -> Scope:
    """The scope that an agent's line names; progress lines name none."""
    return next((scope for scope in Scope if scope.value == value), otherwise)
