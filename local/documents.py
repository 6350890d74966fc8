"""The SSM documents as they are deployed: `documents/*.yaml` with their scripts and the agents put in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from local import ROOT, Json, agents, yaml_text


def contents(root: Path = ROOT, allowed: Mapping[str, str] | None = None) -> dict[str, Json]:
    """Every document's content with its script, by the logical id of its resource in template.yaml.

    `allowed` has the hashes of the agents that they start (agents.hashes). Without, they start none.
    """
    folder = root / "documents"
    found: dict[str, Json] = {}
    for path in sorted(folder.glob("*.yaml")):
        found |= yaml_text.loaded(path.read_text(encoding="utf-8"))
    for content in found.values():
        for step in content["mainSteps"]:
            lines = step["inputs"]["runCommand"]
            step["inputs"]["runCommand"] = [_script(folder, line) for line in lines]
    return {name: agents.pinned(content, allowed or {}) for name, content in found.items()}


def _script(folder: Path, line: str) -> str:
    """The script that the line names, or the line itself."""
    is_name = line.endswith((".sh", ".ps1")) and " " not in line
    return (folder / line).read_text(encoding="utf-8") if is_name else line
