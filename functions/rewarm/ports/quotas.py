"""Quotas of a Region."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.plan.facts import QuotasLeft


class Quotas(Protocol):
    """Service Quotas, less what is in use."""

    def left(self, *, now: datetime) -> QuotasLeft:
        """What the Region's quotas leave; AWS's defaults where no answer is to be had. Raises nothing."""
