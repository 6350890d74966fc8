"""The port of AWS's prices."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import PriceBook


class Prices(Protocol):
    """Prices of the stack's Region in USD."""

    def book(self, *, now: datetime) -> PriceBook:
        """Returns the Price List's figures where it answers, else the shipped ones; the user's own win over
        both.

        Raises InvalidRequestError where the user's own cannot be read, and nothing where the Price List
        fails.
        """
