"""Make the files that template.yaml names and nobody writes by hand: `python -m local.built`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from local import ROOT, Json, dashboard, documents, state_machines


def build(root: Path = ROOT) -> None:
    """Write what template.yaml includes (AWS::Include), and state machines for its DefinitionUri."""
    _write(root / "documents" / "build", documents.contents(root) | dashboard.included(root))
    _write(root / "statemachine" / "build", state_machines.definitions(root))


def _write(folder: Path, contents: dict[str, Json]) -> None:
    """A rename puts each file in its place, so that another process never reads half of one."""
    for name, content in contents.items():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{name}.json.{os.getpid()}"
        unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(folder / f"{name}.json")


if __name__ == "__main__":
    build()
