"""CopyVolumes (botocore; EBS user guide, "Copy an Amazon EBS volume")."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, refuse_dry_run
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation
from local.aws.region.resources import Volume
from local.aws.region.tables import Tables
from local.aws.region.volumes import volume_requests
from local.aws.region.volumes.volumes import Volumes


class VolumeCopies:
    """Copies of volumes that live, in the same zone."""

    def __init__(self, core: Core, tables: Tables, volumes: Volumes) -> None:
        self._core = core
        self._tables = tables
        self._volumes = volumes

    @operation("ec2", "CopyVolumes")
    def copy_volumes(self, params: Json) -> Json:
        """One copy of one volume; the same client token makes it only once."""
        known = self._volumes.known(params)
        if known is not None:
            return {"Volumes": [self._volumes.created(known)]}
        source = self._tables.volume(params["SourceVolumeId"])
        self._check_source(source)
        volume = volume_requests.build_copy(params, source, self._core)
        self._check_quota()
        refuse_dry_run(params)
        self._volumes.begin(volume, params)
        return {"Volumes": [self._volumes.created(volume)]}

    def _check_source(self, source: Volume) -> None:
        name = source.volume_id
        if source.state not in ("available", "in-use"):
            raise ApiError("IncorrectState", f"The volume '{name}' is '{source.state}'")
        if source.modifications and source.modifications[-1].state == "modifying":
            raise ApiError("IncorrectModificationState", f"The volume '{name}' is being modified")
        code = self._core.settings.volume.copy_state_error_code
        if is_under_way(source):
            raise ApiError(code, f"The volume '{name}' is a volume copy that is not initialized yet")
        if any(one.source is source for one in self._in_progress()):
            raise ApiError(code, f"The volume '{name}' is being copied already")

    def _check_quota(self) -> None:
        quota = self._core.settings.volume_copies_quota
        if len(self._in_progress()) >= quota:
            raise ApiError(
                "CopyVolumesLimitExceeded",
                f"You have reached the limit of {quota:g} in-progress volume copies",
            )

    def _in_progress(self) -> list[Volume]:
        return [volume for volume in self._tables.volumes.values() if is_under_way(volume)]


def is_under_way(volume: Volume) -> bool:
    """A copy that is being created or initialised."""
    if volume.source is None or volume.state in ("error", "deleting"):
        return False
    return volume.initialization is None or volume.initialization.completed is None
