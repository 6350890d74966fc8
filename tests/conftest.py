"""Fixtures for every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["tests.support.lab"]

APART = tuple(Path(__file__).parent / name for name in ("unit", "contract"))


@pytest.fixture(autouse=True)
def apart_from_the_embedded_aws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedded AWS may run in this process for other tests; unit and contract tests must not reach it."""
    if any(folder in request.path.parents for folder in APART):
        for name in [name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")]:
            monkeypatch.delenv(name)
