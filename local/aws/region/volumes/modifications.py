"""ModifyVolume and DescribeVolumesModifications (botocore; EBS user guide, "Modify an Amazon EBS volume")."""

from __future__ import annotations

from local import Json
from local.aws.region.account.trail import Trail
from local.aws.region.core import Core, optional_stamp, refuse_dry_run, request_id, stamp
from local.aws.region.errors import ApiError, invalid, missing
from local.aws.region.faults import Faults
from local.aws.region.filters import Getter, keep_matching, page
from local.aws.region.operations import operation
from local.aws.region.resources import Modification, Volume, VolumePerformance
from local.aws.region.tables import Tables
from local.aws.region.volumes.cards import Cards
from local.aws.region.volumes.volume_types import VOLUME_TYPES, choose

DAY_SECONDS = 86_400


class Modifications:
    """Changes of size, type and performance of volumes that live on."""

    def __init__(self, core: Core, tables: Tables, faults: Faults, trail: Trail, cards: Cards) -> None:
        self._core = core
        self._tables = tables
        self._faults = faults
        self._trail = trail
        self._cards = cards

    @operation("ec2", "ModifyVolume")
    def modify_volume(self, params: Json) -> Json:
        """Change a volume; one change at a time and four in a rolling day."""
        try:
            answer = self._modify(params)
        except ApiError as error:
            self._trail.note("ModifyVolume", params, f"Client.{error.code}")
            raise
        self._trail.note("ModifyVolume", params)
        return answer

    def _modify(self, params: Json) -> Json:
        volume = self._tables.volume(params["VolumeId"])
        target = _target(params, volume.performance)
        self._check(volume, target)
        refuse_dry_run(params)
        one = Modification(volume.volume_id, volume.performance, target, self._core.now())
        volume.modifications.append(one)
        due = one.start + self._core.settings.volume.modifying_seconds
        self._core.at(due, lambda instant: self._optimize(volume, one, instant))
        return {"VolumeModification": self._describe(one)}

    @operation("ec2", "DescribeVolumesModifications")
    def describe_volumes_modifications(self, params: Json) -> Json:
        """The latest change of each volume that was ever changed."""
        refuse_dry_run(params)
        wanted = params.get("VolumeIds")
        volumes = (
            [self._tables.volume(one) for one in wanted] if wanted else list(self._tables.volumes.values())
        )
        for volume in volumes:
            if wanted and not volume.modifications:
                raise ApiError(
                    "InvalidVolumeModification.NotFound",
                    f"Modification for volume '{volume.volume_id}' does not exist.",
                )
        latest = [volume.modifications[-1] for volume in volumes if volume.modifications]
        items = keep_matching(latest, params.get("Filters"), _FILTERS)
        items, token = page(items, params, scope="modifications", high=500)
        return {"VolumesModifications": [self._describe(item) for item in items], "NextToken": token}

    def _check(self, volume: Volume, target: VolumePerformance) -> None:
        if volume.state not in ("available", "in-use"):
            raise ApiError("IncorrectState", f"The volume '{volume.volume_id}' is '{volume.state}'")
        if target.size_gib < volume.size_gib:
            raise invalid(f"New size cannot be smaller than existing size of {volume.size_gib} GiB")
        if volume.modifications and volume.modifications[-1].end is None:
            raise ApiError(
                "IncorrectModificationState",
                f"Cannot modify volume {volume.volume_id} in modification state "
                f"{volume.modifications[-1].state.upper()}",
            )
        self._check_rate(volume)

    def _check_rate(self, volume: Volume) -> None:
        limit, pause = (
            self._core.settings.volume.modifications_per_day,
            self._core.settings.volume.modification_pause_seconds,
        )
        if volume.modifications and self._core.now() < (free := volume.modifications[-1].start + pause):
            raise ApiError(
                "VolumeModificationRateExceeded",
                f"You've reached the maximum modification rate per volume limit. Wait until "
                f"{stamp(free).isoformat()}",
            )
        recent = [
            modification.start
            for modification in volume.modifications
            if modification.start > self._core.now() - DAY_SECONDS
        ]
        if len(recent) >= limit:
            again = stamp(recent[-limit] + DAY_SECONDS).isoformat()
            raise ApiError(
                "VolumeModificationRateExceeded",
                f"You've reached the maximum modification rate per volume limit. Wait until {again}",
            )

    def _optimize(self, volume: Volume, one: Modification, due: float) -> None:
        if volume.volume_id not in self._tables.volumes:
            return
        if self._faults.take("volume:modification", effects=("volume-error",)) is not None:
            one.state, one.end = "failed", due
            self._notify(volume, "failed")
            return
        volume.performance = one.target
        one.state, one.optimizing_start = "optimizing", due
        one.optimizing_seconds = (
            self._core.settings.volume.optimizing_seconds_per_tib * one.target.size_gib / 1_024
        )
        self._cards.share(volume)
        self._notify(volume, "optimizing")
        self._core.at(due + one.optimizing_seconds, lambda later: self._complete(volume, one, later))

    def _complete(self, volume: Volume, one: Modification, due: float) -> None:
        one.state, one.end = "completed", due
        self._notify(volume, "completed")

    def _notify(self, volume: Volume, result: str) -> None:
        detail = {"result": result, "cause": "", "event": "modifyVolume", "request-id": request_id()}
        self._core.emit("EBS Volume Notification", detail, [self._core.arn(f"volume/{volume.volume_id}")])

    def _describe(self, one: Modification) -> Json:
        return {
            "VolumeId": one.volume_id,
            "ModificationState": one.state,
            **_prefixed("Target", one.target),
            **_prefixed("Original", one.original),
            "Progress": self._progress(one),
            "StartTime": stamp(one.start),
            "EndTime": optional_stamp(one.end),
        }

    def _progress(self, one: Modification) -> int:
        if one.end is not None:
            return 100
        if one.optimizing_start is None or one.optimizing_seconds <= 0:
            return 0
        return min(99, int(100 * (self._core.now() - one.optimizing_start) / one.optimizing_seconds))


