"""The port of the Region's EBS quotas."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.plan.facts import UnusedQuotas


class Quotas(Protocol):
    """Service Quotas, less what is in use."""

    def left(self, *, now: datetime) -> UnusedQuotas:
        """Returns what the quotas leave, never below 0. Where AWS does not answer its defaults count. Raises
        nothing.
        """
