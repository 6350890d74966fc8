"""The words of `performance-changed` and `performance-failed`: from what to what, and when."""

from __future__ import annotations

from datetime import datetime

from rewarm.domain.units import elapsed_text, iso
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import PerformanceSettings
from rewarm.domain.words.message import Message, Severity

KIND = "Change"
OPTIMIZING = (
    "EBS still optimizes the volume. Until it has finished, the performance lies between the two settings, "
    "and EBS accepts no other change."
)
"""EBS user guide, "Monitor the progress of volume modifications"."""


class Change(Value):
    """A volume, and its performance before and after the change."""

    change_id: str
    volume_id: str
    original: PerformanceSettings
    target: PerformanceSettings

    @property
    def in_words(self) -> str:
        """The change as a part of a sentence."""
        return f"{self.volume_id} from {self.original.in_words} to {self.target.in_words}"


class Effect(Value):
    """When the change was requested, when it took effect, and how that is known."""

    requested_at: datetime
    requested_from: str
    took_effect_at: datetime
    state: str
    reason: str


def changed(change: Change, effect: Effect) -> Message:
    """The message that the new settings are in effect."""
    seconds = max(0.0, (effect.took_effect_at - effect.requested_at).total_seconds())
    source = "CloudTrail" if effect.requested_from == "cloudtrail" else "start of the modification"
    return Message(
        event="performance-changed",
        restore_id=change.change_id,
        kind=KIND,
        title=f"{change.volume_id} is {change.target.in_words}",
        text=f"Changed {change.in_words}; it took effect {elapsed_text(seconds)} after the request. "
        f"Known because {effect.reason}.",
        severity=Severity.GOOD,
        fields=(
            ("Requested", f"{iso(effect.requested_at)} ({source})"),
            ("Took effect", iso(effect.took_effect_at)),
            ("State", effect.state),
        ),
        next_steps=(OPTIMIZING,) if effect.state == "optimizing" else (),
        links=(("performance", f"/volumes/{change.volume_id}/performance"),),
    )


def not_changed(change: Change, reason: str) -> Message:
    """The message that the change failed for `reason`."""
    return Message(
        event="performance-failed",
        restore_id=change.change_id,
        kind=KIND,
        title=f"{change.volume_id} could not be changed",
        text=f"Not changed: {change.in_words}. {reason}",
        severity=Severity.ERROR,
        next_steps=("Look at the volume before you request the change again: EC2 counts each change.",),
        links=(("performance", f"/volumes/{change.volume_id}/performance"),),
    )
