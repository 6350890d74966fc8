"""Ends what still costs money after a restore that ended without its own clean-up.

When an execution is stopped or times out, no Catch runs. So a schedule and Step Functions' events start a
sweep of this stack's resources. Each kind of leftover is one entry of `SWEEPS`. An error in one of them, or
in one restore, never stops the others. Resources of running restores and of others are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from rewarm.domain.errors import RestoreError
from rewarm.domain.fleets import fleet_of_execution, is_fleet
from rewarm.domain.model import Volume
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import (
    INDEX_TAG,
    RESTORE_TAG,
    SweepState,
    SweptResource,
    failed_sweep,
    restore_and_index,
    restore_of,
    untouchable,
)
from rewarm.domain.volume.performance import BOOST_TAG, parse_performance, performance_of
from rewarm.domain.volume.replacing import REPLACED_TAG, place_of
from rewarm.ports.executions import RestoreExecutions
from rewarm.steps.clean_up.missing_reports import LATE_REPORTS
from rewarm.steps.clean_up.sweep_fleets import FLEETS, sweep_fleets
from rewarm.steps.clean_up.sweep_restores import SweepPorts, end_restore
from rewarm.steps.clean_up.sweep_unproven import (
    UNPROVEN_THINGS,
    name_boost,
    name_replaced,
    name_volumes,
    sweep_unproven,
)
from rewarm.steps.clean_up.sweep_unrecorded import CALIBRATIONS, holders, sweep_calibrations
from rewarm.steps.record.boosts import noted_boosts
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, Status
from rewarm.steps.record.volume import CleanedUp, VolumeNotes
from rewarm.steps.volume.adopted_boosts import in_words, lower_volume
from rewarm.steps.volume.extras import Lowering, lower, release_fast_restore

__all__ = [
    "SWEEPS",
    "SweepPorts",
    "SweptResource",
    "newly_left",
    "restore_of_event",
    "sweep",
    "sweep_one",
    "sweep_these",
]

ROUNDS = 4
"""EC2 detaches a volume within seconds. What takes longer is reported as left, and the next sweep retries."""
NO_TIME = "no time is left; the next sweep begins elsewhere"
LATELY = timedelta(hours=2)
"""Eight sweeps look at each execution that did not end well."""
_STATES: dict[str, SweepState] = {
    "lowered": "ended",
    "not-raised": "ended",
    "left-alone": "ended",
    "lowering": "ending",
    "not-lowered": "left",
}


Sweep = Callable[[SweepPorts], Iterator[SweptResource]]


def sweep(ports: SweepPorts) -> list[SweptResource]:
    """Runs all sweeps, and returns what was found and what became of it. Raises nothing."""
    found: list[SweptResource] = []
    for name, run in SWEEPS.items():
        try:
            found.extend(run(ports))
        except Exception as error:
            found.append(failed_sweep(name, "all", error))
    return found


def sweep_one(restore_id: str, ports: SweepPorts) -> list[SweptResource]:
    """Sweeps the restore or fleet that an event is about; events may be lost, so a schedule sweeps all."""
    if is_fleet(restore_id):
        return list(sweep_fleets(ports, only=fleet_of_execution(restore_id)))
    return sweep_these({restore_id}, ports)


def newly_left(found: Iterable[SweptResource], ports: SweepPorts) -> list[str]:
    """What nobody has heard of today: each thing that is left raises the alarm once a day.

    Some of them only their owner can end. If these raised it at every sweep, the next leak would not be seen.
    """
    return [
        f"{swept.resource} ({swept.sweep}): {swept.reason}"
        for swept in found
        if swept.state == "left" and _is_news(swept, ports)
    ]


def _is_news(swept: SweptResource, ports: SweepPorts) -> bool:
    claim = f"sweep left {swept.sweep} {swept.resource} {ports.now:%Y-%m-%d}"
    try:
        return ports.table.claim_event(claim, ports.owner) == ports.owner
    except RestoreError:
        return True


def sweep_these(restore_ids: Iterable[str], ports: SweepPorts) -> list[SweptResource]:
    """Sweeps restores that have ended, whether or not they are noted as running."""
    return list(_end({name: set() for name in restore_ids}, ports))


def restore_of_event(event: dict[str, Any], restore_volume_arn: str) -> str | None:
    """The restore of Step Functions' event "Step Functions Execution Status Change"; None for others."""
    detail = event.get("detail")
    name = detail.get("name") if isinstance(detail, dict) else None
    if not isinstance(detail, dict) or not isinstance(name, str) or not name:
        return None
    return restore_of(name, of_volume=detail.get("stateMachineArn") == restore_volume_arn)


