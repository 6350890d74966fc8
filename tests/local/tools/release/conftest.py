"""A package with layers that nothing has to be loaded for."""

from __future__ import annotations

import pytest

from local.tools.release import template

LAYERS = {name: name.encode() for name in ("DependenciesLayer", "ChartsLayer", "AgentLayer")}


@pytest.fixture(scope="session")
def package():
    return template.package(LAYERS)
