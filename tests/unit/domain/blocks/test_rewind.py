"""What a rewind takes: blocks, time and price."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.blocks.rewind import LIST_CHANGED, SAMPLES, choose, rewind, with_evidence
from rewarm.domain.blocks.rewind_facts import COMPARED, LISTED, LOGGED, WAYS, RewindFacts, WrittenSince
from rewarm.domain.blocks.shards import ChangedCount
from rewarm.domain.model import BLOCK_BYTES, GIB, MIB, InstanceEbsLimits
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimators import BLOCKS_PER_SECOND, FETCH_SHARE
from rewarm.domain.time.timings import PRIORS, Quantiles
from rewarm.domain.volume.volume_types import VolumeLimits
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
        speed=VolumeLimits(16_000, mib_s, mib_s),
        instance_limits=FAST_INSTANCE,
        changed=ChangedCount(TIB_BLOCKS // 20, requests=11),
        since=WrittenSince(0, 2_143 * BLOCK_BYTES),
    )
    return replace(facts, **changes)


@pytest.mark.parametrize(("mib_s", "minutes"), [(1_000.0, 0.9), (125.0, 7)])
def test_a_tib_with_a_twentieth_changed_takes_minutes_and_cents(mib_s, minutes):
    estimate = rewind(volume(mib_s), BOOK, LISTED)
    parts = {part.item: part for part in estimate.parts}
    assert estimate.expected.blocks == pytest.approx(107_000, abs=1)
    assert parts[cost.GET_BLOCKS].usd == pytest.approx(Decimal("0.32"), abs=Decimal("0.002"))
    assert parts[LIST_CHANGED].arithmetic == "33 requests x $0.0006 / 1,000"
    assert dict(estimate.phases)["write"].p50 / 60 == pytest.approx(minutes, abs=0.2)
    assert estimate.usd < Decimal("0.41")
    assert estimate.kept_usd_a_month == pytest.approx(Decimal("0.052"), abs=Decimal("0.001"))


def test_the_first_part_is_fetched_while_the_evidence_is_pending_and_written_after_it():
    quick = replace(PRIORS, evidence_seconds=Quantiles(60, 90))
    slow = replace(PRIORS, evidence_seconds=Quantiles(3_600, 7_200))
    waits = [
        dict(rewind(volume(125.0, timings=one), BOOK, LISTED).phases)["evidence"] for one in (quick, slow)
    ]
    first = PRIORS.copy_start_seconds.p50 + TIB_BLOCKS // 20 / (BLOCKS_PER_SECOND * FETCH_SHARE.p50)
    assert waits[0].p50 == pytest.approx(first, abs=1)
    assert waits[1] == Quantiles(3_600, 7_200)
    phases = dict(rewind(volume(125.0, timings=slow), BOOK, LISTED).phases)
    written = phases["write"].p50 + phases["read-back"].p50
    assert written == pytest.approx(2 * 107_000 * BLOCK_BYTES / MIB / 125, rel=0.01)


def test_earlier_snapshots_of_the_volume_say_how_long_the_evidence_is_pending():
    assert with_evidence(PRIORS, []).evidence_seconds == PRIORS.evidence_seconds
    known = with_evidence(PRIORS, [200.0] * 10).evidence_seconds
    assert known == Quantiles(200.0, PRIORS.evidence_seconds.p50)
    assert with_evidence(PRIORS, [200.0]).evidence_seconds.p50 == 200.0


def test_each_written_block_is_read_back_within_the_volume_s_limit():
    phases = dict(rewind(volume(125.0), BOOK, LISTED).phases)
    assert phases["read-back"].p50 == pytest.approx(phases["write"].p50)
    since = WrittenSince(0, 107_000 * BLOCK_BYTES)
    fast = dict(rewind(volume(1_000.0, changed=ChangedCount(0), since=since), BOOK, LISTED).phases)
    assert fast["read-back"].p50 == 0


def test_the_instance_limits_too():
    slow = InstanceEbsLimits(50.0, 900.0, 20_000, 400)
    phases = dict(rewind(volume(1_000.0, instance_limits=slow), BOOK, LISTED).phases)
    assert phases["write"].p50 == pytest.approx(107_001 / 2 / 100, abs=1)
    assert phases["write"].p90 == pytest.approx(107_001 / 2 / 50 / PRIORS.warm_up_share.p90, abs=1)


def test_small_writes_may_each_have_met_another_block():
    since = WrittenSince(ops=50_000, size_bytes=50_000 * 4_096)
    estimate = rewind(volume(500.0, changed=ChangedCount(0), since=since), BOOK, LISTED)
    assert (estimate.expected.blocks, estimate.most.blocks) == (4_439, 50_391)
    assert estimate.most_usd > estimate.usd


def test_where_nothing_is_known_all_may_have_changed():
    estimate = rewind(volume(500.0, changed=ChangedCount(0), since=None), BOOK, LISTED)
    assert (estimate.expected.blocks, estimate.most.blocks) == (1_448, TIB_BLOCKS)


@pytest.mark.parametrize("since", [None, WrittenSince(0, 0)])
def test_a_rewind_is_undone_by_writing_as_many_blocks_as_it_wrote(since):
    undone = volume(125.0, volume_bytes=2 * GIB, changed=ChangedCount(0), since=since, least=166)
    estimate = rewind(undone, BOOK, LISTED)
    assert estimate.expected.blocks == 166
    assert estimate.most.blocks == (4_096 if since is None else 166)


def test_the_start_of_a_copy_is_waited_for_once():
    small = volume(125.0, changed=ChangedCount(0), since=QUIET, timings=PRIORS)
    assert dict(rewind(small, BOOK, LISTED).phases)["copy"] == PRIORS.copy_start_seconds
    evident = dict(rewind(small, BOOK, COMPARED).phases)
    assert evident["copy"] == Quantiles(0.0, 0.0), "it is over long before the evidence is"
    assert evident["evidence"] == PRIORS.evidence_seconds


def test_blocks_that_are_compared_and_not_written_are_paid_too():
    estimate = rewind(volume(125.0, since=QUIET, written_blocks=TIB_BLOCKS), BOOK, LISTED)
    parts = {part.item: part.arithmetic for part in estimate.parts}
    assert parts[cost.GET_BLOCKS].startswith(f"{TIB_BLOCKS // 20 + SAMPLES:,} blocks")
    assert parts[cost.LIST_BLOCKS].startswith("32 requests")
    none_left = rewind(volume(125.0, since=QUIET, written_blocks=TIB_BLOCKS // 20), BOOK, LISTED)
    assert cost.LIST_BLOCKS not in {part.item for part in none_left.parts}


class TestComparison:
    def test_it_reads_the_whole_volume_and_pays_every_written_block(self):
        facts = volume(125.0, volume_bytes=8 * GIB, changed=ChangedCount(0), written_blocks=8_192)
        estimate = rewind(facts, BOOK, LOGGED)
        phases, parts = dict(estimate.phases), {part.item: part.arithmetic for part in estimate.parts}
        assert phases["copy"].p50 == PRIORS.copy_start_seconds.p50
        assert phases["read"].p50 == pytest.approx(8 * 1_024 / 125)
        assert parts[cost.GET_BLOCKS].startswith("8,192 blocks")
        assert parts[cost.LIST_BLOCKS].startswith("1 request ")

    def test_of_a_fast_volume_the_copying_is_what_takes_long(self):
        facts = volume(1_000.0, volume_bytes=64 * GIB, changed=ChangedCount(0), written_blocks=131_072)
        read = dict(rewind(facts, BOOK, LOGGED).phases)["read"].p50
        assert read == pytest.approx(131_072 * BLOCK_BYTES / 480e6, rel=0.001)

    def test_old_bytes_are_read_again_and_uploaded_before_new_ones_are_written(self):
        facts = volume(125.0, changed=ChangedCount(0), since=WrittenSince(0, 1_000 * BLOCK_BYTES))
        phases = dict(rewind(facts, BOOK, LOGGED).phases)
        assert phases["write"].p50 == phases["read-back"].p50 == pytest.approx(500 / 125)
        assert phases["keep"].p50 == pytest.approx(500 / 125 + 1_000 * BLOCK_BYTES / 85e6)
        assert "keep" not in dict(rewind(facts, BOOK, COMPARED).phases)

    def test_what_a_log_has_is_not_fetched_from_the_snapshot(self):
        facts = volume(125.0, changed=ChangedCount(0), written_blocks=5_000, logged=200)
        parts = {part.item: part.arithmetic for part in rewind(facts, BOOK, LOGGED).parts}
        assert parts[cost.GET_BLOCKS].startswith("4,800 blocks")

    def test_the_request_may_limit_the_agent(self):
        facts = volume(125.0, volume_bytes=GIB, changed=ChangedCount(0), max_mib_s=10.0)
        assert dict(rewind(facts, BOOK, LOGGED).phases)["read"].p50 == pytest.approx(102.4)

    def test_it_is_sooner_than_a_pending_snapshot_as_long_as_the_volume_is_small(self):
        """125 MiB/s read 22 GiB in three minutes."""
        for gib, sooner in ((10, LOGGED), (40, LISTED)):
            facts = volume(
                125.0,
                volume_bytes=gib * GIB,
                changed=ChangedCount(0),
                since=WrittenSince(0, 100 * BLOCK_BYTES),
                written_blocks=gib * 2_048,
                timings=with_evidence(PRIORS, [180.0] * 10),
            )
            ways = [rewind(facts, BOOK, way) for way in WAYS]
            assert choose([ways], None)[0].way == sooner


class TestChoice:
    def ways(self, gib):
        facts = volume(
            125.0, volume_bytes=gib * GIB, changed=ChangedCount(0), since=QUIET, written_blocks=gib * 2_048
        )
        return [rewind(facts, BOOK, way) for way in WAYS]

    def test_the_soonest_within_the_budget(self):
        listed, logged, _ = ways = self.ways(10)
        assert logged.seconds.p50 < listed.seconds.p50
        assert choose([ways], logged.usd) == [logged]
        assert choose([ways], listed.usd) == [listed]
        assert choose([ways], Decimal(0)) == [listed], "nothing fits, so the cheapest"

    def test_volumes_share_the_budget_and_the_last_one_counts(self):
        small, large = self.ways(10), self.ways(60)
        budget = small[0].usd + large[1].usd
        # One of the two waits for its snapshot in any case, so the other one is as soon as it can be.
        assert [one.way for one in choose([small, large], budget)] == [LOGGED, LISTED]
        assert [one.way for one in choose([small, large], small[1].usd + large[1].usd)] == [LOGGED, LOGGED]

    def test_of_no_volume_there_is_nothing_to_choose(self):
        assert choose([], None) == []


def test_a_list_that_was_cut_off_is_drawn_out():
    listed = ChangedCount(10_000, requests=1, listed_share=0.25)
    estimate = rewind(volume(500.0, changed=listed, since=QUIET), BOOK, LISTED)
    assert (estimate.expected.blocks, estimate.most.blocks) == (40_000, 10_000 + TIB_BLOCKS * 3 // 4)


def test_zeros_are_written_and_not_fetched():
    estimate = rewind(volume(500.0, changed=ChangedCount(1_000, zeros=400), since=QUIET), BOOK, LISTED)
    assert estimate.expected.blocks == 1_000
    assert {part.item: part.arithmetic for part in estimate.parts}[cost.GET_BLOCKS].startswith("600 blocks")


COUNTS = st.integers(0, 2 * TIB_BLOCKS)


@given(
    changed=COUNTS,
    zeros=COUNTS,
    share=st.floats(0, 1),
    ops=COUNTS,
    gib=st.floats(0, 4_096),
    least=COUNTS,
)
def test_no_estimate_is_above_the_whole_volume_or_below_none(changed, zeros, share, ops, gib, least):
    size_bytes, blocks = gib * GIB, min(changed, int(TIB_BLOCKS * share))
    found = ChangedCount(blocks, min(zeros, blocks), 1, share)
    facts = volume(125.0, changed=found, since=WrittenSince(ops, size_bytes), least=least)
    for estimate in (rewind(facts, BOOK, way) for way in WAYS):
        for load in (estimate.expected, estimate.most):
            assert 0 <= load.fetched <= load.blocks <= TIB_BLOCKS
            assert load.first_blocks <= load.blocks
        assert estimate.expected.blocks <= estimate.most.blocks
        assert 0 <= estimate.usd <= estimate.most_usd
        assert all(part.p50 >= 0 and part.p90 >= 0 for _, part in estimate.phases)
