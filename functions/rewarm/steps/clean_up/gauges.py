"""What runs and costs money now: as Step Functions says it to the sweeper, and as numbers for the dashboard.

0 is a number, too. "Left" is what no running restore needs any more: the sweeper or a person has to end it.

The sweeper asks Step Functions for one list of all running executions, and for single ones not in the list.
ListExecutions returns up to a thousand in a page, DescribeExecution one. Lists lag behind (botocore
ListExecutions: "may not reflect very recent updates and changes"). So an execution that is not listed is
asked for. One that has just ended but is still listed is left to the next sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from rewarm.domain.errors import TEMPORARY, RestoreError
from rewarm.domain.model import RunningFastRestore, Volume
from rewarm.domain.plan.cost import fast_snapshot_restore
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import FAILED_TAG, ExecutionEnd, ExecutionStart, volume_execution
from rewarm.domain.volume.performance import BOOST_TAG
from rewarm.ports.executions import Inventory, RestoreExecutions, StackExecutions
from rewarm.ports.prices import Prices
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.boosts import noted_boosts

RESTORE_TAG, INDEX_TAG = "rewarm:restore-id", "rewarm:volume-index"
Unit = Literal["Count", "None"]


class GaugePorts(Value):
    """The ports that the gauges need."""

    stack_name: str
    now: datetime
    inventory: Inventory
    volumes: VolumeStore
    executions: RestoreExecutions
    prices: Prices
    table: RestoreTable


class Gauge(Value):
    """One metric's value at this moment."""

    name: str
    value: float
    unit: Unit = "Count"


class Reading(Value):
    """What could be read, and why the rest could not: `gauge: reason`.

    `later` has errors that may pass by the next sweep; somebody must see to those in `problems`.
    """

    gauges: tuple[Gauge, ...]
    later: tuple[str, ...]
    problems: tuple[str, ...]


def read_gauges(ports: GaugePorts) -> Reading:
    """Reads all gauges. A gauge that cannot be read has no value, because 0 would mean that nothing runs."""
    found: list[Gauge] = []
    later: list[str] = []
    problems: list[str] = []
    for name, read in READERS.items():
        try:
            found += list(read(ports))
        except TEMPORARY as error:
            later.append(f"{name}: {error}")
        except RestoreError as error:
            problems.append(f"{name} could not be looked at: {error}")
    return Reading(tuple(found), tuple(later), tuple(problems))


def _restores(ports: GaugePorts) -> Iterator[Gauge]:
    yield Gauge("RestoresInFlight", ports.inventory.restores_in_flight())


def _fast_restores(ports: GaugePorts) -> Iterator[Gauge]:
    running = ports.inventory.fast_restores()
    left = [restore for restore in running if all(_is_over(user, ports.executions) for user in restore.users)]
    yield Gauge("FastSnapshotRestores", len(running))
    yield Gauge("FastSnapshotRestoresLeft", len(left))
    yield Gauge("FastSnapshotRestoreUsd", _usd(running, ports), "None")


def _is_over(user: str, executions: RestoreExecutions) -> bool:
    restore_id, _, index = user.rpartition("/")
    return executions.is_over(restore_id, int(index))


def _usd(running: list[RunningFastRestore], ports: GaugePorts) -> float:
    """What they have cost so far, by the shipped or listed price."""
    if not running:
        return 0.0
    book = ports.prices.book(now=ports.now)
    costs = [
        fast_snapshot_restore(book, (ports.now - restore.since).total_seconds()).usd for restore in running
    ]
    return float(sum(costs))


def _volumes(ports: GaugePorts) -> Iterator[Gauge]:
    volumes = ports.volumes.of_stack(ports.stack_name)
    boosted = [volume for volume in volumes if BOOST_TAG in volume.settings.tags]
    noted = list(noted_boosts(ports.table))
    left = [volume for volume in boosted if _is_abandoned(volume, ports.executions)]
    overdue = [boost for boost in noted if boost.is_overdue(ports.now)]
    late = [boost for boost in overdue if ports.executions.is_over(boost.restore_id, boost.index)]
    yield Gauge("BoostedVolumes", len(boosted) + len(noted))
    yield Gauge("BoostedVolumesLeft", len(left) + len(late))
    yield Gauge("FailedVolumes", len([volume for volume in volumes if FAILED_TAG in volume.settings.tags]))


def _is_abandoned(volume: Volume, executions: RestoreExecutions) -> bool:
    tags = volume.settings.tags
    restore_id = tags.get(RESTORE_TAG)
    index = tags.get(INDEX_TAG, "0")
    return restore_id is None or executions.is_over(restore_id, int(index) if index.isdecimal() else 0)


Reader = Callable[[GaugePorts], Iterator[Gauge]]
READERS = MappingProxyType[str, Reader](
    {"restores": _restores, "fast snapshot restores": _fast_restores, "volumes": _volumes}
)


class KnownExecutions:
    """The port RestoreExecutions, for one sweep."""

    def __init__(self, executions: StackExecutions) -> None:
        self._executions = executions

    @cached_property
    def _running(self) -> frozenset[str]:
        try:
            return self._executions.names_running()
        except RestoreError:
            return frozenset()  # then each execution is asked for

    def is_over(self, restore_id: str, index: int) -> bool:
        """Asks only if the list shows neither the restore nor the volume."""
        if not self._running.isdisjoint((restore_id, volume_execution(restore_id, index))):
            return False
        return self._executions.is_over(restore_id, index)

    def ending(self, restore_id: str) -> ExecutionEnd:
        """Asks only if the list does not show the restore."""
        return ExecutionEnd("RUNNING") if restore_id in self._running else self._executions.ending(restore_id)

    def volume_runs(self, restore_id: str, index: int) -> bool:
        """Asks only if the list does not show the volume."""
        name = volume_execution(restore_id, index)
        return name in self._running or self._executions.volume_runs(restore_id, index)

    def begun(self, restore_id: str, index: int | None = None) -> ExecutionStart | None:
        """Always asks, because no list has it."""
        return self._executions.begun(restore_id, index)

    def ended_badly(self, since: datetime) -> list[str]:
        """As Step Functions says."""
        return self._executions.ended_badly(since)

    def volumes_at(self, instant: datetime) -> list[tuple[str, int]]:
        """As Step Functions says."""
        return self._executions.volumes_at(instant)
