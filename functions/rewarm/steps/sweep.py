"""Ends what goes on costing money after its restore has ended without doing so itself.

An execution that is stopped or runs into its time limit meets no Catch. So a schedule looks at what carries
this stack's tags: each kind of leftover is one entry of `SWEEPS`, and none keeps the others from being swept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from rewarm.domain.errors import RestoreError
from rewarm.domain.model import Volume
from rewarm.domain.performance import BOOST_TAG, performance_of
from rewarm.domain.units import iso
from rewarm.ports import JsonObject, RestoreTable, VolumeModifications, VolumeStore
from rewarm.ports_performance import BoostedVolumes, RestoreExecutions
from rewarm.steps.boost import Lowering, lower
from rewarm.steps.records import boost_attribute

State = Literal["ended", "ending", "left"]
RESTORE_TAG, INDEX_TAG = "rewarm:restore-id", "rewarm:volume-index"
_STATES: dict[str, State] = {"lowered": "ended", "lowering": "ending", "not-lowered": "left"}


@dataclass(frozen=True, slots=True)
class SweepPorts:
    """Everything that any of the sweeps needs."""

    stack_name: str
    now: datetime
    boosted: BoostedVolumes
    volumes: VolumeStore
    modifications: VolumeModifications
    executions: RestoreExecutions
    table: RestoreTable


@dataclass(frozen=True, slots=True)
class Swept:
    """One leftover: `ended`, `ending` (the next sweep looks again) or `left` (somebody must see to it)."""

    sweep: str
    resource: str
    state: State
    reason: str = ""

    def to_json(self) -> JsonObject:
        """For the log and the function's answer."""
        return {"sweep": self.sweep, "resource": self.resource, "state": self.state, "reason": self.reason}


Sweep = Callable[[SweepPorts], Iterator[Swept]]


def sweep(ports: SweepPorts) -> list[Swept]:
    """What was found and what became of it; raises nothing that a service says."""
    found: list[Swept] = []
    for name, one in SWEEPS.items():
        try:
            found.extend(one(ports))
        except RestoreError as error:
            found.append(Swept(name, "all", "left", str(error)))
    return found


def sweep_boosts(ports: SweepPorts) -> Iterator[Swept]:
    """Lowers the volumes whose restore is over and did not do it."""
    for volume in ports.boosted.boosted(ports.stack_name):
        try:
            if _is_over(volume, ports.executions):
                yield _lower(volume, ports)
        except RestoreError as error:
            yield Swept("boosts", volume.volume_id, "left", str(error))


def _is_over(volume: Volume, executions: RestoreExecutions) -> bool:
    restore_id = volume.settings.tags.get(RESTORE_TAG)
    return restore_id is None or executions.is_over(restore_id, _index(volume))


def _lower(volume: Volume, ports: SweepPorts) -> Swept:
    outcome = lower(volume.volume_id, volumes=ports.volumes, modifications=ports.modifications)
    _tell(volume, outcome, ports)
    return Swept("boosts", volume.volume_id, _STATES[outcome.state], outcome.reason)


def _tell(volume: Volume, outcome: Lowering, ports: SweepPorts) -> None:
    tags = volume.settings.tags
    restore_id = tags.get(RESTORE_TAG)
    if restore_id is None:
        return
    told = {
        "volumeId": volume.volume_id,
        "state": outcome.state,
        "boosted": performance_of(volume.settings).in_words,
        "target": tags[BOOST_TAG],
        "reason": outcome.reason or "by the sweeper: the restore ended without doing it",
        "at": iso(ports.now),
    }
    ports.table.update(restore_id, {boost_attribute(_index(volume)): told})


def _index(volume: Volume) -> int:
    text = volume.settings.tags.get(INDEX_TAG, "0")
    return int(text) if text.isdecimal() else 0


SWEEPS = MappingProxyType[str, Sweep]({"boosts": sweep_boosts})
