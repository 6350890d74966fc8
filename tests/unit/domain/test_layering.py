"""Which layer may import which: domain the standard library, steps no AWS, no clock and no environment."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "functions" / "rewarm"


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def modules(folder):
    return sorted((PACKAGE / folder).glob("*.py"))


class TestLayers:
    @pytest.mark.parametrize("path", modules("domain"), ids=lambda path: path.stem)
    def test_the_domain_imports_the_standard_library_and_itself(self, path):
        for name in imported(path):
            assert name.startswith("rewarm.domain") or name.split(".")[0] in sys.stdlib_module_names, name

    @pytest.mark.parametrize("path", modules("steps"), ids=lambda path: path.stem)
    def test_steps_import_domain_ports_contracts_and_steps(self, path):
        allowed = ("rewarm.domain", "rewarm.ports", "rewarm.contracts", "rewarm.steps")
        forbidden = {"os", "time", "boto3", "botocore", "random", "uuid"}
        for name in imported(path):
            assert name.startswith(allowed) or name.split(".")[0] in sys.stdlib_module_names, name
            assert name.split(".")[0] not in forbidden, name

    @pytest.mark.parametrize("path", modules("contracts"), ids=lambda path: path.stem)
    def test_contracts_import_the_domain_and_pydantic(self, path):
        for name in imported(path):
            ours = name.startswith(("rewarm.domain", "rewarm.contracts", "pydantic"))
            assert ours or name.split(".")[0] in sys.stdlib_module_names, name

    @pytest.mark.parametrize("path", [*modules("steps"), *modules("domain")], ids=lambda path: path.stem)
    def test_nobody_below_the_handlers_reads_the_clock(self, path):
        text = path.read_text(encoding="utf-8")
        assert ".now(" not in text
        assert "utcnow" not in text
