"""The SSM documents for benchmarks: real values fit, and fio at work in a folder of the test."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewarm.contracts.benchmarks import BenchmarkRequest
from rewarm.domain.benchmark import fio_output
from rewarm.domain.benchmark.benchmarks import PATTERNS, PatternName
from rewarm.steps.verify.start_benchmark import fio_parameters
from tests.contract.repository import ROOT
from tests.contract.stack.documents import document, filled
from tests.support.builders import instance
from tests.support.fakes import FakeArtifacts
from tests.support.loopback import Loopback, QuietHandler
from tests.support.values.fio_outputs import account, side
from tests.support.waiting import wait_until

VOLUME = "vol-00000000000000001"


AGENT = ROOT / "warmer" / "build" / "warmer"


def parameters_of(request: BenchmarkRequest) -> dict[str, str]:
    """What the function sends."""
    return fio_parameters(request, "benchmark-1", instance(), FakeArtifacts())


class TestParameters:
    def test_every_pattern_fits_and_no_flag_that_runs_programs(self) -> None:
        parameters = document("BenchmarkDocument")["parameters"]
        request = BenchmarkRequest.model_validate(
            {
                "instanceId": "i-0123456789abcdef0",
                "targets": [{"mount": "/data/a b".replace(" ", "_")}, {"volumeId": VOLUME}],
                "patterns": list(PatternName),
            }
        )
        for key, value in parameters_of(request).items():
            assert re.search(parameters[key]["allowedPattern"], value), key
        jobs = parameters["jobs"]["allowedPattern"]
        for flag in ("--exec_prerun=reboot", "--filename=x", "--readonly=0", "--directory=/"):
            assert not re.search(jobs, f"cache 10 --rw=read {flag}")

    def test_a_file_with_blanks_on_windows_fits(self) -> None:
        pattern = document("BenchmarkWindowsDocument")["parameters"]["file"]["allowedPattern"]
        assert re.search(pattern, "D:\\SQL Data\\big_file-1.bin")
        assert not re.search(pattern, "\\\\server\\share\\x")


class Store:
    """Takes uploads on loopback."""

    def __init__(self) -> None:
        self.puts: list[bytes] = []
        outer = self

        class Handler(QuietHandler):
            def do_PUT(self) -> None:
                outer.puts.append(self.body())
                self.send_response(200)
                self.end_headers()

        self.server = Loopback(Handler)
        self.url = f"{self.server.url}/out?X-Amz-Signature=secret"

    def close(self) -> None:
        self.server.close()


@pytest.fixture
def store() -> Iterator[Store]:
    found = Store()
    yield found
    found.close()


FIO = r"""#!/bin/sh
echo "$@" >>"{home}/called"
out=''
for flag; do
  case $flag in
    --output=*) out=${{flag#--output=}} ;;
    --directory=*) cd "${{flag#--directory=}}" && pwd -P >>"{home}/folders" && : >file ;;
  esac
done
{body}
cat "{home}/answer" >"$out"
"""


class Command:
    """The document's script on a machine of its own below a folder, with a fio that the test wrote."""

    def __init__(self, home: Path, store: Store, *, body: str = "", fio: bool = True) -> None:
        self.home, self.store = home, store
        for name in ("bin", "tmp", "data", "efs"):
            (home / name).mkdir()
        (home / "answer").write_text(json.dumps(account(side(1_633))))
        if fio:
            (home / "bin/fio").write_text(FIO.format(home=home, body=body))
            (home / "bin/fio").chmod(0o755)
        for tool in ("apt-get", "dnf", "yum", "zypper"):
            (home / "bin" / tool).write_text(f'#!/bin/sh\necho {tool} "$@" >>{home}/installed\n')
            (home / "bin" / tool).chmod(0o755)
        pattern = PATTERNS[PatternName.RANDOM_READ]
        self.values = {
            "targets": f"{home}/data {home}/efs",
            "jobs": f"random-read 1 {' '.join(pattern.arguments(5))}",
            "limitSeconds": "30", "installFio": "no", "resultUrl": store.url, "executionTimeout": "600",
            "agentUrl": "http://127.0.0.1/agent",
            "agentSha256": hashlib.sha256(AGENT.read_bytes()).hexdigest(),
        }  # fmt: skip

    def start(self, **values: str) -> subprocess.Popen[str]:
        text = filled("BenchmarkDocument", {**self.values, **values})
        text = text.replace(self.values["agentUrl"], AGENT.as_uri())
        text = text.replace("TMPDIR=/tmp ", "").replace("/var/lib", str(self.home / "lib"))
        return subprocess.Popen(
            ["/bin/sh", "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": self.path(), "TMPDIR": str(self.home / "tmp")},
        )

    def path(self) -> str:
        """This machine's fio must not be found where the test has none."""
        tools = self.home / "tools"
        if not tools.exists():
            tools.mkdir()
            for folder in ("/usr/bin", "/bin"):
                for tool in Path(folder).iterdir():
                    if tool.name not in {"fio", "apt-get"} and not (tools / tool.name).exists():
                        (tools / tool.name).symlink_to(tool)
        return f"{self.home}/bin:{tools}"

    def run(self, **values: str) -> tuple[int, str, str]:
        process = self.start(**values)
        out, err = process.communicate()
        self.check_clean()
        return process.returncode, out, err

    def check_clean(self) -> None:
        for name in ("tmp", "data", "efs"):
            assert list((self.home / name).iterdir()) == [], f"files stay behind in {name}"

    def called(self) -> list[str]:
        path = self.home / "called"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture
def command(tmp_path: Path, store: Store) -> Command:
    return Command(tmp_path, store)


class TestScript:
    def test_each_target_in_a_folder_of_its_own_and_one_upload(self, command: Command) -> None:
        status, out, _ = command.run()
        assert (status, json.loads(out)["runs"], json.loads(out)["failed"]) == (0, 2, 0)
        folders = (command.home / "folders").read_text(encoding="utf-8").splitlines()
        assert [Path(folder).parent.name for folder in folders] == ["data", "efs"]
        (text,) = command.store.puts
        found = fio_output.runs(text.decode())
        assert [one.target for one in found] == command.values["targets"].split()
        assert all(one.result is not None and one.result.total_iops == 1_633 for one in found)
        assert "--rw=randread" in command.called()[0]

    def test_several_patterns_on_every_target(self, command: Command) -> None:
        jobs = f"{command.values['jobs']} / upload 1 --rw=write --bs=1024k --size=1M"
        command.run(jobs=jobs)
        found = fio_output.runs(command.store.puts[0].decode())
        assert [(Path(one.target).name, one.pattern) for one in found] == [
            ("data", "random-read"), ("efs", "random-read"), ("data", "upload"), ("efs", "upload"),
        ]  # fmt: skip

    def test_a_folder_that_is_missing_or_full_does_not_stop_the_others(self, command: Command) -> None:
        jobs = command.values["jobs"].replace("random-read 1 ", "random-read 999999999 ")
        assert command.run(targets=f"{command.home}/gone {command.home}/data")[0] == 0
        gone, data = fio_output.runs(command.store.puts[0].decode())
        assert gone.problem is not None
        assert "there is no folder" in gone.problem
        assert data.result is not None
        command.run(jobs=jobs)
        full = fio_output.runs(command.store.puts[1].decode())[0]
        assert full.problem is not None
        assert "the scratch files need 999999999 MiB" in full.problem

    def test_what_a_killed_run_left_is_removed_and_nothing_else(self, command: Command) -> None:
        machine = Path("/etc/machine-id")
        name = machine.read_text().strip() if machine.exists() else subprocess.getoutput("hostname")
        mine = command.home / f"data/.rewarm-benchmark-{name}.abc"
        others = command.home / "efs/.rewarm-benchmark-other.abc"
        unmarked = command.home / f"efs/.rewarm-benchmark-{name}.abc"
        for folder in (mine, others, unmarked):
            folder.mkdir(0o700)
            (folder / "file").write_text("x")
        (mine / ".rewarm-own").touch(0o600)
        process = command.start()
        process.communicate()
        assert not mine.exists()
        assert others.exists()
        assert unmarked.exists()
        assert b"is left alone, because this program has not made it" in command.store.puts[0]

    def test_fios_own_words_are_kept(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, body="echo 'fio: O_DIRECT is not supported' >&2; exit 1")
        assert command.run()[0] == 0
        problems = [one.problem for one in fio_output.runs(store.puts[0].decode())]
        assert problems == ["fio: O_DIRECT is not supported"] * 2

    def test_a_run_that_takes_too_long_is_ended(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, body="sleep 30")
        assert command.run(limitSeconds="1")[0] == 0
        assert {one.problem for one in fio_output.runs(store.puts[0].decode())} == {"fio did not end in time"}

    def test_without_fio_and_consent_nothing_is_installed(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, fio=False)
        status, _, err = command.run()
        assert status == 67
        assert "installFio" in err
        assert not (tmp_path / "installed").exists()
        assert command.run(installFio="yes")[0] == 67
        assert "apt-get install -y" in (tmp_path / "installed").read_text(encoding="utf-8")

    def test_nothing_is_left_when_it_is_stopped(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, body="sleep 60")
        process = command.start()
        wait_until(command.called)
        process.send_signal(signal.SIGTERM)
        process.communicate()
        assert process.returncode == -signal.SIGTERM
        command.check_clean()

    def test_only_one_at_a_time(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, body="sleep 60")
        first = command.start()
        wait_until(command.called)
        second = command.start()
        assert "another benchmark" in second.communicate()[1]
        assert second.returncode == 68
        first.send_signal(signal.SIGTERM)
        first.communicate()

    def test_the_signature_is_never_printed(self, command: Command) -> None:
        command.store.close()
        status, out, err = command.start(resultUrl="http://127.0.0.1:9/out?X-Amz-Signature=secret"), "", ""
        process = status
        out, err = process.communicate()
        assert process.returncode == 69
        assert "secret" not in out + err