def _target(params: Json, now: VolumePerformance) -> VolumePerformance:
    """What is asked for; what is not named stays, or takes the new type's default."""
    if not any(
        params.get(key) is not None
        for key in ("Size", "VolumeType", "Iops", "Throughput", "MultiAttachEnabled")
    ):
        raise missing("size, volumeType, iops, throughput or multiAttachEnabled")
    name = params.get("VolumeType") or now.volume_type
    kind = VOLUME_TYPES.get(name)
    keeps = name == now.volume_type and kind is not None
    iops, throughput = params.get("Iops"), params.get("Throughput")
    if iops is None and keeps and kind is not None and kind.chosen_iops:
        iops = now.iops
    elif iops is None and kind is not None and kind.chosen_iops:
        iops = 3_000  # botocore, ModifyVolume: the default when the type becomes io1, io2 or gp3
    if throughput is None and keeps:
        throughput = now.throughput_mib_s
    multi_attach = params.get("MultiAttachEnabled")
    return choose(
        name,
        params.get("Size") or now.size_gib,
        iops,
        throughput,
        multi_attach=now.multi_attach if multi_attach is None else multi_attach,
    )


def _prefixed(prefix: str, chosen: VolumePerformance) -> Json:
    return {
        f"{prefix}Size": chosen.size_gib,
        f"{prefix}VolumeType": chosen.volume_type,
        f"{prefix}Iops": chosen.iops,
        f"{prefix}Throughput": chosen.throughput_mib_s,
        f"{prefix}MultiAttachEnabled": chosen.multi_attach,
    }


_FILTERS: dict[str, Getter[Modification]] = {
    "modification-state": lambda one: one.state,
    "original-iops": lambda one: one.original.iops,
    "original-size": lambda one: one.original.size_gib,
    "original-volume-type": lambda one: one.original.volume_type,
    "originalMultiAttachEnabled": lambda one: one.original.multi_attach,
    "start-time": lambda one: stamp(one.start),
    "target-iops": lambda one: one.target.iops,
    "target-size": lambda one: one.target.size_gib,
    "target-volume-type": lambda one: one.target.volume_type,
    "targetMultiAttachEnabled": lambda one: one.target.multi_attach,
    "volume-id": lambda one: one.volume_id,
}
