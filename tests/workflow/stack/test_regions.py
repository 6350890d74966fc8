"""A whole restore in each Region, from the alarm to the volume that is ready, each in a separate process.

`make test` has workflow tests in four Regions (tests/support/stack/lab.py).
In the other two it stops and kills `make run` (tests/local/tools/run).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stack.lab import REGIONS
from tests.support.tree import ROOT

SMALL = ("--size-gib", "1", "--written-percent", "5", "--skip-second", "--json")


@pytest.mark.long
@pytest.mark.parametrize("region", REGIONS)
def test_a_lost_volume_comes_back(region: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "local.tools.run",
        "--region",
        region,
        "--state-dir",
        str(tmp_path / "state"),
    ]
    run = subprocess.run([*command, *SMALL], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    outcome = json.loads(run.stdout.splitlines()[-1])
    (restore,) = outcome["restores"]
    assert (outcome["verdict"], restore["strategy"]) == ("ready", "warm-up-agent"), run.stderr
    assert restore["proof"]["filesIdentical"] == restore["proof"]["files"] > 0
