"""The command line of make plan: every bad value ends with its name, what was found and what is allowed."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from local.tools.plan.options import Options, parse
from local.tools.plan.request import build


def test_without_options_everything_is_left_to_the_defaults():
    assert parse([]) == Options()


def test_all_options(tmp_path):
    request = tmp_path / "request.json"
    request.write_text("{}")
    options = parse(
        [
            "--request", str(request), "--size-gib", "1024", "--written-percent", "50",
            "--volume-type", "gp3", "--iops", "6000", "--throughput", "500", "--region", "ap-northeast-1",
            "--zone", "ap-northeast-1a", "--instance-type", "m5.large", "--deadline-minutes", "120",
            "--max-cost-usd", "4.5", "--volumes", "12", "--fsr-state", "enabled",
            "--credits", "2.5", "--strategy", "background", "--strict", "--what-if", "--json",
            "--svg", str(tmp_path / "plan.svg"),
        ]
    )  # fmt: skip
    assert options == Options(
        request=request, size_gib=1_024, written_percent=50, volume_type="gp3", iops=6_000, throughput=500,
        region="ap-northeast-1", zone="ap-northeast-1a", instance_type="m5.large", deadline_minutes=120,
        max_cost_usd=Decimal("4.5"), volumes=12, fsr_state="enabled", credits=2.5, strategy="background",
        strict=True, what_if=True, as_json=True, svg=tmp_path / "plan.svg",
    )  # fmt: skip


def test_the_names_of_before_are_understood_and_not_shown(capsys):
    old, new = ["--data-gib", "512", "--budget", "4.5"], ["--size-gib", "512", "--max-cost-usd", "4.5"]
    assert parse(old) == parse(new)
    assert parse([*old, "--written-percent", "50"]).size_gib == 1_024
    with pytest.raises(SystemExit):
        parse(["--help"])
    assert not {"--data-gib", "--budget"} & set(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--size-gib", "0"], "--size-gib: found 0; a whole number of GiB from 1 to 65536 is allowed"),
        (["--size-gib", "1.5"], "--size-gib: found '1.5'; a whole number of GiB from 1 to 65536 is allowed"),
        (
            ["--written-percent", "101"],
            "--written-percent: found 101; a whole number of percent from 1 to 100",
        ),
        (["--volumes", "x"], "--volumes: found 'x'; a whole number of volumes from 1 to 100 is allowed"),
        (
            ["--deadline-minutes", "0"],
            "--deadline-minutes: found 0; a whole number of minutes from 1 to 10080",
        ),
        (
            ["--max-cost-usd", "-1"],
            "--max-cost-usd: found '-1'; an amount of US dollars, 0 or more, is allowed",
        ),
        (
            ["--max-cost-usd", "NaN"],
            "--max-cost-usd: found 'NaN'; an amount of US dollars, 0 or more, is allowed",
        ),
        (["--region", "Tokyo"], "--region: found 'Tokyo'; a Region's name such as us-east-1 is allowed"),
        (["--zone", "us-east-1"], "--zone: found 'us-east-1'; a zone's name such as us-east-1a is allowed"),
        (["--fsr-state", "on"], "--fsr-state: invalid choice: 'on' (choose from"),
        (
            ["--credits", "11", "--fsr-state", "enabled"],
            "--credits: found '11'; a number from 0 to 10 is allowed",
        ),
        (["--credits", "1"], "--credits: found a balance; allowed only with --fsr-state enabled"),
        (["--aws"], "--aws: found no --request; allowed only with --request FILE"),
        (["--request", "/nowhere"], "--request: found '/nowhere'; the path of a file that exists is allowed"),
        (["--svg", "plan.png"], "--svg: found 'plan.png'; a path in a folder that exists, ending in .svg"),
    ],
)
def test_a_bad_value_is_named(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--size-gib", "5"], ["--instance-type", "m5.large"], ["--volumes", "2"]])
def test_with_aws_the_facts_are_awss(option, tmp_path, capsys):
    request = tmp_path / "request.json"
    request.write_text("{}")
    with pytest.raises(SystemExit):
        parse(["--aws", "--request", str(request), *option])
    assert f"{option[0]}: not allowed with --aws, which knows it itself" in capsys.readouterr().err


def test_options_win_over_the_file(tmp_path):
    path = tmp_path / "request.json"
    source, target = {"snapshotId": "snap-0123456789abcdef0"}, {"availabilityZone": "us-east-1b"}
    objective = {"readyWithinMinutes": 60, "maxCostUsd": "2"}
    path.write_text(json.dumps({"source": source, "target": target, "objective": objective}))
    request = build(parse(["--request", str(path), "--deadline-minutes", "90", "--iops", "4000"]))
    assert request.objective.ready_within_minutes == 90
    assert request.objective.max_cost_usd == 2
    assert request.volume.iops == 4_000
    assert request.target.availability_zone == "us-east-1b"
