"""The price book: shipped, listed by AWS, and the user's own."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from rewarm.adapters import prices
from rewarm.adapters.prices import AwsPrices
from rewarm.domain.errors import InvalidRequestError
from tests.contract.answers import ApiError, Aws

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def product(usagetype: str, usd: str, begin: str = "0") -> str:
    dimension = {"unit": "x", "beginRange": begin, "endRange": "Inf", "pricePerUnit": {"USD": usd}}
    return json.dumps({
        "product": {"productFamily": "x", "sku": "S", "attributes": {"usagetype": usagetype}},
        "terms": {"OnDemand": {"S.T": {"priceDimensions": {"S.T.U": dimension}}}},
        "publicationDate": "2026-11-01T00:00:00Z",
    })  # fmt: skip


class PriceList:
    """GetProducts: the products of one family or with one word in their usage type."""

    def __init__(self, **families: list[str]) -> None:
        self.families = {name.replace("_", " "): found for name, found in families.items()}

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"FormatVersion": "aws_v1", "PriceList": self.families.get(params["Filters"][1]["Value"], [])}


def test_every_shipped_region_has_every_figure_with_date_and_source() -> None:
    virginia = prices.shipped("us-east-1")
    assert set(prices.shipped("ap-northeast-1")) == set(virginia)
    assert all(figure.usd > 0 and figure.source and figure.as_of < NOW for figure in virginia.values())
    assert virginia["rateUsdPerGibMibS"].usd * 300 == Decimal("0.0036")


def test_another_region_says_that_its_figures_are_us_east_1s() -> None:
    pricing = Aws("pricing").on("GetProducts", ApiError("InternalErrorException"))
    book = AwsPrices(pricing.client, "sa-east-1").book(now=NOW)
    assert (book.region, book.fsr_usd_per_hour) == ("sa-east-1", Decimal("0.75"))
    assert "us-east-1's figures" in book.source


def test_the_price_list_wins_over_the_shipped_prices() -> None:
    answers = PriceList(
        Storage=[product("APN1-EBS:VolumeUsage.gp3", "0.1")],
        Fast_Snapshot_Restore=[product("APN1-EBS:FastSnapshotRestore", "0.95")],
        Provisioned_Throughput=[product("APN1-EBS:VolumeP-Throughput.gp3", "51.2")],
        Storage_Snapshot=[product("APN1-EBS:SnapshotUsage", "0.052")],
        EBS_direct_API_Requests=[
            product("APN1-EBS:directAPI.snapshot.List", "0.0000007"),
            product("APN1-EBS:directAPI.snapshot.Get", "0.0000035"),
        ],
    )
    pricing = Aws("pricing").on("GetProducts", answers)
    prices = AwsPrices(pricing.client, "ap-northeast-1")
    book = prices.book(now=NOW)
    assert book.fsr_usd_per_hour == Decimal("0.95")
    assert book.storage_usd_per_gib_month["gp3"] == Decimal("0.1")
    assert book.throughput_usd_per_mib_s_month["gp3"] == Decimal("0.05")
    assert book.list_blocks_usd_per_thousand == Decimal("0.0007")
    assert book.get_blocks_usd_per_thousand == Decimal("0.0035")
    assert book.snapshot_usd_per_gib_month == Decimal("0.052")
    assert book.rate_usd_per_gib_mib_s == Decimal("0.0000144")
    assert book.as_of == datetime(2025, 5, 6, tzinfo=UTC)
    assert "AWS Price List" in book.source
    asked = len(pricing.calls)
    prices.book(now=NOW + timedelta(hours=1))
    assert len(pricing.calls) == asked
    prices.book(now=NOW + timedelta(hours=13))
    assert len(pricing.calls) == 2 * asked


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1"])
def test_other_partitions_get_us_east_1_s_figures_without_asking(region: str) -> None:
    pricing = Aws("pricing").on("GetProducts", PriceList())
    book = AwsPrices(pricing.client, region).book(now=NOW)
    assert book.fsr_usd_per_hour == Decimal("0.75")
    assert "us-east-1's figures" in book.source
    assert pricing.calls == []


@pytest.mark.parametrize(("usd", "taken"), [("0.000013", True), ("0.0036", False)])
def test_a_rate_in_an_unknown_unit_is_left_out(usd: str, taken: bool) -> None:  # noqa: FBT001
    found = PriceList(Initialization=[product("EBS:VolumeInitialization.rate", usd)])
    book = AwsPrices(Aws("pricing").on("GetProducts", found).client, "us-east-1").book(now=NOW)
    assert book.rate_usd_per_gib_mib_s == (Decimal(usd) if taken else Decimal("0.000012"))


def test_only_the_lowest_tier_counts() -> None:
    tiers = [product("EBS:VolumeP-IOPS.io2", "0.046", begin="32001"), product("EBS:VolumeP-IOPS.io2", "0.07")]
    found = prices.listed(tiers, prices.shipped("us-east-1"))
    assert found["iopsUsdPerMonth.io2"].usd == Decimal("0.07")


def test_the_users_own_prices_win() -> None:
    pricing = Aws("pricing").on("GetProducts", PriceList())
    own = '{"fsrUsdPerHour": 0.5, "storageUsdPerGibMonth.gp3": "0.07"}'
    book = AwsPrices(pricing.client, "us-east-1", own).book(now=NOW)
    assert (book.fsr_usd_per_hour, book.storage_usd_per_gib_month["gp3"]) == (Decimal("0.5"), Decimal("0.07"))
    assert "your own prices" in book.source


@pytest.mark.parametrize(
    "text", ["nonsense", "[]", '{"fsr": 1}', '{"fsrUsdPerHour": "x"}', '{"fsrUsdPerHour": -1}']
)
def test_bad_prices_are_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="PriceOverrides"):
        AwsPrices(Aws("pricing").client, "us-east-1", text).book(now=NOW)


class TestTransfer:
    def test_is_the_dearest_of_the_pair_of_regions(self) -> None:
        asked: list[dict[str, Any]] = []

        def answer(params: dict[str, Any]) -> dict[str, Any]:
            asked.append(params)
            found = [product("EUW1-APN1-AWS-Out-Bytes", "0.02"), product("EUW1-APN1-AWS-Out-Bytes", "0.01")]
            return {"FormatVersion": "aws_v1", "PriceList": found}

        known = AwsPrices(Aws("pricing").on("GetProducts", answer).client, "ap-northeast-1")
        assert known.transfer_usd_per_gib("eu-west-1", now=NOW) == Decimal("0.02")
        (params,) = asked
        assert params["ServiceCode"] == "AWSDataTransfer"
        assert {one["Field"]: one["Value"] for one in params["Filters"]} == {
            "fromRegionCode": "eu-west-1",
            "toRegionCode": "ap-northeast-1",
            "transferType": "InterRegion Outbound",
        }

    @pytest.mark.parametrize(
        "answer", [ApiError("InternalErrorException"), {"FormatVersion": "aws_v1", "PriceList": []}]
    )
    def test_is_unknown_where_the_price_list_does_not_say(self, answer: Any) -> None:
        pricing = Aws("pricing").on("GetProducts", answer)
        assert AwsPrices(pricing.client, "sa-east-1").transfer_usd_per_gib("eu-west-1", now=NOW) is None

    def test_is_unknown_where_there_is_no_list(self) -> None:
        assert AwsPrices(Aws("pricing").client, "cn-north-1").transfer_usd_per_gib("x", now=NOW) is None
