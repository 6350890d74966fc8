"""Make the files that template.yaml names and nobody writes by hand: `python -m local.built`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from local import ROOT, Json, agents, dashboard, documents, state_machines


def build(target: Path, allowed: Mapping[str, str], root: Path = ROOT) -> None:
    """Write what template.yaml includes (AWS::Include), and state machines for its DefinitionUri.

    `allowed` has the hashes of the agents that documents start (agents.hashes). Functions read them, too.
    """
    _write(target / "documents" / "build", documents.contents(root, allowed) | dashboard.included(root))
    _write(target / "statemachine" / "build", state_machines.definitions(root))
    for name, content in agents.packaged(allowed).items():
        _put(target / "functions" / name, content)


def _write(folder: Path, contents: dict[str, Json]) -> None:
    for name, content in contents.items():
        _put(folder / f"{name}.json", (json.dumps(content, indent=2) + "\n").encode())


def _put(path: Path, content: bytes) -> None:
    """A rename puts the file in its place, so that another process never reads half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def main(root: Path = ROOT) -> int:
    """Write everything for `sam build`, with the release binaries' hashes; return the exit status."""
    try:
        allowed = agents.hashes(agents.released(root))
    except FileNotFoundError as missing:
        sys.stderr.write(f"there is no {missing.filename}: run make -C warmer release first\n")
        return 1
    build(root, allowed, root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
