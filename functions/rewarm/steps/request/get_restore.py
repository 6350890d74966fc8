"""GET /restores/{id}: the record, with the agent's progress as it is at this moment."""

from __future__ import annotations

from rewarm.domain.errors import RestoreNotFoundError
from rewarm.ports import Artifacts, JsonObject, RestoreTable
from rewarm.steps.record.bucket import ANSWER_SECONDS, page_url
from rewarm.steps.record.records import FINISHED, events, name_and_index, plans


def get_restore(restore_id: str, *, table: RestoreTable, artifacts: Artifacts) -> JsonObject:
    """Raises RestoreNotFoundError."""
    record = table.get_whole(restore_id)
    if record is None:
        raise RestoreNotFoundError(f"there is no restore {restore_id}")
    general: JsonObject = {}
    volumes: dict[int, JsonObject] = {}
    for name, value in record.items():
        concern, index = name_and_index(name)
        if index is None:
            general[name] = value
        elif concern != "plan" and isinstance(value, dict):
            volumes.setdefault(index, {"index": index})[concern] = value
    live = record.get("status") not in FINISHED
    for volume in volumes.values():
        if live:
            volume["agent"] = _agent(volume, artifacts)
        if "report" in volume:
            volume["report"] |= {"reportUrl": _url(volume["report"], artifacts)}
    return {
        "restoreId": restore_id,
        **general,
        "plans": plans(record),
        "events": events(record),
        "reportUrl": _url(record, artifacts),
        "volumes": [volumes[index] for index in sorted(volumes)],
    }


def _url(holder: JsonObject, artifacts: Artifacts) -> str | None:
    """A fresh link, for an hour at most."""
    return page_url(holder.get("pageKey"), artifacts, seconds=ANSWER_SECONDS)


def _agent(volume: JsonObject, artifacts: Artifacts) -> JsonObject | None:
    key = volume.get("command", {}).get("dispatch", {}).get("progressKey")
    return artifacts.get_json(key) if isinstance(key, str) else None
