"""Fast snapshot restore from EC2, with its credits from CloudWatch."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import meaning, naming_errors
from rewarm.domain import errors
from rewarm.domain.model import FastSnapshotRestore

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import (
        DescribeFastSnapshotRestoresResultTypeDef,
        DescribeFastSnapshotRestoreSuccessItemTypeDef,
        DisableFastSnapshotRestoreErrorItemTypeDef,
        EnableFastSnapshotRestoreErrorItemTypeDef,
    )

_CREDITS = "FastSnapshotRestoreCreditsBalance"
_CREDITS_LOOK_BACK = timedelta(minutes=15)
"""The newest datapoint counts; metrics may come some minutes late."""


class Ec2FastSnapshotRestores:
    """The port FastSnapshotRestores."""

    def __init__(self, ec2: EC2Client, cloudwatch: CloudWatchClient) -> None:
        self._ec2 = ec2
        self._cloudwatch = cloudwatch

    def describe(
        self, snapshot_id: str, availability_zone: str, *, now: datetime
    ) -> FastSnapshotRestore | None:
        return self._described(self._find(snapshot_id, availability_zone), now)

    def of_places(
        self, places: Collection[tuple[str, str]], *, now: datetime
    ) -> dict[tuple[str, str], FastSnapshotRestore | None]:
        """Lists all that the account has (EBS quotas: 5 snapshots a Region), then picks."""
        found = {(item["SnapshotId"], item["AvailabilityZone"]): item for item in self._all()}
        return {place: self._described(found.get(place), now) for place in places}

    def _described(
        self, found: DescribeFastSnapshotRestoreSuccessItemTypeDef | None, now: datetime
    ) -> FastSnapshotRestore | None:
        if found is None or found.get("State", "disabled") == "disabled":
            return None
        snapshot_id = found["SnapshotId"]
        availability_zone = found["AvailabilityZone"]
        state = found["State"]
        enabled_at = found.get("EnabledTime")
        since = max(now - _CREDITS_LOOK_BACK, _minute(enabled_at)) if enabled_at else now - _CREDITS_LOOK_BACK
        balance = self._credits(snapshot_id, availability_zone, since, now) if state == "enabled" else None
        return FastSnapshotRestore(state, enabled_at, balance, _optimizing_seconds(found, now))

    def enabling_time(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        found = self._find(snapshot_id, availability_zone)
        return enabling_time(found) if found is not None and _is_active(found) else None

    def absent_at(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        found, at = None, None
        for page in self._pages(snapshot_id, availability_zone):
            found = next(iter(page["FastSnapshotRestores"]), found)
            at = page["ResponseMetadata"]["HTTPHeaders"].get("date")
        if found is not None and _is_active(found):
            return None
        if at is None:
            raise errors.ServiceUnavailableError("DescribeFastSnapshotRestores: the answer has no date")
        return parsedate_to_datetime(at)

    def enable(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """EC2 may refuse for the quota, its capacity or the state of the snapshot."""
        try:
            with naming_errors():
                answer = self._ec2.enable_fast_snapshot_restores(
                    AvailabilityZones=[availability_zone], SourceSnapshotIds=[snapshot_id]
                )
        except (
            errors.QuotaExceededError,
            errors.CapacityUnavailableError,
            errors.SnapshotNotUsableError,
            errors.RequestRefusedError,
        ) as error:
            raise errors.FastSnapshotRestoreUnavailableError(str(error)) from error
        for item in answer.get("Unsuccessful", []):
            raise _refusal("EnableFastSnapshotRestores", item)
        return next((place.get("EnablingTime") for place in answer.get("Successful", [])), None)

    def disable(self, snapshot_id: str, availability_zone: str) -> None:
        try:
            with naming_errors():
                answer = self._ec2.disable_fast_snapshot_restores(
                    AvailabilityZones=[availability_zone], SourceSnapshotIds=[snapshot_id]
                )
        except errors.SnapshotNotFoundError as error:
            # EC2 disables it when its snapshot is deleted, but not always for a shared one, so check.
            if self._is_on(snapshot_id, availability_zone):
                raise errors.RequestRefusedError(str(error)) from error
            return
        for item in answer.get("Unsuccessful", []):
            # AWS documents no code for "it is not enabled", so check whether it is.
            if self._is_on(snapshot_id, availability_zone):
                refusal = _refusal("DisableFastSnapshotRestores", item)
                raise _as_failed_call(refusal)

    def enabled_places(self) -> list[tuple[str, str]]:
        return [
            (item["SnapshotId"], item["AvailabilityZone"])
            for item in self._all()
            if item["State"] in {"enabling", "optimizing", "enabled"}
        ]

    def _all(self) -> list[DescribeFastSnapshotRestoreSuccessItemTypeDef]:
        """All of the account except `disabled` ones, of which there may be many."""
        paginator = self._ec2.get_paginator("describe_fast_snapshot_restores")
        states = ["enabling", "optimizing", "enabled", "disabling"]
        with naming_errors():
            pages = paginator.paginate(Filters=[{"Name": "state", "Values": states}])
            return [item for page in pages for item in page["FastSnapshotRestores"]]

    def _find(
        self, snapshot_id: str, availability_zone: str
    ) -> DescribeFastSnapshotRestoreSuccessItemTypeDef | None:
        for page in self._pages(snapshot_id, availability_zone):
            for item in page["FastSnapshotRestores"]:
                return item
        return None

    def _pages(
        self, snapshot_id: str, availability_zone: str
    ) -> Iterator[DescribeFastSnapshotRestoresResultTypeDef]:
        paginator = self._ec2.get_paginator("describe_fast_snapshot_restores")
        filters = [
            {"Name": "snapshot-id", "Values": [snapshot_id]},
            {"Name": "availability-zone", "Values": [availability_zone]},
        ]
        with naming_errors():
            yield from paginator.paginate(Filters=filters)  # type: ignore[arg-type]

    def _is_on(self, snapshot_id: str, availability_zone: str) -> bool:
        found = self._find(snapshot_id, availability_zone)
        return found is not None and _is_active(found)

    def _credits(
        self, snapshot_id: str, availability_zone: str, since: datetime, now: datetime
    ) -> float | None:
        """None if CloudWatch has none yet; what was left of an earlier enabling never counts."""
        with naming_errors():
            answer = self._cloudwatch.get_metric_data(
                MetricDataQueries=[
                    {
                        "Id": "credits",
                        "MetricStat": {
                            "Metric": {
                                "Namespace": "AWS/EBS",
                                "MetricName": _CREDITS,
                                "Dimensions": [
                                    {"Name": "SnapshotId", "Value": snapshot_id},
                                    {"Name": "AvailabilityZone", "Value": availability_zone},
                                ],
                            },
                            "Period": 60,
                            "Stat": "Minimum",
                        },
                    }
                ],
                StartTime=since,
                EndTime=now + timedelta(minutes=1),
            )
        points = [
            point
            for result in answer["MetricDataResults"]
            for point in zip(result["Timestamps"], result["Values"], strict=True)
        ]
        return max(points)[1] if points else None


def _is_active(found: DescribeFastSnapshotRestoreSuccessItemTypeDef) -> bool:
    return found.get("State") not in ("disabled", "disabling")


def _minute(instant: datetime) -> datetime:
    """CloudWatch stamps a datapoint with the beginning of its minute."""
    return instant.replace(second=0, microsecond=0)


def _refusal(
    operation: str,
    item: EnableFastSnapshotRestoreErrorItemTypeDef | DisableFastSnapshotRestoreErrorItemTypeDef,
) -> errors.RestoreError:
    """Partial failure comes with HTTP 200 (botocore EnableFastSnapshotRestoresResult.Unsuccessful)."""
    reasons = [reason.get("Error", {}) for reason in item.get("FastSnapshotRestoreStateErrors", [])]
    text = "; ".join(f"{reason.get('Code', '')}: {reason.get('Message', '')}" for reason in reasons)
    code = reasons[0].get("Code", "") if reasons else ""
    kind = meaning(operation, code, text)
    if kind not in (errors.ThrottledError, errors.ServiceUnavailableError):
        kind = errors.FastSnapshotRestoreUnavailableError
    return kind(f"{operation}: {item.get('SnapshotId', '')}: {text or 'no reason given'}")


def _as_failed_call(refusal: errors.RestoreError) -> errors.RestoreError:
    """A failed disable still costs money, so it counts as refused and not as unavailable."""
    if isinstance(refusal, errors.FastSnapshotRestoreUnavailableError):
        return errors.RequestRefusedError(str(refusal))
    return refusal


def _optimizing_seconds(found: DescribeFastSnapshotRestoreSuccessItemTypeDef, now: datetime) -> float:
    since = found.get("OptimizingTime")
    if found["State"] != "optimizing" or since is None:
        return 0.0
    return max(0.0, (now - since).total_seconds())


def enabling_time(item: DescribeFastSnapshotRestoreSuccessItemTypeDef) -> datetime:
    """The earliest time; EC2 gives the time of a state only once it was reached."""
    for name in ("EnablingTime", "OptimizingTime", "EnabledTime"):
        if name in item:
            found: datetime = item[name]
            return found
    raise errors.ServiceUnavailableError(
        f"EC2 gives no time for the fast snapshot restore of {item['SnapshotId']}"
    )
