"""Reads a CreateVolume request: what EC2 refuses, and what the volume will be."""

from __future__ import annotations

from typing import Any

from local import Json
from local.aws.machines.dataplane import VolumeLimits
from local.aws.region.core import Core, new_id
from local.aws.region.errors import ApiError, invalid, missing, not_together
from local.aws.region.resources import Snapshot, Volume, VolumePerformance
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_types import choose, limits_now, lowest

DEFAULT_TYPE = "gp2"
"""botocore, CreateVolume: "Default: gp2"."""

COPY_BASELINE = VolumeLimits(3_000, 125)
"""EBS user guide, "Copy an Amazon EBS volume": performance of a copy that is being initialised, at most."""

RATES_MIB_S = (100, 300)
"""botocore, CreateVolume: VolumeInitializationRate is 100 to 300 MiB/s."""


def build(params: Json, core: Core, tables: Tables) -> Volume:
    """The volume that the request asks for, not yet in the Region."""
    zone = zone_of(params, core)
    snapshot = _snapshot(params, tables)
    size_gib = _size(params, snapshot)
    performance = _performance(params, size_gib)
    encrypted, key = _encryption(params, snapshot, core)
    return Volume(
        volume_id=new_id("vol"),
        zone=zone,
        performance=performance,
        create_time=core.now(),
        encrypted=encrypted,
        kms_key_id=key,
        snapshot=snapshot,
        rate_mib_s=_rate(params, snapshot),
        tags=tags_for(params.get("TagSpecifications"), "volume"),
    )


def build_copy(params: Json, source: Volume, core: Core) -> Volume:
    """The volume that a CopyVolumes request asks for (EBS user guide, "Copy an Amazon EBS volume")."""
    size_gib = params.get("Size") or source.size_gib
    if size_gib < source.size_gib:
        raise invalid(f"Size {size_gib} is smaller than the source volume: {source.size_gib} GiB")
    performance = _performance(params, size_gib)
    key = params.get("KmsKeyId") or source.kms_key_id
    encrypted = bool(source.encrypted or params.get("Encrypted") or params.get("KmsKeyId"))
    return Volume(
        volume_id=new_id("vol"),
        zone=source.zone,
        performance=performance,
        create_time=core.now(),
        encrypted=encrypted,
        kms_key_id=key_arn(key or "alias/aws/ebs", core) if encrypted else None,
        source=source,
        copied_bytes=source.written_bytes,
        copy_ceiling=lowest(COPY_BASELINE, limits_now(source)),
        tags=tags_for(params.get("TagSpecifications"), "volume"),
    )


def _performance(params: Json, size_gib: int) -> VolumePerformance:
    return choose(
        params.get("VolumeType") or DEFAULT_TYPE,
        size_gib,
        params.get("Iops"),
        params.get("Throughput"),
        multi_attach=bool(params.get("MultiAttachEnabled")),
    )


def zone_of(params: Json, core: Core) -> str:
    """The one zone that the request names, by name or by id."""
    name, zone_id = params.get("AvailabilityZone"), params.get("AvailabilityZoneId")
    if bool(name) == bool(zone_id):
        if name:
            raise not_together("AvailabilityZone and AvailabilityZoneId must not be specified together")
        raise missing("AvailabilityZone")
    for zone in core.settings.zones:
        if zone == name or core.settings.zone_id(zone) == zone_id:
            return zone
    raise ApiError("InvalidZone.NotFound", f"The zone '{name or zone_id}' does not exist.")


def tags_for(specifications: list[Json] | None, resource_type: str) -> dict[str, str]:
    """The tags of a TagSpecifications parameter; any other resource type is refused, as EC2 does."""
    tags: dict[str, str] = {}
    for one in specifications or ():
        if one.get("ResourceType") != resource_type:
            raise invalid(
                f"'{one.get('ResourceType')}' is not a valid taggable resource type for this operation."
            )
        tags.update(read_tags(one.get("Tags")))
    return tags


def read_tags(pairs: list[Json] | None) -> dict[str, str]:
    """Tags as a mapping, within EC2's limits: 50 tags, 128 characters a key, 256 a value, none in `aws:`."""
    tags = {str(pair.get("Key", "")): str(pair.get("Value", "")) for pair in pairs or ()}
    for key, value in tags.items():
        if key.startswith("aws:"):
            raise invalid(
                f"Value ( {key} ) for parameter key is invalid. Tag keys starting with 'aws:' are reserved"
            )
        if not 1 <= len(key) <= 128 or len(value) > 256:
            raise invalid(f"Tag '{key}' is invalid: a key has 1 to 128 characters and a value at most 256")
    if len(tags) > 50:
        raise ApiError("TagLimitExceeded", "More than 50 tags specified")
    return tags


def _snapshot(params: Json, tables: Tables) -> Snapshot | None:
    snapshot_id = params.get("SnapshotId")
    if not snapshot_id:
        return None
    snapshot = tables.snapshot(snapshot_id)
    if snapshot.storage_tier == "archive":
        raise ApiError(
            "IncorrectState", f"The snapshot '{snapshot_id}' is archived; restore it to the standard tier"
        )
    if snapshot.state != "completed":
        raise ApiError("IncorrectState", f"Snapshot is in invalid state - {snapshot.state}")
    if snapshot.is_local:
        place = snapshot.outpost_arn or snapshot.availability_zone
        raise invalid(f"The snapshot '{snapshot_id}' makes volumes in {place} only")
    return snapshot


def _size(params: Json, snapshot: Snapshot | None) -> int:
    size: Any = params.get("Size")
    if snapshot is None:
        if size is None:
            raise missing("size or snapshotId")
        return int(size)
    if size is None:
        return snapshot.size_gib
    if size < snapshot.size_gib:
        raise invalid(
            f"Volume of {size}GiB is smaller than snapshot '{snapshot.snapshot_id}', "
            f"expect size >= {snapshot.size_gib}GiB"
        )
    return int(size)


def _rate(params: Json, snapshot: Snapshot | None) -> int | None:
    rate: int | None = params.get("VolumeInitializationRate")
    if rate is None:
        return None
    if snapshot is None:
        raise not_together("VolumeInitializationRate is supported only for volumes created from snapshots")
    if not RATES_MIB_S[0] <= rate <= RATES_MIB_S[1]:
        raise invalid(f"VolumeInitializationRate {rate} is invalid: it must be 100 to 300 MiB/s")
    return rate


def _encryption(params: Json, snapshot: Snapshot | None, core: Core) -> tuple[bool, str | None]:
    asked, key = params.get("Encrypted"), params.get("KmsKeyId")
    if key and not asked:
        raise ApiError(
            "InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set."
        )
    if snapshot is not None and snapshot.encrypted:
        return True, key_arn(key or snapshot.kms_key_id or "alias/aws/ebs", core)
    return bool(asked), key_arn(key or "alias/aws/ebs", core) if asked else None


def key_arn(key: str, core: Core) -> str:
    """KMS keys as EC2 shows them: by ARN."""
    if key.startswith("arn:"):
        return key
    return core.arn(key if key.startswith("alias/") else f"key/{key}", "kms")
