"""The SSM documents of the agent: real values fit, and the script at work on a machine of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.documents import document, filled, powershell_code, script
from tests.support.loopback import Loopback, QuietHandler
from tests.support.waiting import wait_until

BOTH = pytest.mark.parametrize("name", ["WarmerDocument", "WarmerWindowsDocument"])


@BOTH
class TestEachDocument:
    def test_real_values_fit(self, name: str) -> None:
        parameters = document(name)["parameters"]
        url = (
            "https://b.s3.us-east-1.amazonaws.com/restores/restore-1/0/blocks.map?X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIA%2F20261121%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Security-Token=IQo%2Fa%2B%3D"
        )
        values = {
            "action": "verify", "volumeId": "vol-00000000000000001", "agentUrl": url, "mapUrl": url,
            "agentSha256": "0" * 64, "progressUrl": "none", "firstUrl": url, "executionTimeout": "172800",
            "arguments": "--samples 64 --max-p99-ms 20.5 --depth auto --scope whole",
        }  # fmt: skip
        for key, value in values.items():
            assert re.search(parameters[key]["allowedPattern"], value), key
        for key in ("mapUrl", "firstUrl", "progressUrl"):
            assert re.search(parameters[key]["allowedPattern"], url)
            assert re.search(parameters[key]["allowedPattern"], "none")


class TestPowerShell:
    """No PowerShell is to be had from the package registries, so the script is read and not run."""

    text = script("WarmerWindowsDocument")

    def test_it_calls_only_what_windows_powershell_5_brings_or_it_defines(self) -> None:
        brought = {
            "ForEach-Object", "Get-ChildItem", "Get-Content", "Get-Disk", "Get-FileHash", "Invoke-WebRequest",
            "Join-Path", "Move-Item", "New-Item", "Remove-Item", "Select-Object", "Select-String",
            "Set-Content", "Split-Path", "Start-Process", "Start-Sleep", "Test-Path", "Where-Object",
        }  # fmt: skip
        defined = set(re.findall(r"(?m)^function ([A-Z]\w+-\w+)", self.text))
        called = set(re.findall(r"(?<![\w-])[A-Z]\w+-[A-Z]\w+", powershell_code("WarmerWindowsDocument")))
        assert called - defined <= brought
        assert defined <= called

    def test_it_hands_on_only_the_files_that_there_are(self) -> None:
        for url, flag, file in (("mapUrl", "--map", "blocks.map"), ("firstUrl", "--first", "first.map")):
            assert f'if (${url} -ne \'none\') {{ $line += "{flag} `"$work\\{file}`" " }}' in self.text
            assert re.search(rf"if \(\${url} -ne 'none'\) {{\s+Save-Download \${url} ", self.text)

    def test_it_finds_the_disk_checks_the_agent_and_hides_the_signatures(self) -> None:
        assert r"\\.\PHYSICALDRIVE$($disk.Number)" in self.text
        assert "(Get-FileHash -Algorithm SHA256 -Path $Path).Hash -eq $agentSha256" in self.text
        assert not re.search(r"(?i)(write|error).*\$(agent|map|first|progress)?url", self.text)


AGENT = r"""#!/bin/sh
echo "$@" >"{home}/called"
echo "$@" >>"{home}/calls"
cat "{home}"/tmp/*/*.map >"{home}/maps" 2>/dev/null
echo 'warmer: a note' >&2
if [ "$1" = verify ]; then
  echo '{{"event":"result","command":"verify","verdict":"slow"}}'
  exit 1
fi
case "$*" in *--state*) cat "{home}/refusal" >&2 2>/dev/null && exit 3 ;; esac
echo '{{"event":"progress","bytesDone":1}}'
if grep -q kill "{home}/kills" 2>/dev/null; then
  sed -i 1d "{home}/kills"
  cp "{home}/vmstat-after" "{home}/vmstat" 2>/dev/null
  kill -9 $$
fi
sleep {seconds}
echo '{{"event":"result","command":"warm","verdict":"complete"}}'
"""


class Store:
    """Downloads and uploads on loopback."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.gets: list[str] = []
        self.puts: list[bytes] = []
        outer = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                outer.gets.append(self.path)
                body = outer.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.end_headers()
                self.wfile.write(body or b"")

            def do_PUT(self) -> None:
                outer.puts.append(self.body())
                self.send_response(200)
                self.end_headers()

        self.server = Loopback(Handler)
        self.url = self.server.url

    def close(self) -> None:
        self.server.close()


@pytest.fixture
def store() -> Iterator[Store]:
    found = Store()
    yield found
    found.close()


class Command:
    """The document's script on a machine of its own below a folder."""

    def __init__(self, home: Path, store: Store, *, seconds: int = 0) -> None:
        self.home, self.store = home, store
        self.state = home / "lib/rewarm/state/vol-00000000000000001"
        agent = AGENT.format(home=home, seconds=seconds).encode()
        store.files = {"/agent?X=1&Y=2": agent, "/map": b"0 4\n", "/first": b"3 1\n"}
        (home / "device").mkdir()
        (home / "device/nvme-Amazon_Elastic_Block_Store_vol00000000000000001").write_bytes(b"")
        (home / "tmp").mkdir()
        (home / "vmstat").write_text("pgfault 71\noom_kill 2\n", encoding="utf-8")
        self.values = {
            "action": "warm", "volumeId": "vol-00000000000000001", "agentUrl": f"{store.url}/agent?X=1&Y=2",
            "agentSha256": hashlib.sha256(agent).hexdigest(), "mapUrl": f"{store.url}/map",
            "progressUrl": f"{store.url}/progress", "arguments": "--depth auto", "executionTimeout": "3600",
            "firstUrl": "none", "coldArguments": "",
        }  # fmt: skip

    def start(self, **values: str) -> subprocess.Popen[str]:
        text = filled("WarmerDocument", {**self.values, **values})
        text = text.replace("/dev/disk/by-id", f"{self.home}/device")
        text = text.replace("/var/lib", str(self.home / "lib"))
        text = text.replace("/proc/vmstat", str(self.home / "vmstat"))
        return subprocess.Popen(
            ["/bin/sh", "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.home / "tmp")},
        )

    def killed(self, times: int) -> None:
        """Let the agent die so many times."""
        (self.home / "kills").write_text("kill\n" * times, encoding="utf-8")

    @property
    def calls(self) -> list[str]:
        """The agent's command lines so far."""
        return (self.home / "calls").read_text(encoding="utf-8").splitlines()

    def run(self, **values: str) -> tuple[int, str, str]:
        process = self.start(**values)
        out, err = process.communicate()
        assert list((self.home / "tmp").iterdir()) == [], "temporary files stay behind"
        return process.returncode, out, err


@pytest.fixture
def command(tmp_path: Path, store: Store) -> Command:
    return Command(tmp_path, store)


class TestScript:
    def test_warms_and_answers_with_the_result_alone(self, command: Command) -> None:
        status, out, err = command.run()
        assert (status, json.loads(out)) == (0, {"event": "result", "command": "warm", "verdict": "complete"})
        assert err == "warmer: a note\n"
        called = (command.home / "called").read_text(encoding="utf-8").split()
        assert called[0] == "warm"
        assert called[1].endswith("/nvme-Amazon_Elastic_Block_Store_vol00000000000000001")
        assert (called[2], called[3].rsplit("/", 1)[1]) == ("--map", "blocks.map")
        assert (called[4], called[5]) == ("--state", str(command.state))
        assert called[6:] == ["--progress", "json", "--depth", "auto"]
        assert json.loads(command.store.puts[-1])["event"] == "result"

    def test_measures_the_cold_volume_before_the_first_block(self, command: Command) -> None:
        status, out, _ = command.run(coldArguments="--samples 24 --max-p99-ms 20")
        before, result = [json.loads(line) for line in out.splitlines()]
        assert (status, result["verdict"]) == (0, "complete")
        assert before == {"event": "before", "command": "verify", "verdict": "slow"}
        measured, warmed = command.calls
        assert measured.startswith("verify ")
        assert measured.endswith("/blocks.map --samples 24 --max-p99-ms 20")
        assert warmed.startswith("warm ")
        assert list(command.state.parent.iterdir()) == []

    def test_a_warm_up_that_goes_on_tells_what_was_measured_before(self, command: Command) -> None:
        command.killed(5)
        cold = {"coldArguments": "--samples 24 --max-p99-ms 20"}
        assert command.run(**cold)[0] == 70
        command.state.write_bytes(b"bits")
        status, out, _ = command.run(**cold)
        assert (status, json.loads(out.splitlines()[0])["event"]) == (0, "before")
        assert [call.split()[0] for call in command.calls].count("verify") == 1

    def test_a_volume_that_somebody_warmed_already_is_not_measured_as_cold(self, command: Command) -> None:
        command.state.parent.mkdir(parents=True)
        command.state.write_bytes(b"bits")
        status, out, _ = command.run(coldArguments="--samples 24 --max-p99-ms 20")
        assert (status, json.loads(out)["verdict"]) == (0, "complete")

    def test_hands_on_what_is_to_come_first(self, command: Command) -> None:
        assert command.run(firstUrl=f"{command.store.url}/first", arguments="--scope used")[0] == 0
        called = (command.home / "called").read_text(encoding="utf-8").split()
        assert [called[2], called[4]] == ["--map", "--first"]
        assert called[5].endswith("/first.map")
        assert called[6:] == ["--state", str(command.state), "--progress", "json", "--scope", "used"]
        assert (command.home / "maps").read_text(encoding="utf-8") == "0 4\n3 1\n"

    def test_reads_every_block_without_a_map(self, command: Command) -> None:
        assert command.run(mapUrl="none", arguments="--scope whole")[0] == 0
        called = (command.home / "called").read_text(encoding="utf-8").split()
        assert called[2:] == ["--state", str(command.state), "--progress", "json", "--scope", "whole"]
        assert "/map" not in command.store.gets

    def test_publishes_progress_while_it_runs(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, seconds=3)
        status, _, _ = command.run()
        assert status == 0
        assert json.loads(store.puts[0]) == {"event": "progress", "bytesDone": 1}

    def test_verifies_with_the_agents_status_and_without_progress(self, command: Command) -> None:
        status, out, _ = command.run(action="verify", progressUrl="none", arguments="--samples 8")
        assert (status, json.loads(out)["verdict"]) == (1, "slow")
        assert command.store.puts == []

    def test_keeps_what_is_read_until_all_is(self, command: Command) -> None:
        command.state.parent.mkdir(parents=True)
        command.state.write_bytes(b"bits")
        command.killed(5)
        status, _, err = command.run()
        assert status == 70, "the SSM agent takes 137 for the end of its time limit"
        assert err.endswith("rewarm: the agent was ended by signal 9 and is not started again\n")
        assert command.state.read_bytes() == b"bits"
        assert len(command.calls) == 4
        assert command.run()[0] == 0
        assert not command.state.exists()

    def test_an_agent_that_is_killed_goes_on_at_once(self, command: Command) -> None:
        command.killed(2)
        status, out, err = command.run()
        assert (status, json.loads(out)["verdict"]) == (0, "complete")
        assert err.count("was ended by signal 9 and is started again") == 2
        assert len(command.calls) == 3
        assert all(f"--state {command.state}" in call for call in command.calls)

    def test_an_agent_that_is_killed_for_memory_is_told_as_such(self, command: Command) -> None:
        (command.home / "vmstat-after").write_text("pgfault 90\noom_kill 3\n", encoding="utf-8")
        command.killed(1)
        status, _, err = command.run()
        assert status == 0
        words = (
            "rewarm: the agent was ended by signal 9 when the instance ran out of memory and is started again"
        )
        assert words in err

    @pytest.mark.parametrize("reason", ["No space left on device", "it belongs to another device"])
    def test_goes_on_without_a_state_that_cannot_be_used(self, command: Command, reason: str) -> None:
        (command.home / "refusal").write_text(
            f"warmer: cannot use state file x: {reason}\n", encoding="utf-8"
        )
        status, _, err = command.run()
        assert status == 0
        assert (
            f"rewarm: the warm-up goes on without a state: warmer: cannot use state file x: {reason}" in err
        )
        assert ["--state" in call for call in command.calls] == [True, False]
        assert list(command.state.parent.iterdir()) == []

    def test_goes_after_a_warmer_that_uses_the_state(self, command: Command) -> None:
        refusal = command.home / "refusal"
        refusal.write_text("warmer: cannot use state file x: another warmer is using it\n", encoding="utf-8")
        process = command.start()
        wait_until((command.home / "calls").exists)
        time.sleep(1)
        refusal.unlink()
        process.communicate()
        assert process.returncode == 0
        assert all("--state" in call for call in command.calls)

    def test_forgets_states_that_nobody_came_back_for(self, command: Command) -> None:
        command.state.parent.mkdir(parents=True)
        for name, days in (("vol-old", 8), ("vol-new", 1)):
            path = command.state.parent / name
            path.touch()
            os.utime(path, (time.time() - days * 86_400,) * 2)
        command.killed(9)
        command.run()
        assert [path.name for path in command.state.parent.iterdir()] == ["vol-new"]

    def test_a_disk_that_takes_nothing_stops_nothing(self, command: Command) -> None:
        (command.home / "lib").write_text("in the way of every folder", encoding="utf-8")
        status, _, err = command.run()
        assert status == 0
        assert "so it runs from where it was downloaded: " in err
        assert "the warm-up goes on without a state: " in err
        assert "--state" not in command.calls[0]

    def test_measures_without_a_state(self, command: Command) -> None:
        command.run(action="verify", progressUrl="none", arguments="--samples 8")
        assert "--state" not in command.calls[0]
        assert not command.state.parent.exists()

    def test_downloads_the_agent_once(self, command: Command) -> None:
        for _ in range(2):
            assert command.run(progressUrl="none")[0] == 0
        assert command.store.gets.count("/agent?X=1&Y=2") == 1

    def test_refuses_another_binary(self, command: Command) -> None:
        status, out, err = command.run(agentSha256="0" * 64)
        assert (status, out) == (65, "")
        assert "checksum" in err
        assert not (command.home / "called").exists()

    def test_says_what_it_could_not_download_and_hides_the_signature(self, command: Command) -> None:
        status, _, err = command.run(mapUrl=f"{command.store.url}/gone?X-Amz-Signature=secret")
        assert status == 69
        assert "block map" in err
        assert "secret" not in err

    def test_takes_the_agent_along_when_it_is_stopped(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, seconds=30)
        process = command.start()
        wait_until((tmp_path / "called").exists)
        process.send_signal(signal.SIGTERM)
        process.communicate()
        assert process.returncode == 70
        assert list((tmp_path / "tmp").iterdir()) == []
