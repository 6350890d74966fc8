"""The ports of what AWS charges and what it allows."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from rewarm.domain.model import PriceBook
from rewarm.domain.plan.facts import UnusedQuotas


class Prices(Protocol):
    """Prices of the stack's Region in USD."""

    def book(self, *, now: datetime) -> PriceBook:
        """Returns the Price List's figures if it answers, else the shipped ones; the user's own win over
        both.

        Raises InvalidRequestError if the user's own cannot be read, and nothing if the Price List
        fails.
        """

    def transfer_usd_per_gib(self, from_region: str, *, now: datetime) -> Decimal | None:
        """Returns the price of a GiB from another Region; None if it is unknown. Raises nothing."""


class Quotas(Protocol):
    """Service Quotas, less what is in use."""

    def left(self, *, now: datetime) -> UnusedQuotas:
        """Returns what the quotas leave, at least 0; by AWS's defaults if it fails. Raises nothing."""
