"""What rules know, in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from rewarm.domain.volume.leftovers import ExecutionEnd, ExecutionStart
from rewarm.ports.restores import NOTED
from rewarm.steps.adopt.look import RuleLookPorts, look
from tests.support.builders import NOW, World
from tests.support.wired import wired
from tests.support.worlds.performance import FakeRestoreExecutions

Json = dict[str, Any]


@dataclass
class FakeAdoptions:
    """Port Adoptions; `before_keep` lets another look come in between."""

    world: World
    claims: dict[str, str] = field(default_factory=dict)
    kept: Json = field(default_factory=dict)
    version: int = 0
    turn: datetime | None = None
    last_look: datetime | None = None
    noted_at: str = "2026-11-21T03:00:00Z"
    intruders: list[Callable[[], object]] = field(default_factory=list)

    def note(self, name: str) -> None:
        if name not in self.claims:
            known = self.world.table.documents
            known.setdefault((NOTED, name), {"startedAt": self.noted_at})

    def forget(self, name: str) -> None:
        self.world.table.documents.pop((NOTED, name), None)

    def claim(self, volume_id: str, by: str) -> bool:
        self.forget(volume_id)
        return self.claims.setdefault(volume_id, by) == by

    def claimed(self, volume_ids: Sequence[str]) -> set[str]:
        return self.claims.keys() & set(volume_ids)

    def ledger(self) -> tuple[Json, str | None]:
        return self.kept, str(self.version) if self.version else None

    def keep(self, ledger: Json, version: str | None) -> bool:
        if self.intruders:
            self.intruders.pop(0)()
        if version != (str(self.version) if self.version else None):
            return False
        self.kept, self.version = ledger, self.version + 1
        return True

    def takes_turn(self, now: datetime, until: datetime) -> bool:
        if self.turn is not None and self.turn > now:
            return False
        self.turn = until
        return True

    def looked(self, at: datetime) -> None:
        self.last_look = at

    def looked_at(self) -> datetime | None:
        return self.last_look

    @property
    def noted(self) -> list[str]:
        """For tests."""
        return [name for kind, name in self.world.table.documents if kind == NOTED]


class Witness(FakeRestoreExecutions):
    """Knows what a world has started; each runs until a test says how it ended."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def begun(self, restore_id: str, index: int | None = None) -> ExecutionStart | None:
        started = self._world.executions.started.get(restore_id) if index is None else None
        if started is None:
            return super().begun(restore_id, index)
        return ExecutionStart(started, NOW, self.ending(restore_id).status)

    def ending(self, restore_id: str) -> ExecutionEnd:
        if self.failure is not None:
            raise self.failure
        otherwise = "RUNNING" if restore_id in self._world.executions.started else "GONE"
        return self.ends.get(restore_id, ExecutionEnd(otherwise))


@dataclass
class RuleWorld(World):
    """A world with rules."""

    adoptions: FakeAdoptions = field(init=False)
    witness: Witness = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.adoptions = FakeAdoptions(self)
        self.witness = Witness(self)

    def look(self, minutes: float = 1.0, *, scans: bool = True, **limits: int) -> list[str]:
        """What all rules begin so many minutes after NOW."""
        return look(self.look_ports(**limits), now=NOW + timedelta(minutes=minutes), scans=scans)

    def look_ports(self, **limits: int) -> RuleLookPorts:
        """The ports of a look, with the stack's limits."""
        return wired(RuleLookPorts, self, limits=self.keeper(**limits).limits)

    def end(self, restore_id: str, status: str = "ready", **record: Any) -> None:
        """The adoption has ended so."""
        known = {"status": status, "startedAt": "2026-11-21T03:01:00Z", "request": {}}
        self.table.put(restore_id, {**known, **record})
