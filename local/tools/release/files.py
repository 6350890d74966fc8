"""What is built for a release, from the same sources always to the same bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from local.agents import BINARIES, released
from local.aws.emulator.deploy import zip_files

PACKAGE_LAYERS = ("DependenciesLayer", "ChartsLayer")
AGENT_LAYER = "AgentLayer"
CHECKSUMS = "SHA256SUMS"


class BuildError(RuntimeError):
    """A tool failed; the message has what it printed."""


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """What a command prints. Raises BuildError."""
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        shown = " ".join(str(word) for word in command)
        raise BuildError(f"{shown} ended with {ended.returncode}\n{ended.stdout}{ended.stderr}".rstrip())
    return ended.stdout


def layers(root: Path) -> dict[str, bytes]:
    """The zip file of each layer by logical id: packages for Lambda from their index, and the agent."""
    made = {name: _packages(root, name) for name in PACKAGE_LAYERS}
    made[AGENT_LAYER] = zip_files(released(root))
    return made


def _packages(root: Path, layer: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ["make", f"build-{layer}", f"ARTIFACTS_DIR={folder}", f"PYTHON={sys.executable}"]
        run(command, root / "functions")
        return zip_files(without_programs(Path(folder)))


def without_programs(folder: Path) -> dict[str, bytes]:
    """The files below a folder by name, without commands: they name the Python that installed them."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name.startswith("python/bin/") or "__pycache__" in path.parts:
            continue
        content = path.read_bytes()
        if path.name == "RECORD":
            lines = content.decode().splitlines(keepends=True)
            content = "".join(line for line in lines if "/bin/" not in f"/{line}").encode()
        found[name] = content
    return found


def distributions(root: Path, folder: Path, epoch: int) -> None:
    """Put the wheel and the source distribution of cli/ into a folder."""
    uv = Path(sys.executable).with_name("uv")
    options = ["--no-build-isolation", "--offline"]
    command: list[str | Path] = [uv, "build", *options, "--out-dir", folder, root / "cli"]
    run(command, root, SOURCE_DATE_EPOCH=str(epoch))
    (folder / ".gitignore").unlink(missing_ok=True)


def module(root: Path, names: Sequence[str]) -> bytes:
    """The Terraform module as a zip file."""
    return zip_files({name: (root / "terraform" / name).read_bytes() for name in names})


def checksums(folder: Path) -> str:
    """Each file below a folder, as `sha256sum --check` reads it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CHECKSUMS)
    lines = (f"{sha256(path.read_bytes())}  {path.relative_to(folder).as_posix()}\n" for path in paths)
    return "".join(lines)


def sha256(content: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder; programs may be run."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o755 if name in BINARIES else 0o644)
