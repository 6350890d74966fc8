"""How far a fleet is: its volumes are in the bucket, and what became of them in the records of its restores.

A record is read in parts of a hundred, so ten thousand volumes cost a hundred calls at most.
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
"""Ten thousand volumes have some megabytes."""
ENDED = frozenset(str(status) for status in FINISHED)


def keep_volumes(fleet_id: str, run: int, volumes: Sequence[FleetVolume], artifacts: Artifacts) -> None:
    """Writes which volume is restored by which restore, as of this run."""
    entries = [{"item": one.item, "restoreId": one.restore_id, "index": one.index} for one in volumes]
    artifacts.put_json(fleet_volumes_key(fleet_id), {"run": run, "volumes": entries})


def kept_volumes(fleet_id: str, artifacts: Artifacts) -> tuple[int, list[FleetVolume]]:
    """The run that wrote them last, and the volumes; 0 and none before the first run has."""
    kept = read_json(fleet_volumes_key(fleet_id), artifacts)
    volumes = [FleetVolume(one["item"], one["restoreId"], one["index"]) for one in kept.get("volumes", [])]
    return int(kept.get("run", 0)), volumes


def read_json(key: str, artifacts: Artifacts) -> JsonObject:
    """The object, whatever its size; empty where there is none."""
    text = artifacts.get_text(key, most_bytes=MOST_BYTES)
    value: Any = json.loads(text) if text is not None else {}
    return value if isinstance(value, dict) else {}


def notify_of(fleet_id: str, artifacts: Artifacts) -> Notify:
    """Who gets the fleet's messages; everybody where its request cannot be read."""
    asked = read_json(fleet_request_key(fleet_id), artifacts).get("notify")
    with suppress(ValueError):
        return Notify.model_validate(asked or {})
    return Notify()


def progress(
    volumes: Sequence[FleetVolume], *, table: RestoreTable, since: datetime, now: datetime, before: int = 0
) -> FleetProgress:
    """How far these volumes of a fleet are; see progress_of."""
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
    """What these restores have come to; None where it is not known of one that began."""
    sums = billed_of_restores(list(restore_ids), table)
    return None if None in sums else sum((usd for usd in sums if usd is not None), Decimal(0))


def _standings(volumes: Sequence[FleetVolume], table: RestoreTable) -> dict[str, RestoreStanding]:
    restore_ids = list(dict.fromkeys(volume.restore_id for volume in volumes))
    most = 1 + max((volume.index for volume in volumes), default=0)
    return standings(restore_ids, most, table)


def account_of(found: FleetProgress, *, most: int | None = MOST_SHOWN) -> FleetAccount:
    """The progress as JSON; of the failed volumes the first ones, or all for a report."""
    return FleetAccount(
        volume_count=found.volume_count,
        counts=dict(found.counts),
        eta=found.eta,
        slowest=[SlowRestoreOfFleet(**asdict(one)) for one in found.slowest],
        failed=list(found.failed[:most]),
    )
