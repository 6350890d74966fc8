"""What a restore must not harm: volumes that are not its own, data that is in use, and who waits for news.

The auditor counts what is left; here is what is missing: a volume that should be there, in its place or with
its settings, and a message that should have been sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from local import Json
from local.aws.region.audit import billed_settings
from local.aws.region.resources import Volume
from local.soak.audit.outside import OutsideHandsAudit
from local.soak.lab.endings import RESTORE, stopped_when_ready
from rewarm.adapters.table.table_items import from_item
from rewarm.domain.volume.leftovers import DRILL_TAG
from rewarm.domain.volume.performance import PerformanceSettings
from rewarm.domain.volume.replacing import REPLACED_STACK_TAG, REPLACED_TAG, place_of
from rewarm.steps.record.restore import FINISHED, Status

ENDED_BADLY = frozenset({"FAILED", "ABORTED", "TIMED_OUT"})
_ENTRY, _RUNNING = "restore:", "running#"
_OWN, _OF_VOLUME = "restore#", "restore-volume#"


class CollateralDamage:
    """Looks at a lab once its restores are over."""

    def __init__(self, lab: Any) -> None:
        self._lab = lab
        self._outside = OutsideHandsAudit(lab)
        rows = [from_item(row) for row in _rows(lab)]
        self._records = {row["pk"].partition("#")[2]: row for row in rows if row["pk"].startswith(_OWN)}
        self._boosts = [row.get("boost") for row in rows if row["pk"].startswith(_OF_VOLUME)]
        self._shards = [row for row in rows if row["pk"].startswith(_RUNNING)]

    def findings(self) -> list[str]:
        """Everything that is amiss."""
        return [*self._deleted(), *self._out_of_place(), *self._boosted(), *self._noted(), *self._untold()]

    def _deleted(self) -> Iterator[str]:
        announced = {
            record[name]["volumeId"]
            for record in self._records.values()
            for name in record
            if name.startswith("attached") and isinstance(record[name], dict)
        }
        gone, used = self._lab.region._tables.gone_volumes, self._lab.data_plane.deleted
        for name in sorted(self._lab.removals.volume_ids & gone.keys()):
            tags = gone[name].tags
            is_own = "rewarm:restore-id" in tags or self._outside.is_untagged(name)
            if not is_own or REPLACED_TAG in tags:
                yield f"volume {name} is not a restore's own and was deleted"
            elif DRILL_TAG in tags:
                continue  # nobody keeps anything on it
            elif name in announced:
                yield f"volume {name} had been announced as usable and was deleted"
            elif name in used and used[name].counters.write_ops:
                yield f"volume {name} was deleted with what somebody had written to it"

    def _out_of_place(self) -> Iterator[str]:
        for volume in self._volumes():
            place = place_of(volume.tags)
            if REPLACED_STACK_TAG not in volume.tags or place is None:
                continue
            if self._outside.is_copy(volume.volume_id):
                continue
            record = self._records.get(volume.tags.get(REPLACED_TAG, ""), {})
            if self._outside.is_lost(volume.tags.get(REPLACED_TAG, "")):
                continue
            if self._outside.is_told_out_of_place(volume.volume_id, place.in_words):
                continue
            if not record.get(f"settled{place.index}"):
                yield f"volume {volume.volume_id} was replaced and is not back in its place, {place.in_words}"

    def _boosted(self) -> Iterator[str]:
        for boost in self._boosts:
            volume = self._volume(boost)
            if boost is None or volume is None or self._outside.is_told_boosted(volume.volume_id):
                continue
            _, now = billed_settings(volume)[-1]
            found = PerformanceSettings(now.volume_type, now.iops, now.throughput_mib_s)
            if not _parts(boost["target"]) <= _parts(found.in_words) | _parts(found.as_text):
                yield f"volume {volume.volume_id} still has its boost: it is {found.in_words}"

    def _noted(self) -> Iterator[str]:
        for row in self._shards:
            for name in row:
                if name.startswith(_ENTRY) and not self._runs(name.removeprefix(_ENTRY)):
                    yield f"{name.removeprefix(_ENTRY)} is still noted as running"

    def _untold(self) -> Iterator[str]:
        """The record of a restore that ended badly says so, and when its message was sent."""
        for execution in self._lab.executions(RESTORE):
            record = self._records.get(execution.name, {})
            if execution.status not in ENDED_BADLY:
                continue
            if stopped_when_ready(execution, record):
                if record.get("status") != Status.READY:
                    yield f"{execution.name} was ready when it was stopped, and is {record.get('status')}"
            elif record.get("status") not in FINISHED or not record.get("toldAt"):
                yield f"{execution.name} is {record.get('status')} in its record, and nobody was told its end"

    def _volumes(self) -> list[Volume]:
        return [volume for volume in self._lab.region._tables.volumes.values() if volume.state != "deleting"]

    def _volume(self, boost: Any) -> Volume | None:
        name = boost.get("volumeId") if isinstance(boost, dict) else None
        found: Volume | None = self._lab.region._tables.volumes.get(name)
        return found if found is not None and found.state != "deleting" else None

    def _runs(self, restore_id: str) -> bool:
        return any(
            execution.name == restore_id and execution.status == "RUNNING"
            for execution in self._lab.executions(RESTORE)
        )


def _parts(target: str) -> set[str]:
    """Of a record's target, in words or as its tag has it; a setting that is not named may be anything."""
    return set(re.split(r" with | and | (?=iops=|throughput)", target))


def _rows(lab: Any) -> list[Json]:
    return list(lab.table("RestoresTable").items())
