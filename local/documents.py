"""Make the files that template.yaml includes from the SSM documents: `python -m local.documents`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import yaml

from local import ROOT, Json


def contents(root: Path = ROOT) -> dict[str, Json]:
    """Every document's content with its script, by the logical id of its resource in template.yaml."""
    folder = root / "documents"
    found: dict[str, Json] = {}
    for path in sorted(folder.glob("*.yaml")):
        found |= yaml.safe_load(path.read_text(encoding="utf-8"))
    for content in found.values():
        for step in content["mainSteps"]:
            lines = step["inputs"]["runCommand"]
            step["inputs"]["runCommand"] = [_script(folder, line) for line in lines]
    return found


def _script(folder: Path, line: str) -> str:
    """The script that the line names, or the line itself."""
    is_name = line.endswith((".sh", ".ps1")) and " " not in line
    return (folder / line).read_text(encoding="utf-8") if is_name else line


def build(root: Path = ROOT) -> None:
    """Write each content to documents/build/, where template.yaml names it as an AWS::Include.

    A rename puts each file in its place, so that another process never reads half of one.
    """
    folder = root / "documents" / "build"
    for name, content in contents(root).items():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{name}.json.{os.getpid()}"
        unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(folder / f"{name}.json")


if __name__ == "__main__":
    build()
