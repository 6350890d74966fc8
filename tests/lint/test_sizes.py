"""How long a function and how full a folder may be; test_directions.py limits how far a capability is spread.

A number that is far above what it limits fails as well, so that it is lowered.
"""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from tests.support.tree import ROOT, files

MOST_FILES = 14
"""In a folder, beside `__init__.py`."""
MORE_FILES = {
    ".": (18, "Tools look for their files at the root; in a work tree of git, .git is one more."),
    "docs": (50, "A page lies beside its pictures, and links from outside lead to it."),
    "cli/rewarm_cli": (15, "What all commands share; each of their rooms is a folder below."),
    "functions/rewarm/steps/record": (16, "A module for each thing that is written down and read again."),
    "tests/contract": (15, "A file for each thing that AWS or users see; each group of calls is a folder."),
    "tests/contract/ec2": (15, "A file for each group of calls, beside those that hold lists of fields."),
    "events": (18, "A schema lies beside its example, and users link to both."),
    "local/aws/first_touch/src": (16, "One small program, of which no part stands alone."),
    "tests/local/aws/machines": (15, "A file for each document at work on a machine, and what they share."),
    "tests/lint": (15, "A file for each language or promise that is checked."),
    "warmer/src/commands": (19, "A module for each command, beside what commands share."),
    "warmer/src/device": (19, "A module for each fact about a device, and for who uses it."),
    "warmer/src/system": (22, "A module for each thing that systems do differently; all else asks these."),
    "warmer/tests/cli": (38, "A script for each promise that only the whole program can keep."),
    "warmer/tests/fuzz/corpus/used": (20, "An input for each reader, and for each refusal."),
    "warmer/tests/fuzz": (15, "A target for each parser, beside what they share."),
}
"""Folder -> the files that it may have, a module of C as one, and why it is not divided."""
MOST_FUNCTION_LINES = 40
"""Of a Python function, without its docstring."""
LONGER_FUNCTIONS = {
    "tests/contract/table/test_record_sizes.py carry_out": (51, "One restore in the order of its states."),
    "tests/support/values/accounts.py planned": (60, "One account of a restore, field by field."),
    "tests/support/values/accounts.py ready": (46, "One account of a restore, field by field."),
    "tests/support/commands/aws_account.py sound": (61, "One account of AWS, answer by answer."),
    "tests/support/values/run_recordings.py agent_restore": (70, "One recorded run, state by state."),
    "tests/support/values/run_recordings.py choose_strategy": (42, "One recorded answer, field by field."),
    "tests/support/values/step_events.py _volume_events": (44, "A list with one event of each state."),
}
"""File and function -> the lines that it may have, and why it is not divided."""
_OF_A_SYSTEM = re.compile(r"_(linux|posix|windows)$")
_FUNCTION = re.compile(r"( *)(?:async )?def ")


def check(what, found, most):
    """Raises AssertionError where there is more than is allowed, and where a limit has become idle."""
    assert found <= most, f"{what}: {found:,}, and at most {most:,} are allowed"
    assert most <= max(found + 2, found * 1.1), f"{what}: {found:,}; lower the limit, which is {most:,}"


def test_a_folder_has_few_files():
    """A module of C counts once: its header, its source, and what it is on each system."""
    kept = {(path.parent, _module(path)) for path in files("*") if path.name != "__init__.py"}
    found = Counter(folder.relative_to(ROOT).as_posix() for folder, _module in kept)
    large = {folder: count for folder, count in found.items() if count > MOST_FILES}
    assert set(large) == set(MORE_FILES)
    for folder, count in large.items():
        check(f"files in {folder}", count, MORE_FILES[folder][0])


def _module(path):
    return _OF_A_SYSTEM.sub("", path.stem) if path.suffix in {".c", ".h"} else path.name


def test_a_function_has_few_lines():
    found = {name: count for name, count in _function_lines() if count > MOST_FUNCTION_LINES}
    assert set(found) == set(LONGER_FUNCTIONS)
    for name, count in found.items():
        check(f"lines of {name}", count, LONGER_FUNCTIONS[name][0])


def _function_lines():
    """(file and name, lines without the docstring) of Python functions, of all that are long."""
    for path in files("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if _may_have_a_long_one(text) else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                said = node.body[0] if ast.get_docstring(node) is not None else None
                documented = 0 if said is None else said.end_lineno - said.lineno + 1
                name = f"{path.relative_to(ROOT).as_posix()} {node.name}"
                yield name, node.end_lineno - node.lineno + 1 - documented


def _may_have_a_long_one(text):
    """Whether a function begins far from the next one beside or around it; to parse all files takes long."""
    lines = text.splitlines()
    starts = [(at, len(found[1])) for at, line in enumerate(lines) if (found := _FUNCTION.match(line))]
    for count, (start, indent) in enumerate(starts, start=1):
        end = next((later for later, other in starts[count:] if other <= indent), len(lines))
        if end - start > MOST_FUNCTION_LINES:
            return True
    return False


@pytest.mark.parametrize("most", [99, 112])
def test_a_limit_that_is_passed_fails_and_so_does_one_far_above(most):
    check("lines", 100, 110)
    with pytest.raises(AssertionError, match="lines: 100"):
        check("lines", 100, most)
