"""Functions are copies of a process that has loaded their packages (local/aws/emulator/lambda_starter.py)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.aws.emulator.lambda_starter import PACKAGES, LambdaProcess, LambdaStarter

SCRIPT = """
import json, os, sys
print(json.dumps({
    "loaded": sorted(sys.modules), "environment": dict(os.environ), "folder": os.getcwd(), "argv": sys.argv,
    "path": sys.path[0], "name": __name__,
}), flush=True)
print("beside", file=sys.stderr, flush=True)
for line in sys.stdin:
    print(line.upper(), end="", flush=True)
"""
PATIENCE_SECONDS = 60.0


@pytest.fixture
def starter() -> Iterator[LambdaStarter]:
    made = LambdaStarter()
    yield made
    made.close()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "own" / "script.py"
    path.parent.mkdir()
    path.write_text(SCRIPT)
    return path


def started(starter: LambdaStarter, script: Path, **environment: str) -> tuple[LambdaProcess, dict[str, Any]]:
    given = {"PATH": os.environ["PATH"], **environment}
    process = starter.start([sys.executable, str(script)], str(script.parent.parent), given)
    return process, json.loads(process.stdout.readline())


def test_each_has_its_own_environment_folder_and_pipes(starter: LambdaStarter, script: Path) -> None:
    first, seen = started(starter, script, FUNCTION="first", ONLY="here")
    second, other = started(starter, script, FUNCTION="second")
    assert set(PACKAGES) <= set(seen["loaded"])
    assert (seen["environment"]["FUNCTION"], other["environment"]["FUNCTION"]) == ("first", "second")
    assert "ONLY" not in other["environment"]
    assert (seen["folder"], seen["name"]) == (str(script.parent.parent), "__main__")
    assert (seen["argv"], seen["path"]) == ([str(script)], str(script.parent))
    for process, word in ((second, "two"), (first, "one")):
        assert process.stdin.write(f"{word}\n")
        assert process.stdout.readline() == f"{word.upper()}\n"
        assert process.stderr.readline() == "beside\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.poll() == 0


def test_what_functions_have_in_common_is_loaded_of_their_own_code(
    starter: LambdaStarter, script: Path, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        for folder in ("rewarm/contracts", "rewarm/handlers"):
            (tmp_path / name / folder).mkdir(parents=True)
            (tmp_path / name / folder / f"{name}.py").touch()
        (tmp_path / name / "rewarm" / "contracts" / "broken.py").write_text("raise ValueError\n")
        (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
        process = starter.start(
            [sys.executable, str(script)], str(tmp_path / f"link-{name}"), {"PATH": os.environ["PATH"]}
        )
        loaded = json.loads(process.stdout.readline())["loaded"]
        assert [one for one in loaded if one.startswith("rewarm.")] == [
            "rewarm.contracts", f"rewarm.contracts.{name}"
        ]  # fmt: skip
        process.kill()


def test_what_is_loaded_in_common_takes_the_clock_of_the_process_that_it_is_in(
    starter: LambdaStarter, tmp_path: Path
) -> None:
    adapters = tmp_path / "rewarm" / "adapters"
    adapters.mkdir(parents=True)
    (adapters / "timed.py").write_text("import time\nKEPT, AT = time.time, time.time()\n")
    script = tmp_path / "moved.py"
    script.write_text(
        f"""import sys, time
sys.path.insert(0, {str(tmp_path)!r})
assert "rewarm.adapters.timed" in sys.modules
from rewarm.adapters.timed import AT, KEPT
before, own = time.time, time.time()
time.time = lambda: before() + 1_000_000
print(AT <= own, KEPT() - own >= 1_000_000, flush=True)
"""
    )
    process = starter.start([sys.executable, str(script)], str(tmp_path), {"PATH": os.environ["PATH"]})
    assert (process.stdout.readline(), process.stderr.read()) == ("True True\n", "")
    assert process.wait(PATIENCE_SECONDS) == 0


def test_one_that_does_not_end_is_waited_for_no_longer(starter: LambdaStarter, script: Path) -> None:
    process, _ = started(starter, script)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.terminate()
    assert process.wait(PATIENCE_SECONDS) == 0
    process.kill()


def test_an_error_ends_with_its_traceback(starter: LambdaStarter, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise ValueError('of the function')\n")
    process = starter.start([sys.executable, str(broken)], str(tmp_path), {"PATH": os.environ["PATH"]})
    assert process.stdout.read() == ""
    assert "ValueError: of the function" in process.stderr.read()
    assert process.wait(PATIENCE_SECONDS) == 0


def test_it_starts_again_after_somebody_has_killed_it(starter: LambdaStarter, script: Path) -> None:
    started(starter, script)[0].kill()
    assert starter._server is not None
    os.kill(starter._server.pid, signal.SIGKILL)
    starter._server.wait()
    process, _ = started(starter, script)
    process.kill()
    assert process.wait(PATIENCE_SECONDS) == 0


def test_the_end_leaves_functions_to_whoever_started_them(starter: LambdaStarter, script: Path) -> None:
    process, _ = started(starter, script)
    starter.close()
    starter.close()
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(PATIENCE_SECONDS) == 0
