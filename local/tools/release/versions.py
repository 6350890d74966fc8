"""The version: pyproject.toml has it, and what ships has copies (`make version VERSION=0.2.0` writes all)."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from local import ROOT

SOURCE = "pyproject.toml"
_ASSIGNED = r'^(__version__ = ")([^"\n]+)(")$'
COPIES = {
    SOURCE: r'^(version = ")([^"\n]+)(")$',
    "cli/pyproject.toml": r'^(version = ")([^"\n]+)(")$',
    "cli/rewarm_cli/__init__.py": _ASSIGNED,
    "functions/rewarm/__init__.py": _ASSIGNED,
    "template.yaml": r"^(  Version: \{Description: [^,\n]+, Value: )([^}\s]+)(\})$",
    "terraform/main.tf": r'^(  release += ")([^"\n]+)(")$',
    "warmer/VERSION": r"\A()([^\n]+)(\n)\Z",
}
"""File -> where the version stands in it, as the second group. docs/openapi.json and api.json follow by
`make schemas`, and the Terraform module by `make terraform`."""
FORM = re.compile(r"\d+\.\d+\.\d+")


class VersionError(ValueError):
    """This is no version, or a file has no place for it; the message says which."""


def current(root: Path = ROOT) -> str:
    """The version of this working tree."""
    found: str = tomllib.loads((root / SOURCE).read_text(encoding="utf-8"))["project"]["version"]
    return found


def copies(root: Path = ROOT) -> dict[str, str]:
    """File -> the version that it names. Raises VersionError."""
    return {name: _place(root, name)[2] for name in COPIES}


def write(version: str, root: Path = ROOT) -> None:
    """Put a version in every place. Raises VersionError."""
    if FORM.fullmatch(version) is None:
        raise VersionError(f"found {version!r}; three numbers such as 0.2.0 are allowed")
    places = {name: _place(root, name) for name in COPIES}
    for name, place in places.items():
        text = place.string[: place.start(2)] + version + place.string[place.end(2) :]
        (root / name).write_text(text, encoding="utf-8")


def _place(root: Path, name: str) -> re.Match[str]:
    text = (root / name).read_text(encoding="utf-8")
    found = re.search(COPIES[name], text, re.MULTILINE)
    if found is None:
        raise VersionError(f"{name} names no version where it should ({COPIES[name]})")
    return found


def main() -> int:
    """`python -m local.tools.release.versions 0.2.0`."""
    try:
        write(sys.argv[1] if len(sys.argv) > 1 else "")
    except VersionError as error:
        sys.stderr.write(f"make version: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
