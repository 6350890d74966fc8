"""What the messages of a restore say beside the rest where its volume takes the place of another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rewarm.contracts import AnnounceEvent, VolumeAssignment
from rewarm.contracts.base import JsonObject
from rewarm.domain.volume.replacing import REPLACED_TAG
from rewarm.domain.words.message import Message
from rewarm.steps.record.records import replaced_attribute

Composer = Callable[[AnnounceEvent, JsonObject], tuple[Message, JsonObject]]


def telling_replaced(composer: Composer) -> Composer:
    """The composer, for the news of one volume: which it replaced, and what is to be done with that."""

    def tell(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
        message, changes = composer(event, record)
        volume = VolumeAssignment.model_validate(event.details["volume"])
        if volume.replaces is None:
            return message, changes
        name = replaced_attribute(volume.index)
        known = record.get(name) or {}
        told = _attached if event.event == "attached" else _ready
        message = told(message, volume, str(event.details.get("volumeId")), known.get("unmounted") or [])
        return message, {**changes, name: {**known, "state": "replaced"}}

    return tell


def _attached(message: Message, volume: VolumeAssignment, new: str, unmounted: list[str]) -> Message:
    assert volume.replaces is not None
    old = volume.replaces.volume_id
    before = f" It was mounted at {', '.join(unmounted)}." if unmounted else ""
    text = (
        f"It has taken the place of {old}, which is detached and kept.{before} If the restore fails, {old} "
        f"goes back, and {new} is kept."
    )
    places = [f"Mount {new} where {old} was: {', '.join(unmounted)}."] if unmounted else []
    return replace(
        message,
        text=f"{message.text}\n{text}",
        fields=(*message.fields, ("Replaced", old)),
        next_steps=(*places, *message.next_steps),
    )


def _ready(message: Message, volume: VolumeAssignment, new: str, unmounted: list[str]) -> Message:
    del unmounted
    assert volume.replaces is not None
    old = volume.replaces.volume_id
    text = f"{new} has taken the place of {old}, which is detached, kept and tagged {REPLACED_TAG}."
    delete = f"aws ec2 delete-volume --volume-id {old}"
    return replace(
        message,
        text=f"{message.text}\n{text}",
        fields=(*message.fields, ("Replaced", f"{old}, {volume.replaces.size_gib:,} GiB")),
        next_steps=(
            *message.next_steps,
            f"Delete {old} when you no longer need it, as it costs storage: {delete}",
        ),
    )
