"""What the functions write at each level of the stack's parameter LogLevel."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.contract.repository import ROOT

FUNCTION = """
from rewarm.observability import count, logger

for level in ("debug", "info", "warning", "error"):
    getattr(logger, level)("a line")
count("RestoresStarted", trigger="api")
"""


def written(log_level: str, platform_level: str) -> list[dict[str, object]]:
    """The lines of a function whose stack has that LogLevel, on a Lambda that has that level."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "functions"),
        "STACK_NAME": "rewarm",
        "POWERTOOLS_LOG_LEVEL": log_level,
        "AWS_LAMBDA_LOG_LEVEL": platform_level,
    }
    done = subprocess.run(
        [sys.executable, "-c", FUNCTION], env=environment, check=True, capture_output=True, text=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("log_level", "platform_level", "levels"),
    [
        ("DEBUG", "DEBUG", ["DEBUG", "INFO", "WARNING", "ERROR"]),
        ("INFO", "INFO", ["INFO", "WARNING", "ERROR"]),
        ("WARNING", "INFO", ["WARNING", "ERROR"]),
        ("ERROR", "INFO", ["ERROR"]),
    ],
)
def test_the_stacks_level_chooses_the_lines_and_never_the_metrics(
    log_level: str, platform_level: str, levels: list[str]
) -> None:
    lines = written(log_level, platform_level)
    assert [line["level"] for line in lines if "level" in line] == levels
    assert [line["RestoresStarted"] for line in lines if "_aws" in line] == [[1.0]]
