"""Python is clean for ruff and for mypy --strict."""

from __future__ import annotations

import pytest

from tests.support.tree import BIN, complaints


def test_ruff_check():
    assert complaints([BIN / "ruff", "check", "--output-format", "concise", "."]) == ""


def test_ruff_format():
    assert complaints([BIN / "ruff", "format", "--check", "."]) == ""


@pytest.mark.slow
def test_mypy_strict():
    assert (
        complaints(
            [BIN / "mypy", "-p", "rewarm", "-p", "rewarm_cli", "-p", "local"], MYPYPATH="functions:cli:."
        )
        == ""
    )