def sweep_restores(ports: SweepPorts) -> Iterator[SweptResource]:
    """Restores that are noted as running but do not run, and recent ones whose note may be lost."""
    noted = {hold.restore_id for hold in ports.holds.running()}
    return _end({name: set() for name in noted | _ended_lately(ports)}, ports)


def _ended_lately(ports: SweepPorts) -> set[str]:
    """Step Functions' recent failures; if it does not answer, only restores with lost notes are missed."""
    try:
        return set(ports.executions.ended_badly(ports.now - LATELY))
    except RestoreError:
        return set()


def sweep_volumes(ports: SweepPorts) -> Iterator[SweptResource]:
    """Volumes of ended restores that are neither the ordered volumes nor kept on purpose."""
    found: dict[str, set[int]] = {}
    records: dict[str, KnownRestore] = {}
    for (restore_id, index), volumes in _by_restore(ports.volumes.of_stack(ports.stack_name)).items():
        if not ports.has_time():
            break
        if restore_id not in records:
            records[restore_id] = RestoreNotes(ports.table, restore_id).read_whole()
        try:
            if _has_leftover(volumes, index, records[restore_id]):
                found.setdefault(restore_id, set()).add(index)
            else:
                yield from name_volumes(volumes, restore_id, index, records[restore_id], ports)
        except Exception as error:
            yield failed_sweep("volumes", restore_id, error)
    yield from _end(found, ports)


def _has_leftover(volumes: Iterable[Volume], index: int, record: KnownRestore) -> bool:
    own = record.volume(index).own_volumes(volumes) if record.status is not None else []
    return any(_is_leftover(volume, index, record) for volume in own)


def _by_restore(volumes: Iterable[Volume]) -> dict[tuple[str, int], list[Volume]]:
    """The volumes by restore and index, as their tags say; without volumes that name no restore."""
    found: dict[tuple[str, int], list[Volume]] = {}
    for volume in volumes:
        restore_id = volume.settings.tags.get(RESTORE_TAG)
        if restore_id is not None:
            found.setdefault((restore_id, _index(volume)), []).append(volume)
    return found


def _is_leftover(volume: Volume, index: int, record: KnownRestore) -> bool:
    account = record.volume(index).clean_up or CleanedUp()
    if account.unfinished:
        return True
    if untouchable(volume.settings.tags) is not None or volume.volume_id in account.kept_volumes:
        return False
    if not record.is_finished:
        return True
    if record.status == Status.READY or record.settled(index):
        known = record.attached(index).volume_id, record.volume(index).made.volume_id
        return volume.volume_id not in known
    # It stays and gets the tag of a failed restore, which its execution could not set before it ended.
    return True


def sweep_replaced(ports: SweepPorts) -> Iterator[SweptResource]:
    """Volumes that left their place for a restore that has ended without success."""
    found: dict[str, set[int]] = {}
    for old in ports.volumes.replaced(ports.stack_name):
        restore_id = old.settings.tags.get(REPLACED_TAG)
        place = place_of(old.settings.tags)
        if restore_id is None or place is None:
            continue
        record = RestoreNotes(ports.table, restore_id).read_with(place.index)
        known = record.volume(place.index)
        if not known.is_known:
            yield from name_replaced(old, ports)
        is_out = known.replaced.volume_id == old.volume_id
        if is_out and record.status != Status.READY and not record.settled(place.index):
            found.setdefault(restore_id, set()).add(place.index)
    yield from _end(found, ports)


