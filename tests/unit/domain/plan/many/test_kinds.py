"""Volumes of a kind share their estimates, and what a search reads in short is what the estimates say."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given

from local.tools.bench.checks.plans import volumes
from rewarm.domain.plan.estimates import Estimate, EstimateLimits, PlanObjective
from rewarm.domain.plan.estimators import ESTIMATORS
from rewarm.domain.plan.mixes import Mixes, PricedVolume, SharedQuotas, options_of
from rewarm.domain.plan.warm_up import promised_p90_beside
from tests.support.amount import cases
from tests.support.values.facts import TOKYO, any_facts, any_restore
from tests.support.values.many_volumes import restore

NAMES = {
    "snapshot_id": "snap-other",
    "availability_zone": "ap-northeast-1d",
    "instance_id": "i-other",
    "card": 1,
    "priority": 7,
}
ENOUGH = SharedQuotas(rate_mib_s=10**9, fast_restores=10**9)


@cases(60, 600)
@given(any_facts())
def test_what_a_volume_is_called_changes_no_estimate(facts):
    limits = EstimateLimits(7_200.0, Decimal(3))
    for estimator in ESTIMATORS.values():
        assert estimator(replace(facts, **NAMES), TOKYO, limits) == estimator(facts, TOKYO, limits)


def test_each_kind_of_volumes_is_estimated_once():
    several = volumes(1_000)
    kinds = {repr(replace(one, **NAMES)) for one in several}
    options = options_of(several, PlanObjective(3_600.0), TOKYO)
    assert len({id(one.kind) for one in options}) == len(kinds) < len(several) / 1.5
    assert [one.facts for one in options] == several


@cases(100, 1_000)
@given(any_restore())
def test_what_differs_in_more_than_names_is_of_another_kind(several):
    options = options_of(several, PlanObjective(3_600.0), TOKYO)
    for volume, other in pairwise(options):
        alike = replace(volume.facts, **NAMES) == replace(other.facts, **NAMES)
        assert alike or volume.kind is not other.kind


@cases(100, 1_000)
@given(any_restore())
def test_the_p90_beside_others_is_the_estimates_own_to_the_last_bit(several):
    for facts in several:
        outcome = ESTIMATORS["warm-up-agent"](facts, TOKYO, EstimateLimits())
        if isinstance(outcome, Estimate):
            assert promised_p90_beside(facts)(facts.read_beside) == outcome.times.ready_p90


@pytest.mark.parametrize("seed", range(40))
def test_price_and_p90_in_short_are_those_of_the_estimates(seed):
    several, deadline, _ = restore(seed, range(2, 40))
    options = options_of(several, PlanObjective(deadline), TOKYO)
    priced = [PricedVolume(one, max(deadline, one.kind.fastest), False) for one in options]
    mixes, draw, compared = Mixes(priced, ENOUGH), random.Random(seed), 0
    for _ in range(20):
        places = draw.sample(range(len(priced)), draw.randint(1, len(priced)))
        choices = {place: draw.choice(sorted(priced[place].solo)) for place in places}
        found = mixes.estimates(choices)
        if found is not None:
            usd = sum((one.decidable_usd for one in found.values()), Decimal(0))
            assert mixes.apart_usd(choices) == usd
            assert mixes.ready_apart(choices) == {place: one.times.ready_p90 for place, one in found.items()}
            compared += 1
        else:
            assert mixes.apart_usd(choices) is None
    assert compared
