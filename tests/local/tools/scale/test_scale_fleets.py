"""Fleets take hardly longer than the account's limits allow, however large, and no more calls a volume."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from local.tools.scale import curve
from local.tools.scale.__main__ import main as scale
from local.tools.scale.fleets import Fleet, ordered, problems

SMALLEST = Fleet(
    volumes=10,
    restores=3,
    ready=10,
    makespan_seconds=430.0,
    ended_seconds=480.0,
    bounds_seconds={"shortest volume": 310.0, "longest volume": 428.0, "describe requests": 3.0},
    calls={"ec2": 17.0, "s3": 60.0, "lambda": 34.0},
    states=80.0,
)
LARGER = replace(
    SMALLEST,
    volumes=100,
    restores=30,
    ready=100,
    bounds_seconds={"longest volume": 428.0},
    makespan_seconds=450.0,
)


@pytest.mark.parametrize("volumes", [10, pytest.param(100, marks=pytest.mark.long)])
def test_a_fleet_is_ready_when_the_limits_allow(volumes: int, capsys: pytest.CaptureFixture[str]) -> None:
    status = scale(["--fleet", str(volumes), "--json"])
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (status, said["problems"]) == (0, []), said
    found = said["fleets"][-1]
    assert found["ready"] == found["volumes"] == volumes
    assert 1.0 <= found["ratio"] <= 1.15
    assert found["calls"]["ec2"] <= 1.1 * said["fleets"][0]["calls"]["ec2"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"ready": 98}, "2 volumes are not ready"),
        ({"makespan_seconds": 500.0}, "1.17 times the 428 s that longest volume allow"),
        (
            {"calls": {"ec2": 17.0, "s3": 70.0, "lambda": 34.0}},
            "87 requests a volume, and 77 in the smallest",
        ),
        ({"calls": {"ec2": 17.0, "s3": 60.0, "lambda": 90.0}}, None),
    ],
)
def test_what_does_not_hold_is_said(changes, words):
    found = problems(replace(LARGER, **changes), SMALLEST)
    assert (words is None) == (found == [])
    assert words is None or words in found[0]


def test_the_page_has_a_row_and_the_picture_a_point_for_each_fleet(tmp_path):
    page, picture = curve.write([SMALLEST, LARGER], tmp_path)
    text = page.read_text()
    assert "--fleet 10 100 --write-docs" in text
    times, numbers = "7 min 30 s | 7 min 08 s | longest volume | 1.05 | 8 min 00 s", "77 | 17.0 | 34.0 | 80.0"
    assert f"| 100 | 30 | 100 | {times} | {numbers} |" in text
    described = ET.parse(picture).getroot().find("{http://www.w3.org/2000/svg}desc")
    assert described is not None
    assert "100 volumes: 7 min 30 s" in described.text


def test_the_smallest_fleet_is_always_among_them():
    assert ordered([1_000, 100, 100]) == [10, 100, 1_000]


@pytest.mark.parametrize(
    "options", [["--fleet", "10", "--restores", "5"], ["--fleet", "10", "--size-gib", "8"], ["--write-docs"]]
)
def test_options_of_something_else_are_refused(options, capsys):
    with pytest.raises(SystemExit) as stopped:
        scale(options)
    assert stopped.value.code == 2
    assert "allowed" in capsys.readouterr().err
