"""Thirty restores: which ones, how they are judged and shown. The restores themselves are a workflow test."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace

import pytest

from local.tools.measurements.cases import (
    BLOCKS_PER_GIB,
    HAVE_A_SETTING,
    MOST_READ_GIB,
    SHARES,
    SIZES_GIB,
    Case,
    cases,
)
from local.tools.measurements.options import parse
from local.tools.measurements.series import Outcome
from local.tools.measurements.verdict import HISTORY_RESTORES, judge
from local.tools.measurements.view import View
from rewarm.domain.model import Strategy

PHASE = {
    "phase": "load",
    "estimatedP50Seconds": 100.0,
    "estimatedP90Seconds": 190.0,
    "actualSeconds": 110.0,
}


def outcome(number: int = 1, *, p50: float = 100, p90: float = 200, actual: float = 100) -> Outcome:
    case = Case(number, Strategy.PROVISIONED_RATE, 40, 10)
    return Outcome(case, p50, p90, actual, number - 1, (PHASE,), 1.5)


class TestCases:
    def test_the_same_seed_gives_the_same_restores(self):
        assert cases(30, 1) == cases(30, 1)
        assert cases(30, 1) != cases(30, 2)
        assert cases(12, 1) == cases(30, 1)[:12]

    def test_thirty_hold_each_strategys_share(self):
        assert sum(SHARES.values()) == 30
        assert Counter(case.strategy for case in cases(60, 3)[30:]) == SHARES
        hurried = {case.strategy for case in cases(60, 3) if case.is_hurried}
        assert hurried == HAVE_A_SETTING

    @pytest.mark.parametrize("case", cases(60, 5), ids=lambda case: f"{case.number}-{case.strategy}")
    def test_each_fits_its_snapshot(self, case):
        low, high = SIZES_GIB[case.strategy]
        assert low <= case.size_gib <= high
        assert not case.strategy.reads_with_agent or case.written_gib <= MOST_READ_GIB
        assert sum(length for _, length in case.extents) == case.written_gib * BLOCKS_PER_GIB
        ends = [0] + [start + length for start, length in case.extents]
        assert all(start >= end for (start, _), end in zip(case.extents, ends, strict=False))
        assert ends[-1] <= case.size_gib * BLOCKS_PER_GIB


class TestVerdict:
    def test_errors_count_once_there_is_history(self):
        wrong = [outcome(number, p50=500) for number in range(1, HISTORY_RESTORES + 1)]
        right = [outcome(number, p50=104) for number in range(11, 31)]
        verdict = judge([*wrong, *right])
        assert verdict.median_error_before_percent == pytest.approx(400)
        assert verdict.median_error_percent == pytest.approx(4)
        assert verdict.share_within_p90_percent == 100
        assert verdict.holds

    @pytest.mark.parametrize(("late", "holds"), [(0, True), (4, True), (5, False)])
    def test_85_percent_are_within_p90(self, late, holds):
        outcomes = [outcome(number, p50=210, p90=220, actual=221 if number <= late else 210)
                    for number in range(1, 31)]  # fmt: skip
        assert judge(outcomes).holds is holds

    def test_a_median_error_of_10_percent_is_too_much(self):
        assert not judge([outcome(number, p50=110) for number in range(1, 31)]).holds

    def test_ten_restores_say_nothing_yet(self):
        verdict = judge([outcome(number) for number in range(1, 11)])
        assert (verdict.median_error_percent, verdict.holds) == (None, False)


class TestView:
    def shown(self, outcomes):
        stream = io.StringIO()
        view = View(stream)
        view.outcome(outcomes[0], len(outcomes))
        view.table(outcomes)
        view.verdict(judge(outcomes))
        return stream.getvalue()

    def test_it_tells_estimate_and_actual_of_each_and_the_verdict(self):
        text = self.shown([outcome(number, actual=125) for number in range(1, 13)])
        assert "1 of 12  provisioned-rate, 10 of 40 GiB: 2 min 05 s, estimated 1 min 40 s (-20 %)" in text
        assert "load 110 s (est. 100 s)" in text
        assert "11 restores" in text
        assert "priors" in text
        assert "Within P90: 100 % (at least 85 %)" in text
        assert "after 10 restores: 20.0 %" in text
        assert "The estimates do not hold." in text

    def test_one_that_took_longer_than_promised_is_seen(self):
        assert "no" in self.shown([replace(outcome(), actual_seconds=201.0)])


class TestOptions:
    def test_defaults(self):
        options = parse([])
        assert (options.restores, options.seed, options.as_json) == (30, 1, False)
        assert parse(["--estimates", "--restores", "3"]).restores == 3

    @pytest.mark.parametrize("count", ["0", "1001", "many"])
    def test_a_bad_count_is_named(self, count, capsys):
        with pytest.raises(SystemExit):
            parse(["--restores", count])
        assert "a whole number of restores from 1 to 1000 is allowed" in capsys.readouterr().err
