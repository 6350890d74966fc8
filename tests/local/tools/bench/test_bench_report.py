"""What the benchmark shows: lines, tables, the page and its picture."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET

import pytest

from local.tools.bench import report
from local.tools.bench import view as terminal
from local.tools.bench.checks.checks import is_check, tools_of_check
from local.tools.bench.goals import evaluate
from local.tools.bench.options import parse
from local.tools.bench.plot import draw
from local.tools.bench.record import Spread, summarise
from local.tools.bench.specs import SPECS, TOOLS
from local.tools.bench.view import View
from local.tools.bench.wording import TOOL_TEXT, row, run_line, spread_text
from rewarm_cli import output
from tests.local.tools.bench.bench_records import five, run
from tests.support.commands.every import too_wide

NAMED = [spec for spec in SPECS if spec.name in {"full", "quarter"}]
FACTS = {
    "date": "2026-01-02",
    "cores": 2,
    "architecture": "x86_64",
    "kernel": "6.1",
    "fio": "fio-3.33",
    "agent": "warmer 0.1",
}


@pytest.fixture
def summaries():
    runs = [
        *five("full", "dd", 32, 33, 34, setting="bs=1M"),
        *five("full", "fio-aws", 8.2, 8.3, 8.4),
        *five("full", "agent-io_uring", 8.2, 8.25, 8.3, note="depth 32"),
        *five("quarter", "fio-best-map", 4.4, 4.4, 4.4),
        *five("quarter", "agent-touch", 1.6, 1.5, 1.7),
    ]
    return summarise(runs, NAMED)


def test_every_tool_has_words():
    assert set(TOOL_TEXT) == set(TOOLS)


def test_a_spread_in_digits_that_mean_something():
    assert spread_text(Spread(33.04, 32.96, 35.0)) == "33.0 (33.0-35.0)"
    assert spread_text(Spread(8.25, 8.2, 8.3)) == "8.25 (8.20-8.30)"
    assert spread_text(Spread(1.0, 1.0, 1.0)) == "1.00"


def test_a_row_compares_with_the_peers_that_were_measured(summaries):
    cells = row(summaries, summaries["full", "agent-io_uring"])
    assert cells[:6] == ["warmer, io_uring", "auto", "3", "8.25 (8.20-8.30)", "0.993", "4.00"]
    assert cells[6:8] == ["1.01", ""]
    assert cells[-1] == "depth 32"
    assert row(summaries, summaries["quarter", "agent-touch"])[7] == "2.75"


def test_a_line_says_why_a_run_is_void():
    assert run_line(run("full", "dd", 1, void="exit status 1: no"), 5, 8.2).endswith(
        "void: exit status 1: no"
    )
    assert "0.25 of the limit" in run_line(run("full", "dd", 32.8), 5, 8.2)


def test_the_terminal_shows_all_of_it(summaries):
    stream = io.StringIO()
    view = View(stream, NAMED, 5)
    view.run(run("full", "agent-io_uring", 8.3))
    view.table(summaries)
    view.goals(evaluate(summaries, NAMED))
    text = stream.getvalue()
    for words in (
        "round 1/5",
        "warmer --touch",
        "8.25 (8.20-8.30)",
        "Must reach",
        "not measured",
        "yes",
    ):
        assert words in text


def test_a_terminal_of_60_columns_breaks_no_word(summaries, monkeypatch):
    said = []
    for width in (400, 60):
        monkeypatch.setattr(terminal, "PLAIN_COLUMNS", width)
        monkeypatch.setattr(output, "WIDE", width)
        stream = io.StringIO()
        view = View(stream, NAMED, 5)
        view.run(run("full", "agent-io_uring", 8.3))
        view.table(summaries)
        view.goals(evaluate(summaries, NAMED))
        said.append(stream.getvalue())
    wide, narrow = ({word.strip(",") for word in text.split()} for text in said)
    assert too_wide(said[1], 60) == []
    assert wide - narrow - {"-", "note", "reached", "goal"} == set()


def test_the_page_and_its_picture(tmp_path, summaries):
    page = report.write(tmp_path, FACTS, NAMED, summaries, evaluate(summaries, NAMED))
    text = page.read_text(encoding="utf-8")
    assert "| warmer, io_uring | auto | 3 | 8.25 (8.20-8.30) |" in text
    assert "2 cores, x86_64, Linux 6.1, fio-3.33, warmer 0.1" in text
    assert "{" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    picture = ET.parse(tmp_path / "benchmarks.svg")
    words = {
        "".join(element.itertext()).strip() for element in picture.iter() if element.tag.endswith("text")
    }
    assert {"warmer, io_uring", "dd bs=1M", "8.2 s"} <= words


def test_equal_results_give_equal_pictures(tmp_path, summaries):
    for name in ("one.svg", "two.svg"):
        draw(tmp_path / name, summaries, NAMED)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    draw(tmp_path / "none.svg", {}, NAMED)
    assert not (tmp_path / "none.svg").exists()


def test_the_result_is_json(tmp_path, summaries):
    runs = five("full", "dd", 33)
    found = report.result(FACTS, NAMED, runs, summaries, evaluate(summaries, NAMED))
    report.save_json(tmp_path / "result.json", found)
    read = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert read["volumes"][0]["limitSeconds"]["by_throughput_seconds"] == pytest.approx(8.192)
    assert read["runs"][0]["seconds"] == 33
    assert {goal["volume"] for goal in read["goals"]} == {"full", "quarter"}


def test_only_the_complete_benchmark_writes_the_docs():
    assert parse([]).write_docs
    assert parse(["--rounds", "7"]).write_docs
    for partial in (
        ["--quick"],
        ["--rounds", "2"],
        ["--volume", "full"],
        ["--tool", "dd"],
        ["--size-gib", "1"],
    ):
        assert not parse(partial).write_docs
    assert parse(["--quick", "--write-docs"]).write_docs


def test_quick_is_one_round_of_a_quarter_of_the_size():
    options = parse(["--quick"])
    assert options.rounds == 1
    assert [spec.size_bytes * 4 for spec in options.specs] == [spec.size_bytes for spec in SPECS]
    assert {spec.size_gib for spec in parse(["--size-gib", "0.5"]).specs} == {0.5}
    assert [spec.name for spec in parse(["--volume", "quarter", "--volume", "full"]).specs] == [
        "full",
        "quarter",
    ]


def test_other_measurements_are_asked_for_one_at_a_time():
    assert not is_check(parse([]))
    assert parse(["--check-rate-limit", "40"]).check_rate_limit == 40
    assert parse(["--check-kill", "100"]).check_kill == 100
    for arguments in (["--check-politeness"], ["--check-rate-limit", "40"], ["--check-kill", "100"]):
        assert is_check(parse(arguments))
    assert tools_of_check(parse(["--check-politeness"])) == ["fio-aws"]
    assert tools_of_check(parse(["--check-kill", "3"])) == ["agent-io_uring", "agent-threads"]
    assert tools_of_check(parse(["--check-kill", "3", "--tool", "agent-threads"])) == ["agent-threads"]


@pytest.mark.parametrize(
    "arguments",
    [["--rounds", "0"], ["--rounds", "many"], ["--size-gib", "-1"], ["--size-gib", "65"], ["--size-gib", "x"],
     ["--volume", "slow"], ["--tool", "cp"], ["--polite-latency-ms", "0"],
     ["--check-kill", "0"], ["--check-rate-limit", "-1"], ["--check-kill", "9", "--check-politeness"]],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(arguments):
    with pytest.raises(SystemExit, match="2"):
        parse(arguments)
