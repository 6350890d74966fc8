"""The EBS cards of a restore's volumes, in its plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.contracts.values import ReplacedVolume
from rewarm.domain.model import Attachment, InstanceEbsLimits, Volume, VolumeSettings
from rewarm.steps.plan.cards import with_cards
from rewarm.steps.plan.plan_restore import PlanRestorePorts, plan_restore
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    TO_INSTANCE,
    ZONE,
    World,
    assignment,
    zone_assignment,
)
from tests.support.wired import wired

CARD = InstanceEbsLimits(1_000.0, 1_000.0, 40_000, 40_000)
TWO_CARDS = InstanceEbsLimits(2_000.0, 2_000.0, 80_000, 80_000, cards=(CARD, CARD))


def attached(world, card, throughput_mib_s=500, volume_id=None):
    """A volume that the instance has already."""
    name = volume_id or f"vol-{len(world.volumes.volumes):017x}"
    place = Attachment(INSTANCE_ID, f"/dev/sd{'ghij'[len(world.volumes.volumes)]}", "attached", card=card)
    settings = VolumeSettings("gp3", 100, 3_000, throughput_mib_s)
    world.volumes.volumes[name] = Volume(name, "in-use", ZONE, settings, None, None, (place,), NOW)
    return name


def cards(world, *volumes):
    return [volume.card for volume in with_cards(volumes, world.instances, world.volumes)]


@pytest.fixture
def world():
    world = World()
    world.instances.limits = TWO_CARDS
    return world


class TestCards:
    def test_a_volume_goes_to_the_card_with_the_most_room(self, world):
        assert cards(world, assignment()) == [0]
        attached(world, 0)
        assert cards(world, assignment()) == [1]
        attached(world, 1, 1_000)
        assert cards(world, assignment()) == [0]

    def test_volumes_of_one_restore_count_for_each_other(self, world):
        attached(world, 1, 125)
        assert cards(world, *[assignment(index=index) for index in range(5)]) == [0, 1, 0, 1, 0]

    def test_a_volume_that_leaves_takes_no_room(self, world):
        old = attached(world, 0)
        attached(world, 0, 250)
        world.volumes.change(
            old, attachments=(replace(world.volumes.get(old).attachments[0], state="detached"),)
        )
        assert cards(world, assignment()) == [1]
        assert cards(world, assignment(), assignment(index=1), assignment(index=2)) == [1, 1, 0]

    def test_what_replaces_a_volume_gets_its_card_however_full_that_is(self, world):
        old = attached(world, 1, 1_000)
        attached(world, 1, 1_000)
        replaces = ReplacedVolume(volume_id=old, size_gib=100)
        assert cards(world, assignment(replaces=replaces), assignment(index=1)) == [1, 0]

    def test_an_adopted_volume_is_on_its_card_and_counts_once(self, world):
        there = attached(world, 1, 125)
        assert cards(world, assignment(adopts=there), assignment(index=1)) == [1, 0]
        attached(world, 0, 200)
        assert cards(world, assignment(adopts=there), assignment(index=1)) == [1, 1]
        assert cards(world, assignment(adopts="vol-0fffffffffffffff0")) == [1], "EC2 may not show it yet"

    def test_the_card_of_a_fleets_plan_is_kept(self, world):
        assert cards(world, assignment(card=1), assignment(index=1)) == [1, 0]

    def test_an_instance_with_one_card_has_none_and_costs_no_call(self, world, monkeypatch):
        def asked(_ids):
            raise AssertionError("EC2 was asked what is attached")

        monkeypatch.setattr(world.volumes, "on_instances", asked)
        world.instances.limits = CARD
        assert cards(world, assignment(card=1), zone_assignment()) == [None, None]


class TestPlan:
    def answer(self, world):
        return plan_restore(TO_INSTANCE, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))

    def test_plan_and_answer_show_card_and_its_limits(self, world):
        attached(world, 0)
        answer = self.answer(world)
        (one,) = answer.plans
        assert one.volume.card == one.facts.instance_limits.card == 1
        assert one.facts.instance_limits.baseline_throughput_mib_s == 1_000.0, "not what both have together"
        (note,) = [note for note in answer.summary.notes if "EBS card" in note]
        assert note == (
            f"{INSTANCE_ID} has more than one EBS card, and no volume is faster than its card. The times "
            "count 1 volume on card 1."
        )

    def test_with_one_card_nothing_is_said_of_cards(self, world):
        world.instances.limits = CARD
        answer = self.answer(world)
        (one,) = answer.plans
        assert (one.volume.card, one.facts.instance_limits.card) == (None, None)
        assert not any("EBS card" in note for note in answer.summary.notes)
