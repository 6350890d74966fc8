"""A package with layers that nothing has to be loaded for."""

from __future__ import annotations

import pytest

from local.tools.release import template

LAYERS = {name: name.encode() for name in ("DependenciesLayer", "ChartsLayer", "AgentLayer")}
AGENTS = {"linux-x86_64": "a" * 64, "linux-arm64": "b" * 64, "windows-x86_64": "c" * 64}


@pytest.fixture(scope="session")
def package():
    return template.package(LAYERS, AGENTS)
