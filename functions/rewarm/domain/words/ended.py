"""What people are told when a restore ends without a fast volume: why, what is left, what is next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from textwrap import shorten
from typing import Literal

from rewarm.domain.units import clock_text
from rewarm.domain.words.message import Message, Severity

MOST_COMMANDS = 2
"""So many volumes have their commands in a message; for the others they read the same."""


@dataclass(frozen=True, slots=True)
class LeftVolume:
    """A volume of the restore that stays, and where it is attached, if it is."""

    volume_id: str
    device: str | None = None
    instance_id: str | None = None

    @property
    def to_delete(self) -> str:
        """What to do with one that nobody wants."""
        name, delete = self.volume_id, f"aws ec2 delete-volume --volume-id {self.volume_id}"
        if self.instance_id is None:
            return f"{name} is not wanted? {delete}"
        return (
            f"{name} is not wanted? Unmount {self.device} on {self.instance_id}, then: "
            f"aws ec2 detach-volume --volume-id {name} && "
            f"aws ec2 wait volume-available --volume-ids {name} && {delete}"
        )


@dataclass(frozen=True, slots=True)
class Start:
    """What had started the restore; an alarm starts no other one before `held_until`."""

    kind: Literal["alarm", "api", "schedule"] = "api"
    alarm_name: str | None = None
    held_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """What is left of the restore, and how it had begun."""

    at: datetime
    removed: Sequence[str] = ()
    kept: Sequence[str] = ()
    volumes: Sequence[LeftVolume] = ()
    start: Start = field(default_factory=Start)


def failed(restore_id: str, reason: str, *, state: str | None, ending: Ending) -> Message:
    """The restore has ended without a volume at full speed."""
    return Message(
        event="failed",
        restore_id=restore_id,
        title=f"Restore failed: {_first_sentence(reason)}",
        text="\n".join([reason, *_left(ending)]),
        severity=Severity.ERROR,
        fields=(("Failed at", state),) if state else (),
        next_steps=(*_again(ending), *_deleting(ending)),
    )


def cancelled(restore_id: str, *, ending: Ending) -> Message:
    """Somebody asked for it."""
    return Message(
        event="failed",
        restore_id=restore_id,
        title="Restore cancelled",
        text="\n".join(["The restore was cancelled, as asked for.", *_left(ending)]),
        severity=Severity.WARNING,
        next_steps=_deleting(ending),
    )


def _left(ending: Ending) -> list[str]:
    removed = [f"Removed: {'; '.join(ending.removed)}."] if ending.removed else []
    kept = f"Left behind: {'; '.join(ending.kept)}." if ending.kept else "Nothing was left behind."
    return [*removed, kept]


def _again(ending: Ending) -> tuple[str, ...]:
    start = ending.start
    if start.kind == "schedule":
        now = "POST /restores with its request does so now"
        return (f"Mend what is named above. The schedule tries again at its next time; {now}.",)
    if start.kind != "alarm":
        return ("Mend what is named above and send the request again; it starts from the beginning.",)
    source = json.dumps({"source": {"alarm": start.alarm_name}}, ensure_ascii=False)
    by_hand = f"Mend what is named above, then start it by hand: POST /restores with {source}."
    itself = "The alarm itself starts one only when it has left ALARM and goes off again."
    if start.held_until is not None and start.held_until > ending.at:
        until = f"until {clock_text(start.held_until)}, unless its runbook is changed"
        itself = f"The alarm itself starts none {until}, and then only when it goes off again."
    return (by_hand, itself)


def _deleting(ending: Ending) -> tuple[str, ...]:
    told = [one.to_delete for one in ending.volumes[:MOST_COMMANDS]]
    if len(ending.volumes) > MOST_COMMANDS:
        told.append(f"{len(ending.volumes) - MOST_COMMANDS} volumes more are deleted in the same way.")
    return tuple(told)


def _first_sentence(text: str) -> str:
    return shorten(text.split(". ", 1)[0].removesuffix("."), 120, placeholder="…")
