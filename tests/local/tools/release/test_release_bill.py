"""The bill of materials names all that ships, and is valid CycloneDX (local/tools/release/bill.py)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import ziglang
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from local import ROOT
from local.agents import BINARIES
from local.tools.release import bill, files, versions

AGENTS = {name: name.encode() for name in BINARIES}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    wheel = tmp_path_factory.mktemp("dist") / "rewarm_cli.whl"
    wheel.write_bytes(b"a wheel")
    zig = Path(ziglang.__file__).parent
    release = bill.Release(ROOT, versions.current(), 1_700_000_000, AGENTS, wheel, zig)
    assert bill.bill(release) == bill.bill(release)
    return json.loads(bill.bill(release))


def test_it_is_valid(made):
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(made)) is None
    assert validator.validate_str(json.dumps({**made, "components": "none"})) is not None


def components(made):
    return {one["bom-ref"]: one for one in made["components"]}


def needs(made, name):
    """All that a component needs, however far."""
    direct = {one["ref"]: one.get("dependsOn", []) for one in made["dependencies"]}
    found, waiting = set(), {name}
    while waiting:
        found |= waiting
        waiting = {other for one in waiting for other in direct[one]} - found
    return found - {name}


def test_the_functions_have_every_package_of_their_layers(made):
    wanted = {
        f"{name}=={pin.version}"
        for file in ("requirements.txt", "requirements-charts.txt")
        for name, pin in bill.pins(ROOT / "functions" / file).items()
    }
    assert needs(made, "rewarm-functions") == wanted
    assert {"matplotlib", "pydantic-core"} <= {one.partition("==")[0] for one in wanted}


def test_the_command_has_what_it_needs_and_its_hash(made):
    project = tomllib.loads((ROOT / "cli" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {one.partition("==")[0] for one in needs(made, "rewarm-cli")}
    assert {text.partition(">=")[0] for text in project["dependencies"]} <= names
    assert {"urllib3", "pygments"} <= names, "what those need"
    assert not {"pydantic", "boto3"} & names
    assert components(made)["rewarm-cli"]["hashes"][0]["content"] == files.sha256(b"a wheel")


@pytest.mark.parametrize("name", BINARIES)
def test_an_agent_has_its_hash_and_what_it_is_linked_with(made, name):
    library = "mingw-w64" if "windows" in name else "musl"
    assert needs(made, name) >= {library, "compiler-rt", "zstd"}
    agent = components(made)[name]
    assert agent["hashes"] == [{"alg": "SHA-256", "content": files.sha256(AGENTS[name])}]
    assert components(made)["musl"]["version"].startswith("1.2.")
    assert components(made)["zstd"]["version"] == "1.5.7"


def test_what_a_library_needs_is_in_the_graph(made):
    boto3 = next(ref for ref in components(made) if ref.startswith("boto3=="))
    assert {one.partition("==")[0] for one in needs(made, boto3)} >= {"botocore", "s3transfer", "jmespath"}


def test_the_whole_is_the_release(made):
    assert made["metadata"]["component"]["version"] == versions.current()
    assert made["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    assert needs(made, "rewarm") == set(components(made))
