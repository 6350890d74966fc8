"""Fixtures for every test."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.support import amount, models
from tests.support.killed import sweep_killed_machines
from tests.support.matrix_summary import fault_rows

pytest_plugins = ["tests.support.lab"]

amount.load_profile()
models.read_once()


def pytest_sessionstart() -> None:
    """What a killed `make test` left, the next one ends and unmounts."""
    if os.geteuid() == 0:
        sweep_killed_machines(Path(tempfile.gettempdir()))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the deployed stack first, together: each worker that runs such a test deploys it once."""
    items.sort(key=lambda item: not {"lab", "host"} <= set(getattr(item, "fixturenames", ())))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much of the fault matrix is green."""
    reports = [
        one
        for found in terminalreporter.stats.values()
        for one in found
        if isinstance(one, pytest.TestReport)
    ]
    good, played = fault_rows(reports)
    if played:
        terminalreporter.write_line(f"fault matrix: {good:,} of {played:,} rows")
