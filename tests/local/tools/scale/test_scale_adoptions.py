"""Many volumes that others make at once are adopted by a rule, each once and in time."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from local.tools.scale.__main__ import main as scale
from local.tools.scale.adoptions import Adopted, bound_seconds, problems

ALONE = Adopted(
    volumes=4, warm=4, requests=1, last_seconds=280.0, ec2_calls=12.0, throttled_states=0, audit=()
)  # fmt: skip
GOOD = replace(ALONE, volumes=1_000, warm=1_000, requests=250, last_seconds=900.0, ec2_calls=15.0)


@pytest.mark.parametrize("volumes", [12, pytest.param(200, marks=pytest.mark.long)])
def test_each_is_adopted_once_and_in_time(volumes: int, capsys: pytest.CaptureFixture[str]) -> None:
    status = scale(["--adopt", str(volumes), "--json"])
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (status, told["problems"]) == (0, []), told
    assert told["adopted"]["warm"] == volumes
    assert told["adopted"]["requests"] < volumes, "volumes of an instance share a request"


def test_the_bound_counts_the_making_the_turns_and_one_adoption() -> None:
    assert bound_seconds(GOOD, ALONE) == 60 + 1_000 * 12 / 20 + 280, "EC2 answers 20 calls a second"
    few_calls = replace(ALONE, ec2_calls=1.0)
    assert bound_seconds(GOOD, few_calls) == 60 + 250 * 0.9 + 280, "each begins in turn"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"warm": 998}, "2 volumes were not adopted"),
        ({"last_seconds": 1_100.0}, "the last was ready after 1,100 s; at most 1,081 s are allowed"),
        ({"ec2_calls": 19.0}, "19.0 requests to EC2 a volume, 12.0 where an instance is alone"),
        ({"audit": ("rules have adopted volume vol-1 2 times",)}, "rules have adopted volume vol-1"),
    ],
)
def test_says_what_does_not_hold(changes: dict[str, object], words: str) -> None:
    assert problems(GOOD, ALONE) == []
    (told,) = problems(replace(GOOD, **changes), ALONE)  # type: ignore[arg-type]
    assert told.startswith(words)


def test_adoptions_go_with_no_other_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        scale(["--adopt", "--restores", "2"])
    assert refused.value.code == 2
    assert "argument --adopt: not allowed with --restores" in capsys.readouterr().err
