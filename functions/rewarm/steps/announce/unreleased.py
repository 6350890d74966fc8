"""What the ready message says beside the rest where `Release` could not give back what costs money.

The volume is at full speed and stays ready. The record is marked so that the sweeper gives back the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rewarm.contracts import AnnounceEvent
from rewarm.contracts.base import JsonObject
from rewarm.domain.model import Strategy
from rewarm.domain.volume.performance import BoostOutcome, performance_of
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message, Severity
from rewarm.steps.announce.details import ReadyDetails
from rewarm.steps.record.records import clean_up_attribute, settled_attribute

Composer = Callable[[AnnounceEvent, JsonObject], tuple[Message, JsonObject]]
SWEPT = "Rewarm tries again every 15 minutes."


def telling_unreleased(composer: Composer) -> Composer:
    """The composer of `ready`: what may go on costing money, and the command that ends it."""

    def tell(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
        message, changes = composer(event, record)
        details = ReadyDetails.model_validate(event.details)
        if details.released is None or details.released.failure is None:
            return message, changes
        failure = details.released.failure
        reason = explain(failure.error, failure.cause).sentence
        return _with_warning(message, details, reason), {**changes, **_marks(details, reason)}

    return tell


def _marks(details: ReadyDetails, reason: str) -> JsonObject:
    """Settled: no sweep takes the volume for one that failed. Unfinished: one gives back what is left."""
    index = details.volume.index
    return {
        settled_attribute(index): True,
        clean_up_attribute(index): {"removed": [], "kept": [reason], "unfinished": True},
    }


def _with_warning(message: Message, details: ReadyDetails, reason: str) -> Message:
    warnings, commands = [], []
    if details.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        snapshot_id, zone = details.volume.snapshot_id, details.volume.availability_zone
        warnings.append(
            f"Fast snapshot restore of {snapshot_id} in {zone} may still be on, which costs money by the "
            f"hour; it could not be given back: {reason} {SWEPT}"
        )
        commands.append(
            "Where it stays on and nothing else needs it, turn it off: "
            f"aws ec2 disable-fast-snapshot-restores --availability-zones {zone} "
            f"--source-snapshot-ids {snapshot_id}"
        )
    elif details.plan.boost is not None and details.released is not None and details.released.boost is None:
        target = performance_of(details.volume.volume.settings()).in_words
        boosted = performance_of(details.plan.boost.values()).in_words
        warnings.append(f"{BoostOutcome(boosted, target, False, reason.rstrip('.')).sentence} {SWEPT}")
        commands.append(f"Where it stays so, lower {details.volume_id} to {target} with ModifyVolume.")
    if not warnings:
        return message
    return replace(
        message,
        text="\n".join([message.text, *warnings]),
        severity=Severity.WARNING,
        next_steps=tuple(commands),
    )
