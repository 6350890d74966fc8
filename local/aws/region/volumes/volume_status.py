"""DescribeVolumeStatus (botocore VolumeStatusItem; EBS user guide, "Amazon EBS volume status checks")."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, refuse_dry_run
from local.aws.region.filters import Getter, keep_matching, page
from local.aws.region.operations import operation
from local.aws.region.resources import Volume
from local.aws.region.tables import Tables
from local.aws.region.volumes.initialization import Initializations


class VolumeStatus:
    """Health and initialization of volumes; the initialization details can't be filtered by."""

    def __init__(self, core: Core, tables: Tables, initializations: Initializations) -> None:
        self._core = core
        self._tables = tables
        self._initializations = initializations

    @operation("ec2", "DescribeVolumeStatus")
    def describe_volume_status(self, params: Json) -> Json:
        """The status of volumes that are available or in use."""
        refuse_dry_run(params)
        wanted = params.get("VolumeIds")
        volumes = (
            [self._tables.volume(one) for one in wanted] if wanted else list(self._tables.volumes.values())
        )
        volumes = keep_matching(volumes, params.get("Filters"), _FILTERS)
        volumes, token = page(volumes, params, scope="volume-status", low=self._core.settings.minimum_page)
        return {"VolumeStatuses": [self._describe(volume) for volume in volumes], "NextToken": token}

    def _describe(self, volume: Volume) -> Json:
        detail, initialization = self._initializations.describe(volume, self._core.now())
        details = [
            {"Name": "io-enabled", "Status": _io_enabled(volume)},
            {"Name": "io-performance", "Status": "not-applicable"},
        ]
        return {
            "VolumeId": volume.volume_id,
            "AvailabilityZone": volume.zone,
            "AvailabilityZoneId": self._core.settings.zone_id(volume.zone),
            "VolumeStatus": {"Status": _status(volume), "Details": [*details, detail] if detail else details},
            "InitializationStatusDetails": initialization,
            "Actions": [],
            "Events": [],
            "AttachmentStatuses": [{"InstanceId": attachment} for attachment in volume.attachments],
        }


def _status(volume: Volume) -> str:
    if volume.state == "error":
        return "impaired"
    return "insufficient-data" if volume.state == "creating" else "ok"


def _io_enabled(volume: Volume) -> str:
    return {"ok": "passed", "impaired": "failed"}.get(_status(volume), "insufficient-data")


_FILTERS: dict[str, Getter[Volume]] = {
    "availability-zone": lambda volume: volume.zone,
    "volume-status.details-name": lambda _volume: ["io-enabled", "io-performance"],
    "volume-status.details-status": _io_enabled,
    "volume-status.status": _status,
}
