"""The state machines as they are deployed: each `statemachine/*.asl.yaml` as JSON."""

from __future__ import annotations

from pathlib import Path

import yaml

from local import ROOT, Json


def definitions(root: Path = ROOT) -> dict[str, Json]:
    """Every definition, by the logical id of its resource in template.yaml."""
    paths = sorted((root / "statemachine").glob("*.asl.yaml"))
    return {_logical_id(path): yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}


def _logical_id(path: Path) -> str:
    """RestoreVolumeStateMachine of restore_volume.asl.yaml."""
    words = path.name.partition(".")[0].split("_")
    return "".join(word.capitalize() for word in words) + "StateMachine"
