"""Request limits of EC2 and EBS direct APIs as token buckets (EC2 developer guide, "Request throttling")."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from local import Json
from local.aws.clock import Clock
from local.aws.region.errors import ApiError
from local.aws.region.settings import RegionSettings


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many requests fit at once, and how many a second come back."""

    size: float
    refill_per_second: float


CREATE_VOLUME = Bucket(100, 5)
MUTATING = Bucket(50, 5)
DESCRIBE = Bucket(100, 20)
UNPAGINATED = Bucket(50, 10)
"""Describe calls without filters and without pages have a tighter bucket."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A bucket by its name, and what is answered when it is empty."""

    name: str
    bucket: Bucket
    refusal: ApiError


class Throttle:
    """One bucket for each kind of request; everything passes while the settings have no throttling."""

    def __init__(self, clock: Clock, settings: RegionSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._lock = threading.Lock()
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, service: str, operation: str, params: Json) -> None:
        """Use one token of each bucket that the call falls under, or refuse it and use none."""
        if not self._settings.throttling or service not in ("ec2", "ebs"):
            return
        limits = _of_ec2(operation, params) if service == "ec2" else self._of_ebs(operation, params)
        with self._lock:
            levels = [(limit, self._level(limit)) for limit in limits]
            for limit, level in levels:
                if level < 1:
                    raise limit.refusal
            now = self._clock.now()
            self._levels |= {limit.name: (level - 1, now) for limit, level in levels}

    def _level(self, limit: Limit) -> float:
        now, bucket = self._clock.now(), limit.bucket
        level, since = self._levels.get(limit.name, (bucket.size, now))
        return min(bucket.size, level + (now - since) * bucket.refill_per_second)

    def _of_ebs(self, operation: str, params: Json) -> list[Limit]:
        """EBS user guide, "Quotas for Amazon EBS"; codes: flexible-snapshot-proxy of AWS Labs."""
        rate = self._settings.direct_requests_per_second[operation]
        error = ApiError("ThrottlingException", "Rate exceeded", 400)
        limits = [Limit(operation, Bucket(rate, rate), error)]
        if operation == "GetSnapshotBlock":
            snapshot_id, rate = params.get("SnapshotId"), self._settings.get_block_snapshot_per_second
            error = ApiError(
                "RequestThrottledException",
                "The number of API requests has exceeded the limit for the snapshot.",
                400,
                reason="RESOURCE_LEVEL_THROTTLE",
            )
            limits.append(Limit(f"{operation}/{snapshot_id}", Bucket(rate, rate), error))
        return limits


def _of_ec2(operation: str, params: Json) -> list[Limit]:
    error = ApiError("RequestLimitExceeded", "Request limit exceeded.", 503)
    if operation == "CreateVolume":
        return [Limit(operation, CREATE_VOLUME, error)]
    if not operation.startswith("Describe"):
        return [Limit("mutating", MUTATING, error)]
    if _narrowed(params):
        return [Limit("Describe", DESCRIBE, error)]
    return [Limit("unpaginated", UNPAGINATED, error)]


def _narrowed(params: Json) -> bool:
    """The call has filters, ids or a page size."""
    return any(name in params for name in ("Filters", "MaxResults")) or any(
        name.endswith("Ids") for name in params
    )
