"""What rules know, on moto's DynamoDB: each volume is claimed once, and the ledger changes as a whole."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rewarm.adapters.table.adoptions import CLAIMED_SECONDS, NOTED_SECONDS, DynamoAdoptions
from rewarm.adapters.table.restores import DynamoRestoreTable
from rewarm.ports.restores import FIRST, LAST, NOTED
from tests.contract.table.test_holds import CLOCK, NOW, TABLE, rows

VOLUME, OTHER = "vol-0123456789abcdef0", "vol-0fedcba9876543210"


@pytest.fixture
def adoptions(dynamodb: Any) -> DynamoAdoptions:
    return DynamoAdoptions(dynamodb, TABLE, lambda: CLOCK)


def noted(dynamodb: Any, limit: int = 10) -> list[str]:
    table = DynamoRestoreTable(dynamodb, TABLE)
    found, after, more = [], None, True
    while more:
        entries, more = table.listed(NOTED, since=FIRST, until=LAST, after=after, limit=limit)
        found += [entry.name for entry in entries]
        after = entries[-1].place if entries else after
    return found


def test_what_is_noted_is_listed_once_until_it_is_forgotten(
    adoptions: DynamoAdoptions, dynamodb: Any
) -> None:
    for name in (VOLUME, OTHER, "i-1", VOLUME):
        adoptions.note(name)
    assert sorted(noted(dynamodb, limit=1)) == sorted([VOLUME, OTHER, "i-1"])
    assert rows(dynamodb)[f"adoption#{VOLUME}"]["expiresAt"]["N"] == str(int(CLOCK) + NOTED_SECONDS)
    adoptions.forget(OTHER)
    adoptions.forget(OTHER)
    assert sorted(noted(dynamodb)) == ["i-1", VOLUME]


def test_a_volume_is_claimed_once_and_stays_so(adoptions: DynamoAdoptions, dynamodb: Any) -> None:
    adoptions.note(VOLUME)
    assert adoptions.claim(VOLUME, "rule-1")
    assert adoptions.claim(VOLUME, "rule-1")
    assert not adoptions.claim(VOLUME, "rule-2")
    assert noted(dynamodb) == []
    adoptions.note(VOLUME)
    adoptions.forget(VOLUME)
    assert noted(dynamodb) == []
    assert adoptions.claimed([VOLUME, OTHER]) == {VOLUME}
    assert rows(dynamodb)[f"adoption#{VOLUME}"]["expiresAt"]["N"] == str(int(CLOCK) + CLAIMED_SECONDS)


def test_a_noted_volume_is_not_claimed_and_one_that_was_never_noted_can_be(
    adoptions: DynamoAdoptions,
) -> None:
    adoptions.note(VOLUME)
    assert adoptions.claimed([VOLUME, OTHER]) == set()
    assert adoptions.claim(OTHER, "rule-1")
    assert adoptions.claimed([f"vol-{number}" for number in range(150)] + [OTHER]) == {OTHER}


def test_of_two_looks_with_the_same_ledger_one_keeps_its_own(adoptions: DynamoAdoptions) -> None:
    assert adoptions.ledger() == ({}, None)
    first, second = {"begun": {"rule-1": {"usd": "0.1"}}}, {"begun": {}}
    assert adoptions.keep(first, None)
    assert not adoptions.keep(second, None)
    found, version = adoptions.ledger()
    assert found == first
    assert adoptions.keep(second, version)
    assert not adoptions.keep(first, version)
    assert adoptions.ledger()[0] == second


def test_one_of_many_makes_the_next_look(adoptions: DynamoAdoptions) -> None:
    then = NOW + timedelta(seconds=10)
    assert adoptions.takes_turn(NOW, then)
    assert not adoptions.takes_turn(NOW + timedelta(seconds=9.5), then + timedelta(seconds=9))
    assert adoptions.takes_turn(then, then + timedelta(seconds=10))


def test_the_latest_look_at_everything_is_known_beside_the_next_turn(adoptions: DynamoAdoptions) -> None:
    assert adoptions.looked_at() is None
    assert adoptions.takes_turn(NOW, NOW + timedelta(seconds=10))
    assert adoptions.looked_at() is None
    for at in (NOW, NOW + timedelta(minutes=15)):
        adoptions.looked(at)
        assert adoptions.looked_at() == at
    assert not adoptions.takes_turn(NOW, NOW + timedelta(seconds=20))
