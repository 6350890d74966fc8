"""The SSM documents of the agent: real values fit, and the script at work on a machine of its own."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.stack.documents import document, filled, powershell_code, script
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
            "arguments": "--samples 64 --max-p99-ms 20.5 --depth auto --order lists,recent",
        }  # fmt: skip
        for key, value in values.items():
            assert re.search(parameters[key]["allowedPattern"], value), key
        for key in ("mapUrl", "firstUrl", "progressUrl"):
            assert re.search(parameters[key]["allowedPattern"], url)
            assert re.search(parameters[key]["allowedPattern"], "none")


AGENT = r"""#!/bin/sh
echo "$@" >>"{home}/calls"
env | grep ^REWARM_ >"{home}/environment"
echo 'warmer: a note' >&2
echo '{{"event":"result","command":"warm","verdict":"complete"}}'
{body}
"""


class Store:
    """Downloads and uploads on loopback."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.gets: list[str] = []
        outer = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                outer.gets.append(self.path)
                body = outer.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.end_headers()
                self.wfile.write(body or b"")

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

    def __init__(self, home: Path, store: Store, *, body: str = "") -> None:
        self.home, self.store = home, store
        agent = AGENT.format(home=home, body=body).encode()
        store.files = {"/agent?X=1&Y=2": agent}
        (home / "tmp").mkdir()
        self.values = {
            "action": "warm", "volumeId": "vol-00000000000000001", "agentUrl": f"{store.url}/agent?X=1&Y=2",
            "agentSha256": hashlib.sha256(agent).hexdigest(), "mapUrl": f"{store.url}/map?X=1&Y=2",
            "progressUrl": f"{store.url}/progress", "arguments": "--depth auto", "executionTimeout": "3600",
            "firstUrl": "none", "coldArguments": "",
        }  # fmt: skip

    def start(self, **values: str) -> subprocess.Popen[str]:
        text = filled("WarmerDocument", {**self.values, **values})
        text = text.replace("TMPDIR=/tmp ", "").replace("/var/lib", str(self.home / "lib"))
        return subprocess.Popen(
            ["/bin/sh", "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.home / "tmp")},
        )

    @property
    def calls(self) -> list[str]:
        """The agent's command lines so far."""
        path = self.home / "calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def run(self, **values: str) -> tuple[int, str, str]:
        process = self.start(**values)
        out, err = process.communicate()
        assert list((self.home / "tmp").iterdir()) == [], "temporary files stay behind"
        assert not list(self.home.glob("lib/rewarm/*/warmer.*")), "half an agent stays behind"
        return process.returncode, out, err


@pytest.fixture
def command(tmp_path: Path, store: Store) -> Command:
    return Command(tmp_path, store)


class TestScript:
    """What the agent does then: warmer/tests/cli/test_run.sh."""

    def test_starts_the_agent_with_the_parameters_and_answers_as_it_does(self, command: Command) -> None:
        status, out, err = command.run(coldArguments="--samples 24 --max-p99-ms 20")
        assert (status, json.loads(out)) == (0, {"event": "result", "command": "warm", "verdict": "complete"})
        assert err == "warmer: a note\n"
        (call,) = command.calls
        assert call == (
            "run --action=warm --volume=vol-00000000000000001 --arguments=--depth auto "
            f"--cold-arguments=--samples 24 --max-p99-ms 20 --home={command.home}/lib/rewarm"
        )

    def test_hands_addresses_over_where_no_other_user_sees_them(self, command: Command) -> None:
        command.run()
        environment = (command.home / "environment").read_text(encoding="utf-8").splitlines()
        assert sorted(environment) == [
            "REWARM_FIRST_URL=none",
            f"REWARM_MAP_URL={command.values['mapUrl']}",
            f"REWARM_PROGRESS_URL={command.values['progressUrl']}",
        ]

    def test_ends_with_the_agents_status(self, tmp_path: Path, store: Store) -> None:
        assert Command(tmp_path, store, body="exit 66").run()[0] == 66

    def test_an_agent_that_a_signal_ended_is_no_time_limit(self, tmp_path: Path, store: Store) -> None:
        status, _, err = Command(tmp_path, store, body="kill -9 $$").run()
        assert status == 70, "the SSM agent takes 137 for the end of its time limit"
        assert err.endswith("rewarm: the agent was ended by signal 9\n")

    def test_a_disk_that_takes_nothing_stops_nothing(self, command: Command) -> None:
        (command.home / "lib").write_text("in the way of every folder", encoding="utf-8")
        status, _, err = command.run()
        assert status == 0
        assert "so it runs from where it was downloaded: " in err

    def test_nothing_of_the_download_is_left_when_it_is_killed(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, body="sleep 5")
        (tmp_path / "lib").write_text("in the way of every folder", encoding="utf-8")
        with command.start() as process:
            wait_until(lambda: command.calls)
            process.kill()
        assert list((tmp_path / "tmp").iterdir()) == []

    def test_downloads_the_agent_once(self, command: Command) -> None:
        for _ in range(2):
            assert command.run()[0] == 0
        assert command.store.gets == ["/agent?X=1&Y=2"]

    def test_refuses_another_binary(self, command: Command) -> None:
        status, out, err = command.run(agentSha256="0" * 64)
        assert (status, out) == (65, "")
        assert "checksum" in err
        assert command.calls == []

    def test_says_what_it_could_not_download_and_hides_the_signature(self, command: Command) -> None:
        status, _, err = command.run(agentUrl=f"{command.store.url}/gone?X-Amz-Signature=secret")
        assert status == 69
        assert "could not download the warm-up agent" in err
        assert "secret" not in err


class TestPowerShell:
    """No PowerShell is to be had from the package registries, so the script is read and not run."""

    text = script("WarmerWindowsDocument")

    def test_it_calls_only_what_windows_powershell_5_brings_or_it_defines(self) -> None:
        brought = {
            "Get-FileHash", "Invoke-WebRequest", "Join-Path", "Move-Item", "New-Item", "Remove-Item",
            "Split-Path", "Start-Sleep", "Test-Path",
        }  # fmt: skip
        defined = set(re.findall(r"(?m)^function ([A-Z]\w+-\w+)", self.text))
        called = set(re.findall(r"(?<![\w-])[A-Z]\w+-[A-Z]\w+", powershell_code("WarmerWindowsDocument")))
        assert called - defined <= brought
        assert defined <= called

    def test_it_hands_on_what_the_other_one_does(self) -> None:
        other = script("WarmerDocument").partition("\n# ")[0]
        head = self.text.partition("\n# ")[0]
        for pattern in (r"(REWARM_\w+)", r"(--[a-z-]+)=", r"\{\{ (\w+) \}\}"):
            assert re.findall(pattern, head) == re.findall(pattern, other)

    def test_it_checks_the_agent_and_hides_the_signatures(self) -> None:
        assert "(Get-FileHash -Algorithm SHA256 -Path $Path).Hash -eq $agentSha256" in self.text
        assert not re.search(r"(?i)(write|error).*\$(agent|map|first|progress)?url", self.text)
