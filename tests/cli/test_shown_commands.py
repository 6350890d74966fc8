"""Every command that a document shows is run word for word, in a shell or on what it calls.

A shell runs the documents' blocks. curl calls an API that keeps the contract, and so does `rewarm`. A command
of `aws` is held against AWS's model of the operation, and one of `make` against the parser of the tool that
it starts.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
from functools import cache

import click
import pytest

from local import yaml_text
from local.soak import options as soak
from local.tools.bench import options as bench
from local.tools.measurements import options as measurements
from local.tools.plan import options as plan
from local.tools.run import options as run
from local.tools.run.examples import commands
from local.tools.run.lab import ALARM
from local.tools.scale import __main__ as scale
from rewarm.contracts.parsing import parse_restore_request
from rewarm_cli import main as command_line
from rewarm_cli.clone import undeploy
from rewarm_cli.problems import DONE
from tests.cli.conftest import RECORD, STORED
from tests.support.commands.aws_commands import complaints_about, operation_of
from tests.support.commands.shown import DOCUMENTS, INSTANCE, Shell, blocks, in_prose, is_whole, made
from tests.support.tree import ROOT
from tests.support.values.run_recordings import recorded_run

PARSERS = {
    "run": run.parse, "plan": plan.parse, "bench": bench.parse, "scale": scale.parse,
    "measurements": measurements.parse, "soak": soak.parse, "undeploy": undeploy.parse,
}  # fmt: skip
"""Target of make -> what reads its ARGS."""
ELSEWHERE = {
    "--save": "fetches the page; tests/workflow/stack/test_command_line.py saves one",
    "--local": "needs the embedded AWS, on which tests/workflow/stack/test_command_line.py runs it",
    "git+https://git.example/rewarm.git#subdirectory=cli": "the repository has no address of its own",
    "doctor": "asks AWS; tests/workflow/stack/test_command_line.py runs it on the embedded AWS",
    "dist/rewarm_cli-*.whl": "tests/local/tools/release installs what a release has",
    "--force": "replaces what is installed; tests/local/tools/release installs",
    "inject": "installs matplotlib, with which tests/cli/commands/test_compare.py draws",
}
"""Words of commands that are not run here, and why."""
SAM_READS = """
import json, sys
from samcli.commands.deploy.command import cli
print(json.dumps(cli.make_context("deploy", json.load(sys.stdin)).params["parameter_overrides"]))
"""


@cache
def template():
    return yaml_text.template()


@pytest.fixture
def shell(answering, rewarm, tmp_path):
    """A shell for the documents' commands; the outputs are the stack's, and its API is `answering`."""
    folder = tmp_path / "shell"
    folder.mkdir()
    outputs = {name: f"arn:aws:x:eu-west-1:123456789012:{name}" for name in template()["Outputs"]}
    return Shell(folder, {**outputs, "ApiUrl": rewarm.url, "JwtApiUrl": rewarm.url})


@pytest.fixture
def check(answering, rewarm, tmp_path):
    """Holds a command's words against the program that it calls."""

    def proceed(call):
        if call.method == "GET":
            for record in list(answering.restores.values()):
                ends = "planned" if (record.get("request") or {}).get("dryRun") else "ready"
                answering.put({**record, "status": ends, "reportUrl": "https://example.com"})
            for fleet in answering.fleets.values():
                fleet["status"] = "ready"

    def checks_rewarm(*words):
        if "restore-1" in words:
            answering.put(RECORD)
        # What is to be cancelled still runs.
        answering.before = (lambda _call: None) if "cancel" in words else proceed
        ended = rewarm(*words)
        assert ended.status == DONE, ended.err

    checks = {"rewarm": checks_rewarm, "aws": checks_aws, "make": checks_make, "pipx": checks_pipx}

    def checked(program, *words):
        if program in checks and not set(words) & set(ELSEWHERE):
            checks[program](*words)

    return checked


