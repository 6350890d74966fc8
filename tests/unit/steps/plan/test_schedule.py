"""The schedule of a plan: a line for each group of alike volumes, each and together, and the same by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from rewarm.domain.model import GIB, InstanceEbsLimits, Strategy, VolumeSettings
from rewarm.domain.time.measured import Phase
from rewarm.domain.volume.volume_types import VolumeLimits
from rewarm.steps.plan import schedule
from tests.support.builders import NOW, assignment, facts, plan, volume_plan, zone_assignment

RATE = Strategy.PROVISIONED_RATE
PHASES = {Phase.CREATE: (10.0, 60.0), Phase.LOAD: (1_000.0, 1_500.0)}


def rated(index, *, waits=0, usd="0.12", **volume):
    phases = {Phase.QUEUE: (float(waits), float(waits)), **PHASES} if waits else PHASES
    made = plan(
        RATE, phases=phases, cost_usd=Decimal(usd), ready_p50_seconds=waits + 1_010,
        ready_p90_seconds=waits + 1_560, start_at=NOW + timedelta(seconds=waits) if waits else None,
    )  # fmt: skip
    return volume_plan(plan=made, volume=zone_assignment(index=index, **volume))


class TestLines:
    def test_alike_volumes_share_a_line_with_the_price_of_each_and_of_all(self):
        plans = [
            *(rated(index) for index in range(50)),
            *(rated(50 + index, waits=1_560) for index in range(5)),
        ]
        first, then = schedule.lines(plans, 3_600)
        assert (first.volumes, first.start_seconds, first.ready_p90_seconds) == (50, 0, 1_560)
        assert (first.each_cost_usd, first.together_cost_usd) == (Decimal("0.12"), Decimal(6))
        assert (then.volumes, then.first_index, then.start_seconds, then.ready_p90_seconds) == (
            5, 50, 1_560, 3_120,
        )  # fmt: skip
        assert (then.snapshot_id, then.target) == (plans[0].volume.snapshot_id, "ap-northeast-1a")

    def test_bars_are_to_one_scale_that_ends_with_the_deadline_or_the_last_volume(self):
        plans = [rated(0), rated(1, waits=1_560)]
        assert [line.bar for line in schedule.lines(plans, None)] == [
            "████████▓▓▓▓",
            "░" * 12 + "████████▓▓▓▓",
        ]
        assert [len(line.bar) for line in schedule.lines(plans, 6_240)] == [6, 12]

    def test_what_is_prepared_and_created_is_told_apart(self):
        phases = {Phase.PREPARE: (300.0, 300.0), Phase.CREATE: (300.0, 300.0), Phase.MEASURE: (600.0, 600.0)}
        fast = plan(phases=phases, ready_p50_seconds=1_200, ready_p90_seconds=1_200)
        assert schedule.lines([volume_plan(plan=fast)], None)[0].bar == "▒" * 24

    def test_a_volume_with_another_price_snapshot_or_target_has_a_line_of_its_own(self):
        plans = [rated(0), rated(1, usd="0.13"), rated(2, snapshot_id="snap-2"), rated(3, data_bytes=GIB)]
        plans.append(rated(4, availability_zone="ap-northeast-1c"))
        assert [line.volumes for line in schedule.lines(plans, None)] == [1] * 5

    def test_ten_thousand_unlike_volumes_stay_readable_and_say_the_worst_of_each_way(self):
        plans = [
            rated(index, waits=index % 2 * (index + 1), data_bytes=index * GIB) for index in range(10_000)
        ]
        first, then = schedule.lines(plans, None)
        assert (first.volumes, first.alike, first.data_bytes) == (5_000, False, 9_998 * GIB)
        assert (then.start_seconds, then.ready_p90_seconds, then.snapshot_id) == (
            2, 11_560, plans[0].volume.snapshot_id,
        )  # fmt: skip
        assert first.together_cost_usd + then.together_cost_usd == Decimal(1_200)


class TestByHand:
    def test_a_published_speed_gives_its_published_time_and_a_person_has_to_be_there(self):
        """100 GiB in 53 min 52 s, beside some seconds for creating and attaching."""
        dd, fio = schedule.by_hand([facts(settings=VolumeSettings("gp3", 100, 3_000, 125))])
        assert dd.ready_seconds == 53 * 60 + 52 + 15
        assert dd.command == "sudo dd if=DEVICE of=/dev/null bs=1M"
        assert "keep the session open" in dd.effort
        assert fio.ready_seconds == 1_089  # 100 GiB at 100 MB/s take 1,074 s
        assert dd.cost_usd == fio.cost_usd == 0

    def test_it_reads_the_whole_volume_as_it_knows_no_blocks(self):
        written = [schedule.by_hand([facts(written_bytes=size * GIB)])[0].ready_seconds for size in (1, 100)]
        assert written[0] == written[1]

    def test_the_volume_and_an_even_part_of_the_instance_are_limits(self):
        slow = facts(speed=VolumeLimits(1_000, 25.0, 25.0))
        assert schedule.by_hand([slow])[0].ready_seconds == 100 * 1_024 / 25 + 15
        small = replace(facts(), instance_limits=InstanceEbsLimits(40.0, 40.0, None, None))
        both = [replace(small, instance_id="i-1", written_bytes=size * GIB) for size in (1, 40)]
        assert schedule.by_hand(both)[0].ready_seconds == 100 * 1_024 / 20 + 15

    def test_volumes_on_two_ebs_cards_do_not_slow_each_other_down(self):
        card = replace(facts(), instance_id="i-1", instance_limits=InstanceEbsLimits(40.0, 40.0, None, None))
        apart, together = ([replace(card, card=at) for at in cards] for cards in ((0, 1), (1, 1)))
        assert schedule.by_hand(apart)[0].ready_seconds == 53 * 60 + 52 + 15
        assert schedule.by_hand(together)[0].ready_seconds == 100 * 1_024 / 20 + 15

    def test_the_instance_bursts_for_a_person_as_it_does_for_the_agent(self):
        """Four of 100 GiB take as long as one: 381 MiB/s by fio are below what an m7g.large gives at most."""
        large = facts(instance_id="i-1", instance_limits=InstanceEbsLimits(75.0, 1_192.0, 3_600, 20_000))
        dd, fio = schedule.by_hand([large] * 4)
        assert (dd.ready_seconds, fio.ready_seconds) == (53 * 60 + 52 + 15, 1_089)

    def test_io2_is_read_at_the_least_that_was_published_for_it(self):
        fast = facts(
            settings=VolumeSettings("io2", 100, 64_000), speed=VolumeLimits(64_000, 4_000.0, 4_000.0),
            instance_limits=InstanceEbsLimits(2_500.0, 2_500.0, None, None),
        )  # fmt: skip
        assert schedule.by_hand([fast])[1].ready_seconds == 15 + 154  # 700 MB/s: 153.4 s

    @pytest.mark.parametrize("limits", [None, InstanceEbsLimits(None, None, None, None)])
    def test_nothing_is_promised_without_an_instance_whose_throughput_is_known(self, limits):
        assert schedule.by_hand([facts(), facts(instance_limits=limits)]) == []


def test_each_way_says_what_people_do_for_it_and_when_it_is_right():
    found = {way.name: way for way in schedule.ways()}
    assert set(found) == {*Strategy, "by-hand"}
    assert all(way.effort and way.right_when and not way.right_when.endswith(".") for way in found.values())


def test_a_plan_of_one_volume_has_one_line():
    assert [line.volumes for line in schedule.lines([volume_plan(volume=assignment())], 60)] == [1]
