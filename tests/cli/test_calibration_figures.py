"""From observations to a value and an interval; what a calibration costs; its leases."""

from __future__ import annotations

import random
from decimal import Decimal
from types import SimpleNamespace

import pytest

from rewarm_cli.calibrate import figures
from rewarm_cli.calibrate.cloud import clock_of
from rewarm_cli.calibrate.figures import Seen
from rewarm_cli.calibrate.reads import Places, again, parsed, written
from rewarm_cli.calibrate.ways import Prices, considered
from tests.support.amount import LONG

PRICES = Prices(Decimal("0.75"), Decimal("0.000012"), Decimal("0.08"))


def test_a_duration_has_all_observations_with_what_polling_leaves_open():
    assert figures.duration([Seen(1, 2), Seen(2, 3), Seen(1.5, 2.5)]) == (2.0, 1, 3, 3)
    assert figures.duration([]) is None


@pytest.mark.parametrize("sigma", [0.2, 0.7])
def test_the_mean_of_skewed_reads_is_in_its_interval_in_99_of_100_cases(sigma):
    draw = random.Random(1)
    hits = 0
    for _ in range(400):
        sample = [draw.lognormvariate(-sigma * sigma / 2, sigma) for _ in range(160)]
        found = figures.mean(sample)
        hits += found.low <= 1 <= found.high
    assert hits >= 390


def test_the_end_of_loading_is_in_its_interval():
    draw = random.Random(2)
    hits, draws = 0, 40 if LONG else 20
    for _ in range(draws):
        probes = [(at / 10, draw.random() > at / 800) for at in range(250, 1_000)]
        found = figures.end_of_loading(probes)
        hits += found.low <= 80 <= found.high
    assert hits >= 0.95 * draws


def test_nothing_is_said_of_what_was_loaded_before():
    assert figures.end_of_loading([(at, False) for at in range(100)]) is None
    assert figures.slope([(Seen(0, 5), 3)]) is None
    assert figures.spacing([Seen(0, 5)]) is None
    assert figures.mean([1.0] * 7) is None


def test_refreshes_that_come_evenly_are_known_closer_than_polling_is():
    times = [Seen(298, 303), Seen(599, 604), Seen(896, 901)]
    assert figures.spacing(times)[1:3] == (296, 302)


def test_a_way_that_does_not_fit_is_left_out_and_the_next_may_fit():
    ways = {way.name: way for way in considered(8, PRICES, Decimal("0.5"))}
    assert [way.is_done for way in ways.values()] == [True, True, False]
    assert "more than the limit of 0.50 USD" in ways["fsr"].reason
    assert all(way.is_done for way in considered(8, PRICES, Decimal(1)))
    assert not any(way.is_done for way in considered(8, PRICES, Decimal(0)))
    (way,) = (way for way in considered(8, PRICES, Decimal(1), ["volume", "fsr"]) if not way.is_done)
    assert (way.name, way.reason) == ("rate", "not asked for")


def test_what_the_document_prints():
    output = "phase cold 1700000000000\n1700000000010 0.0915\n1700000000120 0.002\n1700000000200\n"
    (found,) = parsed(output + "phase broken 1700000000300\n")
    assert (found.name, found.began, found.ended) == ("cold", 1_700_000_000.0, 1_700_000_000.2)
    assert found.milliseconds == [91.5, 2.0]
    assert written("1700000000000\n1700000008000\n") == (1_700_000_000.0, 1_700_000_008.0)


def test_no_place_is_handed_out_twice():
    places = Places(1)
    first, second = places.take("first", 10, every=1_024), places.take("second", 3, every=128)
    assert first.first + 10 * 1_024 <= places.pages
    assert second.first + 3 * 128 <= first.first
    assert again(first, "same", offset=64).text == f"same:1:{first.first + 64}:1024:10:262144:1"


@pytest.mark.parametrize(("date", "is_corrected"), [("Mon, 23 Nov 2037 02:00:00 GMT", True), (None, False)])
def test_a_clock_that_is_wrong_is_set_by_ec2s(date, is_corrected):
    headers = {"date": date} if date else {}
    answer = {"ResponseMetadata": {"HTTPHeaders": headers}}
    clients = SimpleNamespace(ec2=SimpleNamespace(describe_volumes=lambda MaxResults: answer))  # noqa: N803
    assert (clock_of(clients).now() > 2_140_000_000) is is_corrected
