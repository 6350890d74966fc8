"""State `Boost Volume`: asks EC2 once to raise an adopted volume while the agent begins to read it.

`Release` lowers it again. What EC2 refuses is no error: the agent reads the volume as it is.
"""

from __future__ import annotations

from datetime import datetime

from rewarm.contracts.base import Contract, StepEvent
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import RestoreError
from rewarm.domain.model import Volume
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import (
    PER_DAY,
    BoostOutcome,
    ModificationRule,
    VolumeModification,
    boost_refusal,
    performance_of,
    slots,
)
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import PerformanceLog, VolumeModifications, VolumeStore
from rewarm.steps.record.boosts import NotedBoost, note_boost, noted_boost
from rewarm.steps.record.restore import stop_if_cancelled
from rewarm.steps.registration import state
from rewarm.steps.volume.adopted_boosts import wanted_boost


class BoostVolumeEvent(StepEvent):
    """Asks for the boost; `now` is when the state was entered, also for its retries."""

    volume: VolumeAssignment
    plan: Plan


class BoostVolumeResult(Contract):
    """What became of it; the state machine continues in any case."""

    boost: BoostOutcome


class BoostVolumePorts(Value, kw_only=True):
    """The ports that boost_volume needs."""

    volumes: VolumeStore
    modifications: VolumeModifications
    log: PerformanceLog
    table: RestoreTable
    rule: ModificationRule = ModificationRule.FOUR_IN_24_H


@state("Boost Volume")
def boost_volume(event: BoostVolumeEvent, ports: BoostVolumePorts) -> BoostVolumeResult:
    """Raises the volume, unless somebody has changed something meanwhile. Raises RestoreCancelledError."""
    return BoostVolumeResult(boost=_boosted(event, ports))


def _boosted(event: BoostVolumeEvent, ports: BoostVolumePorts) -> BoostOutcome:
    stop_if_cancelled(ports.table, event.restore_id)
    wanted = wanted_boost(event.restore_id, event.volume, event.plan, event.now, ports.rule)
    known = noted_boost(wanted.volume_id, ports.table)
    if known is not None and (known.restore_id, known.index) != (wanted.restore_id, wanted.index):
        return wanted.outcome("not-raised", f"the restore {known.restore_id} has boosted it")
    latest = ports.modifications.latest(wanted.volume_id)
    if known is not None and (known.refused or known.is_own(latest)):
        return known.outcome("not-raised" if known.refused else "raised", known.refused)
    found = ports.volumes.get(wanted.volume_id)
    refusal = boost_refusal(found, asked=True) or _refusal(found, latest, wanted, ports, event.now)
    if refusal is not None:
        return wanted.outcome("not-raised", refusal)
    if known is None:
        note_boost(wanted, ports.table)
    return _raised(wanted, ports)


def _refusal(
    volume: Volume,
    latest: VolumeModification | None,
    wanted: NotedBoost,
    ports: BoostVolumePorts,
    now: datetime,
) -> str | None:
    """Why EC2 is not asked; None where it is. Lowering the volume takes another change of the same day."""
    has = performance_of(volume.settings)
    if not wanted.original.fits(has):
        return f"somebody has changed it since the plan was made, to {has.in_words}"
    starts = ports.log.starts(volume.volume_id)
    used = slots(ModificationRule.FOUR_IN_24_H, starts, latest, size_gib=wanted.size_gib, now=now)
    if len(used.started_at) > PER_DAY - 2:
        return (
            f"it was changed {len(used.started_at)} times within 24 hours, and EC2 takes {PER_DAY}: one must "
            "be left to lower it"
        )
    return None


def _raised(wanted: NotedBoost, ports: BoostVolumePorts) -> BoostOutcome:
    try:
        ports.modifications.start(wanted.volume_id, wanted.boosted)
    except RestoreError as error:
        # If an answer got lost, EC2 refuses botocore's own second call because of the first one's change.
        if not wanted.is_own(ports.modifications.latest(wanted.volume_id)):
            refused = wanted.model_copy(update={"refused": f"EC2 refused it: {error}"})
            note_boost(refused, ports.table)
            return refused.outcome("not-raised", refused.refused)
    ports.log.note_start(wanted.volume_id, wanted.asked_at)
    return wanted.outcome("raised")
