"""Request limits of EC2 and EBS direct APIs as token buckets (EC2 developer guide, "Request throttling")."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from local.aws.clock import Clock
from local.aws.region.errors import ApiError


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
LIST_BLOCKS = Bucket(50, 50)


class Throttle:
    """One bucket for each kind of request; everything passes while `enabled` is false."""

    def __init__(self, clock: Clock, *, enabled: bool) -> None:
        self.enabled = enabled
        self._clock = clock
        self._lock = threading.Lock()
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, service: str, operation: str, *, narrowed: bool) -> None:
        """Use one token or refuse. `narrowed` says that the call has filters, ids or a page size."""
        if not self.enabled or service not in ("ec2", "ebs"):
            return
        name, bucket = _bucket(operation, narrowed=narrowed)
        with self._lock:
            if not self._use(name, bucket):
                raise _refusal(service)

    def _use(self, name: str, bucket: Bucket) -> bool:
        now = self._clock.now()
        level, since = self._levels.get(name, (bucket.size, now))
        level = min(bucket.size, level + (now - since) * bucket.refill_per_second)
        self._levels[name] = (level - 1 if level >= 1 else level, now)
        return level >= 1


def _bucket(operation: str, *, narrowed: bool) -> tuple[str, Bucket]:
    if operation == "CreateVolume":
        return operation, CREATE_VOLUME
    if operation == "ListSnapshotBlocks":
        return operation, LIST_BLOCKS
    if operation.startswith("Describe"):
        return ("Describe", DESCRIBE) if narrowed else ("unpaginated", UNPAGINATED)
    return "mutating", MUTATING


def _refusal(service: str) -> ApiError:
    if service == "ebs":
        return ApiError(
            "RequestThrottledException", "Request was throttled.", 400, reason="ACCOUNT_THROTTLED"
        )
    return ApiError("RequestLimitExceeded", "Request limit exceeded.", 503)
