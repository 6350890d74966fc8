"""Reads of a volume on the instance: the SSM document's parameters, and the output that it prints.

Places are pages of 4 KiB. Every place is read only once, from the volume's end to its beginning. Nobody knows
in which order EBS loads blocks, but the embedded AWS begins with the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

PAGE_KIB = 4
MIB_PAGES = 256
PAGES_PER_GIB = 1024 * MIB_PAGES
BLOCK_PAGES = 128
"""A block of 512 KiB, as EBS direct APIs count."""
COLD_TIMES, COLD_MS = 4.0, 2.0
"""A first touch takes at least so many times a warm read, and so many ms: the warm-up agent's own rule."""
_LINE = re.compile(r"(?:phase (?P<name>\S+) )?(?P<at>\d{10,})(?: (?P<seconds>\d[0-9.e-]*))?")


@dataclass(frozen=True, slots=True)
class Phase:
    """Reads of one kind."""

    name: str
    depth: int
    first: int
    step: int
    count: int
    modulus: int
    pages: int = 1

    @property
    def text(self) -> str:
        """The phase as a parameter of the document."""
        numbers = (self.depth, self.first, self.step, self.count, self.modulus, self.pages)
        return ":".join([self.name, *map(str, numbers)])


@dataclass(slots=True)
class PhaseResult:
    """The result of a phase, by the instance's clock."""

    name: str
    began: float
    ended: float = 0.0
    reads: list[tuple[float, float]] = field(default_factory=list)
    """(when a read began, its milliseconds), if reads followed each other."""

    @property
    def milliseconds(self) -> list[float]:
        """How long each read took."""
        return [taken for _, taken in self.reads]


def parsed(output: str) -> list[PhaseResult]:
    """The phases in the document's output; unreadable lines are left out."""
    found: list[PhaseResult] = []
    for line in output.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        at = int(match["at"]) / 1_000
        if match["name"]:
            found.append(PhaseResult(match["name"], at))
        elif found and match["seconds"]:
            found[-1].reads.append((at, float(match["seconds"]) * 1_000))
        elif found:
            found[-1].ended = at
    return [phase for phase in found if phase.ended]


def written(output: str) -> tuple[float, float] | None:
    """When writing began and ended."""
    times = [int(line) / 1_000 for line in output.split() if line.isdigit()]
    return (times[0], times[-1]) if times else None


def cold_limit(warm: Sequence[float]) -> float:
    """A read of so many milliseconds or more was a first touch."""
    return max(COLD_MS, COLD_TIMES * median(warm))


class Places:
    """Hands out places of a volume, from its end to its beginning."""

    def __init__(self, size_gib: int) -> None:
        self.pages = size_gib * PAGES_PER_GIB
        self._next = self.pages

    def take(self, name: str, count: int, *, every: int, depth: int = 1, pages: int = 1) -> Phase:
        """So many places with a distance between them; the first is aligned to that distance."""
        first = (self._next - count * every) // every * every
        self._next = first
        return Phase(name, depth, first, every, count, self.pages, pages)

    @property
    def left(self) -> int:
        """Pages that are left below."""
        return self._next


def again(phase: Phase, name: str, offset: int = 0, count: int | None = None) -> Phase:
    """The same places, or places so many pages later."""
    return Phase(name, 1, phase.first + offset, phase.step, count or phase.count, phase.modulus)
