"""The SSM documents that look at a volume's device: bounds of their parameters, and clean scripts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rewarm.domain.device_use import device_use
from tests.contract import repository
from tests.contract.repository import ROOT, Json

BOTH = pytest.mark.parametrize("name", ["DeviceUseDocument", "DeviceUseWindowsDocument"])


def document(name: str) -> Json:
    content: Json = repository.resources("AWS::SSM::Document")[name]["Content"]
    return content


def script(name: str) -> str:
    (step,) = document(name)["mainSteps"]
    return "\n".join(step["inputs"]["runCommand"])


@BOTH
class TestEachDocument:
    def test_every_parameter_is_bounded_and_used(self, name: str) -> None:
        parameters, text = document(name)["parameters"], json.dumps(document(name)["mainSteps"])
        assert set(re.findall(r"{{ (\w+) }}", text)) == set(parameters)
        for key, parameter in parameters.items():
            for hostile in ("';rm -rf /;'", "$(id)", "a`id`", "a|b", "a\nb", '"', "vol-1"):
                assert not re.search(parameter["allowedPattern"], hostile), f"{key} lets {hostile!r} in"

    def test_every_parameter_stands_in_single_quotes_once(self, name: str) -> None:
        lines = [line for line in script(name).splitlines() if "{{" in line]
        assert lines
        for line in lines:
            assert re.fullmatch(r"\$?(\w+) ?= ?'\{\{ \w+ \}\}'", line), line

    def test_it_runs_on_its_own_platform_within_the_time_asked_for(self, name: str) -> None:
        (step,) = document(name)["mainSteps"]
        windows = "Windows" in name
        assert step["precondition"]["StringEquals"] == ["platformType", "Windows" if windows else "Linux"]
        assert step["inputs"]["timeoutSeconds"] == "{{ executionTimeout }}"

    def test_nothing_is_unmounted_where_it_only_looks(self, name: str) -> None:
        guards = {
            "DeviceUseDocument": '[ "$action" = check ] || unmount_all',
            "DeviceUseWindowsDocument": "if ($action -eq 'unmount' -and -not $disk.IsOffline) {",
        }
        text = script(name)
        assert guards[name] in text
        assert "--force" not in text
        assert "--lazy" not in text
        assert len(re.findall(r"umount --|Set-Disk", text)) == 1


class TestShell:
    def test_shellcheck_finds_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "use.sh"
        path.write_text(script("DeviceUseDocument"), encoding="utf-8")
        shellcheck = shutil.which("shellcheck", path=str(ROOT / ".venv/bin")) or shutil.which("shellcheck")
        assert shellcheck, "shellcheck is part of requirements/dev.txt"
        done = subprocess.run(
            [shellcheck, "--shell=sh", str(path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "")


class TestPowerShell:
    """No PowerShell is to be had from the package registries, so the script is read and not run."""

    text = script("DeviceUseWindowsDocument")

    def test_it_prints_what_the_parser_reads(self) -> None:
        names = re.findall(r"(\w+) = ", self.text.partition("[ordered]@{")[2].partition("})")[0])
        assert names == ["event", "volumeId", "mounts", "others"]
        line = json.dumps({"event": "use", "volumeId": "vol-1", "mounts": "D:\\", "others": []})
        found = device_use(line)
        assert found is not None
        assert found.mounts == ("D:\\",)

    def test_brackets_are_balanced(self) -> None:
        code = re.sub(r"(?m)^\s*#.*$|'[^'\n]*'|\"(?:`.|[^\"\n`])*\"", "", self.text)
        for opening, closing in ("()", "[]", "{}"):
            assert code.count(opening) == code.count(closing)
