"""`rewarm` is a package of its own that starts at once; docs/commands.md is made of its help."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile

import pytest

from rewarm_cli import __version__
from tests.lint.test_imports import imported
from tests.support.commands.stack_api import Served, StackApi
from tests.support.tree import BIN, ROOT, files

SLOW = {"boto3", "botocore", "jinja2", "matplotlib", "numpy", "pydantic", "rich", "urllib.request", "yaml"}
"""Packages that take a tenth of a second and more to import."""
NEVER = {"boto3", "jinja2", "matplotlib", "numpy", "pydantic", "local", "rewarm"}
"""What is not needed to plan."""
PROGRAM = """\
import json, sys
from rewarm_cli.main import run
status = run(json.loads(sys.argv[1]))
print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)
"""


def modules_after(words, **environment):
    """The modules that a command has imported when it ends."""
    settings = {"PYTHONPATH": str(ROOT / "cli"), "PATH": "/usr/bin:/bin", **environment}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(words)],
        env=settings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    status, modules = json.loads(ended.stderr.splitlines()[-1])
    assert status == 0, ended.stderr
    return set(modules)


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["plan", "--help"], ["runbook", "put", "--help"], ["completion", "bash"]],
)
def test_help_imports_nothing_that_takes_long(words):
    assert modules_after(words) & (SLOW | NEVER) == set()


def test_a_plan_imports_what_it_needs_only():
    stack = StackApi()
    summary = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0", "deadlineMissed": False}
    stack.answers["POST", "/plans"] = 200, {"plans": [], "summary": summary}
    served = Served(stack)
    account = {"AWS_ACCESS_KEY_ID": "1", "AWS_SECRET_ACCESS_KEY": "2", "AWS_REGION": "eu-west-1"}
    words = ["plan", "--volume", "vol-1", "--instance", "i-1", "--api-url", served.url]
    try:
        assert modules_after(words, **account) & NEVER == set()
    finally:
        served.close()


def test_the_page_of_the_commands_is_current():
    """A process of its own: click keeps the help option with which a command was asked first."""
    shown = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "rewarm_cli.clone.reference"]
    made = subprocess.run(command, cwd=ROOT / "cli", capture_output=True, text=True, check=True)
    assert shown == made.stdout, "make commands-docs writes it"


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    command = [BIN / "uv", "build", "--wheel", "--no-build-isolation", "--offline", "--out-dir", tmp_path]
    built = subprocess.run([*command, ROOT / "cli"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    there = {str(path.relative_to(ROOT / "cli")) for path in files("*.py", below="cli/rewarm_cli")}
    assert held == {name for name in there if not name.startswith("rewarm_cli/clone/")}
    needed = {name for path in held for name in imported(ROOT / "cli" / path)}
    left_out = ("boto3", "local", "rewarm.", "rewarm_cli.clone", "tests")
    assert not [name for name in needed if name.startswith(left_out)]


def test_the_version_and_the_requirements_are_those_of_the_tests():
    project = tomllib.loads((ROOT / "cli" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__
    wanted = (ROOT / "requirements" / "cli.in").read_text(encoding="utf-8").split()
    shipped = (ROOT / "functions" / "requirements.in").read_text(encoding="utf-8")
    for requirement in project["dependencies"]:
        name = requirement.partition(">=")[0]
        assert name in wanted or f"\n{name}==" in shipped
