"""`python -m local.aws serve` from outside: it says when it is ready and leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from local.aws.state_dir import MARKER, StateDir
from tests.support.tree import ROOT
from tests.support.waiting import wait_until


def serve(state_dir: Path) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "local.aws",
        "serve",
        "--no-deploy",
        "--json",
        "--state-dir",
        str(state_dir),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def facts(process: subprocess.Popen[str]) -> dict:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def left_over(state_dir: Path) -> list[str]:
    """Processes, mounts and files below the folder."""
    wanted = f"{MARKER}={state_dir}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().decode())
        except OSError:
            continue
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return found + [line for line in mounts.splitlines() if str(state_dir) in line]


def make_work(ready: dict) -> None:
    """A Lambda with a warm worker, so that there is something to end."""
    from tests.support.state_machines import ROLE, zip_of  # noqa: PLC0415 - shared with the fixtures' tests

    client = boto3.client(
        "lambda",
        endpoint_url=ready["environment"]["AWS_ENDPOINT_URL"],
        region_name="us-east-1",
        aws_access_key_id="123456789012",
        aws_secret_access_key="local",
    )
    code = {"ZipFile": zip_of({"code.py": "def handler(event, context):\n    return 1\n"})}
    client.create_function(
        FunctionName="warm", Runtime="python3.13", Handler="code.handler", Role=ROLE, Code=code
    )
    assert client.invoke(FunctionName="warm")["StatusCode"] == 200


def end(process: subprocess.Popen[str], state_dir: Path) -> None:
    """End it, and clean up after it even when a test has just shown that it doesn't do so itself."""
    assert process.stdout is not None
    process.terminate()
    try:
        process.wait(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    StateDir(state_dir).close()


@pytest.fixture
def served(tmp_path):
    process = serve(tmp_path / "state")
    try:
        yield process, facts(process), tmp_path / "state"
    finally:
        end(process, tmp_path / "state")


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_everything(served, signal_number):
    process, ready, state_dir = served
    make_work(ready)
    assert any("_worker.py" in one for one in left_over(state_dir))
    process.send_signal(signal_number)
    assert process.wait() == 0
    assert left_over(state_dir) == []


@pytest.mark.slow
def test_after_kill_the_next_start_cleans_up(served):
    process, ready, state_dir = served
    make_work(ready)
    process.kill()
    process.wait()
    second = serve(state_dir)
    try:
        facts(second)
        assert not any("_worker.py" in one for one in left_over(state_dir))
        second.terminate()
        assert second.wait() == 0
        assert left_over(state_dir) == []
    finally:
        end(second, state_dir)


@pytest.mark.slow
def test_the_end_of_the_parent_ends_everything(tmp_path):
    state_dir = tmp_path / "state"
    command = (
        f"'{sys.executable}' -m local.aws serve --no-deploy --json --state-dir '{state_dir}' & read -r never"
    )
    parent = subprocess.Popen(
        ["sh", "-c", command], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        ready = facts(parent)
        parent.kill()
        parent.wait()
        wait_until(lambda: not Path(f"/proc/{ready['pid']}").exists())
        assert left_over(state_dir) == []
    finally:
        parent.stdin.close()
        parent.stdout.close()


@pytest.mark.slow
def test_a_second_server_in_the_same_folder_says_why_it_ends(served):
    _process, _ready, state_dir = served
    second = subprocess.run(
        [sys.executable, "-m", "local.aws", "serve", "--no-deploy", "--state-dir", str(state_dir)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert second.returncode == 1
    assert "another embedded AWS runs in" in second.stderr
    assert "Traceback" not in second.stderr


def sockets(pid: int) -> set[str]:
    """Inodes of the process's sockets; it may close files while they are listed."""
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            kind, _, inode = str(file.readlink()).partition(":")
            if kind == "socket":
                found.add(inode.strip("[]"))
    return found


@pytest.mark.slow
def test_every_port_is_on_loopback(served):
    process, _ready, _state_dir = served
    inodes = sockets(process.pid)
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process.pid}/net/{table}").read_text(encoding="utf-8").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                addresses.add(fields[1].partition(":")[0])
    assert addresses == {"0100007F"}
