"""A whole restore in each Region, from the alarm to the volume that is ready, in a process of its own.

`make test` runs it in the Regions that none of four workers has; `make test-long` in the others as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lab import REGIONS
from tests.support.tree import ROOT

WORKERS = 4
"""As many as `make test` has; each worker runs workflow tests in a Region of its own."""
SMALL = ("--size-gib", "1", "--written-percent", "5", "--skip-second", "--json")
IN_A_WORKER = [pytest.param(region, marks=pytest.mark.long) for region in REGIONS[:WORKERS]]


@pytest.mark.parametrize("region", [*REGIONS[WORKERS:], *IN_A_WORKER])
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
    told = json.loads(run.stdout.splitlines()[-1])
    (restore,) = told["restores"]
    assert (told["verdict"], restore["strategy"]) == ("ready", "warm-up-agent"), run.stderr
    assert restore["proof"]["filesIdentical"] == restore["proof"]["files"] > 0
