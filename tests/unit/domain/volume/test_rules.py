"""Which volumes a rule fits, and how many of them begin: limits that are shared with restores."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from decimal import Decimal

import pytest

from rewarm.contracts.rules import RuleLimits, RuleMatch
from rewarm.domain.model import Attachment, Volume, VolumeSettings
from rewarm.domain.volume.holds import ConcurrencyLimits
from rewarm.domain.volume.rules import (
    DAY,
    INSTANCE,
    NEW_FOR,
    REGION,
    STACK,
    USD,
    Adoptable,
    Use,
    choose,
    fits,
    grouped_reason,
    is_for_rules,
    is_new,
    next_look,
)
from tests.support.builders import INSTANCE_ID, NOW, ZONE, instance

ROOMY = ConcurrencyLimits(per_instance=100, in_stack=2_000)
UNUSED = Use(Decimal(0), 0, 0, {}, 0, {})
CENT = Decimal("0.01")


def volume(**changes):
    settings = VolumeSettings("gp3", 100, tags={"app": "orders"})
    place = (Attachment(INSTANCE_ID, "/dev/sdf", "attached"),)
    return dataclasses.replace(
        Volume("vol-1", "in-use", ZONE, settings, "snap-1", None, place, NOW), **changes
    )


def match(**criteria):
    return RuleMatch.model_validate({"volumeTags": {"app": "orders"}, **criteria})


@pytest.mark.parametrize(
    ("criteria", "fit"),
    [
        ({}, True),
        ({"volumeTags": {"app": "*"}}, True),
        ({"volumeTags": {"app": "other"}}, False),
        ({"volumeTags": {"app": "orders", "more": "*"}}, False),
        ({"sizeGibFrom": 100, "sizeGibTo": 100}, True),
        ({"sizeGibFrom": 101}, False),
        ({"sizeGibTo": 99}, False),
        ({"volumeTypes": ["io2", "gp3"]}, True),
        ({"volumeTypes": ["io2"]}, False),
        ({"snapshotTags": {"of": "backup"}}, True),
        ({"snapshotTags": {"of": "dlm"}}, False),
        ({"instanceTags": {"role": "db"}}, True),
        ({"instanceTags": {"role": "web"}}, False),
    ],
)
def test_all_criteria_must_fit(criteria, fit):
    has = instance(tags={"role": "db"})
    assert fits(match(**criteria), volume(), has, {"of": "backup"}) is fit


def test_an_instance_that_is_not_known_yet_leaves_it_open_unless_the_rest_does_not_fit():
    on_instance = match(instanceTags={"role": "db"})
    assert fits(on_instance, volume(), None, {}) is None
    assert fits(match(instanceTags={"role": "db"}, sizeGibTo=1), volume(), None, {}) is False


@pytest.mark.parametrize(
    ("changes", "is_looked_at"),
    [
        ({}, True),
        ({"snapshot_id": None}, False),
        ({"settings": VolumeSettings("gp3", 8, tags={"rewarm:stack": "rewarm"})}, False),
        ({"settings": VolumeSettings("gp3", 8, tags={"rewarm:warm-since": "2026-11-21"})}, False),
    ],
)
def test_empty_volumes_our_own_and_proven_ones_are_left_alone(changes, is_looked_at):
    assert is_for_rules(volume(**changes)) is is_looked_at


def test_only_volumes_of_the_last_day_that_are_younger_than_the_rule_are_new():
    second = timedelta(seconds=1)
    assert is_new(volume(), NOW, NOW + NEW_FOR - second)
    assert not is_new(volume(), NOW, NOW + NEW_FOR)
    assert not is_new(volume(), NOW + timedelta(minutes=1) + second, NOW + second)


def candidates(*instances):
    return [Adoptable(f"vol-{number}", name, CENT) for number, name in enumerate(instances)]


def chosen(wanted, used=UNUSED, stack=ROOMY, **limits):
    starts, later = choose(wanted, RuleLimits(**limits), used, stack, most_of_request=40)
    return {start.instance_id: start.volume_ids for start in starts}, later


def test_volumes_of_one_instance_are_one_request():
    starts, later = chosen(candidates("i-1", "i-2", "i-1"))
    assert starts == {"i-1": ("vol-0", "vol-2"), "i-2": ("vol-1",)}
    assert later == {}


@pytest.mark.parametrize(
    ("used", "limits", "why"),
    [
        ({"usd_today": Decimal("0.98")}, {"max_usd_per_day": Decimal("0.99")}, USD),
        ({"volumes_today": 4}, {"max_volumes_per_day": 5}, DAY),
        ({"at_once": 9}, {"max_at_once": 10}, REGION),
        ({"on_instance": {"i-1": 2}}, {"max_at_once_per_instance": 3}, INSTANCE),
    ],
)
def test_a_limit_lets_one_begin_and_puts_the_next_off_with_the_reason(used, limits, why):
    starts, later = chosen(candidates("i-1", "i-1"), dataclasses.replace(UNUSED, **used), **limits)
    assert starts == {"i-1": ("vol-0",)}
    assert later == {"vol-1": why}


def test_the_instance_that_is_full_keeps_no_other_from_beginning():
    used = dataclasses.replace(UNUSED, on_instance={"i-1": 8})
    assert chosen(candidates("i-1", "i-2"), used) == ({"i-2": ("vol-1",)}, {"vol-0": INSTANCE})


def test_half_of_the_stacks_room_is_kept_for_restores():
    stack = ConcurrencyLimits(per_instance=4, in_stack=10)
    busy = dataclasses.replace(UNUSED, requests=4, requests_on={"i-3": 2})
    starts, later = chosen(candidates("i-3", "i-1", "i-1", "i-2"), busy, stack)
    assert starts == {"i-1": ("vol-1", "vol-2")}
    assert later == {"vol-0": STACK, "vol-3": STACK}


def test_a_reason_counts_many_volumes_together():
    assert grouped_reason("vol-0123456789abcdef0 is a copy of vol-01234567") == "vol-… is a copy of vol-…"


@pytest.mark.parametrize(
    ("age_seconds", "apart_seconds"), [(10, 60), (479, 60), (480, 120), (1_000, 240), (3_000, 480)]
)
def test_looks_at_what_is_not_attached_yet_grow_apart_and_are_at_the_same_moments_for_all(
    age_seconds, apart_seconds
):
    made_at = NOW - timedelta(seconds=age_seconds)
    for seconds in (0, 7, 59):
        now = NOW + timedelta(seconds=seconds)
        due = next_look(made_at + timedelta(seconds=seconds), now)
        assert timedelta(0) < due - now <= timedelta(seconds=apart_seconds)
        assert due.timestamp() % apart_seconds == 0


def test_the_sweeps_look_at_what_is_older():
    assert next_look(NOW - timedelta(hours=2), NOW) is None
