"""`python -m local.aws serve` from outside: it says when it is ready and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.aws.__main__ import main
from local.aws.state_dir import MARKER, StateDir
from tests.support.tree import ROOT
from tests.support.waiting import wait_until


def serve(state_dir: Path, *options: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "local.aws",
        "serve",
        "--no-deploy",
        "--json",
        "--state-dir",
        str(state_dir),
        *options,
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


WORK = """
import boto3, io, zipfile
code = io.BytesIO()
with zipfile.ZipFile(code, "w") as archive:
    archive.writestr("code.py", "def handler(event, context):\\n    return 1\\n")
client = boto3.client("lambda")
client.create_function(
    FunctionName="warm", Runtime="python3.13", Handler="code.handler", Code={"ZipFile": code.getvalue()},
    Role="arn:aws:iam::123456789012:role/any",
)
assert client.invoke(FunctionName="warm")["StatusCode"] == 200
"""


def make_work(ready: dict) -> None:
    """A Lambda with a warm worker, so that there is something to end; made from inside its network."""
    subprocess.run([ready["shell"], sys.executable, "-c", WORK], check=True)


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


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """For all tests that only look at it; a signal ends it and leaves nothing."""
    state_dir = tmp_path_factory.mktemp("served") / "state"
    process = serve(state_dir, "--region", "cn-north-1")
    try:
        yield process, facts(process), state_dir
        assert_ends(process, signal.SIGHUP, state_dir)
    finally:
        end(process, state_dir)


@pytest.fixture
def working(tmp_path):
    """One with a warm function, for a test that ends it."""
    process = serve(tmp_path / "state")
    try:
        make_work(facts(process))
        assert any("lambda_starter.py" in one for one in left_over(tmp_path / "state"))
        yield process, tmp_path / "state"
    finally:
        end(process, tmp_path / "state")


def assert_ends(process: subprocess.Popen[str], number: signal.Signals, state_dir: Path) -> None:
    process.send_signal(number)
    assert process.wait() == 0
    assert left_over(state_dir) == []


@pytest.mark.slow
def test_a_signal_ends_everything(working):
    process, state_dir = working
    assert_ends(process, signal.SIGTERM, state_dir)


@pytest.mark.slow
def test_after_kill_the_next_start_cleans_up(working):
    process, state_dir = working
    process.kill()
    process.wait()
    second = serve(state_dir)
    try:
        facts(second)
        assert not any("lambda_starter.py" in one for one in left_over(state_dir))
        assert_ends(second, signal.SIGINT, state_dir)
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


def listening(table: Path) -> set[str]:
    """Where something listens: address and port, in hexadecimal (proc_net_tcp)."""
    lines = [line.split() for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    return {fields[1] for fields in lines if fields[3] == "0A"}


@pytest.mark.slow
def test_it_listens_at_aws_s_port_in_a_network_of_its_own(served):
    process, _ready, _state_dir = served
    network = Path(f"/proc/{process.pid}/ns/net")
    assert network.readlink() != Path("/proc/self/ns/net").readlink()
    tables = Path(f"/proc/{process.pid}/net")
    inside = listening(tables / "tcp") | listening(tables / "tcp6")
    assert {address.partition(":")[0] for address in inside} == {"0100007F"}
    assert f"0100007F:{443:04X}" in inside


@pytest.mark.slow
def test_its_shell_reaches_it_at_aws_s_names(served, tmp_path):
    _process, ready, _state_dir = served
    arguments = [
        "curl",
        "-sS",
        "-w",
        "%{http_code} %{ssl_verify_result}",
        "https://sts.cn-north-1.amazonaws.com.cn/",
    ]
    done = subprocess.run(
        [ready["shell"], *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith(" 0"), "the certificate is trusted there"
    here = subprocess.run([ready["shell"], "pwd"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert here.stdout.strip() == str(tmp_path)


@pytest.mark.slow
def test_it_is_the_region_that_is_asked_for(served):
    _process, ready, _state_dir = served
    assert ready["environment"]["AWS_DEFAULT_REGION"] == "cn-north-1"
    look = "import boto3; print(boto3.client('sts').get_caller_identity()['Arn'])"
    done = subprocess.run(
        [ready["shell"], sys.executable, "-c", look], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("arn:aws-cn:")


def test_a_region_of_another_form_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--region", "Tokyo"])
    assert ended.value.code == 2
    assert "found 'Tokyo'; a Region's name such as us-east-1 is allowed" in capsys.readouterr().err


@pytest.mark.slow
def test_the_host_keeps_its_names_and_its_trust(served):
    process, _ready, state_dir = served
    for file in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        # Another test's embedded AWS may have moved this process into its namespace, but never its parent.
        inside, outside = (Path(f"/proc/{number}/root/{file}") for number in (process.pid, os.getppid()))
        assert inside.read_bytes() != outside.read_bytes()
    mounts = Path(f"/proc/{os.getppid()}/mountinfo").read_text(encoding="utf-8")
    assert str(state_dir) not in mounts
