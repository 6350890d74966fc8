"""The boost of a volume that was there: raised for its warm-up where its owner allows it, and lowered again.

ModifyVolume has no client token, and others may change the volume as well. So the stack notes what the
volume goes back to before EC2 is asked to raise it (steps/record/boosts.py). That note is the proof, and no
tag is.

EC2 takes no other change of a volume until it has finished the last one, which may be hours after the raise.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import TEMPORARY, RestoreError, VolumeNotFoundError
from rewarm.domain.model import Volume
from rewarm.domain.units import round_usd
from rewarm.domain.volume.performance import (
    BoostOutcome,
    ModificationRule,
    VolumeModification,
    boost_refusal,
    performance_of,
)
from rewarm.ports.restores import BOOST, RestoreTable
from rewarm.ports.volumes import VolumeModifications, VolumeStore
from rewarm.steps.record.boosts import ASKED_WITHIN, CLOCKS, NotedBoost
from rewarm.steps.volume.extras import UNDER_WAY

NOT_NEEDED = "its warm-up needed none, or EC2 was never asked"
OVER = frozenset({"lowered", "left-alone", "not-raised"})
"""States of a boost that costs nothing any more."""


class BoostPorts(Protocol):
    """The ports that lower a volume."""

    @property
    def volumes(self) -> VolumeStore:
        """What the volume has now."""

    @property
    def modifications(self) -> VolumeModifications:
        """What EC2 says of its latest change."""

    @property
    def table(self) -> RestoreTable:
        """The notes."""


def never_raised(volume: VolumeAssignment, plan: Plan) -> BoostOutcome | None:
    """What a plan with a boost says of a volume that EC2 was never asked to raise; None for other plans."""
    if plan.boost is None or volume.adopts is None:
        return None
    boosted = performance_of(plan.boost)
    original = performance_of(volume.volume.settings())
    return BoostOutcome("not-raised", boosted.in_words, original.in_words, NOT_NEEDED)


def wanted_boost(
    restore_id: str, volume: VolumeAssignment, plan: Plan, now: datetime, rule: ModificationRule
) -> NotedBoost:
    """The note to write before EC2 is asked to raise an adopted volume as the plan says."""
    if plan.boost is None or volume.adopts is None:
        raise ValueError("the plan boosts no volume that is there")
    billed = [part for part in plan.cost_parts if part.seconds]
    hours = [part.usd * 3_600 / Decimal(str(part.seconds)) for part in billed]
    return NotedBoost(
        volume_id=volume.adopts,
        restore_id=restore_id,
        index=volume.index,
        asked_at=now,
        original=performance_of(volume.volume.settings()),
        boosted=performance_of(plan.boost),
        size_gib=volume.volume.size_gib,
        usd_per_hour=round_usd(sum(hours, Decimal(0))),
        rule=rule,
    )


def lower_volume(noted: NotedBoost, ports: BoostPorts, *, now: datetime) -> BoostOutcome:
    """Lowers a volume that was raised, as far as EC2 takes it now. Raises nothing of AWS's.

    Only what the raise has set is taken back: what somebody has changed since then stays. The note stays at
    least until EC2 shows whatever it was asked for.
    """
    try:
        outcome = _lowered(noted, ports)
        if outcome.state in OVER and now > noted.asked_at + ASKED_WITHIN + CLOCKS:
            ports.table.discard(BOOST, noted.volume_id)
    except VolumeNotFoundError:
        ports.table.discard(BOOST, noted.volume_id)
        return noted.outcome("lowered", f"{noted.volume_id} is gone")
    except TEMPORARY as error:
        return noted.outcome("lowering", str(error))
    except RestoreError as error:
        return noted.outcome("not-lowered", str(error))
    return outcome


def _lowered(noted: NotedBoost, ports: BoostPorts) -> BoostOutcome:
    volume = ports.volumes.get(noted.volume_id)
    latest = ports.modifications.latest(noted.volume_id)
    if latest is not None and (noted.is_own(latest) or noted.has_grown(latest)):
        if latest.state == "failed" and noted.is_own(latest):
            return noted.outcome("not-raised", latest.message or "EC2 gave up the change")
        if latest.under_way or not noted.boosted.fits(volume.settings):
            done = f", {latest.progress_percent} % done" if latest.progress_percent is not None else ""
            last = "the raise" if noted.is_own(latest) else "the last one"
            why = f"EC2 takes its next change only when it has finished {last} ({latest.state}{done})"
            return noted.outcome("not-lowered", why)
    elif noted.refused:
        return noted.outcome("not-raised", noted.refused)
    elif latest is not None and noted.is_later(latest) and latest.state != "failed":
        return _after_another_change(noted, latest)
    return _by_settings(noted, volume, ports)


def _after_another_change(noted: NotedBoost, latest: VolumeModification) -> BoostOutcome:
    """The outcome if the latest change came after the raise: it is our lowering, or somebody's change."""
    if not noted.original.fits(latest.target):
        return noted.outcome("left-alone", f"somebody has changed it to {latest.target.in_words}")
    if latest.state == "modifying":
        return noted.outcome("lowering", UNDER_WAY)
    return noted.outcome("lowered")


def _by_settings(noted: NotedBoost, volume: Volume, ports: BoostPorts) -> BoostOutcome:
    has = performance_of(volume.settings)
    if noted.original.fits(has):
        return noted.outcome("not-raised", "EC2 was asked, and has not raised it")
    if not noted.boosted.fits(has):
        return noted.outcome("left-alone", f"somebody has changed it to {has.in_words}")
    refusal = boost_refusal(volume, asked=True)
    if refusal is not None:
        return noted.outcome("not-lowered", refusal)
    ports.modifications.start(noted.volume_id, noted.original)
    return noted.outcome("lowering", UNDER_WAY)


def in_words(volume_id: str, boost: BoostOutcome) -> str:
    """For the account of a clean-up, and for the sweeper's log."""
    price = f", {boost.usd_per_hour:f} USD an hour" if boost.usd_per_hour is not None else ""
    by_hand = f"; by hand: {boost.command}" if boost.command else ""
    return f"boost of {volume_id} ({boost.boosted}, to be {boost.target}{price}): {boost.reason}{by_hand}"
