"""Keeps the live view short: a workflow that polls for minutes says the same thing many times."""

from __future__ import annotations

from dataclasses import dataclass, field

from local.tools.run.live.details import detail
from local.tools.run.recording import StateVisit


@dataclass(slots=True)
class Loop:
    """Lets through what is new; counts polls, and the waits before them, that bring nothing new."""

    _said: dict[tuple[str, str], str] = field(default_factory=dict)
    """What each state that polls has said last."""
    _waits: list[StateVisit] = field(default_factory=list)
    """Waits of which it isn't known yet whether anything new came after them."""
    _same: int = 0

    def take(self, visit: StateVisit) -> list[StateVisit | int]:
        """The visits to show now, and the number of polls left out before them."""
        if visit.kind == "Wait":
            self._waits.append(visit)
            return []
        name, words = (visit.execution, visit.state), detail(visit)
        is_same = bool(self._waits) and self._said.get(name) == words and not visit.failures
        self._said[name] = words
        if is_same:
            self._same += 1
            self._waits.clear()
            return []
        visits: list[StateVisit | int] = [self._same] if self._same else []
        visits += [*self._waits, visit]
        self._same = 0
        self._waits.clear()
        return visits
