"""What every message consists of, and what several messages say of a volume."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from rewarm.domain.model import Caller, Strategy
from rewarm.domain.units import clock_text, iso, usd_text
from rewarm.domain.value import Value
from rewarm.domain.words.schedule import ScheduleLine
from rewarm.domain.words.way_back import PRESENT, Presence

COPY_PACE = "at a baseline of 3,000 IOPS and 125 MiB/s until everything is copied"
"""EBS user guide, "Copy an Amazon EBS volume"."""
USEFUL_SHARE = Decimal("0.2")
"""Share of a plan's price: a bound that leaves more open says nothing about how good the plan is."""
ONCE = frozenset({"ready", "failed"})
"""Events that come once for a volume or a restore, however often they are sent."""
TRIES_AGAIN = "Rewarm tries again every 15 minutes"


class Severity(StrEnum):
    """How loud a message is."""

    INFO = "info"
    GOOD = "good"
    WARNING = "warning"
    ERROR = "error"


class Message(Value):
    """One message; each channel renders it its own way."""

    event: str
    restore_id: str
    title: str
    text: str
    severity: Severity
    fields: tuple[tuple[str, str], ...] = ()
    next_steps: tuple[str, ...] = ()
    kind: str = "Restore"
    links: tuple[tuple[str, str], ...] = ()
    asked_by: Caller | None = None

    def event_id(self, at: datetime, index: int | None) -> str:
        """The same each time that the message is sent, by which a program knows a repetition.

        A volume gets to full speed once, and a restore fails once, whatever the words are. Other news have
        another id where they say something else; those of a rule also at another time.
        """
        said = "" if self.event in ONCE else self.text
        when = iso(at) if self.kind == "Rule" else ""
        place = "" if index is None else str(index)
        parts = (self.restore_id, place, self.event, said, when)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    def to_json(
        self, *, at: datetime, notify: Mapping[str, object], index: int | None = None
    ) -> dict[str, object]:
        """As channels take it; `notify` says which of them for people are wanted.

        `index` is that of the volume which it is about; None if it is about the whole restore.
        """
        return {
            "eventId": self.event_id(at, index),
            "event": self.event,
            "restoreId": self.restore_id,
            "at": iso(at),
            "severity": self.severity.value,
            "title": self.title,
            "text": self.text,
            "fields": [{"name": name, "value": value} for name, value in self.fields],
            "nextSteps": list(self.next_steps),
            "askedBy": None if self.asked_by is None else asdict(self.asked_by),
            "links": dict(self.links) or {"restore": f"/restores/{self.restore_id}"},
            "kind": self.kind,
            "notify": dict(notify),
            "reportUrl": None,
            "reportUntil": None,
        }

    def of(self, asked_by: Caller | None) -> Message:
        """The message, which says who asked for what it is about, where that is known."""
        if asked_by is None:
            return self
        said = f"Requested by {asked_by.name}." in self.text
        fields = self.fields if said else (*self.fields, ("Asked for by", asked_by.name))
        return replace(self, asked_by=asked_by, fields=fields)


class PricedPlan(Protocol):
    """The plan of all volumes together, as the contract PlanSummary has it."""

    total_cost_usd: Decimal
    could_save_usd: Decimal
    ready_p90_at: datetime
    deadline_missed: bool
    late_seconds: int
    schedule: list[ScheduleLine]
    why: str
    notes: list[str]


class DetachedVolume(Value):
    """The volume whose place the new one takes, and where its file systems were mounted."""

    volume_id: str
    size_gib: int
    mount_points: Sequence[str] = ()
    usd_per_month: Decimal | None = None
    presence: Presence = PRESENT
    """Whether it is still there."""


class StartedInstance(Value):
    """An instance that was started with its new volumes; at `checked_at` its status checks had passed."""

    instance_id: str
    started_at: datetime
    up_at: datetime
    checked_at: datetime | None = None

    @property
    def sentence(self) -> str:
        """For people."""
        said = [f"was started with its new volumes at {clock_text(self.started_at)}"]
        said.append(f"was up at {clock_text(self.up_at)}")
        if self.checked_at is not None:
            said.append(f"had passed its status checks at {clock_text(self.checked_at)}")
        return f"{self.instance_id} {', '.join(said[:-1])} and {said[-1]}."


class AnnouncedVolume(Value):
    """One volume and its plan; times in seconds from the plan on."""

    snapshot_id: str
    snapshot_started_at: datetime
    data_bytes: int
    where: str
    strategy: Strategy
    how: str
    usable_seconds: int
    ready_p50_seconds: int
    ready_p90_seconds: int
    cost_usd: Decimal
    why: str
    source_volume_id: str | None = None
    adopts: str | None = None
    """The volume that was there, and is brought to full speed where it is."""
    replaced: DetachedVolume | None = None
    mount_points: tuple[str, ...] = ()
    """Drive letters and folders of a disk that was brought online on Windows."""
    online_problem: str | None = None
    started: StartedInstance | None = None
    undoes: bool = False
    """It goes back to what it had before a rewind, and not to a snapshot."""
    root_of: str | None = None
    """The running instance into which EC2 swaps it as the root volume, once it is at full speed."""

    @property
    def is_fast_at_once(self) -> bool:
        """Whether every block is there as soon as the volume can be used."""
        return self.strategy in {Strategy.FAST_SNAPSHOT_RESTORE, Strategy.REWIND, Strategy.DIRECT_WRITE}

    @property
    def goes_back(self) -> bool:
        """Whether the restore rewinds a volume and makes none."""
        return self.strategy is Strategy.REWIND

    @property
    def is_copy(self) -> bool:
        """Whether it is copied from the source volume, with the data of that moment."""
        return self.strategy is Strategy.VOLUME_CLONE


def could_save(usd: Decimal, price_usd: Decimal, as_soon: str = "") -> list[str]:
    """How much less another mix of strategies could cost at most; empty where that says too little."""
    if not 0 < usd <= USEFUL_SHARE * price_usd:
        return []
    return [f"another mix{as_soon} could cost at most {usd_text(usd)} less"]
