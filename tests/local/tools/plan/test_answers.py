"""Commands of `make plan` whose answers were wrong once: dearer than need be, late, or promised too much."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from local.tools.plan import offline
from local.tools.plan.options import parse
from rewarm.domain.model import Strategy
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import PlanObjective
from rewarm.domain.time.timings import PRIORS, Quantiles
from tests.support.builders import NOW
from tests.support.values.exact_plan import ExactPlan

LOADS_AT_352 = replace(PRIORS, first_touch_mib_s=Quantiles(352.0, 234.0), warm_up_share=Quantiles(1.0, 1.0))
"""gp3 volumes that load fast and evenly. The shipped priors promise 100 MB/s, where no boost helps."""
MIXED = (
    ("--size-gib 4096 --volumes 3 --instance-type m7g.4xlarge", 308, "38.19", "12.79"),
    ("--size-gib 1024 --volumes 4 --instance-type m7g.2xlarge", 180, "5.55", "1.39"),
)


@pytest.mark.parametrize(("command", "minutes", "usd", "usd_at_352"), MIXED)
def test_a_mix_is_as_cheap_as_an_exact_solver_finds_it(command, minutes, usd, usd_at_352):
    volumes, book = offline.facts(parse(command.split()), NOW)
    for timings, expected in ((PRIORS, usd), (LOADS_AT_352, usd_at_352)):
        facts = [replace(volume, timings=timings) for volume in volumes]
        mix = allocate(facts, PlanObjective(minutes * 60.0), book)
        assert mix is not None
        assert mix.is_proven
        assert mix.seconds <= minutes * 60
        assert mix.usd.quantize(Decimal("0.01")) == Decimal(expected)
        least = ExactPlan(facts, minutes * 60.0, book).least_usd()
        assert abs(mix.usd - least) < Decimal("0.0001")


@pytest.fixture
def answer():
    def plan(command: str):
        return offline.plan(parse(command.split()), NOW)

    return plan


def test_free_credits_of_fast_snapshot_restore_are_used_as_far_as_they_go(answer):
    """Ten credits, and the eleventh comes in time; the twelfth volume takes a rate."""
    found = answer(
        "--size-gib 100 --volumes 12 --fsr-state enabled --credits 10 --instance-type none "
        "--deadline-minutes 15"
    )
    taken = [one.plan.strategy for one in found.plans]
    assert taken.count(Strategy.FAST_SNAPSHOT_RESTORE) == 11
    assert taken.count(Strategy.PROVISIONED_RATE) == 1
    assert found.summary.total_cost_usd < Decimal("0.26")
    assert not found.summary.deadline_missed


def test_more_than_fifty_volumes_take_the_rate_in_turns(answer):
    found = answer("--size-gib 100 --volumes 55 --instance-type none --deadline-minutes 60")
    assert not found.summary.deadline_missed
    assert found.summary.total_cost_usd <= Decimal("6.75")
    rated = [one for one in found.plans if one.plan.strategy is Strategy.PROVISIONED_RATE]
    assert len(rated) > 40


def test_what_is_free_and_earlier_is_taken_by_many_volumes_too(answer):
    """Fast snapshot restore is paid already; twelve volumes wait 76 minutes for credits, EBS alone a day."""
    for target in ("none", "m7g.large"):
        found = answer(
            f"--size-gib 100 --volumes 12 --fsr-state enabled --credits 0 --instance-type {target}"
        )
        assert found.summary.ready_p90_at - NOW < timedelta(hours=1.5)


@pytest.mark.parametrize("size_gib", [1_024, 16_384])
def test_the_promise_for_a_large_volume_is_apart_from_what_is_usual(answer, size_gib):
    found = answer(f"--size-gib {size_gib} --instance-type m7g.4xlarge").plans[0].plan
    assert found.strategy is Strategy.WARM_UP_AGENT
    assert found.ready_p90_seconds > 1.25 * found.ready_p50_seconds


def test_an_instance_on_which_no_agent_works_is_promised_no_reader(answer):
    found = answer("--size-gib 100 --instance-type t2.micro --deadline-minutes 30")
    assert found.plans[0].plan.strategy is Strategy.PROVISIONED_RATE
    assert not found.summary.deadline_missed


def test_several_volumes_by_fast_snapshot_restore_are_ready_when_the_last_has_its_credit(answer):
    found = answer(
        "--size-gib 100 --volumes 12 --fsr-state enabled --credits 0 --instance-type none "
        "--strategy fast-snapshot-restore"
    )
    assert min(one.plan.ready_p50_seconds for one in found.plans) > 72 * 60


def test_a_price_in_steps_is_said_where_it_would_change_the_plan(answer):
    by_rate = answer("--size-gib 100 --instance-type none --deadline-minutes 30")
    assert any("two steps" in note for note in by_rate.summary.notes)
    by_agent = answer("--size-gib 100 --deadline-minutes 10000")
    assert not any("two steps" in note for note in by_agent.summary.notes)


def test_fast_snapshot_restore_that_is_free_serves_a_volume_above_its_full_benefit(answer):
    found = answer(
        "--volume-type io2 --size-gib 200 --iops 64000 --fsr-state enabled --credits 1 "
        "--instance-type m7g.16xlarge --deadline-minutes 10"
    )
    assert found.plans[0].plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE
    assert not found.summary.deadline_missed
    assert any("1,000 MiB/s" in note for note in found.summary.notes)


@pytest.mark.parametrize(("volume_type", "least_gib"), [("sc1", 125), ("st1", 125), ("io2 --iops 100", 4)])
def test_no_volume_is_planned_that_ec2_would_refuse(answer, volume_type, least_gib):
    found = answer(f"--volume-type {volume_type} --size-gib 1")
    assert found.plans[0].volume.volume.size_gib == least_gib
    assert any(f"at least {least_gib} GiB" in note for note in found.summary.notes)
