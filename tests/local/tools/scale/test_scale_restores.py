"""Many restores at once end as one alone does, with hardly more requests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from local.tools.scale.__main__ import _parser
from local.tools.scale.__main__ import main as scale
from local.tools.scale.restores import Crowd, problems

GOOD = Crowd(
    restores=1_000, ready=1_000, ended_otherwise={}, volumes=1_000, first_seconds=92.0, median_seconds=500.0,
    last_seconds=1_000.0, calls=140.0, ec2_calls=17.0, throttled_states=0, held_afterwards=0,
    told=1_000, most_functions=300, refused_functions=0,
)  # fmt: skip
ALONE = replace(GOOD, restores=1, ready=1, volumes=1, told=1, calls=145.0, ec2_calls=20.0)


@pytest.mark.parametrize("restores", [8, pytest.param(60, marks=pytest.mark.long)])
def test_many_at_once_all_end_and_storm_nothing(restores: int, capsys: pytest.CaptureFixture[str]) -> None:
    status = scale(["--restores", str(restores), "--json"])
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (status, told["problems"]) == (0, []), told
    many, alone = told["restores"], told["alone"]
    assert many["ready"] == many["volumes"] == restores
    assert many["ec2_calls"] <= 1.5 * alone["ec2_calls"]
    assert many["calls"] <= 1.5 * alone["calls"]
    assert many["held_afterwards"] == 0
    assert many["last_seconds"] > many["first_seconds"], "they began in turn"


@pytest.mark.parametrize("restores", [8, pytest.param(60, marks=pytest.mark.long)])
def test_many_at_once_outlast_five_minutes_without_lambda(
    restores: int, capsys: pytest.CaptureFixture[str]
) -> None:
    shortage = ["--lambda-concurrency", str(restores // 2), "--lambda-outage-minutes", "5"]
    status = scale(["--restores", str(restores), *shortage, "--json"])
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (status, told["problems"]) == (0, []), told
    many = told["restores"]
    assert many["told"] == many["ready"] == restores
    assert many["most_functions"] <= restores // 2
    assert many["refused_functions"] > restores, "every one of them met it"
    assert many["last_seconds"] > 300


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"ready": 999, "volumes": 999, "told": 999, "ended_otherwise": {"ThrottledError": 1}},
            "1 ended otherwise",
        ),
        ({"volumes": 999}, "1000 restores have 999 volumes"),
        ({"calls": 218.0}, "calls: 218.0 a restore, 145.0 where it is alone"),
        ({"ec2_calls": 31.0}, "ec2_calls: 31.0 a restore"),
        ({"told": 998}, "2 volumes are at full speed, and nobody was told"),
        ({"held_afterwards": 2}, "2 devices or places were not given back"),
    ],
)
def test_says_what_does_not_hold(changes: dict[str, object], words: str) -> None:
    assert problems(GOOD, ALONE) == []
    (told,) = problems(replace(GOOD, **changes), ALONE)  # type: ignore[arg-type]
    assert told.startswith(words)


def test_restores_that_lambda_refused_may_ask_more_often() -> None:
    assert problems(replace(GOOD, calls=400.0, ec2_calls=60.0, refused_functions=5_000), ALONE) == []


@pytest.mark.parametrize("count", ["0", "2001", "-1", "many"])
def test_refuses_numbers_that_no_stack_runs(count: str) -> None:
    with pytest.raises(SystemExit) as refused:
        _parser().parse_args(["--restores", count])
    assert refused.value.code == 2
