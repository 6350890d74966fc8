"""The Region's EBS quotas from Service Quotas."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.errors import RestoreError

if TYPE_CHECKING:
    from mypy_boto3_service_quotas.client import ServiceQuotasClient

LOG = logging.getLogger(__name__)

_FAST_SNAPSHOT_RESTORES = ("L-631ECBD3", 5)
_INITIALIZATION_RATE = ("L-A37D9CF3", 5_000)
"""Quota code and AWS's default (EBS user guide, "Quotas for Amazon EBS")."""


class ServiceQuotas:
    """The port Quotas. A restore never fails because a quota could not be read: then AWS's default stands."""

    def __init__(self, quotas: ServiceQuotasClient) -> None:
        self._quotas = quotas

    def fast_snapshot_restores(self) -> int:
        """How many snapshots may have FSR in this Region."""
        return self._value(*_FAST_SNAPSHOT_RESTORES)

    def initialization_rate_mib_s(self) -> int:
        """Cumulative initialization rate of this Region."""
        return self._value(*_INITIALIZATION_RATE)

    def _value(self, code: str, default: int) -> int:
        try:
            with naming_errors():
                quota = self._quotas.get_service_quota(ServiceCode="ebs", QuotaCode=code)["Quota"]
        except RestoreError as error:
            # An account that never asked for another value may have no applied quota at all.
            LOG.warning("quota %s could not be read, %d is assumed: %s", code, default, error)
            return default
        return int(quota.get("Value", default))
