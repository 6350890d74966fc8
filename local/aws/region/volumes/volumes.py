"""CreateVolume, DescribeVolumes and DeleteVolume (botocore; EBS user guide, "Create an EBS volume")."""

from __future__ import annotations

import logging

from local import Json
from local.aws.machines.dataplane import DataPlane, DataPlaneError
from local.aws.region.core import Core, refuse_dry_run, request_id, stamp
from local.aws.region.errors import ApiError, invalid
from local.aws.region.faults import Faults
from local.aws.region.filters import Getter, keep_matching, page, tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Attachment, Volume
from local.aws.region.snapshots.fast_restore import FastRestores
from local.aws.region.tables import Tables
from local.aws.region.volumes import volume_requests
from local.aws.region.volumes.initialization import Initializations
from local.aws.region.volumes.volume_types import limits_now, limits_of

LOG = logging.getLogger(__name__)

MAX_TOKEN_CHARS = 64
"""EC2 developer guide, "Ensuring idempotency": client tokens have up to 64 ASCII characters."""


class Volumes:
    """The life of volumes, from CreateVolume to DeleteVolume."""

    def __init__(
        self,
        core: Core,
        tables: Tables,
        fast_restores: FastRestores,
        initializations: Initializations,
        faults: Faults,
    ) -> None:
        self._core = core
        self._tables = tables
        self._fast_restores = fast_restores
        self._initializations = initializations
        self._faults = faults
        self._tokens: dict[str, tuple[Json, str]] = {}

    @operation("ec2", "CreateVolume")
    def create_volume(self, params: Json) -> Json:
        """Make a volume, empty or from a snapshot; the same client token makes it only once."""
        known = self.known(params)
        if known is not None:
            return self.created(known)
        volume = volume_requests.build(params, self._core, self._tables)
        self._check_rate(volume)
        refuse_dry_run(params)
        if volume.snapshot is not None and volume.rate_mib_s is None:
            volume.fast_restored = self._fast_restores.use_credit(volume.snapshot.snapshot_id, volume.zone)
        self.begin(volume, params)
        return self.created(volume)

    @operation("ec2", "DescribeVolumes")
    def describe_volumes(self, params: Json) -> Json:
        """Volumes by id and filter, in pages."""
        refuse_dry_run(params)
        wanted = params.get("VolumeIds")
        items = (
            [self._tables.volume(one) for one in wanted] if wanted else list(self._tables.volumes.values())
        )
        items = keep_matching(items, params.get("Filters"), _filters(self._core), lambda volume: volume.tags)
        items, token = page(items, params, scope="volumes", low=self._core.settings.minimum_page)
        return {"Volumes": [self.describe(volume) for volume in items], "NextToken": token}

    @operation("ec2", "DeleteVolume")
    def delete_volume(self, params: Json) -> Json:
        """Delete a volume that no instance uses."""
        volume = self._tables.volume(params["VolumeId"])
        if volume.attachments:
            instance_id = next(iter(volume.attachments))
            raise ApiError("VolumeInUse", f"Volume {volume.volume_id} is currently attached to {instance_id}")
        if volume.state in ("creating", "deleting"):
            raise ApiError("IncorrectState", f"The volume '{volume.volume_id}' is '{volume.state}'")
        refuse_dry_run(params)
        self.delete(volume)
        return {}

    def delete(self, volume: Volume) -> None:
        """Let the volume go; its bytes go at once, its record a moment later."""
        volume.state = "deleting"
        volume.delete_time = self._core.now()
        if volume.has_data:
            self._core.later(lambda: self._core.dataplane.delete_volume(volume.volume_id))
        self._core.at(
            volume.delete_time + self._core.settings.volume.deletion_seconds,
            lambda _due: self._forget(volume),
        )

    def seed(self, volume: Volume, *, initialized: bool) -> None:
        """Put a volume that already existed before the Region was looked at into it."""
        self._tables.volumes[volume.volume_id] = volume
        volume.state, volume.active_time = "available", volume.create_time
        if volume.has_data:
            image = volume.snapshot.image if volume.snapshot else None
            self._core.later(
                lambda: self._core.dataplane.create_volume(
                    volume.volume_id, volume.size_gib, image, limits_of(volume.performance), warm=initialized
                )
            )
        volume.fast_restored = False
        self._initializations.begin(volume, volume.create_time)
        if initialized and volume.initialization is not None:
            volume.initialization.completed = volume.create_time
            volume.initialization.reported_progress, volume.initialization.reported_completed = 100, True

    def describe(self, volume: Volume) -> Json:
        """The volume as DescribeVolumes shows it."""
        attachments = [describe_attachment(volume, attachment) for attachment in volume.attachments.values()]
        shown = {**self.created(volume), "FastRestored": volume.fast_restored, "Attachments": attachments}
        if volume.managed_by is not None:
            shown["Operator"] = {"Managed": True, "Principal": volume.managed_by}
        return shown

    def known(self, params: Json) -> Volume | None:
        """The volume that a request with the same client token has made."""
        token = params.get("ClientToken")
        if token is None:
            return None
        if len(token) > MAX_TOKEN_CHARS or not token.isascii():
            raise invalid(
                f"Invalid value '{token}' for clientToken: at most {MAX_TOKEN_CHARS} ASCII characters"
            )
        if token not in self._tokens:
            return None
        before, volume_id = self._tokens[token]
        if before != _comparable(params):
            raise ApiError(
                "IdempotentParameterMismatch",
                f"The client token '{token}' was used with other parameters for {volume_id}",
            )
        return self._tables.volumes.get(volume_id) or self._tables.gone_volumes.get(volume_id)

    def _check_rate(self, volume: Volume) -> None:
        if volume.rate_mib_s is None:
            return
        quota = self._core.settings.initialization_rate_quota_mib_s
        if self._initializations.concurrent_rate_mib_s() + volume.rate_mib_s > quota:
            raise ApiError(
                self._core.settings.volume.rate_quota_error_code,
                f"The volume initialization rates of concurrent requests would exceed {quota:g} MiB/s",
            )

    def begin(self, volume: Volume, params: Json) -> None:
        """Let the volume come into being, under the request's client token."""
        self._tables.volumes[volume.volume_id] = volume
        token = params.get("ClientToken")
        if token is not None:
            self._tokens[token] = (_comparable(params), volume.volume_id)
        faulty = self._faults.take("volume:creation", effects=("volume-error",)) is not None
        if faulty or not self._has_keys(volume):
            self._core.at(
                volume.create_time + self._core.settings.volume.creation_seconds, lambda _: self._fail(volume)
            )
            return
        self._core.later(lambda: self._make(volume))

    def _has_keys(self, volume: Volume) -> bool:
        """EC2 authenticates KMS keys asynchronously (botocore CreateVolume KmsKeyId)."""
        names = [volume.kms_key_id, volume.snapshot.kms_key_id if volume.snapshot else None]
        keys = [self._tables.keys.get(volume_requests.key_arn(name, self._core)) for name in names if name]
        return all(key is None or key.usable for key in keys)

    def _make(self, volume: Volume) -> None:
        """Outside the lock: the data plane may take its time, which nobody's waits may run ahead of."""
        try:
            with self._core.busy(f"the making of {volume.volume_id}"):
                _fill(self._core.dataplane, volume)
        except DataPlaneError:
            LOG.exception("the data plane could not make %s", volume.volume_id)
            with self._core.transaction():
                self._fail(volume)
            return
        with self._core.transaction():
            self._core.at(
                volume.create_time + self._core.settings.volume.creation_seconds,
                lambda due: self._ready(volume, due),
            )

    def _ready(self, volume: Volume, due: float) -> None:
        if volume.state != "creating":
            return
        volume.state, volume.active_time = "available", due
        self._initializations.begin(volume, due)
        self._notify(volume, "createVolume", "available")

    def _fail(self, volume: Volume) -> None:
        volume.state = "error"
        self._notify(volume, "createVolume", "failed")

    def _forget(self, volume: Volume) -> None:
        self._tables.volumes.pop(volume.volume_id, None)
        self._tables.gone_volumes[volume.volume_id] = volume
        self._notify(volume, "deleteVolume", "deleted")

    def _notify(self, volume: Volume, event: str, result: str) -> None:
        detail = {"result": result, "cause": "", "event": event, "request-id": request_id()}
        self._core.emit("EBS Volume Notification", detail, [self._core.arn(f"volume/{volume.volume_id}")])

    def created(self, volume: Volume) -> Json:
        """The volume as CreateVolume and CopyVolumes show it."""
        chosen = volume.performance
        return {
            "VolumeId": volume.volume_id,
            "Size": chosen.size_gib,
            "VolumeType": chosen.volume_type,
            "Iops": chosen.iops,
            "Throughput": chosen.throughput_mib_s,
            "MultiAttachEnabled": chosen.multi_attach,
            "AvailabilityZone": volume.zone,
            "AvailabilityZoneId": self._core.settings.zone_id(volume.zone),
            "State": volume.state,
            "CreateTime": stamp(volume.create_time),
            "SnapshotId": volume.snapshot.snapshot_id if volume.snapshot else "",
            "SourceVolumeId": volume.source.volume_id if volume.source else None,
            "Encrypted": volume.encrypted,
            "KmsKeyId": volume.kms_key_id,
            "VolumeInitializationRate": volume.rate_mib_s,
            "Tags": tag_list(volume.tags) if volume.tags else None,
        }


