"""Fast snapshot restore (EBS user guide, "Amazon EBS fast snapshot restore", "Volume creation credits").

Credits fill at MIN(10, 1024 / size in GiB) an hour into a bucket of MAX(1, MIN(10, 1024 / size)), from zero.
"""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, optional_stamp, refuse_dry_run
from local.aws.region.errors import ApiError, missing, not_together
from local.aws.region.faults import Faults
from local.aws.region.filters import Getter, keep_matching, page
from local.aws.region.operations import operation
from local.aws.region.resources import FastRestore, Snapshot
from local.aws.region.tables import Tables

USER = "Client.UserInitiated"
LIFECYCLE = "Client.UserInitiated - Lifecycle state transition"
ACTIVE = ("enabling", "optimizing", "enabled")
MAX_SNAPSHOTS_PER_CALL = 10
"""Known from the service's own refusal in public reports."""


class FastRestores:
    """Fast snapshot restore of every snapshot and zone."""

    def __init__(self, core: Core, tables: Tables, faults: Faults) -> None:
        self._core = core
        self._tables = tables
        self._faults = faults

    @operation("ec2", "EnableFastSnapshotRestores")
    def enable(self, params: Json) -> Json:
        """Enable for each snapshot and zone; what fails is listed in an answer that is still HTTP 200."""
        snapshot_ids, zones = self._pairs(params)
        refuse_dry_run(params)
        answer: Json = {"Successful": [], "Unsuccessful": []}
        for snapshot_id in snapshot_ids:
            self._enable_one(snapshot_id, zones, answer)
        return answer

    @operation("ec2", "DisableFastSnapshotRestores")
    def disable(self, params: Json) -> Json:
        """Disable for each snapshot and zone."""
        snapshot_ids, zones = self._pairs(params)
        refuse_dry_run(params)
        answer: Json = {"Successful": [], "Unsuccessful": []}
        for snapshot_id in snapshot_ids:
            errors = [error for zone in zones if (error := self._disable_one(snapshot_id, zone, answer))]
            if errors:
                answer["Unsuccessful"].append(
                    {"SnapshotId": snapshot_id, "FastSnapshotRestoreStateErrors": errors}
                )
        return answer

    @operation("ec2", "DescribeFastSnapshotRestores")
    def describe_fast_restores(self, params: Json) -> Json:
        """The state of every snapshot and zone that has, or had, fast snapshot restore."""
        refuse_dry_run(params)
        items = keep_matching(self._tables.fast_restores.values(), params.get("Filters"), self._filters())
        items, token = page(items, params, scope="fast-restores", low=0, high=200)
        return {"FastSnapshotRestores": [self._describe(item) for item in items], "NextToken": token}

    def use_credit(self, snapshot_id: str, zone: str) -> bool:
        """Whether a volume created now is fast, which costs a credit; below one credit it silently is not."""
        one = self._tables.fast_restores.get((snapshot_id, zone))
        if one is None or one.state != "enabled" or self.credits(one) < 1:
            return False
        one.credits, one.credits_at = self.credits(one) - 1, self._core.now()
        return True

    def credits(self, one: FastRestore) -> float:
        """The bucket's balance now."""
        if one.credits_at is None:
            return 0.0
        hours = max(0.0, self._core.now() - one.credits_at) / 3_600
        return min(bucket_size(one.snapshot), one.credits + hours * fill_per_hour(one.snapshot))

    def _enable_one(self, snapshot_id: str, zones: list[str], answer: Json) -> None:
        errors: list[Json] = []
        for zone in zones:
            refusal = self._refusal(snapshot_id)
            if refusal is not None:
                errors.append(self._error(zone, refusal))
            else:
                answer["Successful"].append(self._describe(self._begin(snapshot_id, zone)))
        if errors:
            answer["Unsuccessful"].append(
                {"SnapshotId": snapshot_id, "FastSnapshotRestoreStateErrors": errors}
            )

    def _refusal(self, snapshot_id: str) -> ApiError | None:
        settings = self._core.settings.fast_restore
        rule = self._faults.take("fast-restore:enable", {"SnapshotId": snapshot_id})
        if rule is not None:
            return rule.error()
        snapshot = self._tables.snapshots.get(snapshot_id)
        if snapshot is None:
            return ApiError("InvalidSnapshot.NotFound", f"The snapshot '{snapshot_id}' does not exist.")
        is_standard = snapshot.storage_tier == "standard" and not snapshot.is_local
        if not is_standard or snapshot.state not in ("completed", "pending"):
            return ApiError(settings.state_error_code, f"The snapshot '{snapshot_id}' is in an invalid state")
        if snapshot.size_gib > settings.max_snapshot_gib:
            return ApiError(
                "InvalidParameterValue", f"The snapshot is larger than {settings.max_snapshot_gib} GiB"
            )
        active = {
            fast_restore.snapshot.snapshot_id
            for fast_restore in self._tables.fast_restores.values()
            if fast_restore.state in ACTIVE
        }
        if snapshot_id not in active and len(active) >= self._core.settings.fast_restore_quota:
            quota = self._core.settings.fast_restore_quota
            return ApiError(
                settings.quota_error_code,
                f"The limit of {quota:g} snapshots for fast snapshot restore is reached",
            )
        return None

    def _begin(self, snapshot_id: str, zone: str) -> FastRestore:
        known = self._tables.fast_restores.get((snapshot_id, zone))
        if known is not None and known.state in ACTIVE:
            return known
        if known is not None:
            self._tables.past_fast_restores.append(known)
        one = FastRestore(self._tables.snapshots[snapshot_id], zone, self._core.now())
        self._tables.fast_restores[snapshot_id, zone] = one
        if self._core.settings.fast_restore.credits_start_at == "enabling":
            one.credits_at = one.enabling
        self._notify(one)
        self._core.at(
            one.enabling + self._core.settings.fast_restore.enabling_seconds,
            lambda due: self._optimize(one, due),
        )
        return one

    def _optimize(self, one: FastRestore, due: float) -> None:
        if one.state != "enabling":
            return
        if one.snapshot.state == "pending":
            self._core.at(due + 60, lambda later: self._optimize(one, later))
            return
        self._move(one, "optimizing", LIFECYCLE)
        one.optimizing = due
        seconds = self._core.settings.fast_restore.optimizing_seconds_per_tib * one.snapshot.size_gib / 1_024
        self._core.at(due + seconds, lambda later: self._enabled(one, later))

    def _enabled(self, one: FastRestore, due: float) -> None:
        if one.state != "optimizing":
            return
        self._move(one, "enabled", LIFECYCLE)
        one.enabled = due
        if one.credits_at is None:
            one.credits_at = due

    def _disable_one(self, snapshot_id: str, zone: str, answer: Json) -> Json | None:
        one = self._tables.fast_restores.get((snapshot_id, zone))
        if one is None or one.state not in ACTIVE:
            refusal = ApiError(
                self._core.settings.fast_restore.state_error_code,
                f"Fast snapshot restore is not enabled for '{snapshot_id}' in {zone}",
            )
            return self._error(zone, refusal)
        self.stop(one, USER)
        answer["Successful"].append(self._describe(one))
        return None

    def stop(self, one: FastRestore, reason: str) -> None:
        """Begin to disable: asked for, or because the snapshot left the standard tier."""
        one.disabling = self._core.now()
        self._move(one, "disabling", reason)
        self._core.at(
            one.disabling + self._core.settings.fast_restore.disabling_seconds,
            lambda due: self._disabled(one, due),
        )

    def _disabled(self, one: FastRestore, due: float) -> None:
        self._move(one, "disabled", LIFECYCLE)
        one.disabled, one.credits, one.credits_at = due, 0.0, None

    def _move(self, one: FastRestore, state: str, reason: str) -> None:
        one.state, one.reason = state, reason
        self._notify(one)

    def _notify(self, one: FastRestore) -> None:
        detail = {
            "snapshot-id": one.snapshot.snapshot_id,
            "state": one.state,
            "zone": one.zone,
            "message": one.reason,
        }
        arn = self._core.arn(f"snapshot/{one.snapshot.snapshot_id}", account=False)
        self._core.emit("EBS Fast Snapshot Restore State-change Notification", detail, [arn])

    def _error(self, zone: str, refusal: ApiError) -> Json:
        return {
            "AvailabilityZone": zone,
            "AvailabilityZoneId": self._core.settings.zone_id(zone),
            "Error": {"Code": refusal.code, "Message": refusal.message},
        }

    def _pairs(self, params: Json) -> tuple[list[str], list[str]]:
        names, ids = params.get("AvailabilityZones"), params.get("AvailabilityZoneIds")
        if names and ids:
            raise not_together("AvailabilityZones and AvailabilityZoneIds must not be specified together")
        if not names and not ids:
            raise missing("AvailabilityZones")
        snapshot_ids = list(dict.fromkeys(params["SourceSnapshotIds"]))
        if len(snapshot_ids) > MAX_SNAPSHOTS_PER_CALL:
            raise ApiError(
                "InvalidRequest",
                "Number of values of parameter SourceSnapshotIds must be less than or equal to 10.",
            )
        by_id = {self._core.settings.zone_id(zone): zone for zone in self._core.settings.zones}
        zones = [by_id.get(one, one) for one in ids or names or ()]
        for zone in zones:
            if zone not in self._core.settings.zones:
                raise ApiError("InvalidZone.NotFound", f"The zone '{zone}' does not exist.")
        return snapshot_ids, list(dict.fromkeys(zones))

    def _describe(self, one: FastRestore) -> Json:
        return {
            "SnapshotId": one.snapshot.snapshot_id,
            "AvailabilityZone": one.zone,
            "AvailabilityZoneId": self._core.settings.zone_id(one.zone),
            "State": one.state,
            "StateTransitionReason": one.reason,
            "OwnerId": self._core.settings.account_id,
            "EnablingTime": optional_stamp(one.enabling),
            "OptimizingTime": optional_stamp(one.optimizing),
            "EnabledTime": optional_stamp(one.enabled),
            "DisablingTime": optional_stamp(one.disabling),
            "DisabledTime": optional_stamp(one.disabled),
        }

    def _filters(self) -> dict[str, Getter[FastRestore]]:
        return {
            "availability-zone": lambda one: one.zone,
            "availability-zone-id": lambda one: self._core.settings.zone_id(one.zone),
            "owner-id": lambda _one: self._core.settings.account_id,
            "snapshot-id": lambda one: one.snapshot.snapshot_id,
            "state": lambda one: one.state,
        }


def fill_per_hour(snapshot: Snapshot) -> float:
    """Credits that come back in an hour."""
    return min(10.0, 1_024 / snapshot.size_gib)


def bucket_size(snapshot: Snapshot) -> float:
    """Credits that fit at once."""
    return max(1.0, fill_per_hour(snapshot))
