"""What the Region's EBS quotas leave: Service Quotas less what is in use."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.quota_use import QuotaUse
from rewarm.domain.errors import RestoreError
from rewarm.domain.plan.facts import UnusedQuotas

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_service_quotas.client import ServiceQuotasClient

LOG = logging.getLogger(__name__)
LOOK_EVERY = timedelta(seconds=10)

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
        self._known: tuple[datetime, UnusedQuotas] | None = None

    def left(self, *, now: datetime) -> UnusedQuotas:
        """All of them; never below 0. Who asks again within seconds hears the same: many restores at once
        would look at the whole Region each, and a quota that is used up meanwhile is a refusal in any case.
        """
        if self._known is None or not timedelta(0) <= now - self._known[0] < LOOK_EVERY:
            self._known = now, self._look(now)
        return self._known[1]

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
            # An account that never asked for another value may have no applied quota at all.
            LOG.warning("quota %s could not be read, %d is assumed: %s", code, default, error)
            return default
        return int(quota.get("Value", default))


def _unless_refused(ask: Callable[[], Found], otherwise: Found) -> Found:
    """What is in use makes a plan better; without it a refusal of AWS leads to the next plan."""
    try:
        return ask()
    except RestoreError as error:
        LOG.warning("what is in use of a quota could not be read, nothing is assumed: %s", error)
        return otherwise
