"""What the commands say to options that make no sense: one sentence that names what is allowed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local import ROOT
from local.tools.plan import options as plan
from local.tools.run import options as run
from local.tools.scale.__main__ import main as scale

REWARM = ROOT / "rewarm"


Command = Callable[[list[str]], object]


@pytest.mark.parametrize(
    ("command", "arguments", "complaint"),
    [
        (plan.parse, ["--size-gib", "0"], "make plan: argument --size-gib: found 0; a whole number of GiB"),
        (run.parse, ["--seed", "x"], "make run: argument --seed: "),
        (scale, ["--restores", "3", "--size-gib", "10"], "make scale: argument --size-gib: not allowed with"),
        (scale, ["--restores", "3", "--pattern", "dense"], "make scale: argument --pattern: "),
        (scale, ["--seed", "3"], "make scale: argument --seed: allowed only with --restores"),
        (scale, ["--restores", "0"], "make scale: argument --restores: found 0; a whole number of restores"),
    ],
)
def test_a_bad_option_is_one_sentence(
    command: Command, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command(arguments)
    said = capsys.readouterr().err
    assert said.startswith(complaint)
    assert said.count("\n") == 1


def test_the_usage_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        plan.parse(["--help"])
    assert capsys.readouterr().out.startswith(
        'usage: make plan ARGS="…"  or  .venv/bin/python -m local.tools.plan …\n'
    )


class TestRewarm:
    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([REWARM, *arguments], capture_output=True, text=True, check=False)

    @pytest.mark.parametrize("word", ["--help", "-h"])
    def test_help_is_no_error(self, word: str) -> None:
        told = self.run(word)
        assert (told.returncode, told.stderr) == (0, "")
        assert "  bench  " in told.stdout

    def test_no_command_shows_the_help(self) -> None:
        told = self.run()
        assert told.returncode == 2
        assert told.stderr == self.run("--help").stdout

    def test_an_unknown_command_is_named(self) -> None:
        told = self.run("nonsense")
        assert told.returncode == 2
        assert "No such command 'nonsense'" in told.stderr


def test_of_two_set_ups_of_a_clone_the_second_waits(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for folder in ("local", ".local", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "local" / "setup.sh", tmp_path / "local")
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    stamp = 'cat requirements/pip.txt requirements/cli.txt | sha256sum; "$PYTHON" -V'
    shell: dict[str, Any] = {"cwd": tmp_path, "text": True, "env": {**os.environ, "PYTHON": sys.executable}}
    done = subprocess.run(["sh", "-c", stamp], check=True, stdout=subprocess.PIPE, **shell).stdout
    (tmp_path / ".venv" / "has-cli.txt").write_text(done)
    with (tmp_path / ".local" / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(["sh", "local/setup.sh", "cli"], stdout=subprocess.PIPE, **shell) as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "Waiting for another set-up of this clone\n"
            assert second.poll() is None
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert second.stdout.read() == ""
        assert second.returncode == 0
