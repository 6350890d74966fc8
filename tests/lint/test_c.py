"""C is formatted as .clang-format says."""

from __future__ import annotations

from tests.support.tree import BIN, complaints, files


def test_clang_format():
    sources = files("*.c", "*.h")
    assert {path.parts[-3] for path in sources} >= {"warmer", "first_touch"}
    assert complaints([BIN / "clang-format", "--dry-run", "--Werror", *sources]) == ""
