"""Prices from the AWS Price List, over the shipped ones, under the user's own."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rewarm.adapters import price_figures
from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.price_figures import Figures
from rewarm.domain.errors import RestoreError
from rewarm.domain.model import PriceBook

if TYPE_CHECKING:
    from mypy_boto3_pricing.client import PricingClient
    from mypy_boto3_pricing.type_defs import FilterTypeDef

LOG = logging.getLogger(__name__)

_VALID_FOR = timedelta(hours=12)
_FAMILIES = (
    "Storage",
    "System Operation",
    "Provisioned Throughput",
    "Fast Snapshot Restore",
    "EBS direct API Requests",
)
"""Product families of EBS (Amazon EBS user guide, "Amazon EBS billing and usage reports")."""


class AwsPrices:
    """The port Prices. A restore never fails because the Price List does not answer."""

    def __init__(self, pricing: PricingClient, region: str, overrides: str = "") -> None:
        self._pricing = pricing
        self._region = region
        self._overrides = overrides
        self._listed: Figures = {}
        self._listed_at: datetime | None = None

    def book(self, *, now: datetime) -> PriceBook:
        """From the Price List where it answers, else the shipped book, overlaid by the user's own figures."""
        own = price_figures.overrides(self._overrides, now)
        shipped = price_figures.shipped(self._region)
        if self._listed_at is None or now - self._listed_at > _VALID_FOR:
            self._read_price_list(shipped, now)
        return price_figures.book(self._region, {**shipped, **self._listed, **own})

    def _read_price_list(self, expected: Figures, now: datetime) -> None:
        found: Figures = {}
        try:
            for family in _FAMILIES:
                found |= price_figures.listed(self._products("TERM_MATCH", "productFamily", family), expected)
            # AWS documents no usage type for provisioned rates yet, so we look for one by its name.
            found |= price_figures.listed(self._products("CONTAINS", "usagetype", "Initialization"), expected)
        except (RestoreError, ValueError, KeyError) as error:
            LOG.warning("the Price List did not answer in full, shipped prices stand in: %s", error)
        else:
            self._listed_at = now
        self._listed |= found

    def _products(self, kind: str, field: str, value: str) -> list[str]:
        filters: list[FilterTypeDef] = [
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": self._region},
            {"Type": kind, "Field": field, "Value": value},  # type: ignore[typeddict-item]
        ]
        paginator = self._pricing.get_paginator("get_products")
        with naming_errors():
            pages = paginator.paginate(ServiceCode="AmazonEC2", Filters=filters)
            return [str(text) for page in pages for text in page["PriceList"]]
