"""Each command that README.md names works with the packages that its own set-up installs, and with no other.

The virtual environment of the tests has the packages of all purposes, so it hides one that a list lacks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.commands.clone import Clone
from tests.support.tree import ROOT

API = "--api-url http://127.0.0.1:9/v1 --region eu-central-1"
"""Nobody listens at the port `discard`."""
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "HOME": "/nowhere"}
SOURCES = {"local": ROOT, "rewarm": ROOT / "functions", "rewarm_cli": ROOT / "cli"}
"""Our packages -> the folders that hold them."""

NOT_CALLED = {"local.built": {"samtranslator"}}
"""What a program never calls of ours imports these: to build is not to read the template."""
LONG = pytest.mark.long
COMMANDS = [
    ("cli", "make plan", 0, "warm-up-agent"),
    ("cli", 'make plan ARGS="--size-gib 500 --deadline-minutes 60 --what-if --explain --json"', 0, '"plans"'),
    ("cli", 'make plan ARGS="--instance-type m7g.huge"', 2, "a type such as m7g."),
    ("cli", 'make plan ARGS="--what-if --svg $PWD/plan.svg"', 0, "plan-what-if.svg"),
    ("cli", "./rewarm --help", 0, "runbook"),
    ("cli", "./rewarm restore --help", 0, "--ready-within"),
    ("cli", "./rewarm completion bash", 0, "_REWARM_COMPLETE"),
    (
        "cli",
        f"./rewarm plan --volume vol-0123456789abcdef0 --instance i-0123456789abcdef0 {API}",
        1,
        "refused",
    ),
    ("cli", f"./rewarm runbook list --output yaml --query runbooks {API}", 1, "refused"),
    ("cli", "make undeploy ARGS=--help", 0, "make undeploy"),
    ("deploy", '.venv/bin/python -c "import local.built"', 0, ""),
    ("release", ".venv/bin/python -m local.tools.release --help", 0, "make release"),
    ("run", "make soak ARGS=--help", 0, "make soak"),
    pytest.param("run", 'make soak ARGS="--restores 1 --seed 1"', 0, "0 leaks", marks=LONG),
    pytest.param("run", ".venv/bin/python -m local.tools.run --help", 0, "make run", marks=LONG),
    pytest.param("run", ".venv/bin/python -m local.tools.scale --help", 0, "make scale", marks=LONG),
    pytest.param("run", ".venv/bin/python -m local.tools.bench --help", 0, "make bench", marks=LONG),
    pytest.param(
        "run", ".venv/bin/python -m local.tools.measurements --help", 0, "make measurements", marks=LONG
    ),
]


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Clone]:
    folder = tmp_path_factory.mktemp("clones")
    return {
        name: Clone(folder / name, name, *(["sam"] if name == "cli" else ()))
        for name in ("cli", "deploy", "release", "run")
    }


@pytest.mark.parametrize(("packages", "command", "status", "said"), COMMANDS)
def test_a_command_needs_just_the_packages_that_its_set_up_installs(
    packages: str, command: str, status: int, said: str, clones: dict[str, Clone]
) -> None:
    ended = clones[packages].run(command, **KEYS)
    everything = ended.stdout + ended.stderr
    assert "Traceback" not in everything, everything
    assert (ended.returncode, said in everything) == (status, True), everything


def purposes() -> dict[str, str]:
    """Purpose of local/setup.sh -> the list of packages that it installs."""
    text = (ROOT / "local" / "setup.sh").read_text(encoding="utf-8")
    rows = re.findall(r"^ {4}([a-z |]+)\) PACKAGES=requirements/(\w+)\.txt ;;$", text, re.MULTILINE)
    return {purpose: name for names, name in rows for purpose in names.split(" | ")}


def programs() -> Iterator[tuple[str, str]]:
    """Yields (list of packages, module) of each target of the Makefile that sets itself up."""
    lists = purposes()
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for recipe in re.findall(r"^[a-z-]+:.*\n((?:\t.*\n)+)", text, re.MULTILINE):
        for purpose in re.findall(r"local/setup\.sh (\w+)", recipe):
            yield from (
                (lists[purpose], module) for module in re.findall(r"-m ((?:local|rewarm_cli)[\w.]*)", recipe)
            )
    yield "cli", "rewarm_cli"


PROGRAMS = sorted(set(programs()))


def test_the_makefile_s_programs_are_known() -> None:
    assert {("cli", "local.tools.plan"), ("cli", "rewarm_cli"), ("cli", "rewarm_cli.clone.undeploy")} <= set(
        PROGRAMS
    )
    assert {("run", "local.soak"), ("deploy", "local.built"), ("release", "local.tools.release")} <= set(
        PROGRAMS
    )


@pytest.mark.parametrize(("packages", "module"), PROGRAMS)
def test_what_a_program_imports_anywhere_is_installed_for_it(
    packages: str, module: str, clones: dict[str, Clone]
) -> None:
    """Also what only some options import."""
    names = sorted(others(module) - NOT_CALLED.get(module, set()))
    code = (
        f"from importlib.util import find_spec; print([name for name in {names} if find_spec(name) is None])"
    )
    found = clones[packages].run(f'.venv/bin/python -c "{code}"')
    assert found.stdout == "[]\n", found.stdout + found.stderr


def others(module: str) -> set[str]:
    """The packages that are not ours and that a module, or what it imports of ours, imports."""
    wanted, seen, found = [module, f"{module}.__main__"], set(), set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        top = name.partition(".")[0]
        if top not in SOURCES:
            found.add(top)
        elif (path := file_of(name)) is not None:
            wanted += [*imported(path), name.rpartition(".")[0] or name]
    return found


def file_of(name: str) -> Path | None:
    """Where a module of ours is; None of a name in a module."""
    path = SOURCES[name.partition(".")[0]] / name.replace(".", "/")
    return next((found for found in (path.with_suffix(".py"), path / "__init__.py") if found.is_file()), None)


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules and names that a file imports, but not for types alone."""
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    found = set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes += node.orelse
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)
