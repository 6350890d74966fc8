"""Which plan takes over, and how: examples, and what must hold whatever happened."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain import errors
from rewarm.domain.model import Strategy
from rewarm.domain.plan.fallback import (
    AGENT_LOST,
    IN_PLACE,
    MENDED_BY_ANOTHER_PLAN,
    NOT_FAST,
    STALLED,
    How,
    Option,
    Situation,
    spent_usd,
    take_over,
)

RATE = Option(Strategy.PROVISIONED_RATE, 20, 600, Decimal("0.40"))
FSR = Option(Strategy.FAST_SNAPSHOT_RESTORE, 3_620, 3_700, Decimal("1.50"))
AGENT = Option(Strategy.WARM_UP_AGENT, 20, 900, Decimal(0))
BACKGROUND = Option(Strategy.BACKGROUND, 20, 86_400, Decimal(0))
ALL = (AGENT, RATE, FSR, BACKGROUND)
REFUSED = Situation(
    "InitializationRateUnavailableError",
    Strategy.PROVISIONED_RATE,
    agent_available=True,
    ready_p90_seconds=RATE.ready_p90_seconds,
)
USABLE = replace(REFUSED, announced=True)


def chosen(situation: Situation, options: tuple[Option, ...] = ALL) -> tuple[How, Strategy | None]:
    found = take_over(situation, options)
    return found.how, None if found.option is None else options[found.option].strategy


def test_the_cheapest_in_time_takes_over_with_a_new_volume() -> None:
    assert chosen(replace(REFUSED, seconds_left=3_600)) == (How.NEW_VOLUME, Strategy.WARM_UP_AGENT)
    assert chosen(replace(REFUSED, seconds_left=3_700, agent_available=False)) == (
        How.NEW_VOLUME,
        Strategy.FAST_SNAPSHOT_RESTORE,
    )


def test_time_that_has_passed_makes_another_plan_the_best() -> None:
    situation = replace(REFUSED, agent_available=False)
    assert chosen(replace(situation, seconds_left=3_720))[1] is Strategy.FAST_SNAPSHOT_RESTORE
    late = take_over(replace(situation, seconds_left=100), ALL)
    assert (ALL[late.option or 0].strategy, late.late) == (Strategy.FAST_SNAPSHOT_RESTORE, True)
    assert "1 h too late" in late.why


def test_a_strict_request_fails_rather_than_be_late() -> None:
    found = take_over(replace(REFUSED, agent_available=False, strict=True, seconds_left=100), ALL)
    assert (found.how, found.option) == (How.NONE, None)
    assert "the deadline is in 2 min" in found.why


def test_what_is_spent_is_spent() -> None:
    situation = replace(REFUSED, agent_available=False, seconds_left=600)
    assert chosen(replace(situation, budget_left_usd=Decimal("1.49"))) == (
        How.NEW_VOLUME,
        Strategy.BACKGROUND,
    )
    rejected = take_over(replace(situation, budget_left_usd=Decimal("-0.10")), ALL).rejected
    assert any("it costs $1.50, and the budget leaves $0" in one for one in rejected)


def test_a_rate_is_asked_for_again_while_what_else_is_in_time_stays_so_and_is_dearer() -> None:
    situation = replace(REFUSED, agent_available=False, seconds_left=3_600, ready_p90_seconds=600)
    assert chosen(situation, (BACKGROUND,)) == (How.SAME_PLAN_LATER, None)
    assert take_over(situation, (BACKGROUND,)).wait_seconds == 36
    assert take_over(replace(situation, seconds_left=36_000), (BACKGROUND,)).wait_seconds == 360
    assert chosen(replace(situation, seconds_left=629), (BACKGROUND,)) == (
        How.NEW_VOLUME,
        Strategy.BACKGROUND,
    )
    assert chosen(replace(situation, seconds_left=3_730), (FSR,))[0] is How.NEW_VOLUME
    assert chosen(replace(situation, seconds_left=3_800), (FSR,))[0] is How.SAME_PLAN_LATER
    cheaper = replace(situation, seconds_left=3_800, failed_usd=Decimal("1.50"))
    assert chosen(cheaper, (FSR,))[0] is How.NEW_VOLUME
    assert chosen(replace(situation, demanded=Strategy.PROVISIONED_RATE), ()) == (How.SAME_PLAN_LATER, None)
    assert chosen(replace(situation, error="CapacityUnavailableError"), ()) == (How.NONE, None)


def test_a_volume_that_waits_for_its_turn_asks_until_the_plan_has_the_rate_free() -> None:
    """Whatever else is in time, and however late it is: nothing is wrong yet."""
    situation = replace(REFUSED, seconds_left=100, ready_p90_seconds=600, queue_seconds_left=400)
    situation = replace(situation, overdue_seconds=200)
    found = take_over(situation, ALL)
    assert (found.how, found.wait_seconds) == (How.SAME_PLAN_LATER, 40)
    assert found.why == "Other volumes hold the Region's rate: it is asked for again in 40 s."
    assert take_over(replace(situation, overdue_seconds=1), ALL).wait_seconds == 15
    assert take_over(replace(situation, turn_seconds=70), ALL).wait_seconds == 70


@pytest.mark.parametrize("error", sorted(AGENT_LOST))
def test_without_the_agent_a_volume_in_use_is_left_to_aws(error: str) -> None:
    situation = replace(USABLE, error=error, failed=Strategy.WARM_UP_AGENT)
    assert chosen(situation) == (How.SAME_VOLUME, Strategy.BACKGROUND)
    assert chosen(situation, ()) == (How.NONE, None)


def test_a_plan_in_place_has_the_volume_already() -> None:
    situation = replace(USABLE, error="AgentFailedError", failed=Strategy.WARM_UP_AGENT)
    found = take_over(replace(situation, seconds_left=86_380), (BACKGROUND,))
    assert (found.how, found.late) == (How.SAME_VOLUME, False)
    assert "on the same volume" in found.why


@pytest.mark.parametrize("error", [STALLED, NOT_FAST])
def test_the_agent_reads_what_stands_still_or_is_slow_once(error: str) -> None:
    situation = replace(USABLE, error=error, demanded=Strategy.PROVISIONED_RATE)
    assert chosen(situation, ())[0] is How.WARM_UP_AGAIN
    assert chosen(replace(situation, warm_ups=1), ())[0] is How.NONE
    assert chosen(replace(situation, agent_available=False), ())[0] is How.NONE


def test_a_rewound_volume_that_is_slow_is_not_read_again() -> None:
    found = take_over(replace(USABLE, error=NOT_FAST, failed=Strategy.REWIND), ())
    assert (found.how, "all of its blocks" in found.why) == (How.NONE, True)


def test_a_slow_volume_is_not_mended_by_waiting() -> None:
    found = take_over(replace(USABLE, error=NOT_FAST, warm_ups=1), ALL)
    assert (found.how, found.why) == (How.NONE, "Another plan would not mend that.")


def test_a_standstill_after_a_second_warm_up_is_left_to_aws() -> None:
    assert chosen(replace(USABLE, error=STALLED, warm_ups=1)) == (How.SAME_VOLUME, Strategy.BACKGROUND)


def test_a_demanded_strategy_has_no_other() -> None:
    found = take_over(replace(REFUSED, demanded=Strategy.PROVISIONED_RATE), ())
    assert found.why == "The request demands provisioned-rate, so no other plan may take over."


SITUATIONS = st.builds(
    Situation,
    error=st.sampled_from(
        sorted(MENDED_BY_ANOTHER_PLAN | {NOT_FAST, "AccessDeniedError", "RestoreCancelledError"})
    ),
    failed=st.sampled_from(Strategy),
    tried=st.frozensets(st.sampled_from(Strategy), max_size=3),
    demanded=st.none(),
    strict=st.booleans(),
    announced=st.booleans(),
    agent_available=st.booleans(),
    agent_lost=st.booleans(),
    warm_ups=st.integers(0, 1),
    seconds_left=st.none() | st.floats(-1e5, 1e6),
    budget_left_usd=st.none() | st.decimals(-5, 5, places=4),
    ready_p90_seconds=st.floats(1, 1e5),
    queue_seconds_left=st.just(0.0) | st.floats(0, 1e5),
    overdue_seconds=st.floats(0, 1e4),
)
OPTIONS = st.lists(
    st.builds(
        Option,
        strategy=st.sampled_from(Strategy),
        usable_seconds=st.floats(0, 1e4),
        ready_p90_seconds=st.floats(1e4, 1e6),
        cost_usd=st.decimals(0, 5, places=4),
    ),
    max_size=5,
    unique_by=lambda option: option.strategy,
).map(tuple)


@given(SITUATIONS, OPTIONS)
def test_nothing_takes_over_that_may_not(situation: Situation, options: tuple[Option, ...]) -> None:
    found = take_over(situation, options)
    assert found.why
    if found.option is None:
        assert found.how in {How.NONE, How.WARM_UP_AGAIN, How.SAME_PLAN_LATER}
        assert (found.wait_seconds > 0) == (found.how is How.SAME_PLAN_LATER)
        return
    option = options[found.option]
    assert situation.error in MENDED_BY_ANOTHER_PLAN
    assert option.strategy not in situation.tried | {situation.failed}
    assert found.how is (How.SAME_VOLUME if situation.announced else How.NEW_VOLUME)
    assert not situation.announced or option.strategy in IN_PLACE
    assert not (option.strategy.reads_with_agent and situation.without_agent)
    budget = situation.budget_left_usd
    assert budget is None or option.cost_usd == 0 or option.cost_usd <= budget
    assert found.late == situation.is_late(option)
    assert not (situation.strict and found.late)


@given(SITUATIONS, OPTIONS)
def test_none_that_might_is_better(situation: Situation, options: tuple[Option, ...]) -> None:
    found = take_over(situation, options)
    if found.option is None:
        return
    best = options[found.option]
    seconds = best.seconds_from_now(in_place=situation.announced)
    for other in options:
        alone = take_over(situation, (other,))
        if alone.option is None:
            continue
        assert not (found.late and not alone.late)
        if not found.late and not alone.late:
            assert best.cost_usd <= other.cost_usd
        if found.late:
            assert seconds <= other.seconds_from_now(in_place=situation.announced)


def later(situation: Situation, seconds: float) -> Situation:
    left = situation.seconds_left
    return replace(
        situation,
        seconds_left=None if left is None else left - seconds,
        queue_seconds_left=max(0.0, situation.queue_seconds_left - seconds),
        overdue_seconds=situation.overdue_seconds + seconds,
    )


@given(SITUATIONS, OPTIONS)
def test_a_restore_ends(situation: Situation, options: tuple[Option, ...]) -> None:
    """However often it fails again, each plan is tried once, and the agent reads once more at the most.

    The same rate is asked for again less and less often, and no more once it would be too late.
    """
    left, steps, asked = options, 0, 0
    while True:
        found = take_over(situation, left)
        steps += 1
        assert steps <= len(options) + 2
        if found.how is How.NONE:
            return
        if found.how is How.WARM_UP_AGAIN:
            situation = replace(situation, warm_ups=situation.warm_ups + 1)
            continue
        if found.how is How.SAME_PLAN_LATER:
            steps, asked = steps - 1, asked + 1
            assert asked < 500
            situation = later(situation, found.wait_seconds)
            continue
        assert found.option is not None
        chosen_one = left[found.option]
        left = tuple(one for one in left if one is not chosen_one)
        tried = situation.tried | {situation.failed}
        situation = replace(situation, failed=chosen_one.strategy, tried=tried)


@given(SITUATIONS, OPTIONS)
def test_only_failures_of_plans_are_mended(situation: Situation, options: tuple[Option, ...]) -> None:
    for name in ("AccessDeniedError", "VolumeUnreadableError", "DeviceInUseError", "States.Timeout"):
        assert take_over(replace(situation, error=name), options).how is How.NONE
    assert hasattr(errors, "VolumeUnreadableError")


@pytest.mark.parametrize(
    ("strategy", "facts", "spent"),
    [
        (Strategy.PROVISIONED_RATE, {"made": False, "enabled_by_us": False}, "0"),
        (Strategy.PROVISIONED_RATE, {"made": True, "enabled_by_us": False}, "0.4"),
        (Strategy.FAST_SNAPSHOT_RESTORE, {"made": True, "enabled_by_us": False}, "0"),
        (Strategy.FAST_SNAPSHOT_RESTORE, {"made": False, "enabled_by_us": True}, "0.4"),
        (
            Strategy.FAST_SNAPSHOT_RESTORE,
            {"made": False, "enabled_by_us": True, "share_of_time": 2.0},
            "0.8",
        ),
        (Strategy.BOOSTED_WARM_UP, {"made": True, "enabled_by_us": False, "share_of_time": 0.1}, "0.4"),
        (Strategy.BOOSTED_WARM_UP, {"made": False, "enabled_by_us": False}, "0"),
    ],
)
def test_what_a_failed_plan_has_cost(strategy: Strategy, facts: dict[str, float], spent: str) -> None:
    assert spent_usd(strategy, Decimal("0.4"), **facts) == Decimal(spent)  # type: ignore[arg-type]
