"""What holds for every SSM document: bounded parameters, nothing to inject, a place in the template."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from local import agents, built, documents
from local.agents import PARAMETER
from tests.contract import repository
from tests.contract.repository import ROOT
from tests.contract.stack.documents import WINDOWS, document, names, script, step

HOSTILE = ("';rm -rf /;'", "$(id)", "a`id`", "a|b", "a\nb", '"', "D:\\$x", "D:\\a'b")
AGENTS = {"linux-x86_64": "a" * 64, "linux-arm64": "b" * 64, "windows-x86_64": "c" * 64}
EACH = pytest.mark.parametrize("name", names())
POWERSHELL = pytest.mark.parametrize("name", names(WINDOWS))


def test_each_platform_has_its_own() -> None:
    linux_only = {
        "ApplyDocument",
        "CalibrationDocument",
        "HookDocument",
    }  # the agent writes on Linux alone; so is rewarm calibrate; Windows mounts by itself
    linux = [name for name in names("Linux") if name not in linux_only]
    assert [f"{name.removesuffix('Document')}WindowsDocument" for name in linux] == names(WINDOWS)
    assert {"WarmerDocument", "BenchmarkDocument", "DeviceUseDocument"} <= set(names("Linux"))


def test_template_includes_each_where_the_build_writes_it(tmp_path: Path) -> None:
    included = {
        name: properties["Content"]["Fn::Transform"]["Parameters"]["Location"]
        for name, properties in repository.resources("AWS::SSM::Document").items()
    }
    assert included == {name: f"documents/build/{name}.json" for name in names()}
    built.build(tmp_path, AGENTS)
    made = {
        name: json.loads((tmp_path / path).read_text(encoding="utf-8")) for name, path in included.items()
    }
    assert made == documents.contents(allowed=AGENTS)


def test_every_document_that_starts_an_agent_allows_those_of_the_build_and_no_other() -> None:
    """What the bucket has decides nothing: Systems Manager refuses the hash of any other program."""
    starting = {name for name in names() if "$agent" in script(name) or "agentUrl" in script(name)}
    assert starting == {name for name in names() if PARAMETER in document(name)["parameters"]}
    assert {"WarmerDocument", "ApplyDocument", "DeviceUseWindowsDocument"} <= starting
    for name in starting:
        system = "windows" if WINDOWS in name else "linux"
        own = {sha256 for agent, sha256 in AGENTS.items() if agent.startswith(system)}
        for allowed, content in (
            (own, documents.contents(allowed=AGENTS)[name]),
            ({"0" * 64}, document(name)),
        ):
            parameter = content["parameters"][PARAMETER]
            assert set(parameter["allowedValues"]) - {parameter.get("default")} == allowed
            assert all(re.search(parameter["allowedPattern"], value) for value in parameter["allowedValues"])


def test_a_build_without_the_agents_says_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert built.main(tmp_path) == 1
    assert "make -C warmer release" in capsys.readouterr().err


def test_a_build_writes_the_same_hashes_for_documents_and_functions(tmp_path: Path) -> None:
    folder = tmp_path / "warmer" / "build" / "release"
    folder.mkdir(parents=True)
    for name in agents.BINARIES:
        (folder / name).write_bytes(name.encode())
    built.build(tmp_path, agents.hashes(agents.released(tmp_path)))
    functions = json.loads((tmp_path / "functions" / agents.PACKAGED).read_text(encoding="utf-8"))
    assert functions == agents.hashes({name: name.encode() for name in agents.BINARIES})
    written = json.loads((tmp_path / "documents/build/ApplyDocument.json").read_text(encoding="utf-8"))
    assert written["parameters"][PARAMETER]["allowedValues"] == sorted(
        [functions["linux-x86_64"], functions["linux-arm64"]]
    )


def test_the_scripts_only_load_check_and_start_the_agent() -> None:
    """What they did before, the agent does, where it is tested for both platforms.

    What mounts volumes is beside it: it looks who may write the folders, calls mount, and looks whether what
    lies there then is the volume. After a drill it unmounts, and ends what is in the way.
    Windows needs none of it.
    """
    scripts = [path for path in (ROOT / "documents").iterdir() if path.suffix in {".sh", ".ps1"}]
    assert sorted(path.name for path in scripts) == ["calibrate.sh", "hook.sh", "start.ps1", "start.sh"]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in scripts) < 336


@EACH
class TestEachDocument:
    def test_every_parameter_is_bounded_and_used(self, name: str) -> None:
        parameters, text = document(name)["parameters"], json.dumps(document(name)["mainSteps"])
        assert set(re.findall(r"{{ (\w+) }}", text)) == set(parameters)
        for key, parameter in parameters.items():
            pattern = parameter["allowedPattern"]
            assert pattern.startswith("^"), key
            assert pattern.endswith("$"), key
            for hostile in HOSTILE:
                assert not re.search(pattern, hostile), f"{key} lets {hostile!r} in"

    def test_every_parameter_stands_in_single_quotes_once(self, name: str) -> None:
        text = script(name)
        quoted = re.findall(r"(?<=[ =])'(?:--[a-z-]+=)?\{\{ (\w+) \}\}'(?=[ ,\n])", text)
        assert quoted
        assert sorted(quoted) == sorted(re.findall(r"\{\{ (\w+) \}\}", text))
        assert len(set(quoted)) == len(quoted)

    def test_no_exit_status_is_one_that_the_ssm_agent_takes_for_something_else(self, name: str) -> None:
        """137 is a time limit to it on Linux, -1 on Windows (amazon-ssm-agent, GetStatus); 194 a reboot."""
        found = re.findall(r"(?m)^[^#\n]*(?:exit|Stop-Script|fail) (-?\d+)", script(name))
        assert all(0 <= int(status) <= 128 for status in found), found

    def test_it_runs_on_its_own_platform_within_the_time_asked_for(self, name: str) -> None:
        windows = WINDOWS in name
        platform = WINDOWS if windows else "Linux"
        assert step(name)["precondition"] == {"StringEquals": ["platformType", platform]}
        assert step(name)["action"] == ("aws:runPowerShellScript" if windows else "aws:runShellScript")
        assert step(name)["inputs"]["timeoutSeconds"] == "{{ executionTimeout }}"

    def test_it_stays_below_the_size_limit(self, name: str) -> None:
        assert len(json.dumps(document(name))) < 48 * 1024, "64 KB with run-time parameters"


@POWERSHELL
class TestPowerShell:
    """No PowerShell is to be had from the package registries, so the scripts are read and not run."""

    def test_letters_are_plain(self, name: str) -> None:
        assert script(name).isascii()

    def test_every_variable_is_set_somewhere(self, name: str) -> None:
        text = script(name)
        known = {"_", "null", "true", "env", "script", "ErrorActionPreference", "ProgressPreference"}
        known |= {"LASTEXITCODE"}
        assigned = set(re.findall(r"\$(?:script:)?(\w+)(?:, \$\w+)*\s*\+?=", text))
        assigned |= set(re.findall(r", \$(\w+) =", text))
        assigned |= set(re.findall(r"\[\w+(?:\[\])?\] \$(\w+)", text))
        assigned |= set(re.findall(r"foreach \(\$(\w+) in", text))
        used = set(re.findall(r"\$(?:script:)?(\w+)", text))
        assert used - assigned <= known
