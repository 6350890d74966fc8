"""The price list: GetProducts in AWS's shape, from the prices in prices.json.

Sources: EBS user guide, "Amazon EBS billing and usage reports" (usage types), and AWS's price list. io2's
tiers are known for Tokyo only, EBS direct API requests for us-east-1 only; what is not known is not listed. A
volume initialization rate has no known usage type: it is listed only under the name that
`RegionSettings.initialization_usage_type` gives it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from local import Json
from local.aws.region.core import Core, iso
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation

SERVICE_CODE = "AmazonEC2"
ON_DEMAND = "JRTCKXETXF"
PER_UNIT = "6YS6EN2CT7"


@cache
def price_data() -> Json:
    """The prices as data."""
    data: Json = json.loads(Path(__file__).with_name("prices.json").read_text(encoding="utf-8"))
    return data


class Prices:
    """The AWS Price List Service for EBS."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def usd(self, usage: str) -> float:
        """The price of a usage type in this Region; a Region that is not listed has us-east-1's prices."""
        for product in price_data()["products"]:
            if product["usage"] == usage:
                prices = product["usd"]
                found = prices.get(self._core.settings.region, prices.get("us-east-1", 0.0))
                return float(found) * self._core.settings.price_factor
        raise KeyError(usage)

    def initialization_usd(self) -> float:
        """The price of a volume initialization rate: USD per GiB of snapshot data and MiB/s."""
        prices = price_data()["initialization_usd_per_gib_and_mib_s"]
        return (
            float(prices.get(self._core.settings.region, prices["us-east-1"]))
            * self._core.settings.price_factor
        )

    @operation("pricing", "GetProducts")
    def get_products(self, params: Json) -> Json:
        """Products that pass every filter, each a JSON document in a string."""
        if params["ServiceCode"] != SERVICE_CODE:
            raise ApiError("NotFoundException", f"The service code {params['ServiceCode']} is not valid")
        rows = [row for row in self._rows() if all(_passes(row, one) for one in params.get("Filters") or ())]
        start = _start(params.get("NextToken"))
        end = start + min(params.get("MaxResults") or 100, 100)
        token = base64.b64encode(str(end).encode()).decode() if end < len(rows) else None
        return {
            "FormatVersion": "aws_v1",
            "PriceList": [json.dumps(self._document(row)) for row in rows[start:end]],
            "NextToken": token,
        }

    def _rows(self) -> list[Json]:
        data = price_data()
        products = list(data["products"])
        name = self._core.settings.initialization_usage_type
        if name is not None:
            prices = data["initialization_usd_per_gib_and_mib_s"]
            products.append(
                {"family": "Storage", "usage": name, "unit": "GiB-MiBps", "usd": prices, "attributes": {}}
            )
        return [
            _row(product, region, price * self._core.settings.price_factor)
            for product in products
            for region, price in product["usd"].items()
        ]

    def _document(self, row: Json) -> Json:
        sku, now = row["sku"], iso(self._core.now())
        dimension = {
            "unit": row["unit"],
            "endRange": "Inf",
            "beginRange": "0",
            "appliesTo": [],
            "description": f"${row['usd']:.10f} per {row['unit']} - {row['location']}",
            "rateCode": f"{sku}.{ON_DEMAND}.{PER_UNIT}",
            "pricePerUnit": {"USD": f"{row['usd']:.10f}"},
        }
        term = {
            "priceDimensions": {f"{sku}.{ON_DEMAND}.{PER_UNIT}": dimension},
            "sku": sku,
            "effectiveDate": now,
            "offerTermCode": ON_DEMAND,
            "termAttributes": {},
        }
        shown = ("sku", "usd", "unit", "productFamily")
        return {
            "product": {
                "productFamily": row["productFamily"],
                "sku": sku,
                "attributes": {key: value for key, value in row.items() if key not in shown},
            },
            "serviceCode": SERVICE_CODE,
            "terms": {"OnDemand": {f"{sku}.{ON_DEMAND}": term}},
            "version": iso(self._core.now()).translate({ord(char): None for char in "-:TZ"}),
            "publicationDate": now,
        }


def _row(product: Json, region: str, usd: float) -> Json:
    data = price_data()
    usage = data["usage_prefixes"][region] + product["usage"]
    return {
        "sku": hashlib.sha256(usage.encode()).hexdigest()[:16].upper(),
        "usd": usd,
        "unit": product["unit"],
        "productFamily": product["family"],
        "servicecode": SERVICE_CODE,
        "servicename": "Amazon Elastic Compute Cloud",
        "location": data["locations"][region],
        "locationType": "AWS Region",
        "regionCode": region,
        "usagetype": usage,
        "operation": "",
        **product["attributes"],
    }


_TESTS: dict[str, Callable[[str, str], bool]] = {
    "TERM_MATCH": lambda text, value: text == value,
    "EQUALS": lambda text, value: text == value,
    "CONTAINS": lambda text, value: value in text,
    "ANY_OF": lambda text, value: text in value.split(","),
    "NONE_OF": lambda text, value: text not in value.split(","),
}


def _passes(row: Json, one: Json) -> bool:
    """Whether a product passes one filter; the case of field names does not matter."""
    test = _TESTS.get(one["Type"])
    if test is None:
        raise ApiError("InvalidParameterException", f"Unknown filter type {one['Type']}")
    folded: dict[str, Any] = {key.lower(): value for key, value in row.items()}
    text = folded.get(one["Field"].lower())
    return test(str(text), one["Value"]) if text is not None else one["Type"] == "NONE_OF"


def _start(token: str | None) -> int:
    if not token:
        return 0
    try:
        return int(base64.b64decode(token, validate=True))
    except ValueError as error:
        raise ApiError("InvalidNextTokenException", "The pagination token is invalid.") from error
