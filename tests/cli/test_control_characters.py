"""Names come from outside: tags, alarms, people in Slack. None of them moves or colours the terminal."""

from __future__ import annotations

import io
import json

import pytest

from rewarm_cli import output
from rewarm_cli.problems import CommandFailedError
from rewarm_cli.words import visible

HOSTILE = "a\x1b]0;mine\x07b\x9b2Jc\rd\u202ee\x7f"
SHOWN = r"a\u001b]0;mine\u0007b\u009b2Jc\u000dd\u202ee\u007f"


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


def test_json_says_the_same_to_programs():
    said = output.document({"name": HOSTILE}, "json")
    assert not {"\x1b", "\x9b", "\x7f", "\u202e"} & set(said)
    assert json.loads(said) == {"name": HOSTILE}


def test_other_text_stays_as_it_is():
    text = "Größe: 10 GiB\t→ 🙂\n日本語"
    assert visible(text) == text
