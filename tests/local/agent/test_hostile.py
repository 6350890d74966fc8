"""Root's commands in folders in which another user may change any name: nothing outside of them changes.

`python -m tests.local.agent.hostile.play --agent warmer/build/warmer --seed SEED --first NUMBER --count 1`
repeats one play.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local import ROOT
from tests.local.agent.hostile.ground import Ground
from tests.local.agent.hostile.neighbour import machine_name
from tests.local.agent.hostile.play import PREFIX, carry_out
from tests.local.agent.hostile.works import WORKS, Bench, bench
from tests.support.waiting import output_within, wait_until

AGENT = ROOT / "warmer" / "build" / "warmer"
LIMIT_SECONDS = 840
LONG_SECONDS = 3600
FIO = """#!/bin/sh
for flag; do
  case $flag in --directory=*) place=${{flag#--directory=}} ;; esac
done
: >"{home}/began"
until [ -e "{home}/swapped" ]; do sleep 0.05; done
echo written >"$place/read.0.0"
cat "$place/read.0.0" >"{home}/read"
"""

pytestmark = [
    pytest.mark.agent,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose"),
]


@pytest.fixture
def here() -> Iterator[Bench]:
    """A corner that every user may enter, unlike the folders that pytest makes."""
    with tempfile.TemporaryDirectory(prefix="warmer-hostile-", dir="/tmp") as folder:
        found = Bench(AGENT, Ground(Path(folder)), "")
        found.ground.renew()
        found.images.mkdir()
        yield found


def plays(seed: str, count: int, seconds: float) -> list[dict[str, Any]]:
    """What came of each; none may have a problem."""
    options = ["--agent", str(AGENT), "--seed", seed, "--count", str(count)]
    output = output_within(seconds, [sys.executable, "-m", "tests.local.agent.hostile.play", *options])
    lines = [line.split(PREFIX, 1)[1] for line in output.splitlines() if PREFIX in line]
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    bad = [told for told in found if told["problem"]]
    assert not bad, "\n".join(json.dumps(told) for told in bad[:10])
    assert len(found) == count, output[-4000:]
    return found


def test_nothing_of_roots_changes_beside_a_hostile_user() -> None:
    plays("1", len(WORKS), LIMIT_SECONDS)


@pytest.mark.long
def test_nothing_of_roots_changes_in_many_plays(request: pytest.FixtureRequest) -> None:
    seed = str(request.config.getoption("--hypothesis-seed") or "1")
    found = plays(seed, 500, LONG_SECONDS)
    # An agent that refuses everything would change nothing, too.
    assert {told["work"] for told in found if told["status"] == 0} == {told["work"] for told in found}


@pytest.mark.skipif(shutil.which("fio") is None, reason="there is no fio here")
def test_a_link_named_as_what_an_earlier_benchmark_left_is_left_alone(here: Bench) -> None:
    link = here.ground.data / f".rewarm-benchmark-{machine_name()}.x\n\x1b"
    link.symlink_to(here.ground.victim)
    status, said = carry_out(bench(here), here.ground)
    assert (status, here.ground.changed()) == (0, []), said
    assert link.is_symlink()
    name = str(link).replace("\n", " ").replace("\x1b", "?")
    assert f"#note {name} is left alone, because it is no folder" in (here.images / "result").read_text()


def test_fio_writes_into_the_folder_that_was_made_though_its_name_is_swapped(here: Bench) -> None:
    home, data = here.images, here.ground.data
    (home / "fio").write_text(FIO.format(home=home), encoding="utf-8")
    (home / "fio").chmod(0o755)
    work = bench(here)
    environment = {**work.environment, "PATH": f"{home}:{os.environ['PATH']}"}
    with subprocess.Popen(
        work.words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        wait_until((home / "began").exists)
        (scratch,) = (path for path in data.iterdir() if path.name.startswith(".rewarm-benchmark-"))
        moved = scratch.rename(data / "moved")
        scratch.mkdir()
        (scratch / "read.0.0").symlink_to(here.ground.victim / "secret")
        (home / "swapped").touch()
        said, _ = run.communicate()
    assert (run.returncode, here.ground.changed()) == (0, []), said
    assert (home / "read").read_text() == "written\n"
    assert list(moved.iterdir()) == []
    assert (scratch / "read.0.0").is_symlink()
