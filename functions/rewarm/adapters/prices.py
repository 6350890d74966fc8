"""Prices of a Region: AWS's Price List over the shipped ones, under the user's own.

Each figure of a price book has a name, a date and a source.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.errors import InvalidRequestError, RestoreError
from rewarm.domain.model import PriceBook, PriceFigure
from rewarm.domain.value import Value

if TYPE_CHECKING:
    from mypy_boto3_pricing.client import PricingClient
    from mypy_boto3_pricing.type_defs import FilterTypeDef

FALLBACK_REGION = "us-east-1"
_SHIPPED = Path(__file__).parent.parent / "prices.json"
_BORROWED = "virginia"
"""The source of a figure that a known Region lacks."""
_PARTS_PER_GIB = 1_024
_PLAUSIBLE_FACTOR = 10


Figures = dict[str, PriceFigure]


class _Usage(Value):
    """The figure that a usage type of the Price List stands for, and what turns AWS's unit into ours."""

    name: str
    factor: Decimal = Decimal(1)


_USAGES = {
    "EBS:FastSnapshotRestore": _Usage("fsrUsdPerHour"),
    "EBS:directAPI.snapshot.List": _Usage("listBlocksUsdPerThousand", Decimal(1_000)),
    "EBS:directAPI.snapshot.Get": _Usage("getBlocksUsdPerThousand", Decimal(1_000)),
    "EBS:SnapshotUsage": _Usage("snapshotUsdPerGibMonth"),
    "EBS:VolumeUsage.gp3": _Usage("storageUsdPerGibMonth.gp3"),
    "EBS:VolumeUsage.gp2": _Usage("storageUsdPerGibMonth.gp2"),
    "EBS:VolumeUsage.io2": _Usage("storageUsdPerGibMonth.io2"),
    "EBS:VolumeUsage.piops": _Usage("storageUsdPerGibMonth.io1"),
    "EBS:VolumeUsage.st1": _Usage("storageUsdPerGibMonth.st1"),
    "EBS:VolumeUsage.sc1": _Usage("storageUsdPerGibMonth.sc1"),
    "EBS:VolumeP-IOPS.gp3": _Usage("iopsUsdPerMonth.gp3"),
    "EBS:VolumeP-IOPS.io2": _Usage("iopsUsdPerMonth.io2"),
    "EBS:VolumeP-IOPS.piops": _Usage("iopsUsdPerMonth.io1"),
    "EBS:VolumeP-Throughput.gp3": _Usage("throughputUsdPerMibSMonth.gp3", Decimal(1) / _PARTS_PER_GIB),
}
"""Amazon EBS user guide, "Amazon EBS billing and usage reports"; throughput is listed per GiB/s and month."""
_RATE_USAGE = _Usage("rateUsdPerGibMibS")


def shipped(region: str) -> Figures:
    """The figures of prices.json for a Region; us-east-1's, marked so, if it has none."""
    data = json.loads(_SHIPPED.read_text(encoding="utf-8"))
    known = data["regions"].get(region)
    figures = {}
    for name, (usd, key) in (known or data["regions"][FALLBACK_REGION]).items():
        source = data["sources"][key]
        as_of = datetime.fromisoformat(source["asOf"]).replace(tzinfo=UTC)
        borrowed = FALLBACK_REGION if known is None or key == _BORROWED else None
        figures[name] = PriceFigure(Decimal(usd), as_of, source["name"], borrowed)
    return figures


def overrides(text: str, now: datetime) -> Figures:
    """The user's own figures: a JSON object with names as in prices.json. Raises InvalidRequestError."""
    if not text:
        return {}
    try:
        given = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except ValueError as error:
        raise InvalidRequestError(f"is not JSON: {error}", field="PriceOverrides") from error
    known = shipped(FALLBACK_REGION)
    if not isinstance(given, dict) or not set(given) <= set(known):
        unknown = (
            ", ".join(sorted(set(given) - set(known))) if isinstance(given, dict) else type(given).__name__
        )
        raise InvalidRequestError(
            f"found {unknown}; allowed is a JSON object with these names: {', '.join(sorted(known))}",
            field="PriceOverrides",
        )
    return {name: PriceFigure(_price(name, value), now, "your own prices") for name, value in given.items()}


def listed(products: Iterable[str], expected: Mapping[str, PriceFigure]) -> Figures:
    """The plausible figures of the Price List's JSON documents.

    A figure far from the expected one has a unit that we do not know, so it is left out. AWS documents no
    unit for the initialization rate.
    """
    found: Figures = {}
    for text in products:
        document = json.loads(text)
        usage = _usage(document["product"]["attributes"].get("usagetype", ""))
        usd = _lowest_tier(document)
        if usage is None or usd is None:
            continue
        figure = PriceFigure(usd * usage.factor, _published(document), "AWS Price List")
        if _plausible(figure.usd, expected.get(usage.name)):
            found[usage.name] = figure
    return found


