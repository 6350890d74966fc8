"""make plan as a user meets it: what is printed and written, exit statuses, and that AWS is only read."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import boto3
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from local import ROOT
from local.aws.wire.inprocess import client
from local.tools.plan import __main__ as program
from local.tools.plan import aws
from rewarm.adapters import prices
from rewarm.contracts.plans import PlanResult
from tests.local.aws.region.region_lab import INSTANCE, Lab

MINIMAL = {"source": {"snapshotId": "snap-0123456789abcdef0"}, "target": {"availabilityZone": "us-east-1a"}}


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run it; the exit status, standard output, standard error.

    The program sets boto3's default session, which the tests after it must not have.
    """
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    def call(*arguments):
        status = program.main([*arguments, "--svg", str(tmp_path / "plan.svg")])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return call


@pytest.fixture
def request_file(tmp_path):
    def write(body):
        path = tmp_path / "request.json"
        path.write_text(body if isinstance(body, str) else json.dumps(body))
        return str(path)

    return write


def test_the_table_has_every_strategy_with_its_sum_and_its_verdict(run, tmp_path):
    status, shown, _ = run("--deadline-minutes", "25")
    assert status == 0
    flat = " ".join(shown.replace("│", " ").split())
    assert "→ provisioned-rate 15 s 19 min 25 min $0.13" in flat
    # 100 GiB x 109 MiB/s x 0.000012
    for words in ("100.000 GiB x 109 MiB/s x", "$0.000012 = $0.13", "60 min / 60 x $0.75 = $0.75"):
        assert words in flat
    for strategy in (
        "background",
        "warm-up-agent",
        "boosted-warm-up",
        "fast-snapshot-restore",
        "volume-clone",
    ):
        assert f" {strategy} " in flat
    assert "Not possible: the source volume" in flat
    assert "Each cost includes ListSnapshotBlocks requests: 21 requests x $0.0006 / 1,000" in flat
    assert "(over 90 days old)" in flat
    assert "Note: " in shown
    assert f"Picture: {tmp_path / 'plan.svg'}" in shown
    assert not (tmp_path / "plan-what-if.svg").exists()


