"""A fresh clone after its set-up: the packages of one list of requirements are there, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from tests.support.tree import ROOT

STAMP = 'cat requirements/pip.txt "requirements/$0.txt" | sha256sum; "$PYTHON" -V'
"""What `local/setup.sh` keeps of a list whose packages it has installed."""
NOT_CLONED = {".git", ".local", ".venv", ".venv-clients", ".venv-sam"}


class Clone:
    """The tree by links, with a virtual environment of its own that has links to packages of ours."""

    def __init__(self, root: Path, *lists: str) -> None:
        """`lists` are the names of files in requirements/; the packages of the first can be imported."""
        self.root = root
        root.mkdir()
        for path in ROOT.iterdir():
            if path.name not in NOT_CLONED:
                (root / path.name).symlink_to(path)
        (root / ".local").mkdir()
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "MAKE", "AWS_"))
        } | {"PYTHON": sys.executable}
        for name in lists:
            self._install(root / (".venv-sam" if name == "sam" else ".venv"), name)

    def run(self, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run what somebody types in the clone."""
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self.root,
            env=self._environment | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def _install(self, folder: Path, name: str) -> None:
        venv.create(folder, symlinks=True)
        (site,) = folder.glob("lib/python*/site-packages")
        for found in pinned(name) if name != "sam" else ():
            for top in _top_levels(found):
                if not (site / top).exists():
                    (site / top).symlink_to(Path(str(found.locate_file(top))))
        stamp = subprocess.run(
            ["sh", "-c", STAMP, name], cwd=self.root, env=self._environment, check=True, capture_output=True
        )
        (folder / f"has-{name}.txt").write_bytes(stamp.stdout)


def pinned(name: str) -> Iterator[Distribution]:
    """Yields the packages of the list `name`; those for other systems and other Pythons are not there."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    for package in sorted(set(re.findall(r"^[a-z0-9._-]+", text, re.MULTILINE))):
        with suppress(PackageNotFoundError):
            yield distribution(package)


def _top_levels(found: Distribution) -> set[str]:
    """What a package has in site-packages; its commands are elsewhere, and name our own Python."""
    return {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
