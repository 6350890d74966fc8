"""Reference cases by hand, from published prices. No figure here was computed by the engine.

Every volume is gp3 with 3,000 IOPS and 125 MiB/s, its snapshot fully written. Seconds that all of them have
in common on an instance, measured before and after (the priors of rewarm.domain.time.timings), P50 and P90:

    create 10 / 60, attach 5 / 30, measure 10 / 60, deliver 5 / 60, status 120 / 300, verify 10 / 60,
    credit metric 60 / 180

    agent, boost:      10 + 5 + 5 + 10            =  30   60 + 30 + 60 + 60            = 210, and reading
    rate, background:  10 + 5 + 120 + 10          = 145   60 + 30 + 300 + 60           = 450, and loading
    FSR:               60 + 10 + 5 + 10 + 10      =  95   180 + 60 + 30 + 60 + 60      = 390, and its lead

The agent reaches all of a volume's or instance's limit at P50, and 0.75 of it at P90: 93.75 of 125 MiB/s.
What S3 gives a gp3 volume is promised as 100 MB/s = 95.367 MiB/s, so a boost promises more only up to
95.367 / 0.75 = 127.2, in whole MiB/s 128. An account that has MEASURED 600 / 400 MiB/s gets more out of it.
Prices: EBS pages for us-east-1, Price List and a published article for Tokyo.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from rewarm.domain.model import GIB, FastSnapshotRestore, PriceBook, Strategy, VolumeSettings
from rewarm.domain.plan.estimates import EstimateLimits
from rewarm.domain.plan.estimators import ESTIMATORS
from rewarm.domain.plan.strategy import PlanObjective, choose_all
from rewarm.domain.time.timings import PRIORS, Quantiles
from rewarm.domain.volume.volume_types import VolumeLimits
from tests.support.builders import NOW, facts
from tests.support.fakes import tokyo_prices

TOKYO = tokyo_prices(NOW)
US_EAST_1 = PriceBook(
    region="us-east-1",
    as_of=NOW,
    source="EBS user guide and pricing page",
    fsr_usd_per_hour=Decimal("0.75"),
    rate_usd_per_gib_mib_s=Decimal("0.000012"),
    list_blocks_usd_per_thousand=Decimal("0.0006"),
    get_blocks_usd_per_thousand=Decimal("0.003"),
    packs_usd_per_gib_month=Decimal("0.023"),
    functions_usd_per_gb_second=Decimal("0.0000133334"),
    functions_usd_per_million=Decimal("0.20"),
    transitions_usd_per_thousand=Decimal("0.025"),
    snapshot_usd_per_gib_month=Decimal("0.05"),
    storage_usd_per_gib_month={"gp3": Decimal("0.08")},
    iops_usd_per_month={"gp3": Decimal("0.005")},
    throughput_usd_per_mib_s_month={"gp3": Decimal("0.04")},
)
BOOKS = {"us-east-1": US_EAST_1, "ap-northeast-1": TOKYO}
AGENT, BOOST = Strategy.WARM_UP_AGENT, Strategy.BOOSTED_WARM_UP
MEASURED = replace(PRIORS, first_touch_mib_s=Quantiles(600.0, 400.0))
RATE, FSR, ALONE = Strategy.PROVISIONED_RATE, Strategy.FAST_SNAPSHOT_RESTORE, Strategy.BACKGROUND


def full(size_gib, **changes):
    """On an instance with 593.75 MiB/s, baseline and maximum."""
    return facts(
        **{
            "data_bytes": size_gib * GIB,
            "written_bytes": size_gib * GIB,
            "written_blocks": size_gib * 2_048,
            "snapshot_size_gib": size_gib,
            "settings": VolumeSettings("gp3", size_gib, 3_000, 125),
            "speed": VolumeLimits(3_000, 125.0, 125.0),
            "snapshot_id": "snap-0",
            "availability_zone": "us-east-1a",
            "instance_id": "i-0",
            **changes,
        }
    )


def zone_only(size_gib, **changes):
    return full(size_gib, instance_limits=None, instance_id=None, agent_available=False, **changes)


# size GiB, strategy at its fastest, P50 s, P90 s, us-east-1 USD, ap-northeast-1 USD
FASTEST = [
    # 102,400 MiB / 125 = 819.2 s, / 93.75 = 1,092.3 s
    (100, AGENT, 30 + 819.2, 210 + 1_092.3, "0", "0"),
    # 102,400 / 128 = 800.0 s, / 95.367 = 1,073.7 s.
    # (128 - 125) MiB/s x $0.04 / 730 h x 1,284 s / 3,600 = $0.000059; x $0.048: $0.000070
    (100, BOOST, 30 + 800.0, 210 + 1_073.7, "0.000059", "0.000070"),
    # 102,400 / 300 = 341.3 s, / 0.9 = 379.3 s. 100 GiB x 300 x $0.000012 = $0.36; x $0.0000144 = $0.432
    (100, RATE, 145 + 341.3, 450 + 379.3, "0.36", "0.432"),
    # 100 / 1,024 TiB x 3,600 = 351.6 s, x 3,960 = 386.7 s; 10 credits an hour: 360 s.
    # P90 1,137 s is 19 min, billed as 60: $0.75; $0.90
    (100, FSR, 95 + 351.6 + 360, 390 + 386.7 + 360, "0.75", "0.90"),
    # below 1 TiB as long as for 1 TiB: 8 h = 28,800 s, 24 h = 86,400 s
    (100, ALONE, 145 + 28_800, 450 + 86_400, "0", "0"),
    # 1,048,576 MiB / 125 = 8,388.6 s, / 93.75 = 11,184.8 s
    (1_024, AGENT, 30 + 8_388.6, 210 + 11_184.8, "0", "0"),
    # / 128 = 8,192.0 s, / 95.367 = 10,995.1 s. 3 x $0.04 / 730 x 11,206 s / 3,600 = $0.000512; $0.000614
    (1_024, BOOST, 30 + 8_192.0, 210 + 10_995.1, "0.000512", "0.000614"),
    # / 300 = 3,495.3 s (58 min, as AWS says), / 0.9 = 3,883.6 s. 1,024 x 300 x $0.000012 = $3.6864; $4.42368
    (1_024, RATE, 145 + 3_495.3, 450 + 3_883.6, "3.6864", "4.42368"),
    # 3,600 s and 3,960 s; one credit an hour: 3,600 s. P90 7,950 s = 133 min x $0.75 / 60 = $1.6625; $1.995
    (1_024, FSR, 95 + 3_600 + 3_600, 390 + 3_960 + 3_600, "1.6625", "1.995"),
    (1_024, ALONE, 145 + 28_800, 450 + 86_400, "0", "0"),
    # 4,194,304 MiB / 125 = 33,554.4 s, / 93.75 = 44,739.2 s
    (4_096, AGENT, 30 + 33_554.4, 210 + 44_739.2, "0", "0"),
    # / 128 = 32,768.0 s, / 95.367 = 43,980.5 s. 3 x $0.04 / 730 x 44,191 s / 3,600 = $0.002018; $0.002421
    (4_096, BOOST, 30 + 32_768.0, 210 + 43_980.5, "0.002018", "0.002421"),
    # / 300 = 13,981.0 s, / 0.9 = 15,534.5 s. 4,096 x 300 x $0.000012 = $14.7456; $17.69472
    (4_096, RATE, 145 + 13_981.0, 450 + 15_534.5, "14.7456", "17.69472"),
    # 14,400 and 15,840 s; a credit in 4 h: 14,400 s. 30,630 s = 511 min x $0.75 / 60 = $6.3875; $7.665
    (4_096, FSR, 95 + 14_400 + 14_400, 390 + 15_840 + 14_400, "6.3875", "7.665"),
    # 4 x 8 h = 115,200 s, 4 x 24 h = 345,600 s
    (4_096, ALONE, 145 + 115_200, 450 + 345_600, "0", "0"),
    # 16,777,216 MiB / 125 = 134,217.7 s, / 93.75 = 178,957.0 s
    (16_384, AGENT, 30 + 134_217.7, 210 + 178_957.0, "0", "0"),
    # / 128 = 131,072.0 s, / 95.367 = 175,921.9 s. 3 x $0.04 / 730 x 176,132 s / 3,600 = $0.008043; $0.009651
    (16_384, BOOST, 30 + 131_072.0, 210 + 175_921.9, "0.008043", "0.009651"),
    # / 300 = 55,924.1 s, / 0.9 = 62,137.8 s. 16,384 x 300 x $0.000012 = $58.9824; $70.77888
    (16_384, RATE, 145 + 55_924.1, 450 + 62_137.8, "58.9824", "70.77888"),
    # 57,600 and 63,360 s; a credit in 16 h: 57,600 s. 121,350 s = 2,023 min x $0.75 / 60 = $25.2875; $30.345
    (16_384, FSR, 95 + 57_600 + 57_600, 390 + 63_360 + 57_600, "25.2875", "30.345"),
    (16_384, ALONE, 145 + 460_800, 450 + 1_382_400, "0", "0"),
]


@pytest.mark.parametrize(("size_gib", "strategy", "p50", "p90", "us_east", "tokyo"), FASTEST)
def test_one_volume_at_its_fastest(size_gib, strategy, p50, p90, us_east, tokyo):
    for book, usd in ((US_EAST_1, us_east), (TOKYO, tokyo)):
        estimate = ESTIMATORS[strategy](full(size_gib), book, EstimateLimits(deadline_seconds=1.0))
        assert estimate.times.ready_p50 == pytest.approx(p50, abs=0.1)
        assert estimate.times.ready_p90 == pytest.approx(p90, abs=0.1)
        assert estimate.decidable_usd == Decimal(usd)


# size GiB, what somebody else has enabled (free for us), seconds of its lead at P50 and P90
ENABLED = [
    (100, FastSnapshotRestore("enabled", NOW, 10.0), 0, 0),
    (100, FastSnapshotRestore("enabled", NOW, 0.0), 360, 360),
    (1_024, FastSnapshotRestore("enabled", NOW, 1.0), 0, 0),
    # half a credit is missing, at one an hour
    (1_024, FastSnapshotRestore("enabled", NOW, 0.5), 1_800, 1_800),
    (4_096, FastSnapshotRestore("enabled", NOW, 1.0), 0, 0),
    (4_096, FastSnapshotRestore("enabled", NOW, 0.0), 14_400, 14_400),
    (16_384, FastSnapshotRestore("enabled", NOW, 1.0), 0, 0),
    (16_384, FastSnapshotRestore("enabled", NOW, 0.0), 57_600, 57_600),
    # still optimizing, since when is unknown: the time for all of it is counted, and no credit
    (1_024, FastSnapshotRestore("optimizing"), 3_600 + 3_600, 3_960 + 3_600),
    # for 50 minutes; longer than was expected; longer than was promised
    (1_024, FastSnapshotRestore("optimizing", optimizing_seconds=3_000), 600 + 3_600, 960 + 3_600),
    (1_024, FastSnapshotRestore("optimizing", optimizing_seconds=3_700), 3_600, 360 + 3_600),
    (1_024, FastSnapshotRestore("optimizing", optimizing_seconds=9_000), 3_600, 360 + 3_600),
]


@pytest.mark.parametrize(("size_gib", "there", "p50", "p90"), ENABLED)
@pytest.mark.parametrize("region", BOOKS)
def test_fast_restore_that_somebody_else_has_enabled(size_gib, there, p50, p90, region):
    estimate = ESTIMATORS[FSR](full(size_gib, fast_restore=there), BOOKS[region], EstimateLimits())
    assert estimate.times.ready_p50 == pytest.approx(95 + p50)
    assert estimate.times.ready_p90 == pytest.approx(390 + p90)
    assert estimate.decidable_usd == 0


# volumes of one snapshot, size GiB, strategy, P50 s, P90 s, all together in us-east-1 and in ap-northeast-1
TWELVE = [
    # 12 x 102,400 MiB / 593.75 MiB/s of the instance = 2,069.6 s, slower than 102,400 / 125; / 0.75 at P90
    (100, AGENT, 30 + 2_069.6, 210 + 2_759.4, "0", "0"),
    # 6 min a credit, and nobody knows who gets the first: the last, after 72 min = 4,320 s.
    # P90 5,097 s = 85 min x $0.75 / 60 = $1.0625; $1.275. Twelve rates of 300 would be 12 x $0.36 = $4.32
    (100, FSR, 95 + 351.6 + 4_320, 390 + 386.7 + 4_320, "1.0625", "1.275"),
    # 5,000 MiB/s / 12 = 416: 300 for each. 12 x $0.12 = $1.44 at 100 MiB/s; x 1.2 = $1.728.
    # 102,400 / 100 = 1,024 s, / 0.9 = 1,137.8 s
    (100, RATE, 145 + 1_024.0, 450 + 1_137.8, "1.44", "1.728"),
    # 12 x 1,048,576 / 593.75 = 21,192.3 s
    (1_024, AGENT, 30 + 21_192.3, 210 + 28_256.4, "0", "0"),
    # a credit an hour: 12 h = 43,200 s. 47,550 s = 793 min x $0.75 / 60 = $9.9125; $11.895
    (1_024, FSR, 95 + 3_600 + 43_200, 390 + 3_960 + 43_200, "9.9125", "11.895"),
    # 12 x 1,024 x 100 x $0.000012 = $14.7456; $17.69472
    (1_024, RATE, 145 + 10_485.8, 450 + 11_650.8, "14.7456", "17.69472"),
    # 12 x 4,194,304 / 593.75 = 84,769.1 s
    (4_096, AGENT, 30 + 84_769.1, 210 + 113_025.5, "0", "0"),
    # a credit in 4 h: 48 h = 172,800 s. 189,030 s = 3,151 min: $39.3875; $47.265
    (4_096, FSR, 95 + 14_400 + 172_800, 390 + 15_840 + 172_800, "39.3875", "47.265"),
    (4_096, RATE, 145 + 41_943.0, 450 + 46_603.4, "58.9824", "70.77888"),
    # 12 x 16,777,216 / 593.75 = 339,076.4 s
    (16_384, AGENT, 30 + 339_076.4, 210 + 452_101.8, "0", "0"),
    # a credit in 16 h: 192 h = 691,200 s. 754,950 s = 12,583 min: $157.2875; $188.745
    (16_384, FSR, 95 + 57_600 + 691_200, 390 + 63_360 + 691_200, "157.2875", "188.745"),
    (16_384, RATE, 145 + 167_772.2, 450 + 186_413.5, "235.9296", "283.11552"),
]


@pytest.mark.parametrize(("size_gib", "strategy", "p50", "p90", "us_east", "tokyo"), TWELVE)
def test_twelve_volumes_of_one_snapshot(size_gib, strategy, p50, p90, us_east, tokyo):
    for book, usd in ((US_EAST_1, us_east), (TOKYO, tokyo)):
        decisions = choose_all([full(size_gib)] * 12, PlanObjective(fixed=strategy), book)
        estimates = [one.plan.estimate for one in decisions]
        assert [one.times.ready_p50 for one in estimates] == pytest.approx([p50] * 12, abs=0.1)
        assert [one.times.ready_p90 for one in estimates] == pytest.approx([p90] * 12, abs=0.1)
        assert sum(one.decidable_usd for one in estimates) == Decimal(usd)


# facts, deadline s, what is chosen with its MiB/s, us-east-1 USD, ap-northeast-1 USD
CHOSEN = [
    # the agent is ready after 1,302.3 s and costs nothing
    (full(100), 1_303, AGENT, None, "0", "0"),
    # 1,302 - 210 = 1,092 s: 102,400 / 1,092 / 0.75 = 125.03, so 126 MiB/s and 1,293.6 s.
    # 1 x $0.04 / 730 x 1,294 s / 3,600 = $0.000020
    (full(100), 1_302, BOOST, 126, "0.000020", "0.000024"),
    # without the agent: 102,400 / 0.9 / (1,000 - 450) = 206.9. 100 x 207 x $0.000012
    (full(100, agent_available=False), 1_000, RATE, 207, "0.2484", "0.29808"),
    # 2 h: no boost promises that. 1,048,576 / 0.9 / (7,200 - 450) = 172.6. 1,024 x 173 x $0.000012
    (full(1_024), 7_200, RATE, 173, "2.125824", "2.550989"),
    # Where S3 was measured, 1,048,576 / (7,200 - 210) / 0.75 = 200.02: 201 MiB/s, ready after 7,165.7 s.
    # 76 x $0.04 / 730 x 7,166 s / 3,600 = $0.008289; $0.009947
    (full(1_024, timings=MEASURED), 7_200, BOOST, 201, "0.008289", "0.009947"),
    # to a zone alone: 60 + 300 s in common, no boost. 1,048,576 / 0.9 / (7,200 - 360) = 170.3
    (zone_only(1_024), 7_200, RATE, 171, "2.101248", "2.521498"),
    # 3 h: 1,048,576 / 0.9 / 10,440 = 111.6, 1,024 x 112 x $0.000012 = $1.376; FSR's 130 min would be $1.625
    (zone_only(1_024), 10_800, RATE, 112, "1.376256", "1.651507"),
    # FSR is there after 60 + 180 + 3,960 + 3,600 = 7,800 s, 130 min = $1.625; the rate needs
    # 1,048,576 / 0.9 / (7,800 - 360) = 156.6: 1,024 x 157 x $0.000012 = $1.929
    (zone_only(1_024), 7_800, FSR, None, "1.625", "1.95"),
    # 9 h: 4,194,304 / 0.9 / 32,040 = 145.5 would be $7.176; 60 + 180 + 15,840 + 14,400 s = 508 min: $6.35
    (zone_only(4_096), 32_400, FSR, None, "6.35", "7.62"),
    # 34 h: 16,777,216 / 0.9 / 122,040 = 152.7 would be $30.08; 121,200 s = 2,020 min: $25.25
    (zone_only(16_384), 122_400, FSR, None, "25.25", "30.30"),
    # without a deadline nothing is paid
    (zone_only(16_384), None, ALONE, None, "0", "0"),
    # enabled already with a credit: 60 + 180 s
    (zone_only(16_384, fast_restore=FastSnapshotRestore("enabled", NOW, 1.0)), 240, FSR, None, "0", "0"),
    # and without one after 16 h = 57,600 s more: still before the highest rate's 360 + 62,137.8 s
    (zone_only(16_384, fast_restore=FastSnapshotRestore("enabled", NOW, 0.0)), 57_840, FSR, None, "0", "0"),
    # while it is only being optimized it would be 60 + 180 + 63,360 + 57,600 s
    (
        zone_only(16_384, fast_restore=FastSnapshotRestore("optimizing", NOW)),
        62_498,
        RATE,
        300,
        "58.9824",
        "70.77888",
    ),
]


@pytest.mark.parametrize(("volume", "deadline", "strategy", "mib_s", "us_east", "tokyo"), CHOSEN)
def test_the_choice(volume, deadline, strategy, mib_s, us_east, tokyo):
    for book, usd in ((US_EAST_1, us_east), (TOKYO, tokyo)):
        (decision,) = choose_all([volume], PlanObjective(deadline), book)
        estimate = decision.plan.estimate
        boosted = estimate.boost.throughput_mib_s if estimate.boost else None
        assert (estimate.strategy, estimate.rate_mib_s or boosted) == (strategy, mib_s)
        assert estimate.decidable_usd == Decimal(usd)


def test_twelve_volumes_share_one_price_where_that_is_cheaper_than_twelve_rates():
    # To a zone alone, 100 GiB each, in 84 min: the last credit is there after
    # 60 + 180 + 386.7 + 4,320 s = 4,947 s, 83 min x $0.75 / 60 = $1.0375. Twelve rates of 100 MiB/s: $1.44.
    volumes = [zone_only(100)] * 12
    decisions = choose_all(volumes, PlanObjective(5_040.0), US_EAST_1)
    assert {one.plan.estimate.strategy for one in decisions} == {FSR}
    assert sum(one.plan.estimate.decidable_usd for one in decisions) == Decimal("1.0375")
    # Each alone would pay 60 minutes, $0.75: the rate's $0.12 is cheaper.
    (alone,) = choose_all(volumes[:1], PlanObjective(5_040.0), US_EAST_1)
    assert (alone.plan.estimate.strategy, alone.plan.estimate.decidable_usd) == (RATE, Decimal("0.12"))


def test_one_budget_makes_the_slowest_volume_as_early_as_it_can():
    # 1 TiB and 100 GiB to a zone alone in 2 h: 171 MiB/s are $2.101248, 100 MiB/s are $0.12. With $2.00 in
    # all, $1.88 is left for the large one, that is 152 MiB/s: 360 + 1,048,576 / 0.9 / 152 = 8,025 s. FSR is
    # earlier (7,800 s) and cheaper ($1.625).
    volumes = [zone_only(1_024), replace(zone_only(100), snapshot_id="snap-1")]
    decisions = choose_all(volumes, PlanObjective(7_200.0, Decimal("2.00")), US_EAST_1)
    large, small = (one.plan for one in decisions)
    assert (large.estimate.strategy, large.estimate.decidable_usd) == (FSR, Decimal("1.625"))
    assert (small.estimate.strategy, small.estimate.decidable_usd) == (RATE, Decimal("0.12"))
    assert (large.deadline_missed, small.deadline_missed) == (True, False)
    # $2.10 less $0.12 buys 161 MiB/s ($1.978368): 360 + 7,236.5 s; 162 would be $1.990656, $2.110656 in all.
    richer = choose_all(volumes, PlanObjective(7_200.0, Decimal("2.10")), US_EAST_1)
    assert [one.plan.estimate.rate_mib_s for one in richer] == [161, 100]
