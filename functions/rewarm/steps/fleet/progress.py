"""The progress of a fleet: its volumes are in the bucket, their states in the records of its restores.

One call reads a hundred records, so ten thousand volumes need a hundred calls at most.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from rewarm.contracts.fleets import FleetAccount, SlowRestoreOfFleet
from rewarm.contracts.request import Notify
from rewarm.domain.fleets import (
    MOST_SHOWN,
    NOT_BEGUN,
    FleetProgress,
    FleetVolume,
    RestoreStanding,
    progress_of,
)
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.bucket import fleet_request_key, fleet_volumes_key
from rewarm.steps.record.restore import FINISHED, billed_of_restores, standings

MOST_BYTES = 100 * 1024 * 1024
"""Far more than the object of ten thousand volumes, which has some megabytes."""
ENDED = frozenset(str(status) for status in FINISHED)


def keep_volumes(fleet_id: str, run: int, volumes: Sequence[FleetVolume], artifacts: Artifacts) -> None:
    """Writes the restore of each volume as of this run."""
    entries = [{"item": each.item, "restoreId": each.restore_id, "index": each.index} for each in volumes]
    artifacts.put_json(fleet_volumes_key(fleet_id), {"run": run, "volumes": entries})


def kept_volumes(fleet_id: str, artifacts: Artifacts) -> tuple[int, list[FleetVolume]]:
    """The latest run that wrote volumes, and the volumes; 0 and none before the first run."""
    kept = read_json(fleet_volumes_key(fleet_id), artifacts)
    entries = kept.get("volumes", [])
    return int(kept.get("run", 0)), [
        FleetVolume(entry["item"], entry["restoreId"], entry["index"]) for entry in entries
    ]


def read_json(key: str, artifacts: Artifacts) -> JsonObject:
    """The object, even if it is large; empty if there is none."""
    text = artifacts.get_text(key, most_bytes=MOST_BYTES)
    value: Any = json.loads(text) if text is not None else {}
    return value if isinstance(value, dict) else {}


def notify_of(fleet_id: str, artifacts: Artifacts) -> Notify:
    """Who gets the fleet's messages; everybody if its request cannot be read."""
    asked = read_json(fleet_request_key(fleet_id), artifacts).get("notify")
    with suppress(ValueError):
        return Notify.model_validate(asked or {})
    return Notify()


def progress(
    volumes: Sequence[FleetVolume], *, table: RestoreTable, since: datetime, now: datetime, before: int = 0
) -> FleetProgress:
    """The progress of these volumes of a fleet; see progress_of."""
    restores = _standings(volumes, table)
    return progress_of(volumes, restores, ended=ENDED, since=since, now=now, before=before)


def states_of(volumes: Sequence[FleetVolume], table: RestoreTable) -> list[tuple[FleetVolume, str]]:
    """Each volume with its state."""
    found = _standings(volumes, table)
    return [
        (volume, found.get(volume.restore_id, NOT_BEGUN).state_of(volume.index, ended=ENDED))
        for volume in volumes
    ]


def billed_usd(restore_ids: Iterable[str], table: RestoreTable) -> Decimal | None:
    """What these restores have cost; None if that is not known of a restore that began."""
    sums = billed_of_restores(list(restore_ids), table)
    return None if None in sums else sum((usd for usd in sums if usd is not None), Decimal(0))


def _standings(volumes: Sequence[FleetVolume], table: RestoreTable) -> dict[str, RestoreStanding]:
    restore_ids = list(dict.fromkeys(volume.restore_id for volume in volumes))
    most = 1 + max((volume.index for volume in volumes), default=0)
    return standings(restore_ids, most, table)


def account_of(found: FleetProgress, *, most: int | None = MOST_SHOWN) -> FleetAccount:
    """The progress as JSON, with the first failed volumes, or all of them for a report."""
    return FleetAccount(
        volume_count=found.volume_count,
        counts=dict(found.counts),
        eta=found.eta,
        slowest=[SlowRestoreOfFleet(**asdict(restore)) for restore in found.slowest],
        failed=list(found.failed[:most]),
    )