def test_a_plan_loads_nothing_that_takes_longer_than_the_plan():
    heavy = ("boto3", "botocore.session", "matplotlib", "moto", "numpy")
    code = (
        "import sys; from local.tools.plan.__main__ import main; main(['--what-if', '--explain']); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    *shown, loaded = found.stdout.splitlines()
    assert any("warm-up-agent" in line for line in shown)
    assert loaded == "[]"


def test_nothing_is_drawn_unless_it_is_asked_for(capsys):
    assert program.main([]) == 0
    assert "Picture:" not in capsys.readouterr().out


def test_of_several_volumes_it_shows_and_draws_the_schedule_of_all(run, tmp_path):
    args = ("--volumes", "55", "--instance-type", "none", "--deadline-minutes", "60")
    _, shown, _ = run(*args, "--strategy", "provisioned-rate")
    flat = [" ".join(line.replace("│", " ").split()) for line in shown.splitlines()]
    first, second = (flat.index(bar) for bar in ("████████▓▓", "░░░░░░░████████▓▓▓"))
    rated = "provisioned-rate 100 MiB/s, begins"
    times = "at once, usable 10 s, p50 20 min, p90 25 min", "18 min, usable 18 min, p50 37 min, p90 45 min"
    assert flat[first - 1] == f"volumes 50, {rated} {times[0]}, each $0.12, together $6.00"
    assert flat[second - 1] == f"volumes 5, {rated} {times[1]}, each $0.12, together $0.60"
    assert "Not possible" not in shown
    assert "in time, for $6.60 together" in shown
    drawn = (tmp_path / "plan-schedule.svg").read_text(encoding="utf-8")
    assert "50 volumes of snap-0123456789abcdef0, 100 GiB each to us-east-1a" in drawn
    assert "if all took the same way" in run(*args, "--explain")[1]


def test_by_hand_is_a_row_and_explain_says_when_each_way_is_right(run):
    _, shown, _ = run("--explain")
    flat = " ".join(shown.replace("│", " ").split())
    assert "by hand, dd 55 min not known $0.00 Create, attach, log in" in flat
    assert "Kept on: $547.50 a month for this snapshot in this zone." in flat
    assert "by-hand a person on the instance from the beginning" in flat


def test_what_if_prints_and_draws_the_price_of_every_deadline(run, tmp_path):
    status, shown, _ = run("--deadline-minutes", "30", "--what-if")
    assert status == 0
    assert "under 14 min │             - │ no strategy is in time" in shown
    assert "provisioned-rate (300 MiB/s)" in shown
    for name in ("plan.svg", "plan-what-if.svg"):
        assert f"Picture: {tmp_path / name}" in shown
        assert ET.parse(tmp_path / name).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_of_two_offers_from_the_same_time_on_the_cheaper_is_shown(run):
    _, shown, _ = run("--fsr-state", "enabling", "--what-if")
    offers = shown.partition("What other deadlines cost")[2]
    deadlines = [line.split("│")[1].strip() for line in offers.splitlines() if line.startswith("│")]
    assert len(deadlines) > 3
    assert len(set(deadlines)) == len(deadlines)
    assert offers.count("fast-snapshot-restore") == 1


def _schema(name):
    return json.loads((ROOT / "events" / name).read_text(encoding="utf-8"))


def test_json_is_what_post_plans_answers(run):
    status, out, err = run("--json", "--volumes", "12", "--size-gib", "50")
    answer = json.loads(out)
    assert status == 0
    assert "12 volumes, each: snap-" in err
    schemas = Registry(retrieve=lambda name: DRAFT202012.create_resource(_schema(name)))
    Draft202012Validator(_schema("plan-result.schema.json"), registry=schemas).validate(answer)
    assert PlanResult.model_validate(answer).to_json() == answer
    assert len(answer["plans"]) == 12
    assert answer["plans"][0]["facts"]["volumesOfSnapshot"] == 12


def test_an_instance_type_of_which_aws_names_no_throughput_is_promised_nothing(run):
    args = ("--data-gib", "100", "--instance-type", "t2.micro", "--deadline-minutes", "30")
    _, shown, _ = run(*args)
    assert "t2.micro: unknown throughput to EBS; no agent for it" in shown
    _, out, _ = run("--json", *args)
    (plan,) = json.loads(out)["plans"]
    feasible = {one["strategy"]: one["feasible"] for one in plan["candidates"]}
    assert not feasible["warm-up-agent"] | feasible["boosted-warm-up"]
    assert plan["plan"]["strategy"] == "provisioned-rate"


def test_of_an_instance_type_with_two_ebs_cards_each_card_is_shown_with_its_own_throughput(run):
    _, shown, _ = run("--data-gib", "100", "--instance-type", "m8gn.48xlarge", "--volumes", "3")
    for card in (0, 1):
        assert f"m8gn.48xlarge, EBS card {card}: 7,153 MiB/s to EBS" in shown
    flat = " ".join(shown.split())
    assert "The times count 2 volumes on card 0 and 1 volume on card 1." in flat


def test_the_region_decides_the_prices(run):
    _, out, _ = run("--json", "--region", "ap-northeast-1", "--strategy", "fast-snapshot-restore")
    answer = json.loads(out)
    assert answer["summary"]["totalCostUsd"].startswith("0.90")
    (price,) = [one for one in answer["prices"] if one["name"] == "fsrUsdPerHour"]
    assert price["usd"] == str(prices.shipped("ap-northeast-1")["fsrUsdPerHour"].usd)


def test_fast_snapshot_restore_that_is_enabled_costs_nothing_more(run):
    _, out, _ = run("--json", "--fsr-state", "enabled", "--credits", "3", "--deadline-minutes", "10")
    (plan,) = json.loads(out)["plans"]
    assert plan["plan"]["strategy"] == "fast-snapshot-restore"
    assert plan["facts"]["fastSnapshotRestore"]["credits"] == 3
    assert sum(float(part["usd"]) for part in plan["plan"]["costParts"]) < 0.001


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--iops", "90000"], "argument --iops: found 90000; a gp3 volume of 100 GiB may have 3000 to 50000"),
        (["--volume-type", "io2"], "argument --iops: is missing; an io2 volume of 100 GiB may have 100 to"),
        (["--volume-type", "gp2", "--size-gib", "20000"], "argument --size-gib: found 20000; a gp2 volume"),
        (["--instance-type", "m7g.lrge"], 'argument --instance-type: found "m7g.lrge"; a type such as m7g'),
        (["--region", "us-east-1", "--zone", "eu-west-1a"], "argument --zone: found eu-west-1a; a zone of"),
    ],
)  # fmt: skip
def test_bad_input_is_named_by_its_option(run, arguments, complaint):
    status, _, err = run(*arguments)
    assert status == 2
    assert err.startswith(f"make plan: {complaint}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("{", "argument --request: "),
        ("[]", "argument --request: "),
        ({**MINIMAL, "colour": "red"}, "colour: unknown field; allowed are source, target"),
        (
            {**MINIMAL, "objective": {"readyWithinMinutes": 0}},
            "objective.readyWithinMinutes: found 0; allowed is",
        ),
    ],
)
def test_a_bad_request_is_named_by_its_field(run, request_file, body, complaint):
    status, _, err = run("--request", request_file(body))
    assert status == 2
    assert complaint in err


def test_a_strict_objective_that_nothing_meets(run):
    status, _, err = run("--deadline-minutes", "1", "--strict")
    assert status == 3
    assert "no strategy fits" in err


class TestAws:
    @pytest.fixture
    def lab(self, monkeypatch):
        lab, self.called = Lab(), []

        def inside(service, *_):
            if service in {"cloudwatch", "kms"}:
                return None  # not asked: no fast snapshot restore is enabled, no snapshot is encrypted
            made = client(lab.region, service)
            made.meta.events.register(
                "before-parameter-build", lambda model, **_: self.called.append(model.name)
            )
            return made

        monkeypatch.setattr(aws.clients, "client", inside)
        monkeypatch.setattr(aws.clients, "block_list_client", lambda _threads: inside("ebs"))
        monkeypatch.setattr(aws.clients, "price_list_client", lambda: inside("pricing"))
        return lab

    def test_plans_from_the_account_and_only_reads(self, run, request_file, lab):
        snapshot_id, _ = lab.snapshot(size_gib=16, data_gib=4), lab.instance(instance_type="m5.4xlarge")
        body = {"source": {"snapshotId": snapshot_id}, "target": {"instanceId": INSTANCE}}
        status, out, err = run("--aws", "--request", request_file(body), "--region", "us-east-1", "--json")
        assert (status, err.count("error")) == (0, 0)
        (plan,) = json.loads(out)["plans"]
        assert plan["facts"]["dataBytes"] == 4 << 30
        assert plan["facts"]["instanceLimits"]["instanceType"] == "m5.4xlarge"
        assert {"DescribeSnapshots", "DescribeInstances", "GetProducts", "GetServiceQuota"} <= set(
            self.called
        )
        assert all(name.startswith(("Describe", "Get")) for name in self.called)

    def test_what_is_not_there_is_named(self, run, request_file, lab):
        status, _, err = run("--aws", "--request", request_file(MINIMAL), "--region", "us-east-1")
        assert status == 2
        assert "source.snapshotId" in err
        assert "snap-0123456789abcdef0" in err
