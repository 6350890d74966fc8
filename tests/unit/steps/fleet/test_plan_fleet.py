"""The plan of a fleet, and what its restores make of it."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby

import pytest

from rewarm.contracts.fleets import FleetPlanResult
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.values import VolumePlan
from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.fleets import ends_of
from rewarm.domain.model import GIB, FastSnapshotRestore, InstanceEbsLimits, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimators import BLOCKS_PER_SECOND
from rewarm.domain.plan.facts import UnusedQuotas
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import PRIORS
from rewarm.steps.fleet import plan_fleet as module
from rewarm.steps.fleet.plan_fleet import FleetPlan, PlanFleetPorts, plan_fleet, planned
from rewarm.steps.fleet.requests import parse_fleet_request, restores_of, trigger_of
from rewarm.steps.plan.choose_strategy import ChooseStrategyEvent, ChooseStrategyPorts, choose_strategy
from rewarm.steps.record.payloads import write_volumes
from rewarm.steps.select.selection import SelectionPorts, assign_volumes, with_agent
from tests.support.builders import NOW, ZONE, World, at, instance, snapshot
from tests.support.holds import FakePace
from tests.support.wired import wired

QUOTAS = UnusedQuotas(fast_snapshot_restores=2, initialization_rate_mib_s=1_000, volume_copies=5)

TRIGGER = trigger_of("fleet-1", None)


class Fleet:
    """A fleet in a world of its own."""

    def __init__(self, *, most_in_stack: int = 2_000, **parts: object) -> None:
        self.world = World()
        self.world.quotas.quotas = QUOTAS
        self.items: list[dict] = []
        self.parts = parts
        self.most_in_stack = most_in_stack
        self.pace = FakePace()

    def add(self, size_gib: int, instance_id: str | None = None, *, same: bool = False) -> None:
        """One volume, to the instance or the zone; of the snapshot before, or of one of its own."""
        count = len(self.world.snapshots.snapshots) - same
        name = f"snap-{count:017x}"
        if not same:
            self.world.snapshots.add(
                snapshot(name, size_gib=size_gib, full_size_bytes=size_gib * GIB, volume_id=None)
            )
        if instance_id is not None and instance_id not in self.world.instances.instances:
            self.world.instances.add(instance(instance_id))
        target = {"availabilityZone": ZONE} if instance_id is None else {"instanceId": instance_id}
        self.items.append({"source": {"snapshotId": name}, "target": target})

    def ports(self) -> PlanFleetPorts:
        return wired(
            PlanFleetPorts,
            self.world,
            region="ap-northeast-1",
            most_in_stack=self.most_in_stack,
            pace=self.pace,
        )

    @property
    def request(self) -> dict:
        return {"source": {"items": self.items}, **self.parts}

    def answer(self) -> FleetPlanResult | None:
        return plan_fleet(self.request, now=NOW, ports=self.ports())

    def answer_at_once(self) -> FleetPlanResult | None:
        """Without any time for the search."""
        return plan_fleet(self.request, now=NOW, ports=self.ports(), has_time=lambda: False)

    def plan(self) -> FleetPlan:
        request = parse_fleet_request(self.request)
        items = [{"volume": {}, **one, "snapshot": one["source"]} for one in self.items]
        restores = restores_of("fleet-1", items, request, run=1)
        minutes = request.objective.ready_within_minutes
        deadline_at = None if minutes is None else at(minutes)
        return planned(request, restores, self.ports(), deadline_at=deadline_at, now=NOW)

    def restore_items(self, plan: FleetPlan) -> list[dict]:
        return plan.to_items(TRIGGER, self.pace, self.most_in_stack, NOW)

    def restore(self, item: dict, *, now: datetime = NOW) -> tuple[list[VolumePlan], list[str]]:
        """What a restore of the fleet makes of its item, and its notes."""
        request = parse_restore_request(item["input"]["request"])
        volumes = assign_volumes(
            request, restore_id=item["restoreId"], ports=wired(SelectionPorts, self.world)
        ).volumes
        volumes = [with_agent(volume, self.world.artifacts) for volume in volumes]
        minutes = (self.parts.get("objective") or {}).get("readyWithinMinutes")  # type: ignore[attr-defined]
        event = ChooseStrategyEvent(
            restore_id=item["restoreId"],
            now=now,
            request=request,
            deadline_at=None if minutes is None else at(minutes),
            volumes_key=write_volumes(item["restoreId"], volumes, self.world.artifacts),
            fleet_shares=item["input"]["fleetShares"],
            turn_at=item["input"]["trigger"]["turnAt"],
        )
        result = choose_strategy(event, wired(ChooseStrategyPorts, self.world, pace=FakePace()))
        return result.plans, result.summary.notes

    def restores(self, plan: FleetPlan) -> list[VolumePlan]:
        """All of them at the start."""
        return [volume for item in self.restore_items(plan) for volume in self.restore(item)[0]]


def drawn(seed: int) -> Fleet:
    """Some volumes, instances and snapshots that are shared, with a deadline that forces them to spend.

    In every third, instances have two EBS cards.
    """
    draw = random.Random(seed)
    objective = {"readyWithinMinutes": draw.choice([10, 30, 60, 120, 600])}
    fleet = Fleet(objective=objective)
    fleet.world.quotas.quotas = replace(
        QUOTAS,
        fast_snapshot_restores=draw.randrange(3),
        initialization_rate_mib_s=draw.choice([300, 700, 5_000]),
    )
    if seed % 3 == 0:
        limits = fleet.world.instances.limits
        fleet.world.instances.limits = replace(limits, cards=(limits, limits))
    for number in range(draw.randrange(2, 8)):
        place = draw.choice([None, "i-00000001", "i-00000002"])
        fleet.add(draw.choice([1, 50, 200, 500, 2_000]), place, same=number > 0 and draw.random() < 0.3)
    return fleet


def rate_at_its_highest(plans: list[VolumePlan]) -> int:
    """MiB/s of all volumes at the busiest moment."""
    changes = []
    for one in plans:
        rate = one.plan.initialization_rate_mib_s
        if rate is not None:
            begins = one.plan.phases.get(Phase.QUEUE, (0.0, 0.0))[1]
            loaded = one.plan.ready_p90_seconds - PRIORS.status_delay_seconds.p90
            changes += [(begins, rate), (loaded - 1, -rate)]  # it is rounded up, and a turn is not
    most = held = 0
    for _, together in groupby(sorted(changes), key=lambda change: change[0]):
        held += sum(rate for _, rate in together)
        most = max(most, held)
    return most


@pytest.mark.parametrize("seed", range(30))
def test_the_restores_together_are_the_plan_of_the_fleet(seed):
    fleet = drawn(seed)
    plan = fleet.plan()
    summary = plan.answer.summary
    plans = fleet.restores(plan)
    assert [one.plan.strategy for one in plans] == [one.strategy for one in plan.answer.volumes]
    assert [one.volume.card for one in plans] == [one.card for one in plan.answer.volumes]
    assert sum(one.plan.cost_usd for one in plans) == summary.total_cost_usd
    assert sum(one.cost_usd for one in plan.answer.volumes) == summary.total_cost_usd
    assert rate_at_its_highest(plans) <= fleet.world.quotas.quotas.initialization_rate_mib_s
    fast = {one.volume.snapshot_id for one in plans if one.plan.strategy == "fast-snapshot-restore"}
    assert len(fast) <= fleet.world.quotas.quotas.fast_snapshot_restores
    last = max(one.plan.ready_p90_seconds for one in plans)
    assert NOW + timedelta(seconds=last) <= summary.ready_p90_at
    assert any(one.plan.deadline_missed for one in plans) == summary.deadline_missed


@pytest.mark.parametrize("restores", [1, 3])
def test_volumes_on_one_instance_share_just_the_ebs_card_that_they_are_on(restores):
    fleet = Fleet()
    slow = InstanceEbsLimits(100.0, 100.0, 20_000, 20_000)
    fleet.world.instances.limits = replace(slow, cards=(slow, slow))
    for size_gib in (100, 200, 300):
        fleet.add(size_gib, "i-00000001")
        fleet.items[-1]["volume"] = {"tags": {"of": f"{size_gib % (100 * restores)}"}}
    plan = fleet.plan()
    plans = sorted(fleet.restores(plan), key=lambda one: one.volume.data_bytes)
    assert len(plan.restores) == restores
    assert [one.volume.card for one in plans] == [1, 1, 0], "the largest first, then the card with less"
    reading = [one.plan.phases[Phase.READ][0] for one in plans]
    assert reading == pytest.approx([2_048, 3_072, 3_072]), "200 GiB beside 100 take as long as 300 alone"


def test_restores_to_zones_share_the_regions_rate_which_each_alone_would_take_whole():
    fleet = Fleet(objective={"readyWithinMinutes": 70})
    fleet.world.quotas.quotas = replace(QUOTAS, initialization_rate_mib_s=300, fast_snapshot_restores=0)
    for _ in range(4):
        fleet.add(200)
    plan = fleet.plan()
    assert not plan.answer.summary.deadline_missed
    assert rate_at_its_highest(fleet.restores(plan)) <= 300
    alone = [{**item, "input": {**item["input"], "fleetShares": None}} for item in fleet.restore_items(plan)]
    assert rate_at_its_highest([one for item in alone for one in fleet.restore(item)[0]]) > 300


def test_volumes_of_one_snapshot_share_the_price_of_its_fast_snapshot_restore_over_restores():
    fleet = Fleet(objective={"strategy": "fast-snapshot-restore"})
    fleet.add(1)
    fleet.add(1, same=True)
    fleet.add(1, same=True)
    plan = fleet.plan()
    assert [one.sharers for one in plan.answer.volumes] == [3, 3, 3]
    prices = [one.plan.decidable_usd for one in fleet.restores(plan)]
    assert max(prices) - min(prices) <= Decimal("0.000001")
    # The first restore has enabled it: the others pay their part all the same.
    fleet.world.fast_restores.states[plan.answer.volumes[0].snapshot_id, ZONE] = FastSnapshotRestore(
        "enabling", NOW
    )
    assert [one.plan.decidable_usd for one in fleet.restores(plan)] == prices


@pytest.mark.parametrize("strategy", ["direct-write", "auto"])
def test_volumes_of_one_snapshot_are_written_from_blocks_that_are_paid_once_over_restores(strategy):
    fleet = Fleet(objective={"readyWithinMinutes": 20, "strategy": strategy})
    fleet.world.quotas.quotas = replace(QUOTAS, fast_snapshot_restores=0, initialization_rate_mib_s=0)
    fleet.world.instances.limits = InstanceEbsLimits(2_500.0, 2_500.0, 80_000, 80_000)
    for number in range(4):
        fleet.add(100, f"i-{number % 3 + 1:08x}", same=number > 0)
        fleet.items[-1]["volume"] = {"volumeType": "gp3", "iops": 16_000, "throughputMibS": 1_000}
    plan = fleet.plan()
    shares, plans = plan.answer.volumes, fleet.restores(plan)
    assert {one.strategy for one in shares} == {"direct-write"}
    assert [(one.sharers, one.snapshots_read) for one in shares] == [(4, 1)] * 4
    book = fleet.world.prices.book(now=NOW)
    blocks_usd = cost.total(cost.blocks(100 * 2_048, book))
    assert sum(one.blocks_usd for one in shares) == blocks_usd
    assert [one.plan.cost_usd for one in plans] == [one.cost_usd for one in shares]
    assert sum(one.plan.cost_usd for one in plans) == plan.answer.summary.total_cost_usd
    assert all(one.plan.ready_p90_seconds <= 20 * 60 for one in plans)


def test_a_fleet_that_writes_many_snapshots_has_the_accounts_limit_once():
    fleet = Fleet(objective={"strategy": "direct-write"})
    for number in range(10):
        fleet.add(20, f"i-{number:08x}")
    plan = fleet.plan()
    assert [one.snapshots_read for one in plan.answer.volumes] == [10] * 10
    least = 10 * 20 * 2_048 / BLOCKS_PER_SECOND
    assert all(one.plan.ready_p90_seconds >= least for one in fleet.restores(plan))


def test_the_budget_of_the_fleet_is_parted_among_its_restores_and_never_passed():
    fleet = Fleet(objective={"readyWithinMinutes": 60, "maxCostUsd": 1})
    for _ in range(3):
        fleet.add(200)
    plan = fleet.plan()
    items = fleet.restore_items(plan)
    budgets = [Decimal(str(item["input"]["request"]["objective"]["maxCostUsd"])) for item in items]
    assert sum(budgets) <= 1
    assert all(budget >= 0 for budget in budgets)
    spent = sum((one.plan.decidable_usd for one in fleet.restores(plan)), Decimal(0))
    assert spent <= sum(budgets)


def test_a_budget_that_does_not_do_for_all_is_refused_before_anything_is_made():
    fleet = Fleet(objective={"strategy": "provisioned-rate", "maxCostUsd": 0.01})
    for _ in range(3):
        fleet.add(200)
    with pytest.raises(NoStrategyFitsError):
        fleet.plan()


def test_without_a_budget_a_strategy_that_one_volume_cannot_have_leaves_each_restore_to_plan_alone():
    fleet = Fleet(objective={"strategy": "fast-snapshot-restore"})
    fleet.add(1)
    fleet.add(20_000)
    plan = fleet.plan()
    assert plan.answer.summary is None
    (left,) = plan.answer.unplanned
    assert left.volume_count == 2
    assert "at most 16,384 GiB" in left.reason
    assert [item["input"]["fleetShares"] for item in fleet.restore_items(plan)] == [
        None,
        None,
    ]


def test_a_restore_whose_snapshot_is_gone_has_no_part_of_plan_and_budget():
    fleet = Fleet(objective={"maxCostUsd": 5})
    fleet.add(100)
    fleet.add(100)
    gone = fleet.items[0]["source"]["snapshotId"]
    del fleet.world.snapshots.snapshots[gone]
    plan = fleet.plan()
    assert [(one.volume_count, one.reason) for one in plan.answer.unplanned] == [(1, f"EC2 shows no {gone}")]
    known, left_out = fleet.restore_items(plan)
    assert left_out["input"]["fleetShares"] is None
    budgets = [Decimal(one["input"]["request"]["objective"]["maxCostUsd"]) for one in (known, left_out)]
    assert budgets[0] > budgets[1] == 0


def test_a_restore_whose_part_is_too_late_by_now_plans_on_its_own_and_says_so():
    fleet = Fleet(objective={"readyWithinMinutes": 70})
    fleet.add(200)
    (item,) = fleet.restore_items(fleet.plan())
    plans, notes = fleet.restore(item)
    assert notes[0] == "It is a part of the fleet's plan."
    later, notes = fleet.restore(item, now=at(40))
    assert notes[0].startswith("It plans on its own, because its part of the fleet's plan cannot be had:")
    assert later[0].plan.initialization_rate_mib_s > plans[0].plan.initialization_rate_mib_s


def test_a_restore_asks_for_its_rate_though_others_hold_it_at_the_moment():
    fleet = Fleet(objective={"readyWithinMinutes": 70})
    fleet.add(200)
    (item,) = fleet.restore_items(fleet.plan())
    fleet.world.quotas.quotas = replace(QUOTAS, initialization_rate_mib_s=0)
    plans, notes = fleet.restore(item)
    assert notes[0] == "It is a part of the fleet's plan."
    assert plans[0].plan.strategy is Strategy.PROVISIONED_RATE
    assert Strategy.FAST_SNAPSHOT_RESTORE in {one.strategy for one in plans[0].fallbacks}


def test_restores_that_wait_for_each_other_are_planned_faster_so_that_the_last_is_in_time():
    fleet = Fleet(most_in_stack=1, objective={"readyWithinMinutes": 120})
    for _ in range(3):
        fleet.add(200)
    plan = fleet.plan()
    assert not plan.answer.summary.deadline_missed
    assert plan.answer.summary.ready_p90_at > max(one.ready_p90_at for one in plan.answer.volumes)
    unhurried = Fleet(objective={"readyWithinMinutes": 120})
    unhurried.items, unhurried.world = fleet.items, fleet.world
    assert plan.answer.summary.total_cost_usd > unhurried.plan().answer.summary.total_cost_usd


def test_says_that_the_fleet_will_be_late_where_too_few_run_at_once():
    fleet = Fleet(most_in_stack=1, objective={"readyWithinMinutes": 30, "strategy": "background"})
    for _ in range(3):
        fleet.add(200)
    summary = fleet.plan().answer.summary
    assert summary.deadline_missed
    assert all(one.deadline_missed for one in fleet.plan().answer.volumes)


def test_the_first_restores_are_those_whose_turn_is_first():
    assert ends_of([[(0.0, 10.0)], [(0.0, 20.0)], [(15.0, 30.0)]], 2) == [10.0, 20.0, 30.0]
    assert ends_of([[(0.0, 10.0)], [(5.0, 12.0)]], 1) == [10.0, 17.0]
    assert ends_of([[(0.0, 10.0)], [(5.0, 12.0)]], 2, [0.0, 20.0]) == [10.0, 27.0]


def test_who_holds_the_rate_begins_first_and_who_takes_long_before_who_does_not():
    fleet = Fleet(objective={"readyWithinMinutes": 80})
    fleet.world.quotas.quotas = replace(QUOTAS, fast_snapshot_restores=0)
    for size_gib, instance_id in ((10, "i-00000001"), (300, "i-00000002"), (10, None), (200, None)):
        fleet.add(size_gib, instance_id)
    names = [one["source"]["snapshotId"] for one in fleet.items]
    begins = [names.index(one.plans[0].volume.snapshot_id) for one in fleet.plan().restores]
    assert begins == [3, 2, 1, 0]


def test_restores_begin_a_little_before_their_turn_for_the_rate_and_others_between_them():
    fleet = Fleet(objective={"readyWithinMinutes": 150})
    fleet.world.quotas.quotas = replace(QUOTAS, fast_snapshot_restores=0)
    fleet.pace = FakePace(seconds_a_call=10)
    for number in range(40):
        fleet.add(200, None if number < 20 else f"i-{number:08x}")
    restores = fleet.plan().restores
    turns = [one.plans[0].plan.phases.get(Phase.QUEUE, (0.0, 0.0))[0] for one in restores]
    others = [place for place, one in enumerate(restores) if one.plans[0].plan.strategy.reads_with_agent]
    assert len(others) == 20
    early = [turns[place] - restores[place].begins_seconds for place in range(others[-1])]
    assert max(early) <= module.EARLY_SECONDS < max(turns)
    holders = [turn for place, turn in enumerate(turns) if place not in others]
    assert holders == sorted(holders)


def test_the_promise_of_a_restore_counts_from_its_turn_at_ec2():
    fleet = Fleet()
    for number in range(3):
        fleet.add(10, f"i-{number:08x}")
    at_once = fleet.plan()
    fleet.pace = FakePace(seconds_a_call=10)
    in_turn = fleet.plan()
    assert [one.begins_seconds for one in in_turn.restores] == [0, 70, 140]
    waited = [
        (later.ready_p90_at - sooner.ready_p90_at).total_seconds()
        for later, sooner in zip(in_turn.answer.volumes, at_once.answer.volumes, strict=True)
    ]
    assert waited == [0, 70, 140]
    assert in_turn.answer.summary.ready_p90_at - at_once.answer.summary.ready_p90_at == timedelta(seconds=140)


def test_who_waits_for_the_rate_does_not_wait_for_ec2_as_well():
    """The last restores would be too late by it, and plan on their own."""
    fleet = Fleet(objective={"readyWithinMinutes": 150})
    fleet.world.quotas.quotas = replace(QUOTAS, fast_snapshot_restores=0)
    fleet.pace = FakePace(seconds_a_call=10)
    for _ in range(60):
        fleet.add(100)
    plan = fleet.plan()
    last = plan.restores[-1]
    waits = last.plans[0].plan.phases[Phase.QUEUE][1]
    assert waits > last.begins_seconds > 600
    assert max(one.ready_p90_at for one in plan.answer.volumes) == plan.answer.summary.ready_p90_at
    assert not plan.answer.summary.deadline_missed


def test_calls_do_not_grow_with_the_volumes(monkeypatch):
    def calls(count: int) -> int:
        fleet = Fleet(objective={"readyWithinMinutes": 600})
        for number in range(count):
            fleet.add(10, f"i-{number:08x}")
        made: list[str] = []
        for port in ("snapshots", "volumes", "instances", "fast_restores", "quotas", "prices", "history"):
            of_port = getattr(fleet.world, port)
            for name in dir(type(of_port)):
                method = getattr(of_port, name)
                if not name.startswith("_") and callable(method) and name != "ebs_limits":

                    def counted(*args, _of=method, _name=name, **kwargs):
                        made.append(_name)
                        return _of(*args, **kwargs)

                    monkeypatch.setattr(of_port, name, counted, raising=False)
        fleet.plan()
        return len(made)

    assert calls(60) == calls(120)


def test_more_volumes_than_an_answer_has_time_for_are_not_planned_at_once(monkeypatch):
    monkeypatch.setattr(module, "MOST_PLANNED_AT_ONCE", 1)
    fleet = Fleet()
    fleet.add(1)
    assert fleet.answer().volume_count == 1
    fleet.add(1)
    assert fleet.answer() is None


def test_the_summary_of_many_volumes_fits_into_a_state_and_a_record():
    fleet = Fleet()
    for _ in range(300):
        fleet.add(10)
    for name, found in fleet.world.snapshots.snapshots.items():
        fleet.world.snapshots.snapshots[name] = replace(found, full_size_bytes=None)
    summary = fleet.plan().answer.summary
    assert any("and 260 others" in note for note in summary.notes)
    assert len(summary.model_dump_json()) < 4_000


def test_a_search_that_is_cut_short_is_no_plan():
    fleet = Fleet(objective={"readyWithinMinutes": 1})
    for _ in range(30):
        fleet.add(500)
    assert fleet.answer_at_once() is None
    assert len(fleet.answer().volumes) == 30