def describe_attachment(volume: Volume, one: Attachment) -> Json:
    """Shape VolumeAttachment of botocore."""
    return {
        "VolumeId": volume.volume_id,
        "InstanceId": one.instance_id,
        "Device": one.device,
        "State": one.state,
        "AttachTime": stamp(one.attach_time),
        "DeleteOnTermination": one.delete_on_termination,
        **({} if one.card is None else {"EbsCardIndex": one.card}),
    }


def _fill(dataplane: DataPlane, volume: Volume) -> None:
    """Give the volume its bytes; those of a copy can be read at once, wherever they are."""
    name, size_gib, limits = volume.volume_id, volume.size_gib, limits_now(volume)
    if volume.source is not None and volume.source.has_data:
        dataplane.copy_volume(name, volume.source.volume_id, size_gib, limits)
        return
    image = volume.snapshot.image if volume.snapshot else None
    dataplane.create_volume(name, size_gib, image, limits, warm=image is None or volume.fast_restored)


def _comparable(params: Json) -> Json:
    """What must be equal for a client token to mean the same request."""
    return {key: value for key, value in params.items() if key not in ("ClientToken", "DryRun")}


def _filters(core: Core) -> dict[str, Getter[Volume]]:
    return {
        "attachment.delete-on-termination": lambda v: [
            a.delete_on_termination for a in v.attachments.values()
        ],
        "attachment.attach-time": lambda v: [stamp(a.attach_time) for a in v.attachments.values()],
        "attachment.device": lambda v: [a.device for a in v.attachments.values()],
        "attachment.instance-id": lambda v: list(v.attachments),
        "attachment.status": lambda v: [a.state for a in v.attachments.values()],
        "availability-zone": lambda v: v.zone,
        "availability-zone-id": lambda v: core.settings.zone_id(v.zone),
        "create-time": lambda v: stamp(v.create_time),
        "encrypted": lambda v: v.encrypted,
        "fast-restored": lambda v: v.fast_restored,
        "multi-attach-enabled": lambda v: v.performance.multi_attach,
        "size": lambda v: v.size_gib,
        "snapshot-id": lambda v: v.snapshot.snapshot_id if v.snapshot else None,
        "status": lambda v: v.state,
        "volume-id": lambda v: v.volume_id,
        "volume-type": lambda v: v.performance.volume_type,
    }
