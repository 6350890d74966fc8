"""Which EBS card a volume goes to, against the best of all ways to do it."""

from __future__ import annotations

import random
from itertools import product

import pytest

from rewarm.domain.volume.cards import CardUser, choose_cards

WORST = 1.25
"""Of the best, for two cards that other volumes use already."""


def taken(volumes, rooms, cards):
    """The throughput that is taken of each card, of which each has 1,000 MiB/s."""
    used = [1_000 - room for room in rooms]
    for volume, card in zip(volumes, cards, strict=True):
        used[card] += volume.mib_s
    return used


def drawn(seed):
    draw = random.Random(seed)
    volumes = [
        CardUser(float(draw.choice((125, 250, 500, 1_000, 2_000))), float(draw.randrange(1, 5_000)))
        for _ in range(draw.randint(1, 6))
    ]
    return volumes, [1_000 - float(draw.choice((0, 0, 125, 400, 900))) for _ in range(2)]


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_the_fullest_card_is_nearly_always_as_empty_as_it_can_be(first):
    as_good = 0
    for seed in range(first, first + 100):
        volumes, rooms = drawn(seed)
        found = max(taken(volumes, rooms, choose_cards(volumes, rooms)))
        every = product(range(2), repeat=len(volumes))
        best = min(max(taken(volumes, rooms, cards)) for cards in every)
        assert found <= WORST * best, (seed, found, best)
        as_good += found == best
    assert as_good >= 90


def test_a_volume_takes_the_card_with_the_most_room_and_of_equal_cards_the_first():
    volume = CardUser(125.0, 1.0)
    assert choose_cards([volume], [875.0, 1_000.0]) == [1]
    assert choose_cards([volume], [1_000.0, 1_000.0]) == [0]
    assert choose_cards([volume], [0.0, -500.0]) == [0], "both are full"


def test_a_volume_whose_card_is_decided_has_it_and_counts_before_the_others():
    here = CardUser(1_000.0, 1.0, card=0)
    assert choose_cards([CardUser(2_000.0, 1.0), here], [1_000.0, 900.0]) == [1, 0]


def test_of_volumes_that_are_equally_fast_those_with_much_data_are_kept_apart():
    sizes = (10.0, 1_000.0, 10.0, 1_000.0, 10.0)
    cards = choose_cards([CardUser(125.0, size) for size in sizes], [1_000.0, 1_000.0])
    assert cards[1] != cards[3]


def test_the_order_of_the_volumes_does_not_matter():
    volumes, rooms = drawn(7)
    chosen = dict(zip(volumes, choose_cards(volumes, rooms), strict=True))
    assert choose_cards(volumes[::-1], rooms) == [chosen[volume] for volume in volumes[::-1]]
