"""EC2's calls given away in turn, on moto's DynamoDB."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rewarm.adapters.table.holds import BURST_SECONDS, DynamoPace
from rewarm.domain import errors
from tests.contract.answers import ApiError, Aws

TABLE = "restores"
NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
PER_SECOND = 10.0
CALLS = 5
EACH_SECONDS = CALLS / PER_SECOND


@pytest.fixture
def pace(dynamodb: Any) -> DynamoPace:
    return DynamoPace(dynamodb, TABLE, PER_SECOND)


def waits(pace: DynamoPace, count: int, now: datetime = NOW) -> list[float]:
    return [(pace.due(CALLS, now=now) - now).total_seconds() for _ in range(count)]


def test_a_few_begin_at_once_and_the_others_one_after_the_other(pace: DynamoPace) -> None:
    at_once = int(BURST_SECONDS / EACH_SECONDS) + 1
    found = waits(pace, at_once + 3)
    assert found == [0.0] * at_once + [EACH_SECONDS, 2 * EACH_SECONDS, 3 * EACH_SECONDS]


def test_the_whole_of_a_fleet_is_one_turn_that_lasts_as_long_as_its_calls(pace: DynamoPace) -> None:
    calls = 1_000
    waits(pace, 20)
    begins = pace.due(calls, now=NOW)
    assert (
        pace.due(1, now=NOW) - begins == timedelta(seconds=pace.seconds_of(calls)) == timedelta(seconds=100)
    )


def test_no_more_calls_are_given_than_ec2_answers(pace: DynamoPace) -> None:
    found = sorted(waits(pace, 200))
    for begin in range(0, 90, 7):
        given = sum(CALLS for wait in found if begin <= wait < begin + 10)
        assert given <= (10 + BURST_SECONDS) * PER_SECOND + CALLS


def test_what_was_not_used_is_not_saved_up_beyond_the_burst(pace: DynamoPace) -> None:
    waits(pace, 50)
    later = NOW + timedelta(hours=1)
    assert waits(pace, 10, later).count(0.0) == int(BURST_SECONDS / EACH_SECONDS) + 1


def test_a_clock_that_is_a_little_behind_gets_no_turn_twice(pace: DynamoPace) -> None:
    waits(pace, 20)
    behind = NOW - timedelta(seconds=1)
    turns = [pace.due(CALLS, now=NOW), pace.due(CALLS, now=behind)]
    assert turns[1] - turns[0] == timedelta(seconds=EACH_SECONDS)


def test_of_many_at_once_each_has_a_turn_of_its_own(pace: DynamoPace) -> None:
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.extend(waits(pace, 5))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waiting = [wait for wait in found if wait > 0]
    assert len(set(waiting)) == len(waiting) == 40 - int(BURST_SECONDS / EACH_SECONDS) - 1


def test_an_error_of_dynamodb_is_one_of_ours() -> None:
    aws = Aws("dynamodb").on("UpdateItem", ApiError("ThrottlingException"))
    with pytest.raises(errors.ThrottledError):
        DynamoPace(aws.client, TABLE, PER_SECOND).due(1, now=NOW)