def book(region: str, figures: Mapping[str, PriceFigure]) -> PriceBook:
    """The figures as the domain takes them."""
    return PriceBook(
        region=region,
        as_of=min(figure.as_of for figure in figures.values()),
        source=_sources(figures),
        fsr_usd_per_hour=figures["fsrUsdPerHour"].usd,
        rate_usd_per_gib_mib_s=figures["rateUsdPerGibMibS"].usd,
        list_blocks_usd_per_thousand=figures["listBlocksUsdPerThousand"].usd,
        get_blocks_usd_per_thousand=figures["getBlocksUsdPerThousand"].usd,
        packs_usd_per_gib_month=figures["packsUsdPerGibMonth"].usd,
        functions_usd_per_gb_second=figures["functionsUsdPerGbSecond"].usd,
        functions_usd_per_million=figures["functionsUsdPerMillion"].usd,
        transitions_usd_per_thousand=figures["transitionsUsdPerThousand"].usd,
        snapshot_usd_per_gib_month=figures["snapshotUsdPerGibMonth"].usd,
        storage_usd_per_gib_month=_group(figures, "storageUsdPerGibMonth"),
        iops_usd_per_month=_group(figures, "iopsUsdPerMonth"),
        throughput_usd_per_mib_s_month=_group(figures, "throughputUsdPerMibSMonth"),
        figures=dict(figures),
    )


def _price(name: str, value: Any) -> Decimal:
    try:
        price = Decimal(value)
    except (InvalidOperation, TypeError, ValueError) as error:
        raise InvalidRequestError(
            f"found {value!r}, allowed is a number", field=f"PriceOverrides.{name}"
        ) from error
    if not price.is_finite() or price < 0:
        raise InvalidRequestError(f"found {value}, allowed is 0 or more", field=f"PriceOverrides.{name}")
    return price


def _usage(usagetype: str) -> _Usage | None:
    """Outside us-east-1 a usage type begins with the Region's name, as in APN1-EBS:FastSnapshotRestore."""
    _, mark, rest = usagetype.partition("EBS:")
    known = _USAGES.get(mark + rest)
    if known is None and "initialization" in usagetype.lower():
        return _RATE_USAGE
    return known


def _lowest_tier(document: Mapping[str, Any]) -> Decimal | None:
    for term in document.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            usd = dimension.get("pricePerUnit", {}).get("USD")
            if usd is not None and dimension.get("beginRange", "0") == "0":
                return Decimal(usd)
    return None


def _published(document: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(document["publicationDate"])


def _plausible(usd: Decimal, expected: PriceFigure | None) -> bool:
    if expected is None or expected.usd == 0:
        return True
    return expected.usd / _PLAUSIBLE_FACTOR <= usd <= expected.usd * _PLAUSIBLE_FACTOR


def _group(figures: Mapping[str, PriceFigure], prefix: str) -> dict[str, Decimal]:
    return {
        name.removeprefix(f"{prefix}."): figure.usd
        for name, figure in figures.items()
        if name.startswith(f"{prefix}.")
    }


def _sources(figures: Mapping[str, PriceFigure]) -> str:
    """The sources of prices that depend on the strategy; storage always costs the same."""
    names = {"fsrUsdPerHour": "fast snapshot restore", "rateUsdPerGibMibS": "initialization rate"}
    borrowed = {figures[name].borrowed_from for name in names}
    note = "" if None in borrowed else f"{FALLBACK_REGION}'s figures: "
    return note + "; ".join(f"{label}: {figures[name].source}" for name, label in names.items())


LOG = logging.getLogger(__name__)

_VALID_FOR = timedelta(hours=12)
_WITHOUT_LIST = ("cn-", "us-gov-")
"""China's list asks for an account there and is in CNY; GovCloud has no endpoint of it (botocore)."""
_FAMILIES = (
    "Storage",
    "Storage Snapshot",
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
        own = overrides(self._overrides, now)
        defaults = shipped(self._region)
        is_listed = not self._region.startswith(_WITHOUT_LIST)
        if is_listed and (self._listed_at is None or now - self._listed_at > _VALID_FOR):
            self._read_price_list(defaults, now)
        return book(self._region, {**defaults, **self._listed, **own})

    def transfer_usd_per_gib(self, from_region: str, *, now: datetime) -> Decimal | None:
        del now
        if self._region.startswith(_WITHOUT_LIST):
            return None
        pair = {"fromRegionCode": from_region, "toRegionCode": self._region}
        fields = {**pair, "transferType": "InterRegion Outbound"}
        filters: list[FilterTypeDef] = [
            {"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in fields.items()
        ]
        try:
            with naming_errors():
                found = self._pricing.get_products(ServiceCode="AWSDataTransfer", Filters=filters)[
                    "PriceList"
                ]
            prices = [usd for text in found if (usd := _lowest_tier(json.loads(str(text)))) is not None]
        except (RestoreError, ValueError, KeyError) as error:
            LOG.warning("the Price List does not know the transfer from %s: %s", from_region, error)
            return None
        return max(prices, default=None)

    def _read_price_list(self, expected: Figures, now: datetime) -> None:
        found: Figures = {}
        try:
            for family in _FAMILIES:
                found |= listed(self._products("TERM_MATCH", "productFamily", family), expected)
            # AWS documents no usage type for provisioned rates yet, so we look for one by its name.
            found |= listed(self._products("CONTAINS", "usagetype", "Initialization"), expected)
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
