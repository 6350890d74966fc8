"""How the blocks of a snapshot become local: by rate, in the background, or because the instance read them.

EBS user guide, "Initialize Amazon EBS volumes" and "Monitor volume initialization"; botocore shape
InitializationStatusDetails.
"""

from __future__ import annotations

import heapq
import itertools
import math

from local import Json
from local.aws.machines.dataplane import DataPlaneError
from local.aws.region.core import Core, iso, request_id
from local.aws.region.faults import Faults
from local.aws.region.resources import Initialization, Volume
from local.aws.region.settings import VolumeSettings
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_types import limits_now

APPLY_STEP = 0.005
"""The data plane hears of progress in steps of half a per cent: every step costs it work."""

READ_POLL_SECONDS = 1.0
LOOK_AHEAD_SECONDS = 1e-5

VOLUME_COPY = "volume-copy"
"""InitializationType of a volume copy (botocore shape InitializationType)."""


class Initializations:
    """Advances the initialization of every volume made from a snapshot."""

    def __init__(self, core: Core, tables: Tables, faults: Faults) -> None:
        self._core = core
        self._tables = tables
        self._faults = faults
        self._read_at = 0.0
        self._looks: list[tuple[float, int, Volume]] = []
        """When something of a volume may change next: there may be thousands."""
        self._order = itertools.count()

    def begin(self, volume: Volume, now: float) -> None:
        """Start when the volume becomes active; empty volumes need none."""
        if volume.snapshot is None and volume.source is None:
            return
        kind, rate, total = self._how(volume)
        state = Initialization(kind, rate, total, now, reported_at=now)
        volume.initialization = state
        if volume.fast_restored or total == 0:
            state.completed, state.reported_progress, state.reported_completed = now, 100, True
            self._lift_ceiling(volume)
            return
        self._stall(state)
        self._plan_end(volume, state)
        self._look(volume, state, now)

    def advance(self) -> None:
        """Bring reads, reports and the data plane up to date; called outside the lock."""
        with self._core.transaction():
            now = self._core.now()
            if now - self._read_at >= READ_POLL_SECONDS:
                self._read_at = now
                for volume in filter(_under_way, self._tables.volumes.values()):
                    self._core.later(lambda volume=volume: self._take_reads(volume))  # type: ignore[misc]
            for volume, state in self._to_look_at(now):
                self._apply(volume, state, now)

    def concurrent_rate_mib_s(self) -> int:
        """The sum of the rates of all volumes that are still being initialised."""
        return sum(
            volume.rate_mib_s or 0
            for volume in self._tables.volumes.values()
            if volume.state != "error"
            and (volume.initialization is None or volume.initialization.completed is None)
        )

    def describe(self, volume: Volume, now: float) -> tuple[Json | None, Json | None]:
        """(the initialization-state detail, InitializationStatusDetails), as stale as AWS allows."""
        state = volume.initialization
        if state is None or now < state.start + self._core.settings.volume.details_delay_seconds:
            return None, None
        self._report(state, now)
        detail = {
            "Name": "initialization-state",
            "Status": "completed" if state.reported_completed else "initializing",
        }
        kept = self._core.settings.volume.details_kept_seconds
        if state.reported_completed and state.completed is not None and now > state.completed + kept:
            return detail, None
        status: Json = {"InitializationType": state.kind, "Progress": state.reported_progress}
        if state.kind == "provisioned-rate":
            left = state.total_bytes * (1 - state.reported_progress / 100) / (state.rate_mib_s * 1024**2)
            status["EstimatedTimeToCompleteInSeconds"] = math.ceil(left)
        return detail, status

    def _how(self, volume: Volume) -> tuple[str, float, int]:
        """InitializationType, MiB/s and bytes."""
        settings, total = self._core.settings.volume, volume.written_bytes
        if volume.source is not None:
            seconds = copy_seconds(total, settings)
            return VOLUME_COPY, total / 1024**2 / seconds if seconds else 0.0, total
        if volume.rate_mib_s:
            return "provisioned-rate", volume.rate_mib_s * settings.provisioned_rate_accuracy, total
        return "default", settings.background_mib_s, total

    def _lift_ceiling(self, volume: Volume) -> None:
        if volume.copy_ceiling is None:
            return
        volume.copy_ceiling = None
        self._core.later(lambda: self._set_limits(volume))

    def _set_limits(self, volume: Volume) -> None:
        try:
            self._core.dataplane.set_limits(volume.volume_id, limits_now(volume))
        except DataPlaneError:
            if volume.volume_id in self._tables.volumes and volume.state != "deleting":
                raise

    def _report(self, state: Initialization, now: float) -> None:
        """AWS refreshes the information at most every few minutes: show what was true at the last refresh."""
        lag = self._core.settings.volume.status_lag_seconds
        seen = now if lag == 0 else state.start + math.floor((now - state.start) / lag) * lag
        if seen <= state.reported_at and lag:
            return
        state.reported_at = seen
        state.reported_completed = state.completed is not None and state.completed <= seen
        state.reported_progress = 100 if state.reported_completed else min(99, _percent(state.fraction(seen)))

    def _stall(self, state: Initialization) -> None:
        rule = self._faults.take("volume:initialization", effects=("stall",))
        if rule is not None and state.rate_mib_s > 0:
            state.frozen_at = state.start + rule.at_fraction * _seconds(state)

    def _plan_end(self, volume: Volume, state: Initialization) -> None:
        if state.rate_mib_s > 0 and state.frozen_at is None:
            self._core.at(state.start + _seconds(state), lambda due: self._complete(volume, due))

    def _complete(self, volume: Volume, now: float) -> None:
        state = volume.initialization
        if state is None or state.completed is not None or volume.volume_id not in self._tables.volumes:
            return
        state.completed = now
        self._look(volume, state, now)
        self._core.later(lambda: self._push(volume, 1.0))
        self._lift_ceiling(volume)
        delay = self._core.settings.volume.initialize_event_delay_seconds
        self._core.at(now + delay, lambda _due: self._announce(volume, now))

    def _announce(self, volume: Volume, completed: float) -> None:
        if volume.volume_id not in self._tables.volumes:
            return
        detail = {
            "event": self._core.settings.volume.initialize_event_name,
            "result": "succeeded",
            "cause": "",
            "completionTime": iso(completed),
            "request-id": request_id(),
        }
        self._core.emit("EBS Volume Notification", detail, [self._core.arn(f"volume/{volume.volume_id}")])

    def _look(self, volume: Volume, state: Initialization, due: float) -> None:
        if due < state.look_at:
            state.look_at = due
            heapq.heappush(self._looks, (due, next(self._order), volume))

    def _to_look_at(self, now: float) -> list[tuple[Volume, Initialization]]:
        found = []
        while self._looks and self._looks[0][0] <= now:
            due, _, volume = heapq.heappop(self._looks)
            state = volume.initialization
            if state is not None and state.look_at == due:
                state.look_at = math.inf
                found += [(volume, state)] if _under_way(volume) else []
        return found

    def _apply(self, volume: Volume, state: Initialization, now: float) -> None:
        self._report(state, now)
        fraction, applied = state.fraction(now), state.applied_fraction
        if fraction - applied >= APPLY_STEP:
            self._core.later(lambda: self._push(volume, fraction))
            applied = fraction
        lag = self._core.settings.volume.status_lag_seconds
        refresh = state.start + (math.floor((now - state.start) / lag) + 1) * lag if lag else math.inf
        # A moment before, because floating point may have it late; then it is looked at once more.
        self._look(volume, state, min(refresh, state.reaches(applied + APPLY_STEP)) - LOOK_AHEAD_SECONDS)

    def _push(self, volume: Volume, fraction: float) -> None:
        state = volume.initialization
        if state is None or fraction <= state.applied_fraction:
            return
        state.applied_fraction = fraction
        try:
            self._core.dataplane.set_initialized_fraction(volume.volume_id, fraction)
        except DataPlaneError:
            # A volume that is being deleted has lost its bytes already, and keeps its record for a moment.
            if volume.volume_id in self._tables.volumes and volume.state != "deleting":
                raise

    def _take_reads(self, volume: Volume) -> None:
        if not self._core.settings.volume.reads_advance_initialization:
            return
        try:
            counters = self._core.dataplane.counters(volume.volume_id)
        except DataPlaneError:
            return
        with self._core.transaction():
            state = volume.initialization
            if state is None or state.completed is not None or not counters.written_blocks:
                return
            if state.kind == VOLUME_COPY:  # its blocks can be read at once, wherever they are
                return
            state.read_fraction = max(state.read_fraction, counters.fetched_blocks / counters.written_blocks)
            self._look(volume, state, self._core.now())
            if state.read_fraction >= 1.0:
                self._complete(volume, self._core.now())


def copy_seconds(data_bytes: int, settings: VolumeSettings) -> float:
    """How long the initialization of a volume copy takes (EBS user guide, "Copy an Amazon EBS volume")."""
    tib = data_bytes / 1024**4
    further = max(0.0, min(tib, 16.0) - 1.0)
    return min(1.0, tib) * settings.copy_seconds_first_tib + further * settings.copy_seconds_next_tib


def _under_way(volume: Volume) -> bool:
    state = volume.initialization
    if volume.state == "deleting":
        return False
    return state is not None and not (state.completed is not None and state.reported_completed)


def _percent(fraction: float) -> int:
    """Whole per cent, rounded down; the small addend is for what lab time loses in floating point."""
    return int(100 * fraction + 1e-4)


def _seconds(state: Initialization) -> float:
    return state.total_bytes / (state.rate_mib_s * 1024**2)
