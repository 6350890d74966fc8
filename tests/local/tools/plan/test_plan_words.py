"""What `make plan` says of a plan or a refusal agrees with what was asked."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO

import pytest

from local.tools.plan import offline
from local.tools.plan.options import parse
from local.tools.plan.view import View
from rewarm.domain.errors import NoStrategyFitsError
from tests.support.builders import NOW


@pytest.fixture
def answer():
    def plan(command: str):
        return offline.plan(parse(command.split()), NOW)

    return plan


WRITTEN = "--size-gib 100 --volumes 2 --instance-type m7g.large --strategy direct-write"
NONE_60 = "--size-gib 100 --instance-type none --deadline-minutes 60 --strict"


@pytest.mark.parametrize(
    ("command", "field", "missing"),
    [
        (
            f"{WRITTEN} --deadline-minutes 110 --strict",
            "readyWithinMinutes",
            "no strategy fits: the deadline is 15 min too early. direct-write: full speed only within ",
        ),
        (
            f"{NONE_60} --max-cost-usd 0.11",
            "maxCostUsd",
            "no strategy fits: the budget is $0.01 too small; or the deadline is 23 h 06 min too early. ",
        ),
        (
            f"{NONE_60} --volumes 2 --max-cost-usd 0.235",
            "maxCostUsd",
            "no mix of strategies fits 2 volumes together: the budget is $0.005 too small; or the deadline ",
        ),
        (
            "--size-gib 100 --instance-type none --deadline-minutes 6 --strict",
            "readyWithinMinutes",
            "no strategy fits: the deadline is 7 min too early. ",
        ),
        (
            "--size-gib 100 --instance-type none --deadline-minutes 6 --max-cost-usd 0.11 --strict",
            "readyWithinMinutes",
            "no strategy fits: the budget is $0.25 too small, and the deadline is 7 min too early; or the ",
        ),
        (
            "--size-gib 100 --instance-type none --strategy provisioned-rate --max-cost-usd 0.11",
            "maxCostUsd",
            "no strategy fits: the budget is $0.01 too small. provisioned-rate: costs $0.12",
        ),
    ],
)
def test_a_refusal_names_what_is_missing_and_by_how_much(answer, command, field, missing):
    with pytest.raises(NoStrategyFitsError) as refused:
        answer(command)
    assert refused.value.field == f"objective.{field}"
    assert str(refused.value).startswith(f"objective.{field}: {missing}")


def test_a_named_strategy_is_compared_with_no_other_mix(answer):
    """The agent reads both for nothing, and in time."""
    found = answer("--size-gib 100 --volumes 2 --strategy provisioned-rate --deadline-minutes 600")
    assert found.summary.why == "2 volumes: 2 x provisioned-rate; the request asks for it."
    free = answer("--size-gib 100 --volumes 2 --deadline-minutes 600")
    assert free.summary.why == "2 volumes: 2 x warm-up-agent."


def shown(found, columns: int) -> str:
    stream = StringIO()
    view = View(stream)
    view.console.width = columns
    view.plan(found)
    view.what_if(found)
    return stream.getvalue()


def test_of_many_volumes_the_what_if_does_not_claim_every_step(answer):
    command = "--size-gib 100 --instance-type none --volumes"
    assert "Not every step: " in shown(answer(f"{command} 25"), 80)
    assert "Not every step: " not in shown(answer(f"{command} 24"), 80)


SHOWN = (
    "--size-gib 1024 --volumes 12 --instance-type m7g.large --deadline-minutes 180",
    "--size-gib 100 --volumes 55 --instance-type none --deadline-minutes 40",
    "--size-gib 100 --volumes 4 --instance-type m7g.large",
    "--size-gib 100 --deadline-minutes 25",
)
FIGURE = re.compile(r"\$[\d,.]*\d|\d+ (?:min|MiB/s|h)|(?:\d\d-){2}\d\d|█[█▓]*")


@pytest.mark.parametrize("width", [40, 80, 100, 120])
@pytest.mark.parametrize("command", SHOWN)
def test_no_figure_is_cut_at_any_width(answer, command, width):
    found = answer(command)

    narrow = shown(found, width)
    figures = FIGURE.findall(" ".join(narrow.replace("│", " ").split()))
    assert set(FIGURE.findall(shown(found, 400))) <= set(figures)
    assert "…" not in narrow
    drawn = [line for line in narrow.splitlines() if line[:1] in "┃│┡└"]
    assert max(map(len, drawn), default=0) <= width


def test_what_direct_write_costs_has_its_prices_in_the_table_and_a_note_of_whose_they_are(answer):
    command = "--size-gib 1024 --strategy direct-write --region"
    found = answer(f"{command} eu-west-1")
    (note,) = [note for note in found.summary.notes if "eu-west-1" in note]
    assert "known here for GetSnapshotBlock, S3, Lambda, Step Functions, so us-east-1's counts" in note
    assert not [note for note in answer(f"{command} us-east-1").summary.notes if "known here" in note]
    listed = {price.name for price in found.prices}
    assert {"getBlocksUsdPerThousand", "packsUsdPerGibMonth", "functionsUsdPerGbSecond"} <= listed
    elsewhere = answer("--size-gib 1024 --instance-type none")
    assert "packsUsdPerGibMonth" not in {price.name for price in elsewhere.prices}


@pytest.mark.parametrize(
    ("command", "minutes", "usd"),
    [
        (
            "--size-gib 100 --volumes 4 --instance-type m7g.large",
            (35, 65, 95, 100, 125),
            (".36", ".24", ".12"),
        ),
        (
            "--size-gib 1024 --volumes 12 --instance-type none",
            (194, 251, 380, 500, 700, 795, 1_447),
            ("14.19", "12.27", "10.36", "9.88"),
        ),
    ],
)
def test_the_what_if_has_every_mix(answer, command, minutes, usd):
    """By agents for some of the volumes, and by fast snapshot restore, whose credits come one by one."""
    offers = answer(command).frontier
    prices = {f"{offer.cost_usd:.2f}".lstrip("0") for offer in offers}
    assert prices >= set(usd)
    for deadline in minutes:
        made = answer(f"{command} --deadline-minutes {deadline}")
        offer = max(
            (one for one in offers if one.deadline_seconds <= deadline * 60),
            key=lambda one: one.deadline_seconds,
        )
        assert offer.cost_usd == made.summary.total_cost_usd
        taken = Counter(one.plan.strategy for one in made.plans)
        assert taken == {choice.strategy: choice.volumes for choice in offer.choices}


def test_the_help_names_the_types_that_need_iops(capsys):
    with pytest.raises(SystemExit):
        parse(["--help"])
    assert "io1 and io2 need it" in " ".join(capsys.readouterr().out.split())
