"""The words of `failed`, `drill` and `unreported`: why it ended so, what is left behind, and what is next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import field
from datetime import datetime
from textwrap import shorten
from typing import Literal

from rewarm.domain.model import Caller
from rewarm.domain.units import clock_text, duration_text, elapsed_text
from rewarm.domain.value import Value
from rewarm.domain.words.message import TRIES_AGAIN, Message, Severity

PASSING = frozenset({
    "CapacityUnavailableError", "InitializationRateUnavailableError", "VolumeCopyUnavailableError",
    "BoostUnavailableError", "ModificationPostponedError", "ThrottledError", "ServiceUnavailableError",
    "InstanceAwayError", "TargetBusyError", "TooManyRestoresError",
})  # fmt: skip
"""Errors that end without a change of the request, the account or the instance."""
NO_RUNBOOK = "RunbookNotFoundError"
MOST_COMMANDS = 2
"""Volumes whose commands stand in a message; those of the others differ by the id only."""


class LeftVolume(Value):
    """A volume of the restore that stays, and where it is attached."""

    volume_id: str
    device: str | None = None
    instance_id: str | None = None

    @property
    def to_delete(self) -> str:
        """How to delete it."""
        if self.instance_id is None:
            return f"To delete {self.volume_id}: {self.deletion}"
        unmount = f"unmount {self.device} on {self.instance_id}, then run"
        return f"To delete {self.volume_id}: {unmount}: {self.deletion}"

    @property
    def deletion(self) -> str:
        """The command that deletes it, once nothing on the instance uses it."""
        name = self.volume_id
        delete = f"aws ec2 delete-volume --volume-id {self.volume_id}"
        if self.instance_id is None:
            return delete
        return (
            f"aws ec2 detach-volume --volume-id {name} && aws ec2 wait volume-available --volume-ids {name} "
            f"&& {delete}"
        )


class Start(Value):
    """What started the restore; an alarm starts no other one before `held_until`."""

    kind: Literal["alarm", "api", "schedule", "fleet", "rule"] = "api"
    alarm_name: str | None = None
    held_until: datetime | None = None


class Ending(Value):
    """What was removed, what is left behind, and what started the restore."""

    at: datetime
    removed: Sequence[str] = ()
    kept: Sequence[str] = ()
    volumes: Sequence[LeftVolume] = ()
    start: Start = field(default_factory=Start)
    ways_back: Sequence[str] = ()
    """What undoes what was written to volumes that had been there before."""
    is_adoption: bool = False
    """The volumes were there before, and are where they were, unless somebody has moved them."""

    @property
    def what(self) -> str:
        """What has ended."""
        return "Warm-up" if self.is_adoption else "Restore"


def failed(restore_id: str, reason: str, *, error: str, state: str | None, ending: Ending) -> Message:
    """The message of a restore that failed for `reason`, at the state `state` where that is known."""
    if error == NO_RUNBOOK and ending.start.alarm_name is not None:
        return _without_runbook(restore_id, ending.start.alarm_name, ending)
    return Message(
        event="failed",
        restore_id=restore_id,
        title=f"{ending.what} failed: {_first_sentence(reason)}",
        text="\n".join([reason, *ending.ways_back, *_left(ending)]),
        severity=Severity.ERROR,
        fields=(("Failed at", state),) if state else (),
        next_steps=(*_again(error, ending), *_deleting(ending)),
    )


def _without_runbook(restore_id: str, alarm_name: str, ending: Ending) -> Message:
    """The message of an alarm that has no runbook."""
    name = shlex.quote(alarm_name)
    now = (
        "To restore now: rewarm restore --volume vol-… --instance i-…, or rewarm restore --alarm NAME where "
        "rewarm runbook list has the right one under another name."
    )
    next_time = (
        f"For the next time: rewarm runbook put {name} --volume vol-… --instance i-…, then "
        f"rewarm runbook check {name}."
    )
    return Message(
        event="failed",
        restore_id=restore_id,
        title=f"Nothing was restored: the alarm {shorten(alarm_name, 80, placeholder='…')} has no runbook",
        text=f"The alarm {alarm_name} went off, and no runbook has exactly this name. So Rewarm does not "
        "know what to restore, and has made nothing.",
        severity=Severity.ERROR,
        next_steps=(now, next_time, _by_alarm(ending)),
    )


def cancelled(restore_id: str, *, by: Caller | None, ending: Ending) -> Message:
    """The message of a restore that somebody cancelled."""
    whom = f"by {by.name}" if by else "on request"
    return Message(
        event="failed",
        restore_id=restore_id,
        title=f"{ending.what} cancelled",
        text="\n".join(
            [f"The {ending.what.lower()} was cancelled {whom}.", *ending.ways_back, *_left(ending)]
        ),
        severity=Severity.WARNING,
        next_steps=_deleting(ending),
    )


class DrillEnd(Value):
    """A drill that is over: what it took, and its objective, both in seconds.

    `recovery` is None if the volumes came to full speed, and the application did not come back.
    """

    runbook: str
    outcome: str
    of_application: bool
    recovery: tuple[float | None, float | None]
    point: tuple[float, float | None]


def drilled(restore_id: str, end: DrillEnd) -> Message:
    """The message of a drill whose volumes came to full speed; one that failed has that of the failure."""
    took, objective = end.recovery
    what = (
        f"the application of {end.runbook} was back"
        if end.of_application
        else f"{end.runbook} was back at full speed"
    )
    title = (
        f"{what} after {elapsed_text(took)}"
        if took is not None
        else f"the application of {end.runbook} is not back"
    )
    passed = end.outcome == "passed"
    return Message(
        event="drill",
        restore_id=restore_id,
        title=f"Drill {end.outcome}: {title}",
        text="\n".join(
            [
                _against("Recovery time", took, objective)
                if took is not None
                else "The volumes came to full speed.",
                _against(
                    "Recovery point: the oldest snapshot was started", *end.point, before=" before the drill"
                ),
                "The volumes of the drill are deleted.",
            ]
        ),
        severity=Severity.GOOD if passed else Severity.WARNING,
        next_steps=()
        if passed
        else ("The report sets each part beside its estimate, and this drill beside those before.",),
    )


def _against(what: str, seconds: float, objective: float | None, *, before: str = "") -> str:
    """`Recovery time: 5 min 09 s, objective 10 min.`"""
    colon = "" if before else ":"
    if objective is None:
        return f"{what}{colon} {elapsed_text(seconds)}{before}; there is no objective for it."
    kept = "missed" if seconds > objective else "met"
    took = f"{what}{colon} {elapsed_text(seconds)}{before}"
    return f"{took}; the objective of {duration_text(objective)} is {kept}."


def unreported(restore_id: str, reason: str, *, volume_count: int) -> Message:
    """The message of a restore whose volumes are all ready, and whose report could not be written."""
    ready = f"All {volume_count} volumes are ready" if volume_count > 1 else "The volume is ready"
    return Message(
        event="unreported",
        restore_id=restore_id,
        title=f"{ready}, without a report",
        text=f"{ready}. The report of the restore could not be written: {reason.rstrip('.')}. "
        f"{TRIES_AGAIN}, for a day.",
        severity=Severity.WARNING,
        next_steps=(
            "Fix the cause above; the volumes need nothing.",
            f"rewarm report {restore_id} opens the report once it is written.",
        ),
    )


def _left(ending: Ending) -> list[str]:
    if ending.is_adoption:
        left = [f"Left behind: {'; '.join(ending.kept)}."] if ending.kept else []
        return ["Nothing was made, attached, detached or deleted.", *left]
    removed = [f"Removed: {'; '.join(ending.removed)}."] if ending.removed else []
    kept = f"Left behind: {'; '.join(ending.kept)}." if ending.kept else "Nothing was left behind."
    return [*removed, kept]


def _again(error: str, ending: Ending) -> tuple[str, ...]:
    start = ending.start
    first = "Fix the cause above"
    if error in PASSING:
        first = "Wait until the cause above is over"
    if start.kind == "schedule":
        return (
            f"{first}. The schedule tries again at its next time; rewarm restore with its request does now.",
        )
    if start.kind == "fleet":
        return (f"{first}. rewarm fleet redrive, with the fleet's id, restores what is not ready yet.",)
    if start.kind == "rule":
        return (f"{first}, then rewarm warm with the volumes: a rule adopts a volume once.",)
    if start.kind != "alarm":
        if ending.is_adoption:
            return (f"{first} and send the request again.",)
        return (f"{first} and send the request again; the restore starts from the beginning.",)
    by_hand = f"{first}, then start the restore: rewarm restore --alarm {shlex.quote(start.alarm_name or '')}"
    return (by_hand, _by_alarm(ending))


def _by_alarm(ending: Ending) -> str:
    """When the alarm itself starts the next restore."""
    held_until = ending.start.held_until
    if held_until is not None and held_until > ending.at:
        until = f"until {clock_text(held_until)}, unless its runbook is changed"
        return f"The alarm starts no restore {until}, and then only when it goes off again."
    return "The alarm starts the next restore only when it has left ALARM and goes off again."


def _deleting(ending: Ending) -> tuple[str, ...]:
    steps = [volume.to_delete for volume in ending.volumes[:MOST_COMMANDS]]
    if len(ending.volumes) > MOST_COMMANDS:
        steps.append(f"{len(ending.volumes) - MOST_COMMANDS} more volumes are deleted in the same way.")
    return tuple(steps)


def _first_sentence(text: str) -> str:
    return shorten(text.split(". ", 1)[0].removesuffix("."), 120, placeholder="…")
