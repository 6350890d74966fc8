"""GET /hot-sets, GET and DELETE /hot-sets/{lineage}: recordings of reads, and the hot sets made of them."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby

from rewarm.contracts.answers import DeletedHotSet, HotSetAnswer, HotSetLine, HotSetList, RecordingLine
from rewarm.domain.errors import HotSetNotFoundError
from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.units import shown
from rewarm.domain.value import Value
from rewarm.domain.volume.hot import KEPT, MOST_BYTES, Recording, hot_set, read_recording
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts, UndoLogs
from rewarm.steps.record.bucket import RECORDINGS, recording_of, recordings_prefix


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
        newest, size = max(found[1] for found, _ in kept), sum(one.size_bytes for _, one in kept)
        lines.append(HotSetLine(lineage=lineage, recordings=len(kept), newest_at=newest, bytes=size))
    return HotSetList(hot_sets=lines).to_json()


def get_hot_set(lineage: str, ports: HotSetPorts) -> JsonObject:
    """Returns the newest recordings, and how large their hot set is at most. Raises HotSetNotFoundError."""
    keys = sorted(ports.artifacts.written(recordings_prefix(lineage), most=KEPT))[:KEPT]
    texts = {key: ports.artifacts.get_text(key, most_bytes=MOST_BYTES) for key in keys}
    lines = [_line(place, text) for key, text in texts.items() if (place := recording_of(key))]
    if not lines:
        raise HotSetNotFoundError(f"there is no recording of {shown(lineage)}", field="lineage")
    sizes = [line.volume_bytes for line in lines if line.volume_bytes is not None]
    hot = hot_set(texts.items(), sizes[:1], max(sizes[:1], default=0) // BLOCK_BYTES)
    return HotSetAnswer(lineage=lineage, blocks=len(hot.blocks), bytes=hot.bytes, recordings=lines).to_json()


def _line(place: tuple[str, datetime, str, int], text: str | None) -> RecordingLine:
    found: Recording | None = None
    problem = None
    try:
        found = read_recording(text)
    except ValueError as error:
        problem = str(error)
    _, began_at, restore_id, index = place
    return RecordingLine(
        restore_id=restore_id,
        index=index,
        began_at=began_at,
        volume_bytes=found and found.volume_bytes,
        seconds=found and found.seconds,
        blocks=found and len(found.blocks),
        complete=found is not None and found.is_complete,
        left_out_because=problem,
    )


def delete_hot_set(lineage: str, ports: HotSetPorts) -> JsonObject:
    """Deletes every recording of the lineage. Raises HotSetNotFoundError."""
    keys = [found.key for found in ports.logs.objects(recordings_prefix(lineage))]
    if not keys:
        raise HotSetNotFoundError(f"there is no recording of {shown(lineage)}", field="lineage")
    return DeletedHotSet(lineage=lineage, deleted_objects=ports.logs.delete(keys)).to_json()