def sweep_fast_restores(ports: SweepPorts) -> Iterator[SweptResource]:
    """Fast snapshot restores that this stack enabled, and that no running restore needs."""
    for place in ports.fast_restores.enabled_places():
        claim = ports.table.claim(*place)
        if claim is None:
            yield from _of_lost_claim(place, ports)
            continue
        users = claim.users or ({claim.last_user} if claim.last_user else set())
        for user in sorted(users):
            named = restore_and_index(user)
            try:
                if named is not None and ports.executions.is_over(*named):
                    yield from _release(*named, place, ports)
            except Exception as error:
                yield failed_sweep("fast-snapshot-restores", ":".join(place), error)


def _of_lost_claim(place: tuple[str, str], ports: SweepPorts) -> Iterator[SweptResource]:
    """A fast snapshot restore without a claim; most were enabled by others while no restore ran."""
    try:
        for found in holders(place, ports):
            if isinstance(found, SweptResource):
                yield found
            elif ports.executions.is_over(*found):
                yield from _release(*found, place, ports)
    except Exception as error:
        yield failed_sweep("fast-snapshot-restores", ":".join(place), error)


def _release(
    restore_id: str, index: int, place: tuple[str, str], ports: SweepPorts
) -> Iterator[SweptResource]:
    """Yields what was disabled, and what stays enabled and costs money; nothing if others still need it."""
    returned = release_fast_restore(
        restore_id, index, place, fast_restores=ports.fast_restores, table=ports.table
    )
    if returned.released:
        yield SweptResource("fast-snapshot-restores", ":".join(place), "ended", f"of {restore_id}/{index}")
    for reason in returned.left:
        yield SweptResource("fast-snapshot-restores", ":".join(place), "left", reason)


def _end(found: dict[str, set[int]], ports: SweepPorts) -> Iterator[SweptResource]:
    """Ends restores in rounds, so that EC2's seconds of work are waited for once for all restores."""
    waiting = _in_turn(found, ports.now)
    for number in range(ROUNDS):
        if number:
            ports.pause()
        last = number == ROUNDS - 1
        busy: dict[str, set[int]] = {}
        for done, (restore_id, indexes) in enumerate(waiting.items()):
            if not ports.has_time():
                left = f"{len(waiting) - done + len(busy)} of {len(found)} restores"
                yield SweptResource("restores", left, "ending", NO_TIME)
                return
            swept = _end_one(restore_id, indexes, ports, last_try=last)
            # Waiting some seconds does not help a late report.
            waits = swept is not None and swept.state == "ending" and swept.sweep != LATE_REPORTS
            if waits and not last:
                busy[restore_id] = indexes
            elif swept is not None:
                yield swept
        waiting = busy
        if not waiting:
            return


def _in_turn(found: Mapping[str, set[int]], now: datetime) -> dict[str, set[int]]:
    """The restores in an order that differs in each sweep: time may run out before the last ones."""
    return {name: found[name] for name in sorted(found, key=lambda name: _turn(name, now))}


def _turn(name: str, now: datetime) -> bytes:
    return sha256(f"{now.isoformat()} {name}".encode()).digest()


def _end_one(
    restore_id: str, indexes: Iterable[int], ports: SweepPorts, *, last_try: bool
) -> SweptResource | None:
    try:
        return end_restore(restore_id, ports, also=set(indexes), last_try=last_try)
    except Exception as error:
        return failed_sweep("restores", restore_id, error)


def sweep_boosts(ports: SweepPorts) -> Iterator[SweptResource]:
    """Lowers volumes whose restore has ended without doing it."""
    boosted = ports.volumes.boosted(ports.stack_name)
    for volume in sorted(boosted, key=lambda volume: _turn(volume.volume_id, ports.now)):
        if not ports.has_time():
            yield SweptResource("boosts", "some", "ending", NO_TIME)
            return
        try:
            if _is_over(volume, ports.executions):
                yield from _lower_own(volume, ports)
        except Exception as error:
            yield failed_sweep("boosts", volume.volume_id, error)
    yield from _sweep_adopted_boosts(ports)


