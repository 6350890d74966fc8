"""What a rewind takes: blocks, time and price."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.blocks.changed import ChangedCount
from rewarm.domain.blocks.rewind import (
    LIST_CHANGED,
    RewindFacts,
    WrittenSince,
    rewind,
    with_evidence,
)
from rewarm.domain.model import BLOCK_BYTES, GIB, MIB, InstanceEbsLimits
from rewarm.domain.plan import cost
from rewarm.domain.time.timings import PRIORS, Quantiles
from rewarm.domain.volume.volume_types import VolumeSpeed
from tests.support.builders import NOW
from tests.support.fakes import tokyo_prices

BOOK = tokyo_prices(NOW)
TIB_BLOCKS = 1_024 * GIB // BLOCK_BYTES
FAST_INSTANCE = InstanceEbsLimits(2_375.0, 2_375.0, 80_000, 80_000)
QUIET = WrittenSince(0, 0)


def volume(mib_s, **changes):
    """1 TiB with 5 % changed until the newest snapshot, and 2,142 blocks since then."""
    facts = RewindFacts(
        volume_bytes=1_024 * GIB,
        speed=VolumeSpeed(16_000, mib_s, mib_s),
        instance_limits=FAST_INSTANCE,
        changed=ChangedCount(TIB_BLOCKS // 20, requests=11),
        since=WrittenSince(0, 2_143 * BLOCK_BYTES),
    )
    return replace(facts, **changes)


@pytest.mark.parametrize(("mib_s", "minutes"), [(1_000.0, 2), (125.0, 7)])
def test_a_tib_with_a_twentieth_changed_takes_minutes_and_cents(mib_s, minutes):
    estimate = rewind(volume(mib_s), BOOK)
    parts = {part.item: part for part in estimate.parts}
    assert estimate.expected.blocks == pytest.approx(107_000, abs=1)
    assert parts[cost.GET_BLOCKS].usd == pytest.approx(Decimal("0.32"), abs=Decimal("0.002"))
    assert parts[LIST_CHANGED].arithmetic == "33 requests x $0.0006 / 1,000"
    assert dict(estimate.phases)["write"].p50 / 60 == pytest.approx(minutes, abs=0.2)
    assert estimate.usd < Decimal("0.41")
    assert estimate.evidence_usd_a_month == pytest.approx(Decimal("0.052"), abs=Decimal("0.001"))


def test_the_evidence_is_waited_for_only_as_long_as_the_first_part_leaves_open():
    quick = replace(PRIORS, evidence_seconds=Quantiles(60, 90))
    slow = replace(PRIORS, evidence_seconds=Quantiles(3_600, 7_200))
    waits = [dict(rewind(volume(125.0, timings=one), BOOK).phases)["evidence"] for one in (quick, slow)]
    assert waits[0] == Quantiles(0.0, 0.0)
    first = TIB_BLOCKS // 20 * BLOCK_BYTES / MIB / 125 * 2
    assert waits[1].p50 == pytest.approx(3_600 - first, abs=1)


def test_earlier_snapshots_of_the_volume_say_how_long_the_evidence_is_pending():
    assert with_evidence(PRIORS, []).evidence_seconds == PRIORS.evidence_seconds
    known = with_evidence(PRIORS, [200.0] * 10).evidence_seconds
    assert known == Quantiles(200.0, PRIORS.evidence_seconds.p50)
    assert with_evidence(PRIORS, [200.0]).evidence_seconds.p50 == 200.0


def test_each_written_block_is_read_back_within_the_volume_s_limit():
    phases = dict(rewind(volume(125.0), BOOK).phases)
    assert phases["read-back"].p50 == pytest.approx(phases["write"].p50)
    fast = dict(rewind(volume(1_000.0), BOOK).phases)
    assert fast["read-back"].p50 == 0


def test_the_instance_limits_too():
    slow = InstanceEbsLimits(50.0, 900.0, 20_000, 400)
    phases = dict(rewind(volume(1_000.0, instance_limits=slow), BOOK).phases)
    assert phases["write"].p50 == pytest.approx(107_001 / 2 / 100, abs=1)
    assert phases["write"].p90 == pytest.approx(107_001 / 2 / 50 / PRIORS.warm_up_share.p90, abs=1)


def test_small_writes_may_each_have_met_another_block():
    since = WrittenSince(ops=50_000, size_bytes=50_000 * 4_096)
    estimate = rewind(volume(500.0, changed=ChangedCount(0), since=since), BOOK)
    assert (estimate.expected.blocks, estimate.most.blocks) == (4_439, 50_391)
    assert estimate.most_usd > estimate.usd


def test_where_nothing_is_known_all_may_have_changed():
    estimate = rewind(volume(500.0, changed=ChangedCount(0), since=None), BOOK)
    assert (estimate.expected.blocks, estimate.most.blocks) == (0, TIB_BLOCKS)


def test_a_list_that_was_cut_off_is_drawn_out():
    listed = ChangedCount(10_000, requests=1, listed_share=0.25)
    estimate = rewind(volume(500.0, changed=listed, since=QUIET), BOOK)
    assert (estimate.expected.blocks, estimate.most.blocks) == (40_000, 10_000 + TIB_BLOCKS * 3 // 4)


def test_zeros_are_written_and_not_fetched():
    estimate = rewind(volume(500.0, changed=ChangedCount(1_000, zeros=400), since=QUIET), BOOK)
    assert estimate.expected.blocks == 1_000
    assert {part.item: part.arithmetic for part in estimate.parts}[cost.GET_BLOCKS].startswith("600 blocks")


COUNTS = st.integers(0, 2 * TIB_BLOCKS)


@given(changed=COUNTS, zeros=COUNTS, share=st.floats(0, 1), ops=COUNTS, gib=st.floats(0, 4_096))
def test_no_estimate_is_above_the_whole_volume_or_below_none(changed, zeros, share, ops, gib):
    size_bytes, blocks = gib * GIB, min(changed, int(TIB_BLOCKS * share))
    found = ChangedCount(blocks, min(zeros, blocks), 1, share)
    estimate = rewind(volume(125.0, changed=found, since=WrittenSince(ops, size_bytes)), BOOK)
    for load in (estimate.expected, estimate.most):
        assert 0 <= load.fetched <= load.blocks <= TIB_BLOCKS
        assert load.first_blocks <= load.blocks
    assert estimate.expected.blocks <= estimate.most.blocks
    assert 0 <= estimate.usd <= estimate.most_usd
    assert all(part.p50 >= 0 and part.p90 >= 0 for _, part in estimate.phases)
