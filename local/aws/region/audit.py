"""What exists and what it has cost: the check that nothing is left running."""

from __future__ import annotations

import math
from collections.abc import Callable

from local import Json
from local.aws.region.account.prices import Prices
from local.aws.region.commands.commands import Commands
from local.aws.region.core import Core
from local.aws.region.resources import FastRestore, Volume, VolumePerformance
from local.aws.region.settings import GIB_BYTES
from local.aws.region.snapshots.fast_restore import ACTIVE
from local.aws.region.tables import Tables

HOUR_SECONDS = 3_600
MONTH_SECONDS = 30 * 24 * HOUR_SECONDS
"""AWS bills GB-months pro rata by the second; every month has 30 days here, whatever the date."""

FREE_GP3_IOPS = 3_000
FREE_GP3_MIB_S = 125


class Audit:
    """Inventory and meter of the Region."""

    def __init__(
        self,
        core: Core,
        tables: Tables,
        commands: Commands,
        direct_requests: Callable[[], dict[str, int]],
        prices: Prices,
    ) -> None:
        self._core = core
        self._tables = tables
        self._commands = commands
        self._direct_requests = direct_requests
        self._prices = prices

    def inventory(self) -> dict[str, list[str]]:
        """Everything that exists and costs money or holds something."""
        with self._core.transaction():
            volumes = [volume for volume in self._tables.volumes.values() if volume.state != "deleting"]
            return {
                "volumes": [volume.volume_id for volume in volumes],
                "attachments": [
                    f"{volume.volume_id}:{instance}" for volume in volumes for instance in volume.attachments
                ],
                "fastRestores": [
                    f"{fast_restore.snapshot.snapshot_id}:{fast_restore.zone}"
                    for fast_restore in self._tables.fast_restores.values()
                    if fast_restore.state in ACTIVE
                ],
                "commands": [
                    f"{one.command_id}:{one.instance.instance_id}" for one in self._commands.running()
                ],
            }

    def money(self) -> Json:
        """USD accrued until now, by item, and the sum."""
        with self._core.transaction():
            items = [row for volume in self._all_volumes() for row in self._volume(volume)]
            items += [self._fast_restore(fast_restore) for fast_restore in self._all_fast_restores()]
            items += [self._requests(*made) for made in self._direct_requests().items() if made[1]]
        return {"items": items, "totalUsd": sum(row["usd"] for row in items)}

    def _requests(self, operation: str, count: int) -> Json:
        """Requests of the EBS direct APIs."""
        kind = "Get" if operation.startswith("Get") else "List"
        usd = count * self._prices.usd(f"EBS:directAPI.snapshot.{kind}")
        return _item(operation, "requests", usd, f"{count} request{'' if count == 1 else 's'}")

    def _all_volumes(self) -> list[Volume]:
        return [*self._tables.gone_volumes.values(), *self._tables.volumes.values()]

    def _all_fast_restores(self) -> list[FastRestore]:
        return [*self._tables.past_fast_restores, *self._tables.fast_restores.values()]

    def _volume(self, volume: Volume) -> list[Json]:
        if volume.active_time is None:
            return []
        end = volume.delete_time if volume.delete_time is not None else self._core.now()
        rows = self._settings_over_time(volume, end)
        if volume.rate_mib_s is not None and volume.snapshot is not None:
            usd = (
                self._prices.initialization_usd()
                * volume.rate_mib_s
                * volume.snapshot.written_bytes
                / GIB_BYTES
            )
            rows.append(_item(volume.volume_id, "initialization-rate", usd, f"{volume.rate_mib_s} MiB/s"))
        return rows

    def _settings_over_time(self, volume: Volume, end: float) -> list[Json]:
        """What the volume costs as it is now, and what it cost more than that (or less) as it was before."""
        *earlier, (since, present) = billed_settings(volume)
        month_usd = self._storage_usd(present)
        rows = [_item(volume.volume_id, "storage", month_usd * (end - volume.create_time) / MONTH_SECONDS)]
        ends = [*(start for start, _ in earlier), since][1:]
        for (start, chosen), until in zip(earlier, ends, strict=True):
            usd = (self._storage_usd(chosen) - month_usd) * (until - start) / MONTH_SECONDS
            note = f"{_in_words(chosen)} for {(until - start) / 60:.1f} min"
            rows.append(_item(volume.volume_id, "earlier-settings", usd, note))
        return rows

    def _storage_usd(self, chosen: VolumePerformance) -> float:
        """USD a month for size, IOPS and throughput."""
        usage = {"io1": "piops", "standard": "gp2"}.get(chosen.volume_type, chosen.volume_type)
        usd = chosen.size_gib * self._prices.usd(f"EBS:VolumeUsage.{usage}")
        if chosen.volume_type == "gp3":
            usd += max(0, (chosen.iops or 0) - FREE_GP3_IOPS) * self._prices.usd("EBS:VolumeP-IOPS.gp3")
            over_mib_s = max(0, (chosen.throughput_mib_s or 0) - FREE_GP3_MIB_S)
            usd += over_mib_s / 1_024 * self._prices.usd("EBS:VolumeP-Throughput.gp3")
        elif chosen.volume_type in ("io1", "io2"):
            usd += (chosen.iops or 0) * self._prices.usd(f"EBS:VolumeP-IOPS.{usage}")
        return usd

    def _fast_restore(self, one: FastRestore) -> Json:
        """Billed by the minute, one hour at least."""
        start = (
            one.enabling if self._core.settings.fast_restore.billing_starts_at == "enabling" else one.enabled
        )
        name = f"{one.snapshot.snapshot_id}:{one.zone}"
        if start is None:
            return _item(name, "fast-restore", 0.0, "not yet enabled")
        end = one.disabling if one.disabling is not None else self._core.now()
        hours = max(1.0, math.ceil((end - start) / 60) / 60)
        return _item(
            name, "fast-restore", hours * self._prices.usd("EBS:FastSnapshotRestore"), f"{hours:.2f} hours"
        )


def billed_settings(volume: Volume) -> list[tuple[float, VolumePerformance]]:
    """Since when which settings are billed.

    EBS user guide, "Modify an Amazon EBS volume": "You are charged for the new volume configuration after
    volume modification starts."
    """
    changes = [modification for modification in volume.modifications if modification.state != "failed"]
    first = changes[0].original if changes else volume.performance
    return [(volume.create_time, first), *((change.start, change.target) for change in changes)]


def _in_words(chosen: VolumePerformance) -> str:
    parts = [chosen.volume_type, f"{chosen.size_gib} GiB"]
    parts += [f"{chosen.iops:,} IOPS"] if chosen.iops is not None else []
    parts += [f"{chosen.throughput_mib_s:,} MiB/s"] if chosen.throughput_mib_s is not None else []
    return ", ".join(parts)


def _item(resource: str, kind: str, usd: float, note: str = "") -> Json:
    return {"resource": resource, "kind": kind, "usd": usd, "note": note}
