"""Shell scripts are clean for shellcheck."""

from __future__ import annotations

from tests.support.tree import BIN, ROOT, complaints, files


def test_shellcheck():
    scripts = [*files("*.sh"), ROOT / ".ci" / "run", ROOT / "rewarm"]
    assert {ROOT / "local" / "setup.sh", ROOT / "documents" / "start.sh"} <= set(scripts)
    assert complaints([BIN / "shellcheck", *scripts]) == ""
