"""Fixtures for every test."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.support import amount, models
from tests.support.stack.killed import sweep_killed_machines
from tests.support.stack.matrix_summary import fault_rows, lines

pytest_plugins = ["tests.support.stack.lab"]

LONG_FOLDERS = ("tests/lint/", "tests/local/soak/", "tests/workflow/")
LENGTHS = ("network", "empty", "stack", "long", "short")

amount.load_profile()
models.read_once()
# Modules and tests make millions of objects, of which none can be collected: Python need not search them.
gc.disable()


def pytest_sessionstart() -> None:
    """Lets tests press Ctrl-C, and ends and unmounts what a killed `make test` has left."""
    # A shell that runs `make test &` has it ignore Ctrl-C, and tests press it, also for programs they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.geteuid() == 0:
        sweep_killed_machines(Path(tempfile.gettempdir()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each worker begins with a share of the longest tests, those that need the deployed stack.

    `--dist=worksteal` gives each worker an equal piece of the list, and moves tests from the end of a piece
    to workers that have nothing left to do. The short tests are there, so that all workers end together.
    What needs the machine's network is the very first: the embedded AWS takes its worker into another one.
    What needs an empty account is next, before anything is deployed to it.
    """
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    by_length: dict[str, list[pytest.Item]] = {length: [] for length in LENGTHS}
    for item in items:
        by_length[_length(item)].append(item)
    items[:] = by_length.pop("network") + by_length.pop("empty")
    for worker in range(workers):
        for alike in by_length.values():
            items += alike[worker * len(alike) // workers : (worker + 1) * len(alike) // workers]


def pytest_collection_finish() -> None:
    """Garbage is collected again, but seldom, and without what stays until the end."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


def _length(item: pytest.Item) -> str:
    if item.get_closest_marker("network"):
        return "network"
    if "empty_account" in getattr(item, "fixturenames", ()):
        return "empty"
    if {"lab", "host"} <= set(getattr(item, "fixturenames", ())):
        return "stack"
    return "long" if item.nodeid.startswith(LONG_FOLDERS) else "short"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much of the fault matrix is green, and what tests have measured."""
    reports = [
        one
        for found in terminalreporter.stats.values()
        for one in found
        if isinstance(one, pytest.TestReport)
    ]
    good, played = fault_rows(reports)
    if played:
        terminalreporter.write_line(f"fault matrix: {good:,} of {played:,} rows")
    for line in lines(reports):
        terminalreporter.write_line(line)
