"""When an application counts as warm in `make bench ARGS=--hot`."""

from __future__ import annotations

import math

from local.tools.bench.checks.hot import warm_after

WARM_MS, COLD_MS = 1.0, 90.0


def _second(number: int, *, warm: int, cold: int = 0) -> list[tuple[float, float]]:
    return [(number + 0.5, WARM_MS)] * warm + [(number + 0.5, COLD_MS)] * cold


def test_the_first_of_three_warm_seconds_counts() -> None:
    reads = _second(0, warm=1, cold=9)
    for number in (1, 2, 3):
        reads += _second(number, warm=19, cold=1)
    assert warm_after(reads) == 1


def test_two_warm_seconds_are_not_enough() -> None:
    reads = _second(0, warm=5) + _second(1, warm=5) + _second(2, warm=18, cold=2)
    assert warm_after(reads) == math.inf


def test_a_second_without_a_read_is_not_warm() -> None:
    reads = [read for number in (0, 1, 3, 4, 5) for read in _second(number, warm=5)]
    assert warm_after(reads) == 3


def test_an_application_that_read_nothing_never_was_warm() -> None:
    assert warm_after([]) == math.inf
