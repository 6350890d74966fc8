"""Prices of a Region."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import PriceBook


class Prices(Protocol):
    """The price of things in this Region."""

    def book(self, *, now: datetime) -> PriceBook:
        """From the Price List where it answers, else the shipped book, overlaid by the user's own figures."""
