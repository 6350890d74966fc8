"""What is left of the Region's EBS quotas: the limit from Service Quotas less what EC2 shows in use.

AWS offers no figure for what is in use. Counted are snapshots with fast snapshot restore in any zone (the
quota counts snapshots: EBS user guide, "Quotas for Amazon EBS"), and volumes that are being initialized:
DescribeVolumes shows the rate and the source of a copy, DescribeVolumeStatus how far they are. Volumes of
others count like our own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.errors import RestoreError
from rewarm.domain.plan.facts import FSR_RUNNING, UnusedQuotas

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import VolumeStatusItemTypeDef, VolumeTypeDef
    from mypy_boto3_service_quotas.client import ServiceQuotasClient

LONGEST_INITIALIZATION = timedelta(days=8)
"""64 TiB at 100 MiB/s, the largest volume at the lowest rate, take 7.8 days."""
_FAST_RESTORES_PAGE = 200
_VOLUMES_PAGE = 500
MOST_PAGES = 40
"""20,000 volumes. Describing more takes longer than a refusal of EC2 and the next plan."""
_STATUS_IDS = 100
_DONE_PERCENT = 100


class QuotaUse:
    """What the Region has in use; each call reads the whole Region."""

    requests = 0
    """Requests for volumes and their states so far."""

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
                self.requests += 1
                yield from page["Volumes"]

    def _unfinished(self, volume_ids: Sequence[str]) -> Iterator[str]:
        for begin in range(0, len(volume_ids), _STATUS_IDS):
            ids = list(volume_ids[begin : begin + _STATUS_IDS])
            self.requests += 1
            with naming_errors():
                answer = self._ec2.describe_volume_status(VolumeIds=ids)
            finished = {found["VolumeId"] for found in answer["VolumeStatuses"] if _is_finished(found)}
            yield from (volume_id for volume_id in ids if volume_id not in finished)


def _is_finished(found: VolumeStatusItemTypeDef) -> bool:
    """False if AWS gives no progress: too careful a plan is better than a refused one."""
    details = found.get("InitializationStatusDetails", {})
    return details.get("Progress", 0) >= _DONE_PERCENT


LOG = logging.getLogger(__name__)
LOOK_EVERY, LONGEST_KNOWN = timedelta(seconds=10), timedelta(minutes=5)
SECONDS_PER_REQUEST = 5
"""A look at many volumes counts for longer, so that looks take some 0.2 requests a second at most."""

_FAST_SNAPSHOT_RESTORES = ("L-631ECBD3", 5)
_INITIALIZATION_RATE = ("L-A37D9CF3", 5_000)
_VOLUME_COPIES = ("L-39BD5252", 5)
"""Quota code and AWS's default (EBS user guide, "Quotas for Amazon EBS")."""
Found = TypeVar("Found")


class ServiceQuotas:
    """The port Quotas. A restore never fails because a quota could not be read: then AWS's default stands."""

    def __init__(self, quotas: ServiceQuotasClient, ec2: EC2Client) -> None:
        self._quotas = quotas
        self._use = QuotaUse(ec2)
        self._known: tuple[datetime, timedelta, UnusedQuotas] | None = None

    def left(self, *, now: datetime) -> UnusedQuotas:
        """What all quotas leave; never below 0. A second call soon after gets the same answer, because many
        restores at once would each look at the whole Region. EC2 refuses what was used up meanwhile.
        """
        if self._known is None or not timedelta(0) <= now - self._known[0] < self._known[1]:
            before = self._use.requests
            found = self._look(now)
            lasts = timedelta(seconds=SECONDS_PER_REQUEST * (self._use.requests - before))
            self._known = now, min(max(lasts, LOOK_EVERY), LONGEST_KNOWN), found
        return self._known[2]

    def _look(self, now: datetime) -> UnusedQuotas:
        snapshots = _unless_refused(self._use.fast_restored_snapshots, 0)
        nothing: tuple[int, frozenset[str]] = (0, frozenset())
        rates, being_copied = _unless_refused(lambda: self._use.initializing(now=now), nothing)
        return UnusedQuotas(
            fast_snapshot_restores=max(0, self._value(*_FAST_SNAPSHOT_RESTORES) - snapshots),
            initialization_rate_mib_s=max(0, self._value(*_INITIALIZATION_RATE) - rates),
            volume_copies=max(0, self._value(*_VOLUME_COPIES) - len(being_copied)),
            being_copied=being_copied,
        )

    def _value(self, code: str, default: int) -> int:
        try:
            with naming_errors():
                quota = self._quotas.get_service_quota(ServiceCode="ebs", QuotaCode=code)["Quota"]
        except RestoreError as error:
            # An account that never asked for another value may have no applied quota.
            LOG.warning("quota %s could not be read, %d is assumed: %s", code, default, error)
            return default
        return int(quota.get("Value", default))


def _unless_refused(ask: Callable[[], Found], otherwise: Found) -> Found:
    """The use makes a better plan; without it, a refusal of AWS leads to the next plan."""
    try:
        return ask()
    except RestoreError as error:
        LOG.warning("what is in use of a quota could not be read, nothing is assumed: %s", error)
        return otherwise
