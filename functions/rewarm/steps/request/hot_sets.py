"""GET /hot-sets, GET and DELETE /hot-sets/{lineage}: recordings of reads, and the hot sets made of them."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby

from rewarm.contracts.answers import DeletedHotSet, HotSetAnswer, HotSetLine, HotSetList, RecordingLine
from rewarm.domain.errors import HotSetNotFoundError
from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.units import shown
from rewarm.domain.value import Value
from rewarm.domain.volume.hot import Recording, made_of, read_recording
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts, UndoLogs
from rewarm.steps.record.bucket import RECORDINGS, recording_of, recordings_prefix
from rewarm.steps.record.recordings import newest_recordings


class HotSetPorts(Value, kw_only=True):
    """The ports that hot sets need; any objects of the bucket can be listed and deleted as logs are."""

    logs: UndoLogs
    artifacts: Artifacts


def list_hot_sets(ports: HotSetPorts) -> JsonObject:
    """Returns which lineages have recordings, how many, and since when."""
    named = [(found, kept) for kept in ports.logs.objects(RECORDINGS) if (found := recording_of(kept.key))]
    lines = []
    for lineage, group in groupby(named, key=lambda pair: pair[0][0]):
        kept = list(group)
        newest = max(found[1] for found, _ in kept)
        size = sum(entry.size_bytes for _, entry in kept)
        lines.append(HotSetLine(lineage=lineage, recordings=len(kept), newest_at=newest, bytes=size))
    return HotSetList(hot_sets=lines).to_json()


def get_hot_set(lineage: str, ports: HotSetPorts) -> JsonObject:
    """Returns the newest recordings, and how large their hot set is at most. Raises HotSetNotFoundError."""
    found = [
        (place, _read(text, place[4]))
        for key, text in newest_recordings(lineage, ports.artifacts)
        if (place := recording_of(key))
    ]
    if not found:
        raise HotSetNotFoundError(f"there is no recording of {shown(lineage)}", field="lineage")
    recordings = [each for _, each in found if isinstance(each, Recording)]
    size = recordings[0].volume_bytes if recordings else 0
    alike = [each for each in recordings if each.volume_bytes == size]
    hot = made_of(alike, size // BLOCK_BYTES)
    lines = [_line(place, each) for place, each in found]
    return HotSetAnswer(lineage=lineage, blocks=hot.block_count, bytes=hot.bytes, recordings=lines).to_json()


def _read(text: str | None, volume_id: str | None) -> Recording | str:
    """The recording, or why it is left out."""
    try:
        return read_recording(text, volume_id)
    except ValueError as error:
        return str(error)


def _line(place: tuple[str, datetime, str, int, str | None], recording: Recording | str) -> RecordingLine:
    found = recording if isinstance(recording, Recording) else None
    _, began_at, restore_id, index, _ = place
    return RecordingLine(
        restore_id=restore_id,
        index=index,
        began_at=began_at,
        volume_bytes=found and found.volume_bytes,
        seconds=found and found.seconds,
        blocks=found and len(found.blocks),
        complete=found is not None and found.is_complete,
        left_out_because=None if isinstance(recording, Recording) else recording,
    )


def delete_hot_set(lineage: str, ports: HotSetPorts) -> JsonObject:
    """Deletes every recording of the lineage. Raises HotSetNotFoundError."""
    keys = [found.key for found in ports.logs.objects(recordings_prefix(lineage))]
    if not keys:
        raise HotSetNotFoundError(f"there is no recording of {shown(lineage)}", field="lineage")
    return DeletedHotSet(lineage=lineage, deleted_objects=ports.logs.delete(keys)).to_json()