def checks_aws(*words):
    assert complaints_about(words) == ""


def checks_pipx(command, package="cli"):
    assert command == "install"
    assert (ROOT / package / "pyproject.toml").exists()


def checks_make(target, *more):
    command = made([target, *more]) if target in PARSERS or target == "deploy" else []
    if target in PARSERS and "--help" not in command:
        with contextlib.chdir(ROOT):
            PARSERS[target](command[command.index("-m") + 2 :])
    elif target == "deploy":
        options = command[command.index("deploy") + 1 :]
        sam = [ROOT / ".venv-sam" / "bin" / "python", "-c", SAM_READS]
        read = subprocess.run(
            sam, input=json.dumps(options), cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert read.returncode == 0, read.stderr
        assert set(json.loads(read.stdout)) <= set(template()["Parameters"])
    for option in more:
        name, _, value = option.partition("=")
        assert name in {"ARGS", "PYTEST_ARGS", "SEED", "SYSTEMS", "VERSION"}
        paths = [word for word in shlex.split(value) if "/" in word]
        assert all((ROOT / word).exists() for word in paths if name == "PYTEST_ARGS")


@pytest.mark.parametrize("shown", blocks(), ids=str)
def test_a_block_does_what_it_shows(shown, shell, check, answering):
    answering.put(RECORD)
    for words in shell.run(shown.script):
        check(*words)
    for call in answering.calls:
        source = (call.body or {}).get("source", {"alarm": None})
        if "alarm" not in source:
            parse_restore_request(call.body)


@pytest.mark.parametrize("shown", in_prose(), ids=str)
def test_a_command_in_a_sentence_is_there(shown, shell, check):
    commands = shown.script.splitlines()
    whole = [re.sub(r"[][]", "", command) for command in commands if is_whole(command)]
    for words in shell.run("ARN=arn:aws:sqs:eu-west-1:123456789012:x BUCKET=b TABLE=t\n" + "\n".join(whole)):
        check(*words)
    for command in commands:
        if not is_whole(command):
            names_something(*shlex.split(command.removeprefix("./")))


def names_something(program, *names):
    if program == "aws":
        operation_of(names)
    elif program == "make":
        assert re.search(rf"^{names[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    else:
        command = command_line.rewarm
        for name in names:
            if not name.startswith("-") and not isinstance(command, click.Group):
                break  # A value of an option, or an argument.
            if name.startswith("-"):
                assert name in {flag for parameter in command.params for flag in parameter.opts} | {"--help"}
            else:
                command = command.get_command(click.Context(command), name)
            assert command is not None, name


def test_every_document_with_commands_is_among_them():
    shown = {str(one.document.relative_to(ROOT)) for one in blocks()}
    assert shown >= {"README.md", "cli/README.md", "docs/api.md", "docs/commands.md", "docs/operations.md"}
    marked = re.compile(r"^```(\w+)$", re.MULTILINE)
    kinds = {kind for path in DOCUMENTS for kind in marked.findall(path.read_text(encoding="utf-8"))}
    assert kinds <= {"text", "json", "yaml", "hcl", "mermaid"}, "a block of commands has no mark, and is run"


def test_what_a_run_that_stays_up_prints_is_run(check, answering):
    ran = recorded_run()
    ran.restores[0].request["target"] = {"instanceId": INSTANCE}
    answering.put({**RECORD, "restoreId": ran.restores[0].restore_id})
    answering.runbooks[ALARM] = STORED
    answering.answers |= {
        ("GET", f"/runbooks/{ALARM}"): (200, {"runbook": STORED, "drills": []}),
        ("GET", "/undo-logs"): (200, {"undoLogs": []}),
    }
    lines = list(commands(ran))
    shown = [shlex.split(line) for line in lines if not line.startswith("#")]
    assert len(shown) == 13
    for program, *words in shown:
        assert (program, words.pop()) == ("./rewarm", "--local")
        check("rewarm", *words)
