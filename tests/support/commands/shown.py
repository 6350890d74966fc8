"""The commands that the documents show, and a shell that runs them and notes what they call."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from tests.support.tree import ROOT, files

DOCUMENTS = [path for path in files("*.md") if path.name != "CHANGELOG.md" and "warmer" not in path.parts]
"""A change log is about the past; warmer/tests has the agent's own command line."""
NOTED = ("aws", "make", "pipx", "rewarm", "warmer")
"""Programs whose calls are noted; a test then holds each against the program itself."""
VOLUME, INSTANCE = "vol-0123456789abcdef0", "i-0123456789abcdef0"
EXECUTION = "arn:aws:states:eu-west-1:123456789012:execution:restore:restore-1"
PLACES = {
    "AWS_PROFILE=… AWS_REGION=…": "AWS_PROFILE=night AWS_REGION=eu-west-1",
    "SlackBotToken=xoxb-… SlackChannel=C… SlackSigningSecret=… SlackTeamId=T… SlackApprovers=U…,U…": (
        "SlackBotToken=xoxb-1-2-x SlackChannel=C01 SlackSigningSecret=0123456789abcdef0123456789abcdef "
        "SlackTeamId=T01 SlackApprovers=U01,U02"
    ),
    "hooks.slack.com/services/…": "hooks.slack.com/services/T0/B0/x",
    "git+https://…#": "git+https://git.example/rewarm.git#",
    "--execution-arn …": f"--execution-arn {EXECUTION}",
    "rewarm:restore-id,Values=…": "rewarm:restore-id,Values=restore-1",
    "--volume-id …": f"--volume-id {VOLUME}",
    "--instance-id …": f"--instance-id {INSTANCE}",
    "--snapshot-id …": "--snapshot-id snap-0123456789abcdef0",
    "--source-snapshot-ids …": "--source-snapshot-ids snap-0123456789abcdef0",
    "--availability-zones …": "--availability-zones eu-west-1a",
    "--user-ids …": "--user-ids 123456789012",
    "--size-gib …": "--size-gib 8",
    "--request FILE": "--request events/restore-request.json",
    "--only SEED": "--only 7",
    "--stack-name …": "--stack-name rewarm-2",
    " -k …": " -k cancel",
    "SEED=…": "SEED=1",
    "docs/calibrations/FILE": "events/calibration.json",
    "ou-…": "ou-ab12-cdefgh34",
    "EXT…": "EXTdhgYBTDbcYvX",
    "EXP…": "EXPTrv6Tqjt7aJ8ZT4",
    "snap-…": "snap-0123456789abcdef0",
    "vol-…": VOLUME,
    "i-…": INSTANCE,
    "<old>": VOLUME,
    "<new>": "vol-0123456789abcdef1",
    "<instance>": INSTANCE,
    "<device>": "/dev/sdf",
    "<bucket>": "rewarm-artifacts",
    "<restoreId>": "restore-1",
    "<fleetId>": "fleet-1",
    "restore-…": "restore-1",
    "<version>": "known",
    "<askedAt>": "2026-11-22T10%3A00%3A00Z",
    "TOKEN=…": "TOKEN=x.y.z",
}
"""What a reader fills in, the longer ones first."""
_ANSWERS = """\
#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\1\\0'; } >>"$NOTES"
case "$*" in
*describe-stacks*OutputKey==*) key=${*#*OutputKey==?} && cat "$OUTPUTS/${key%%?]*}" ;;
configure*) printf 'export AWS_ACCESS_KEY_ID=123456789012 AWS_SECRET_ACCESS_KEY=test\\n' ;;
'sqs get-queue-url'*) echo https://sqs.eu-west-1.amazonaws.com/123456789012/drills ;;
'extents '*) printf '0 2\\n7 1\\n' ;;
esac
"""
"""Of the noted programs only what the shell itself needs: outputs of the stack, credentials, blocks."""


@dataclass(frozen=True)
class Shown:
    """Commands of a document."""

    document: Path
    line: int
    text: str
    in_prose: bool = False

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line or 'prose'}"

    @property
    def script(self) -> str:
        """The commands with every placeholder filled in."""
        text = self.text
        for place, value in PLACES.items():
            text = text.replace(place, value)
        assert "…" not in text, f"{self}: a placeholder has no value in {__name__}: {text}"
        return text


def blocks() -> list[Shown]:
    """Each fenced block that is not marked as text, and each example of a command's help."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for match in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL):
            block = dedent(match[3]) if not match[2] else match[3].partition("\nExamples:\n")[2]
            if block:
                found.append(Shown(document, text.count("\n", 0, match.start()) + 1, block))
    return found


def in_prose() -> list[Shown]:
    """The commands in each document's sentences and tables; those with options are whole commands."""
    found = []
    for document in DOCUMENTS:
        text = re.sub(
            r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        named = dict.fromkeys(re.findall(r"`((?:aws|make|pipx|(?:\./)?rewarm) [^`]+)`", text))
        if named:
            found.append(Shown(document, 0, "\n".join(named), in_prose=True))
    return found


def is_whole(command: str) -> bool:
    """Whether it can be run as it stands; `rewarm restore --dry-run` and `aws kms enable-key` only name."""
    if "rewarm " in command[:9]:
        return False
    return command.startswith("pipx") or re.search(r"[^a-z0-9 -]", command) is not None


def _definitions() -> Iterator[str]:
    """What docs/operations.md defines for the commands of all documents."""
    for block in blocks():
        if "\noutput() {" in block.text:
            yield block.script
        elif "awscurl() (" in block.text:
            yield block.script.partition("\nrequest=")[0]


class Shell:
    """Runs commands where the functions of docs/operations.md are defined, in a folder of its own."""

    def __init__(self, folder: Path, outputs: Mapping[str, str]) -> None:
        self._folder, self._notes = folder / "clone", folder / "notes"
        (folder / "bin").mkdir()
        (folder / "outputs").mkdir()
        self._folder.mkdir()
        for name, value in outputs.items():
            (folder / "outputs" / name).write_text(value + "\n", encoding="utf-8")
        for program in (*(folder / "bin" / name for name in NOTED), self._folder / "rewarm"):
            program.write_text(_ANSWERS, encoding="utf-8")
            program.chmod(0o755)
        for name in ("cli", "events"):
            (self._folder / name).symlink_to(ROOT / name)
        # curl fails where the API refuses a request.
        (folder / ".curlrc").write_text("fail\nsilent\nshow-error\n", encoding="utf-8")
        self._environment = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(folder),
            "NOTES": str(self._notes),
            "OUTPUTS": str(folder / "outputs"),
        }

    def run(self, script: str) -> list[list[str]]:
        """The words of each noted call."""
        defined = "\n".join(_definitions())
        self._notes.write_text("", encoding="utf-8")
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{defined}\n{script}"],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, f"{script}\n{ended.stdout}{ended.stderr}"
        return list(self._called())

    def _called(self) -> Iterator[list[str]]:
        for call in self._notes.read_text(encoding="utf-8").split("\0\1\0")[:-1]:
            yield call.split("\0")


def made(words: list[str]) -> list[str]:
    """The last command that `make <words>` would run."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTEST"))
    }
    said = subprocess.run(
        ["make", "--no-print-directory", "-n", *words],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    )
    return shlex.split(said.stdout.splitlines()[-1])
