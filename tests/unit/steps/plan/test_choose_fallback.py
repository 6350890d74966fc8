"""State Choose Fallback."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from rewarm.contracts.results import PrepareSnapshotResult
from rewarm.contracts.values import Failure
from rewarm.domain.model import Strategy
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.plan.fallback import How
from rewarm.steps.plan.choose_fallback import ChooseFallbackEvent, choose_fallback
from tests.support.builders import NOW, RESTORE_ID, VOLUME_ID, assignment, at, plan, request
from tests.support.fakes import FakeTable
from tests.support.holds import FakePace

FSR = Strategy.FAST_SNAPSHOT_RESTORE
RATE = plan(
    Strategy.PROVISIONED_RATE,
    cost_usd=Decimal("0.50"),
    cost_parts=[
        CostPart(item="rate", usd=Decimal("0.40"), arithmetic="1 x 0.40"),
        CostPart(item="lists", usd=Decimal("0.10"), arithmetic="1 x 0.10", sunk=True),
    ],
)


def choose(error="InitializationRateUnavailableError", **changes):
    wanted = changes.pop("objective", {"strategy": "auto"})
    pace = changes.pop("pace", FakePace())
    values = {
        "restore_id": RESTORE_ID,
        "now": at(10),
        "request": request(objective=wanted),
        "volume": assignment(),
        "plan": RATE,
        "fallbacks": [plan(FSR, cost_usd=Decimal("0.90")), plan(Strategy.BACKGROUND)],
        "tried": [],
        "failure": Failure(state="Create Volume", error=error, cause="no"),
        "attached_announced": False,
        "warm_ups": 0,
        "agent_lost": False,
        "began_at": NOW,
        "spent_usd": Decimal(0),
        **changes,
    }
    table = FakeTable()
    found = choose_fallback(ChooseFallbackEvent(**values), table=table, rate_requests=pace)
    noted = table.records[RESTORE_ID]["fallback0"]
    assert (noted["how"], noted["why"], noted["error"]) == (found.how, found.why, error)
    return found


def test_the_next_plan_takes_over_and_says_why():
    found = choose(deadline_at=at(60))
    assert (found.how, found.plan.strategy) == (How.NEW_VOLUME, Strategy.BACKGROUND)
    assert [one.strategy for one in found.fallbacks] == [FSR]
    assert found.tried == [Strategy.PROVISIONED_RATE]
    assert found.plan.why.startswith("Takes over from provisioned-rate, with a new volume: full speed within")
    assert found.spent_usd == 0


def test_a_copy_is_waited_for_and_paid_once():
    """Its hour is over, and its 5 dollars are in the price of the plan that takes over."""
    copy = CostPart(item="Time-based snapshot copy", usd=Decimal(5), arithmetic="")
    copied = {"phases": {"copy": (3_600.0, 3_660.0)}, "copy_minutes": 60}
    failed = RATE.model_copy(
        update={"cost_usd": RATE.cost_usd + 5, "cost_parts": [*RATE.cost_parts, copy], **copied}
    )
    other = plan(
        FSR,
        cost_usd=Decimal("5.90"),
        cost_parts=[copy],
        ready_p90_seconds=4_560,
        usable_seconds=3_700,
        **copied,
    )
    values = {"plan": failed, "fallbacks": [other], "volume_id": VOLUME_ID, "deadline_at": at(30)}
    found = choose("AgentUnreachableError", budget_usd=Decimal("6.30"), **values)
    assert (found.how, found.spent_usd) == (How.NEW_VOLUME, Decimal("0.40"))
    assert (found.plan.ready_p90_seconds, found.plan.phases) == (900, {})
    assert not found.plan.deadline_missed
    short = choose("AgentUnreachableError", budget_usd=Decimal("6.29"), **values)
    assert short.rejected == ["fast-snapshot-restore: it costs $5.90, and the budget leaves $5.89"]


def test_a_volume_that_was_made_has_cost_its_rate():
    found = choose("AgentUnreachableError", volume_id=VOLUME_ID, budget_usd=Decimal("1.00"))
    assert found.spent_usd == Decimal("0.40")
    assert found.rejected == [
        "fast-snapshot-restore: it costs $0.90, and the budget leaves $0.60",
    ]
    again = choose(spent_usd=found.spent_usd, budget_usd=Decimal("1.00"))
    assert again.rejected == found.rejected


def test_fast_snapshot_restore_goes_on_costing_while_it_is_enabled():
    prepared = PrepareSnapshotResult(ready=False, wait_seconds=60, state="enabling", enabled_by_us=True)
    found = choose(
        "FastSnapshotRestoreUnavailableError",
        plan=plan(FSR, cost_usd=Decimal("0.90"), ready_p90_seconds=300),
        fallbacks=[RATE],
        preparation=prepared,
    )
    assert found.spent_usd == Decimal("1.80")


def test_in_place_the_estimate_is_from_now_on():
    background = plan(Strategy.BACKGROUND, usable_seconds=15, ready_p50_seconds=480, ready_p90_seconds=840)
    found = choose(
        "AgentFailedError",
        plan=plan(),
        fallbacks=[background],
        attached_announced=True,
        volume_id=VOLUME_ID,
        deadline_at=at(15),
    )
    assert (found.how, found.agent_lost) == (How.SAME_VOLUME, True)
    told = found.plan
    assert (told.usable_seconds, told.ready_p50_seconds, told.ready_p90_seconds) == (0, 465, 825)
    assert told.deadline_missed


def test_nothing_changes_where_no_plan_takes_over():
    found = choose("AccessDeniedError", volume_id=VOLUME_ID)
    assert (found.how, found.plan, len(found.fallbacks), found.tried) == (How.NONE, RATE, 2, [])


def test_a_demanded_strategy_is_never_left():
    found = choose(objective={"strategy": "provisioned-rate"}, fallbacks=[])
    assert (found.how, found.why) == (
        How.NONE,
        "The request demands provisioned-rate, so no other plan may take over.",
    )


def test_a_volume_whose_turn_comes_later_than_expected_asks_again():
    waits = RATE.model_copy(
        update={"phases": {"queue": (300.0, 900.0)}, "start_at": at(5), "ready_p90_seconds": 1_500}
    )
    found = choose(plan=waits, deadline_at=at(60))
    assert (found.how, found.plan.start_at, len(found.fallbacks), found.tried) == (
        How.SAME_PLAN_LATER,
        at(11),
        2,
        [],
    )
    assert choose(plan=waits, now=at(16), deadline_at=at(60)).how is How.NEW_VOLUME
    later = choose(plan=waits, deadline_at=at(60), pace=FakePace(given=90))
    assert later.plan.start_at == at(10) + timedelta(seconds=90)


def test_only_who_asks_for_the_rate_again_takes_a_turn():
    pace = FakePace(seconds_a_call=2)
    choose("AgentFailedError", pace=pace)
    assert pace.given == 0
    choose(deadline_at=at(60), pace=pace)
    choose(deadline_at=at(60), pace=pace)
    assert pace.given == 4


def test_the_agent_reads_once_more():
    found = choose("InitializationStalledError", volume_id=VOLUME_ID, attached_announced=True)
    assert (found.how, found.plan) == (How.WARM_UP_AGAIN, RATE)
