"""Names come from outside: tags, alarms, people in Slack. None of them moves or colours the terminal."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from collections import defaultdict
from functools import cache

import pytest
import yaml

from rewarm_cli import asking, output, watching
from rewarm_cli.problems import CommandFailedError
from rewarm_cli.words import HARMLESS, HIDDEN, visible
from tests.support.tree import files

HOSTILE = "a\x1b]0;mine\x07b\x9b2Jc\rd\u202ee\x7f"
SHOWN = r"a\u001b]0;mine\u0007b\u009b2Jc\u000dd\u202ee\u007f"
NOT_SEEN = "\u200b\u200e\u200f\u061c\u2028\u2029\u2060\ufeff\u00ad\u2066\U000e0041\ue000"
"""Marks of direction, blanks of no width, breaks of lines, tags and private signs."""

MOST = 5_000
"""Characters of a category; of private and unassigned ones there are a million."""


@cache
def by_category():
    """Unicode's category -> all of its characters but the harmless ones."""
    found = defaultdict(list)
    for sign in map(chr, range(sys.maxunicode + 1)):
        found[unicodedata.category(sign)].append(sign)
    return {name: "".join(sign for sign in signs if sign not in HARMLESS) for name, signs in found.items()}


@pytest.mark.parametrize("category", sorted(HIDDEN))
def test_no_character_of_a_hidden_category_is_printed(category):
    signs = by_category()[category][::-1]  # no half of a pair before its other half
    signs = signs[:: 1 + len(signs) // MOST]
    shown = visible(signs)
    assert re.fullmatch(r"(\\u[0-9a-f]{4})+", shown)
    assert json.loads(f'"{shown}"') == signs


@pytest.mark.parametrize("category", ["Ll", "Lo", "Mn", "Nd", "Pd", "Sc", "Sm", "So", "Zs"])
def test_every_other_character_stays(category):
    assert visible(by_category()[category]) == by_category()[category]


@pytest.fixture
def target():
    console = output.console()
    console.file = io.StringIO()
    return console


def test_lines_and_tables_show_them_as_escapes(target):
    target.print(HOSTILE, soft_wrap=True)
    output.print_table(target, [HOSTILE], [[HOSTILE]])
    said = target.file.getvalue()
    assert said.count(SHOWN) == 3
    assert not {"\x1b", "\x9b", "\r", "\u202e"} & set(said)


def test_so_do_errors():
    assert CommandFailedError(f"found {HOSTILE}\n  next").message == f"found {SHOWN}\n  next"


def test_so_do_sentences_questions_and_what_a_query_finds(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    output.say(HOSTILE)
    output.say(HOSTILE, err=True)
    output.emit({"name": HOSTILE}, "table", "name")
    assert asking.agrees(f"Delete {HOSTILE}?")
    said = capsys.readouterr()
    assert said.out == f"{SHOWN}\n{SHOWN}\n"
    assert said.err == f"{SHOWN}\nDelete {SHOWN}? [y/N]: "


def test_so_does_progress(target):
    bars = watching.bars(target)
    bars.add_task(HOSTILE, total=100, words=HOSTILE)
    target.print(bars.make_tasks_table(bars.tasks), soft_wrap=True)
    assert target.file.getvalue().count(SHOWN) == 2


@pytest.mark.parametrize("kind", ["json", "yaml"])
def test_a_document_says_the_same_to_programs(kind):
    signs = [HOSTILE, *NOT_SEEN, *by_category()["Cc"], *by_category()["Cf"], "\ud800", "\u0378", "\U0010fffd"]
    value = {"names": [f"a{sign}b: c" for sign in signs], **{f"{sign}key": sign for sign in signs}}
    said = output.document(value, kind)
    assert [sign for sign in said if sign != "\n" and unicodedata.category(sign) in HIDDEN] == []
    assert (json.loads if kind == "json" else yaml.safe_load)(said) == value


def test_other_text_stays_as_it_is():
    text = "Größe: 10 GiB\t→ 🙂\n日本語"
    assert visible(text) == text
    assert yaml.safe_load(output.document({"name": text}, "yaml")) == {"name": text}
    assert output.document({"name": "Größe 日本語"}, "yaml") == "name: Größe 日本語"


def test_nothing_is_printed_past_them():
    """Whatever prints does so by output.py, or prints nothing from outside."""
    own = {"output.py", "reference.py"}
    printing = re.compile(r"click\.(echo|secho)\(|\bprint\(|std(out|err)\.write\(|[ =]TextColumn\(")
    found = {
        line.strip()
        for path in files("*.py", below="cli")
        if path.name not in own
        for line in path.read_text(encoding="utf-8").splitlines()
        if printing.search(line) and "target.print(" not in line and "_print(" not in line
    }
    assert found == {"click.echo(kind(rewarm, {}, NAME, COMPLETE).source())"}
