"""What a clean-up receives, and what it records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from rewarm.domain.errors import TEMPORARY, RestoreError
from rewarm.domain.model import Attachment, OnFailure, Volume
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import REPLACED_TAG
from rewarm.domain.volume.performance import BoostOutcome
from rewarm.ports import JsonObject

UNPROVEN = "it has this restore's tags, but the restore's record does not say that it is its own"
"""Why a volume stays that only its tags name."""


class Stays(Value):
    """A volume that is kept, and why."""

    volume: Volume
    reason: str
    marked: bool
    """Whether it is marked as left by a failed restore: its owner may want to delete it."""

    def in_words(self, *, moved: bool) -> str:
        """`moved`: the volume may have left its place since we read it."""
        places = (
            []
            if moved
            else [f"{attachment.device} on {attachment.instance_id}" for attachment in self._attachments]
        )
        still = f", still {' and '.join(places)}" if places else ""
        return f"volume {self.volume.volume_id}{still} ({self.reason})"

    def to_json(self, *, moved: bool) -> JsonObject:
        """For the record."""
        place = (
            []
            if moved
            else [
                {"device": attachment.device, "instanceId": attachment.instance_id}
                for attachment in self._attachments
            ]
        )
        return {"volumeId": self.volume.volume_id, **(place[0] if place else {})}

    @property
    def _attachments(self) -> list[Attachment]:
        return [
            attachment
            for attachment in self.volume.attachments
            if attachment.state not in {"detaching", "detached"}
        ]


@dataclass(slots=True)
class CleanUpAccount:
    """What became of each thing; `busy` and `left` say why something could not be removed (yet)."""

    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    kept_volumes: set[str] = field(default_factory=set)
    """Includes volumes that earlier tries kept: their owners may have removed our tag."""
    stays: list[Stays] = field(default_factory=list)
    boost: BoostOutcome | None = None
    """The boost of an adopted volume that still costs more than before."""
    moved: bool = False
    """The replaced volume is back: the new one has left its place for it."""

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Notes an error of the block as `busy` if it may pass, and else as `left`."""
        try:
            yield
        except TEMPORARY as error:
            self.busy.append(f"{what}: {error}")
        except RestoreError as error:
            self.left.append(f"{what}: {error}")

    def keep(self, volume: Volume, reason: str, *, tagged: bool = False) -> None:
        """`tagged` as left by a failed restore, except a volume that another restore replaced."""
        self.stays.append(Stays(volume, reason, tagged and REPLACED_TAG not in volume.settings.tags))
        self.kept_volumes.add(volume.volume_id)

    @property
    def kept_in_words(self) -> list[str]:
        """What is kept, volumes first."""
        return [*(kept.in_words(moved=self.moved) for kept in self.stays), *self.kept]

    @property
    def marked(self) -> list[JsonObject]:
        """Volumes that stay marked as failed, for the record."""
        return [kept.to_json(moved=self.moved) for kept in self.stays if kept.marked]


class Remains(Value):
    """One volume of a restore, and what there may be to remove; None for what nobody knows."""

    restore_id: str
    index: int
    volume_id: str | None = None
    instance_id: str | None = None
    place: tuple[str, str] | None = None
    """Snapshot and Availability Zone, for fast snapshot restore."""
    adopted: str | None = None
    """The volume of others, as its execution or its boost names it; its item may be lost."""
    rewinds: bool = False
    """It is a rewind, which may have made snapshots of the volume, or an undo log."""
    announced: bool = False
    """The volume was announced as usable, so it is never deleted."""
    on_failure: OnFailure = OnFailure.CLEAN_UP
    fallback: bool = False
    """The restore continues: a volume that stays is not marked as failed."""
    commands: frozenset[tuple[str, str]] = frozenset()
    """Command and instance, in addition to those in the record."""
    recording_until: datetime | None = None
    """Until then a recording may end by itself; None: it is cancelled."""
    failed_by: str = ""
    """The reason of the failure, for the other volumes of its instance."""
    starts_instance: bool = False
    """Its instance is started with all volumes of the restore."""
    keeps_copy: bool = False
    """The snapshot's copy stays: the restore continues with it, or the request wants it."""
    in_place: bool = False
    """The restore continues with this volume: the volume that it replaced does not go back."""
