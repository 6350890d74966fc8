"""What the Region's volumes and snapshots use of the EBS quotas at this moment, by EC2.

AWS offers no figure for it. Counted are snapshots with fast snapshot restore in any zone (the quota counts
snapshots: EBS user guide, "Quotas for Amazon EBS"), and volumes whose initialization goes on:
DescribeVolumes shows the rate and the source of a copy, DescribeVolumeStatus how far they are. Volumes that
others create count like our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.plan.facts import FSR_RUNNING

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import VolumeStatusItemTypeDef, VolumeTypeDef

LONGEST_INITIALIZATION = timedelta(days=8)
"""64 TiB at 100 MiB/s, the largest volume at the lowest rate, take 7.8 days."""
_FAST_RESTORES_PAGE = 200
_VOLUMES_PAGE = 500
MOST_PAGES = 40
"""20,000 volumes. To describe more takes longer than a refusal, after which the next plan is tried."""
_STATUS_IDS = 100
_DONE_PERCENT = 100


class QuotaUse:
    """Counts; each call is a look at the whole Region."""

    def __init__(self, ec2: EC2Client) -> None:
        self._ec2 = ec2

    def fast_restored_snapshots(self) -> int:
        """Snapshots with fast snapshot restore, in whatever zone."""
        paginator = self._ec2.get_paginator("describe_fast_snapshot_restores")
        with naming_errors():
            pages = paginator.paginate(
                Filters=[{"Name": "state", "Values": sorted(FSR_RUNNING)}],
                PaginationConfig={"PageSize": _FAST_RESTORES_PAGE},
            )
            return len({found["SnapshotId"] for page in pages for found in page["FastSnapshotRestores"]})

    def initializing(self, *, now: datetime) -> tuple[int, frozenset[str]]:
        """The sum of the rates in MiB/s, and the volumes that are being copied."""
        candidates = {
            volume["VolumeId"]: volume
            for volume in self._volumes()
            if volume["CreateTime"] > now - LONGEST_INITIALIZATION
            and (volume.get("VolumeInitializationRate") or volume.get("SourceVolumeId"))
        }
        going_on = [candidates[volume_id] for volume_id in self._unfinished(list(candidates))]
        rates = sum(volume.get("VolumeInitializationRate") or 0 for volume in going_on)
        sources = frozenset(volume["SourceVolumeId"] for volume in going_on if volume.get("SourceVolumeId"))
        return rates, sources

    def _volumes(self) -> Iterator[VolumeTypeDef]:
        paginator = self._ec2.get_paginator("describe_volumes")
        with naming_errors():
            pages = paginator.paginate(PaginationConfig={"PageSize": _VOLUMES_PAGE})
            for page in islice(pages, MOST_PAGES):
                yield from page["Volumes"]

    def _unfinished(self, volume_ids: Sequence[str]) -> Iterator[str]:
        for begin in range(0, len(volume_ids), _STATUS_IDS):
            ids = list(volume_ids[begin : begin + _STATUS_IDS])
            with naming_errors():
                answer = self._ec2.describe_volume_status(VolumeIds=ids)
            finished = {found["VolumeId"] for found in answer["VolumeStatuses"] if _is_finished(found)}
            yield from (volume_id for volume_id in ids if volume_id not in finished)


def _is_finished(found: VolumeStatusItemTypeDef) -> bool:
    """What AWS does not tell counts as going on: a plan too careful beats one that is refused."""
    details = found.get("InitializationStatusDetails", {})
    return details.get("Progress", 0) >= _DONE_PERCENT