def _sweep_adopted_boosts(ports: SweepPorts) -> Iterator[SweptResource]:
    """Lowers volumes that were there, by their notes."""
    for noted in noted_boosts(ports.table):
        if not ports.has_time():
            yield SweptResource("boosts", "some", "ending", NO_TIME)
            return
        try:
            if not ports.executions.is_over(noted.restore_id, noted.index):
                continue
            outcome = lower_volume(noted, ports, now=ports.now)
            state = _STATES[outcome.state]
            reason = outcome.reason
            if state == "left":
                # EC2 takes the change once it has finished the raise; an alarm before that would be false.
                state = "left" if noted.is_overdue(ports.now) else "ending"
                reason = in_words(noted.volume_id, outcome)
            yield SweptResource("boosts", noted.volume_id, state, reason)
        except Exception as error:
            yield failed_sweep("boosts", noted.volume_id, error)


def _lower_own(volume: Volume, ports: SweepPorts) -> Iterator[SweptResource]:
    """Lowers a volume only if its record calls it boosted, whatever its tags say."""
    restore_id = volume.settings.tags.get(RESTORE_TAG)
    index = _index(volume)
    if restore_id is None:
        yield from name_boost(volume, ports)
        return
    known = VolumeNotes(ports.table, restore_id, index).read()
    target = known.boost_target(volume)
    if target is not None:
        outcome = lower(volume.volume_id, target, volumes=ports.volumes, modifications=ports.modifications)
        _tell(volume, target, outcome, ports)
        yield SweptResource("boosts", volume.volume_id, _STATES[outcome.state], outcome.reason)
    elif (known.boost.volume_id, known.boost.state) == (volume.volume_id, "lowered"):
        # It was lowered before, and only its tag could not be removed.
        ports.volumes.untag(volume.volume_id, BOOST_TAG)
        yield SweptResource("boosts", volume.volume_id, "ended")
    elif not _is_lowered(volume) and (
        not known.made.is_known or volume.volume_id in known.made_volumes.values()
    ):
        yield from name_boost(volume, ports)


def _is_lowered(volume: Volume) -> bool:
    """Whether the volume has its tag's settings already, so that nothing more is billed."""
    try:
        return parse_performance(volume.settings.tags[BOOST_TAG]).fits(volume.settings)
    except ValueError:
        return False


def _is_over(volume: Volume, executions: RestoreExecutions) -> bool:
    restore_id = volume.settings.tags.get(RESTORE_TAG)
    return restore_id is None or executions.is_over(restore_id, _index(volume))


def _tell(volume: Volume, target: str, outcome: Lowering, ports: SweepPorts) -> None:
    lowered = {
        "volumeId": volume.volume_id,
        "state": outcome.state,
        "boosted": performance_of(volume.settings).in_words,
        "target": _in_words(target),
        "targetSettings": target,
        "reason": outcome.reason or "by the sweeper: the restore ended without doing it",
        "at": iso(ports.now),
    }
    tags = volume.settings.tags
    VolumeNotes(ports.table, tags[RESTORE_TAG], _index(volume)).note_boost(lowered)


def _in_words(target: str) -> str:
    """The settings in the words of `Release`; a tag that somebody has changed stays as it is."""
    try:
        return parse_performance(target).in_words
    except ValueError:
        return target


def _index(volume: Volume) -> int:
    text = volume.settings.tags.get(INDEX_TAG, "0")
    return int(text) if text.isdecimal() else 0


SWEEPS = MappingProxyType[str, Sweep](
    {
        "fast-snapshot-restores": sweep_fast_restores,
        "boosts": sweep_boosts,
        CALIBRATIONS: sweep_calibrations,
        "restores": sweep_restores,
        "volumes": sweep_volumes,
        "replaced-volumes": sweep_replaced,
        FLEETS: sweep_fleets,
        UNPROVEN_THINGS: sweep_unproven,
    }
)
"""What costs by the hour comes first: with thousands of restores, time may run out before the last."""
