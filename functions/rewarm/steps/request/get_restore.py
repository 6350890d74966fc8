"""GET /restores/{id}: the record, with the agent's progress as it is at this moment."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.domain.errors import RestoreNotFoundError
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.bucket import ANSWER_SECONDS, page_url
from rewarm.steps.record.records import FINISHED, events, name_and_index, plans


@dataclass(frozen=True, kw_only=True)
class GetRestorePorts:
    """The ports that get_restore needs."""

    table: RestoreTable
    artifacts: Artifacts


def get_restore(
    restore_id: str,
    ports: GetRestorePorts,
) -> JsonObject:
    """Returns the record of the restore and its volumes as JSON. Raises RestoreNotFoundError."""
    record = ports.table.get_whole(restore_id)
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
            volume["agent"] = _agent(volume, ports.artifacts)
        if "report" in volume:
            volume["report"] |= {"reportUrl": _url(volume["report"], ports.artifacts)}
    return {
        "restoreId": restore_id,
        **general,
        "plans": plans(record),
        "events": events(record),
        "reportUrl": _url(record, ports.artifacts),
        "volumes": [volumes[index] for index in sorted(volumes)],
    }


def _url(holder: JsonObject, artifacts: Artifacts) -> str | None:
    """A fresh link, for an hour at most."""
    return page_url(holder.get("pageKey"), artifacts, seconds=ANSWER_SECONDS)


def _agent(volume: JsonObject, artifacts: Artifacts) -> JsonObject | None:
    key = volume.get("command", {}).get("dispatch", {}).get("progressKey")
    return artifacts.get_json(key) if isinstance(key, str) else None
